#!/usr/bin/env bats
# sonde run -m: MPI jobs of both families from their launchers to the store and the report; under a real Slurm too.
load scene
load mpi

setup_file() {
    mpi_compile
    [ "$(id -u)" -eq 0 ] && command -v slurmctld slurmd munged >/dev/null || return 0
    SLURM=$(mktemp -d /tmp/sonde-slurm-XXXXXX)
    export SLURM SLURM_CONF=$SLURM/etc/slurm.conf
    NODES=m "$SOURCE/tests/tools/slurm-up" "$SLURM" 3>&- || :
}

teardown_file() {
    [ -z "$SLURM" ] || { "$SOURCE/tests/tools/slurm-down" "$SLURM" && rm -rf "$SLURM"; }
}

setup() {
    scene_setup
    [ -n "$(mpi_families)" ] || skip "no MPI is here"
}

# The last value of a metric of a rank and function in the last job: last mpi 3/MPI_Send calls
last() {
    "$SONDE" export --what series --set "$1" --format csv | python3 -c '
import csv, sys
rows = [r for r in csv.DictReader(sys.stdin) if r["instance"] == sys.argv[1]]
print(rows[-1][sys.argv[2]] if rows else "none")' "$2" "$3"
}

# What the ring has done, whoever started it.
ring_is_filed() {
    for rank in 0 1 2 3; do
        [ "$(last mpi $rank/MPI_Sendrecv calls)" -eq 10 ]
        [ "$(last mpi $rank/MPI_Sendrecv bytes_out)" -eq 40 ]
        [ "$(last mpi $rank/MPI_Irecv bytes_in)" -eq 5 ]
        [ "$(last mpi_peer "$rank>$(((rank + 1) % 4))" messages)" -eq 11 ]
    done
    [ "$(last mpi_peer '0>2' messages)" = none ]
}

@test "a ring under the family's own launcher" {
    for family in $(mpi_families); do
        mpi_launcher "$family" 4
        run "$SONDE" run -q -m -- sh -c 'echo $SONDE_BOARDS >folder; exec "$@"' sh "${LAUNCH[@]}" "$BATS_FILE_TMPDIR/$family/ring"
        echo "$output"
        [ "$status" -eq 0 ]
        [[ $output == *"all is well"* ]]
        ring_is_filed
        life=$(last mpi 2/ life) time=$(last mpi 2/ time)
        [ "$time" -gt 0 ]
        [ "$life" -ge "$time" ]
        [[ $(cat folder) == /dev/shm/sonde-run.* ]]
        [ ! -e "$(cat folder)" ]
    done
}

# The last rank comes late by 400 ms in all to sums, and by 200 ms to messages for the first one.
@test "those who wait are seen, and the one whom they wait for" {
    for family in $(mpi_families); do
        mpi_launcher "$family" 3
        run "$SONDE" run -q -m -- "${LAUNCH[@]}" "$BATS_FILE_TMPDIR/$family/uneven"
        echo "$output"
        [ "$status" -eq 0 ]
        for rank in 0 1; do
            waited=$(last mpi $rank/MPI_Allreduce wait)
            echo "$family: rank $rank waited $waited ns"
            [ "$waited" -gt 300000000 ]
            [ "$waited" -le "$(last mpi $rank/MPI_Allreduce time)" ]
        done
        [ "$(last mpi 0/MPI_Recv wait)" -gt 150000000 ]
        echo "the last one waited $(last mpi 2/MPI_Allreduce wait) ns"
        # whoever has no processor waits too, and makes the others wait
        [ "$(last mpi 2/MPI_Allreduce wait)" -lt $(($(last mpi 0/MPI_Allreduce wait) / 2)) ]
    done
}

@test "the program's end is sonde run's: MPI_Abort" {
    for family in $(mpi_families); do
        run "$BATS_FILE_TMPDIR/$family/ends" abort
        bare=$status
        run "$SONDE" run -q -m -- "$BATS_FILE_TMPDIR/$family/ends" abort
        [ "$status" -eq "$bare" ]
        [ "$(last mpi 0/MPI_Barrier calls)" -eq 3 ]
    done
}

@test "-m and --no-probe contradict one another" {
    run "$SONDE" run -m --no-probe -- true
    [ "$status" -eq 2 ]
    [[ $output == *"leave out one of them"* ]]
}

# How Slurm speaks with a family. What is not in its list was left out by whoever packed it.
slurm_kind() {
    local kind=pmi2
    [ "$1" = mpich ] || kind=pmix
    srun --mpi=list 2>&1 | grep -q "$kind" || { echo "no $kind in: $(srun --mpi=list 2>&1)" >&2; return 1; }
    echo "$kind"
}

# srun starts the ranks, which are no children of ours: their boards come to us all the same.
@test "a ring under Slurm: sonde run -m srun" {
    [ -n "${SLURM-}" ] || skip "needs root, and the packages slurmctld slurmd slurm-client munge"
    for family in $(mpi_families); do
        kind=$(slurm_kind "$family")
        run timeout 120 "$SONDE" run -q -m -- srun -n 4 --overcommit --oversubscribe -N 1 "--mpi=$kind" "$BATS_FILE_TMPDIR/$family/ring"
        echo "$output"
        [ "$status" -eq 0 ]
        [[ $output == *"all is well"* ]]
        ring_is_filed
    done
}

@test "the probe alone under Slurm, preloaded by srun" {
    [ -n "${SLURM-}" ] || skip "needs root, and the packages slurmctld slurmd slurm-client munge"
    for family in $(mpi_families); do
        kind=$(slurm_kind "$family")
        rm -rf boards expected && mkdir boards expected
        EXPECT=$PWD/expected SONDE_BOARDS=$PWD/boards LD_PRELOAD=$MPI_PROBE run timeout 120 \
            srun -n 4 --overcommit --oversubscribe -N 1 "--mpi=$kind" "$BATS_FILE_TMPDIR/$family/ring"
        echo "$output"
        [ "$status" -eq 0 ]
        mpi_compare
    done
}
