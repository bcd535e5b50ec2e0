#!/usr/bin/env bats
# The MPI probe inside real MPI programs of both families: they must run as before, and say (tests/mpi/expect.h) which numbers
# must be on their boards. Needs the compilers and launchers of OpenMPI and MPICH; what is not here is left out.
load scene
load mpi

setup_file() {
    mpi_compile
}

@test "OpenMPI: a ring of four ranks" {
    play openmpi ring 4
}

@test "MPICH: a ring of four ranks" {
    play mpich ring 4
}

@test "a ring alone, without a launcher" {
    play openmpi ring 1
    play mpich ring 1
}
