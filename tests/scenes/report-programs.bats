#!/usr/bin/env bats
# Program metrics from real runs in the report, its JSON and Extra-P: MPI ranks with a load imbalance, system calls.
load scene

need_mpi() {
    if ! command -v mpicc >/dev/null || ! command -v mpirun >/dev/null; then
        skip "no MPI"
    fi
    [ -e "$BUILD/src/probe/mpi/libsonde-mpi.so" ] || skip "built without the MPI probe"
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    cat >uneven.c <<'C'
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    int rank, size, value = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 5; i++) {
        usleep(rank == size - 1 ? (getenv("SLOW") ? 1000000 : 300000) : 20000);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    for (int i = 0; i < 250; i++)
        if (rank == 0)
            MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        else if (rank == 1)
            MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return argc > 1 ? atoi(argv[1]) : 0;
}
C
    mpicc -o uneven uneven.c
}

@test "the report of an MPI job says which ranks wait for which" {
    need_mpi
    SLOW=1 "$SONDE" run -q -m -n uneven -- mpirun --oversubscribe -n 3 ./uneven
    run -0 "$SONDE" report
    [[ $output == *"of the time of 3 ranks is spent in MPI"* ]]
    [[ $output == *"MPI_Barrier"* ]]
    [[ $(tr -s ' \n' ' ' <<<"$output") == *"Ranks wait for rank 2 for "*" of their time"* ]]
    "$SONDE" report --json >report.json
    jq -e '.mpi.rank_count == 3 and .mpi.longest_rank == 2 and (.mpi.ranks | length) == 3' report.json
    jq -e '.mpi.functions[] | select(.function == "MPI_Send") | .calls == 250 and .sent_bytes == 1000 and .small_messages == 250' report.json
    jq -e '.mpi.functions[] | select(.function == "MPI_Recv") | .received_bytes == 1000' report.json
    jq -e '.mpi.pairs[] | select(.from == 0 and .to == 1) | .messages == 250 and .bytes == 1000' report.json
    jq -e '.mpi.ranks[0].wait_s > 0.5 and .mpi.ranks[0].wait_s > 2 * .mpi.ranks[2].wait_s' report.json
    jq -e '.mpi.others_wait_share > 0.15 and .mpi.own_max_s > 1' report.json
    jq -e '[.advice[].rule] | index("mpi-imbalance") != null' report.json
}

@test "runs of several sizes become lines for Extra-P; a failed one is left out with a message" {
    need_mpi
    for ranks in 2 3; do
        "$SONDE" run -q -m -n uneven -- mpirun --oversubscribe -n "$ranks" ./uneven
    done
    "$SONDE" run -q -m -n uneven -- mpirun --oversubscribe -n 2 ./uneven 3 || :
    "$SONDE" run -q -n other -- true
    "$SONDE" run -q -m -n uneven -- mpirun --oversubscribe -n 2 ./uneven
    run -0 --separate-stderr "$SONDE" export -f extrap
    [ "$(grep -c "skipped: failed" <<<"$stderr")" -eq 1 ]
    [ "$(jq -c 'select(.metric == "tau_hits_total{function=\"mpi_barrier\"}") | [.params.ranks, .value]' <<<"$output" | xargs)" = "[2,10] [2,10] [3,15]" ]
    run -0 --separate-stderr "$SONDE" export -f extrap --callpath
    jq -es 'all(.params.Processes > 0 and (.callpath | length) > 0 and (.metric | IN("Hits", "Time (s)", "Size (B)", "other")))' <<<"$output" >/dev/null
}

@test "the report has the system calls of a run, by target" {
    "$SONDE" run -q -s -n calls -- dd if=/dev/zero of="$T/out" bs=100 count=5000 status=none
    run -0 "$SONDE" report
    [[ $output == *"System calls "* && $output == *" write "* ]]
    "$SONDE" report --json | jq -e '.system_calls.by_call[] | select(.call == "write") | .calls >= 5000 and .bytes >= 500000'
}

@test "an infinite gauge is infinite in the report and in CSV, and null in JSON" {
    "$SONDE" run -q -- "$BUILD/tests/segment_program" sonde gauge heat - inf gauge cold - -inf
    run -0 "$SONDE" report
    [[ $output =~ heat\ +inf ]]
    "$SONDE" export -w series --set program_gauge >rows.csv
    grep -Eq ',heat,.*inf' rows.csv
    grep -Eq ',cold,.*-inf' rows.csv
    "$SONDE" export -w series --set program_gauge -f jsonl >rows
    jq -se 'map(select(.instance == "heat") | .values | map_values(. == null)) | length > 0 and (.[0] | any)' rows
}

@test "a histogram is in the report, its JSON, the export and sonde get, with its buckets" {
    hold() { "$BUILD/tests/segment_program" sonde "$@"; }
    seen=(observe wait_seconds 'phase="a"' 0.05 observe wait_seconds 'phase="a"' 0.5 observe wait_seconds 'phase="a"' 0.7
          observe wait_seconds 'phase="a"' 50 observe other_seconds - 0.05 counter cells_total - 3)
    "$SONDE" run -- "$BUILD/tests/segment_program" sonde "${seen[@]}"
    "$SONDE" report >page
    grep -Eq '^  wait_seconds\{phase="a"\} +4 +12.81 +0.55 +>10 +>10 +51.25$' page
    grep -Eq '^  cells_total +3$' page
    run ! grep -q '_bucket\|_sum\|_count' page
    "$SONDE" report --json | jq -e '.program.histograms | map(select(.name == "wait_seconds{phase=\"a\"}"))[0]
        | .count == 4 and .sum == 51.25 and .p50 == 0.55 and .p99 == null and .buckets == [[0.1,1],[1,3],[10,3],[null,4]]'
    "$SONDE" export -w series --set program_counter -f jsonl >rows
    jq -se 'map(select(.instance == "wait_seconds_bucket{phase=\"a\",le=\"1\"}") | .values.total) == [3]' rows
    jq -se 'map(select(.instance == "other_seconds_bucket{le=\"+Inf\"}") | .values.total) == [1]' rows

    export SONDE_SOCKET_DIR=$T/run SONDE_BOARDS=$T/segments
    mkdir "$T/run" "$T/segments" "$T/root" && ln -s /proc /etc "$T/root"
    printf '[programs]\ntau = none\nboards = %s\n' "$SONDE_BOARDS" >conf
    "$SONDE" agent --jobs none --root "$T/root" -c conf --sensors loadavg --listen none >log 2>&1 </dev/null 3>&- &
    agent=$!
    hold "${seen[@]}" leave
    for ((i = 0; i < 300; i++)); do
        "$SONDE" get -a -f json wait_seconds >told 2>/dev/null && break
        sleep 0.1
    done
    "$SONDE" get wait_seconds >line || true
    kill "$agent"
    wait "$agent" || true
    jq -e '.[0] | .count == 4 and .sum == 51.25 and .mean == 12.8125 and .p50 == 0.55 and .buckets == [[0.1,1],[1,3],[10,3],[null,4]]' told
    grep -q 'count 4.0 mean 12.8125' line
}
