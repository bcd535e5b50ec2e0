#!/usr/bin/env bats
# The MPI probe inside real programs of OpenMPI and MPICH: they must behave as before, and write themselves (tests/mpi/expect.h) which
# values are expected in their segments. A family that is not installed is skipped.
bats_require_minimum_version 1.5.0
load scene
load mpi

setup_file() {
    mpi_compile
}

@test "a ring of four ranks, and of one without a launcher" {
    check_run ring 4
    check_run ring 1
}

@test "the same from Fortran: mpif.h, mpi, mpi_f08" {
    command -v mpifort.openmpi mpifort.mpich || skip "no Fortran compiler"
    check_run ring-MPIF 4
    check_run ring-MPI 4
    check_run ring-F08 4
}

@test "in-place collectives, with invalid arguments where MPI ignores them" {
    check_run together 4
}

@test "two groups, a grid with edges, a graph of neighbours" {
    check_run neighbours 4
}

@test "reused handles, renumbered ranks, groups of one and three" {
    check_run handles 4
}

@test "messages: shorter than requested, too long, of unusual types, probed first" {
    check_run messages 2
}

@test "requests: persistent, many at once, cancelled, freed, generalized, send-receive" {
    check_run requests 2
    [[ $(mpi_families) == *mpich* ]] || return 0
    run ! grep 'mpi_received_bytes_total{function="MPI_Isendrecv' dumped
}

@test "collectives that are started repeatedly" {
    check_run again 4
}

@test "30,000 concurrent persistent requests, twice" {
    check_run crowd 2 15000
    run ! grep mpi_requests_lost_total dumped
}

@test "error handlers, operations and attributes that call MPI" {
    check_run handlers 1
}

@test "one-sided communication and files" {
    check_run aside 2
}

@test "threads that call MPI concurrently" {
    check_run threads 2
    [ "$(grep -c ' mpi_threads_total 5$' dumped)" -eq 2 ]
    check_run ring 2 # by one thread at a time
    run ! grep mpi_threads_total dumped
}

# The race that sharing prevents is rare, so a debugger checks that it is prevented.
@test "MPI_Init that enables MPI_THREAD_MULTIPLE itself" {
    [[ $(mpi_families) == *openmpi* ]] || skip "no OpenMPI, and MPICH has no setting for it"
    OMPI_MPI_THREAD_LEVEL=3 mpi_run openmpi threads 2 init
    [ "$status" -eq 0 ]
    mpi_compare
    command -v gdb >/dev/null || skip "no gdb"
    for level in 0 3; do
        OMPI_MPI_THREAD_LEVEL=$level run timeout 120 gdb -nx -batch -ex "set environment LD_PRELOAD $MPI_PRELOAD" \
            -ex 'set breakpoint pending on' -ex 'break step_finalize' -ex run -ex "print 'requests.c'::is_shared" -ex kill \
            "$BATS_FILE_TMPDIR/openmpi/ring" </dev/null
        echo "$output"
        [[ $output == *" = $([ "$level" -eq 3 ] && echo true || echo false)"* ]]
    done
}

@test "more bytes than fit into an int" {
    check_run large 1
}

@test "a program that wraps MPI itself" {
    check_run wraps_mpi 1
}

@test "exits without MPI_Finalize, by MPI_Abort, by SIGKILL: the counts are there" {
    check_run ends 1 leaves
    STATUS=137 check_run ends 1 killed
    for family in $(mpi_families); do
        mpi_run "$family" ends 1 abort
        [ "$status" -ne 0 ]
        mpi_compare
        grep -qx '0 mpi_calls_total{function="MPI_Abort"} 1' dumped
    done
}

@test "forked children, which are not part of MPI, and programs that a rank executes" {
    for family in $(mpi_families); do
        mpi_run "$family" ends 1 forks
        [ "$status" -eq 0 ]
        [[ $output == *"all is well"* ]]
        mpi_compare
        [ "$(grep -c mpi_life_seconds_total dumped)" -eq 1 ]
    done
}

# Debian's MPICH cannot spawn.
@test "spawned programs have worlds separate from that of their parent" {
    [[ $(mpi_families) == *openmpi* ]] || skip "no OpenMPI"
    mpi_launcher openmpi 2
    LAUNCH[-1]=1
    rm -rf segments expected && mkdir segments expected
    SONDE_BOARDS=$PWD/segments EXPECT=$PWD/expected LD_PRELOAD=$MPI_PRELOAD \
        run timeout 300 "${LAUNCH[@]}" "$BATS_FILE_TMPDIR/openmpi/ends" spawns
    echo "$output"
    [ "$status" -eq 0 ]
    mpi_compare
    [ "$(find expected -type f | wc -l)" -eq 6 ] # the parent, two children and three
    run ! grep -e '^-1 ' dumped
    run ! grep -e '^0 .*MPI_Send"' dumped
}

# Linked tools come after the probe, too.
@test "another tool keeps its place, before and after the probe" {
    for family in $(mpi_families); do
        for tool in other_tool next_tool; do
            for order in BEFORE AFTER; do
                echo "== $family $tool $order"
                unset MPI_BEFORE MPI_AFTER
                [ "$order" = AFTER ] || MPI_BEFORE=$BATS_FILE_TMPDIR/$family/$tool.so:
                [ "$order" = BEFORE ] || MPI_AFTER=:$BATS_FILE_TMPDIR/$family/$tool.so
                mpi_run "$family" ring 1
                [[ $output == *"the other tool has seen $([ "$tool" = other_tool ] || echo 10)1 barriers"* ]] # it adds 100
                mpi_compare
                grep -qx '0 mpi_calls_total{function="MPI_Comm_rank"} 1' dumped
                SONDE_MPI=counts mpi_run "$family" ring 1
                "$BUILD/tests/segment_dump" segments >dumped
                grep -qx '0 mpi_calls_total{function="MPI_Comm_rank"} 1' dumped
                grep -qx '0 mpi_calls_total{function="MPI_Sendrecv"} 10' dumped
            done
        done
    done
}

@test "mpi4py, which loads MPI at run time" {
    /usr/bin/python3 -c 'import mpi4py' 2>/dev/null || skip "no mpi4py"
    mkdir segments
    SONDE_BOARDS=$PWD/segments LD_PRELOAD=$MPI_PRELOAD run timeout 300 mpirun.openmpi --allow-run-as-root --oversubscribe -n 2 \
        /usr/bin/python3 "$SOURCE/tests/mpi/ring.py"
    echo "$output"
    [ "$(grep -o "all is well" <<<"$output" | wc -l)" -eq 2 ] # mpirun may put both on one line
    "$BUILD/tests/segment_dump" segments >dumped
    grep -qx '0 mpi_calls_total{function="MPI_Init_thread"} 1' dumped
    grep -qx '1 mpi_received_bytes_total{function="MPI_Sendrecv"} 40' dumped
}

@test "counts only, counting disabled, and a program without MPI" {
    [ -n "$(mpi_families)" ] || skip "no MPI"
    for family in $(mpi_families); do
        SONDE_MPI=counts mpi_run "$family" ring 4
        [ "$status" -eq 0 ]
        "$BUILD/tests/segment_dump" segments >dumped
        grep -qx '3 mpi_calls_total{function="MPI_Sendrecv"} 10' dumped
        run ! grep -v -e mpi_calls_total -e mpi_life_seconds_total dumped
        SONDE_MPI=off mpi_run "$family" ring 4
        [ "$status" -eq 0 ]
        [ -z "$(ls segments)" ]
    done
    SONDE_BOARDS=$PWD/segments LD_PRELOAD=$MPI_PRELOAD run sh -c 'echo untouched; exec /bin/echo too'
    [ "$output" = "untouched"$'\n'"too" ]
    [ -z "$(ls segments)" ]
}

@test "a program that queries MPI without MPI_Init, and one with two sessions" {
    for family in $(mpi_families); do
        mpi_run "$family" ends 1 stranger
        [ "$output" = "all is well" ]
        "$BUILD/tests/segment_dump" segments | grep -qx -e '-1 mpi_calls_total{function="MPI_Initialized"} 1'
    done
    [[ $(mpi_families) == *mpich* ]] || skip "OpenMPI 4 has no sessions"
    mpi_run mpich ends 1 session
    [ "$output" = "all is well" ]
    "$BUILD/tests/segment_dump" segments | tee dumped
    grep -qx -e '0 mpi_calls_total{function="MPI_Barrier"} 7' dumped
    grep -qx -e '0 mpi_peer_messages_total{to="0"} 1' dumped
    run ! grep elsewhere dumped
    awk '/mpi_life_seconds_total/ { life = $3 } END { exit life < 0.2 }' dumped
}
