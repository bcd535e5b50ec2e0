#!/usr/bin/env bats
# sonde run -m: MPI jobs of both families, from their launchers to the database and the report; also under a real Slurm.
bats_require_minimum_version 1.5.0
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

teardown() {
    [ -z "${AGENT-}" ] || kill -9 "$AGENT" 2>/dev/null || :
    [ -z "${NODE-}" ] || kill "$NODE" 2>/dev/null || :
    scene_teardown
}

setup() {
    scene_setup
    [ -n "$(mpi_families)" ] || skip "no MPI"
}

# The last value of a metric of a rank and function in the last job: last mpi 3/MPI_Send calls
last() {
    "$SONDE" export --what series --set "$1" --format csv | python3 -c '
import csv, sys
rows = [r for r in csv.DictReader(sys.stdin) if r["instance"] == sys.argv[1]]
print(rows[-1][sys.argv[2]] if rows else "none")' "$2" "$3"
}

# Checks the recorded counts of the ring program, however it was started.
ring_is_stored() {
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
        ring_is_stored
        life=$(last mpi 2/ life) time=$(last mpi 2/ time)
        [ "$time" -gt 0 ]
        [ "$life" -ge "$time" ]
        [[ $(cat folder) == /dev/shm/sonde-run.* ]]
        is_over "$(cat folder)"
    done
}

@test "with counts only there are no times, bytes or waits, neither for MPI_Init nor for a rank" {
    family=$(mpi_families | head -n 1)
    mpi_launcher "$family" 2
    SONDE_MPI=counts "$SONDE" run -q -m -- "${LAUNCH[@]}" "$BATS_FILE_TMPDIR/$family/uneven"
    [ "$(last mpi 1/ calls)" -gt 0 ]
    [ "$(last mpi 1/MPI_Init calls)" -eq 1 ]
    run "$SONDE" report
    echo "$output"
    [[ $output == *", by 2 ranks"* && $output != *"of the time of"* ]]
    "$SONDE" report --json | python3 -c '
import json, sys
mpi = json.load(sys.stdin)["mpi"]
assert len(mpi["ranks"]) == 2 and "unended_ranks" not in mpi, mpi
absent = {"time_s", "life_s", "own_s", "own_mean_s", "wait_s", "sent_bytes", "small_messages"}
for one in [mpi, *mpi["ranks"], *mpi["functions"]]:
    assert one["calls"] and not absent & set(one), one'
}

@test "the report says that bytes are missing if too many requests were open" {
    for family in $(mpi_families); do
        mpi_launcher "$family" 2
        run "$SONDE" run -q -m -- "${LAUNCH[@]}" "$BATS_FILE_TMPDIR/$family/crowd" 17000
        echo "$output"
        [ "$status" -eq 0 ]
        lost=$("$SONDE" report --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["mpi"]["requests_lost"])')
        [ "$lost" -ge $((2 * 2 * (2 * 17000 - 32768))) ]
        "$SONDE" report | tee page
        grep -q '^  missing .*bytes of [0-9,]* requests' page
    done
}

@test "spawned programs in the series and in the report" {
    [[ $(mpi_families) == *openmpi* ]] || skip "no OpenMPI, and Debian's MPICH cannot spawn"
    mpi_launcher openmpi 2
    LAUNCH[-1]=1
    run "$SONDE" run -q -m -- "${LAUNCH[@]}" "$BATS_FILE_TMPDIR/openmpi/ends" spawns
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(last mpi 0/MPI_Comm_spawn calls)" -eq 2 ]
    [ "$(last mpi 0/MPI_Sendrecv calls)" = none ]
    [ "$(last mpi 1@1/MPI_Sendrecv calls)" -eq 1 ]
    [ "$(last mpi 2@2/MPI_Sendrecv calls)" -eq 2 ]
    [ "$(last mpi_peer '1@1>0@1' bytes)" -eq 4 ]
    [ "$(last mpi_peer '1@2>2@2' messages)" -eq 2 ]
    [ "$(last mpi_peer '0@2>elsewhere' bytes)" -eq 4 ]
    "$SONDE" report --json >report.json
    python3 - <<'END'
import json
mpi = json.load(open("report.json"))["mpi"]
assert mpi["rank_count"] == 6, mpi["rank_count"]
assert sorted((r.get("world", 0), r["rank"]) for r in mpi["ranks"]) == [(0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2)]
assert (2, 1, 2, 8) in [(p.get("world", 0), p["from"], p.get("to"), p["bytes"]) for p in mpi["pairs"]], mpi["pairs"]
away = [(p.get("world", 0), p["from"], p["messages"], p["bytes"]) for p in mpi["pairs"] if p.get("elsewhere")]
assert sorted(away) == [(1, 0, 1, 4), (2, 0, 1, 4)], mpi["pairs"]
assert mpi["messages"] == 2 + 3 * 2 + 2 and mpi["message_bytes"] == 4 * mpi["messages"], mpi
END
    "$SONDE" report | tee page
    grep -q '2 to 0 of world 2' page
    [[ $(tr -s ' \n' ' ' <page) == *" messages 10 point to point, "*"; 2 (8 B) between worlds "* ]]
}

@test "concurrent programs are distinguished, consecutive ones are summed" {
    for family in $(mpi_families); do
        mpi_launcher "$family" 2
        ring="${LAUNCH[*]} $BATS_FILE_TMPDIR/$family/ring"
        run "$SONDE" run -q -m -- sh -c "$ring; $ring"
        [ "$(last mpi 1/MPI_Sendrecv calls)" -eq 20 ]
        [ "$(last mpi_peer '1>0' messages)" -eq 22 ]
        [ "$(last mpi '1#2/MPI_Sendrecv' calls)" = none ]
        mkdir "met.$family"
        run "$SONDE" run -q -m -- sh -c "$ring 'met.$family' & $ring 'met.$family'; wait"
        echo "$output"
        for name in 0 1 '0#2' '1#2'; do [ "$(last mpi "$name/MPI_Sendrecv" calls)" -eq 10 ]; done
        [ "$(last mpi_peer '0#2>1#2' messages)" -eq 11 ]
        [ "$("$SONDE" report --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["mpi"]["rank_count"])')" -eq 4 ]
    done
}

# In a mount namespace with its own /dev/shm: other agents of this machine claim segments, too.
@test "two concurrent programs outside of any job are distinguished by an agent" {
    need_root
    for family in $(mpi_families); do
        mpi_launcher "$family" 2
        mkdir -p "$family/met"
        cat >script <<'EOF'
set -e
mount -t tmpfs -o size=256m none /dev/shm
cd "$1" && shift
"$SONDE" agent -q -c /dev/null -p 100ms --sensors self --listen none --socket none --jobs none --sink csv:path=out.csv & agent=$!
trap 'kill $agent' EXIT
LD_PRELOAD=$MPI_PRELOAD "$@" met & first=$!
LD_PRELOAD=$MPI_PRELOAD "$@" met
wait $first
segments_are_gone() { [ -z "$(find /dev/shm -name 'sonde.*')" ]; }
for ((i = 0; i < 600; i++)); do segments_are_gone && break; sleep 0.1; done
segments_are_gone
kill $agent
trap - EXIT
wait $agent || :
EOF
        run timeout 120 env -u SLURM_JOB_ID unshare --mount --propagation private bash script "$family" \
            "${LAUNCH[@]}" "$BATS_FILE_TMPDIR/$family/ring"
        echo "$output"
        [ "$status" -eq 0 ]
        for name in 0 1 '0#2' '1#2'; do
            last=$(grep -F ",$name/MPI_Sendrecv,calls," "$family/out.csv" | tail -n 1 | tr -d '\r')
            echo "$family $name: $last"
            [ "${last##*,}" -eq 10 ]
        done
        grep -qF ',0#2>1#2,messages,1,11' "$family/out.csv"
        run ! grep -F '#3' "$family/out.csv"
    done
}

# The last rank is late by 400 ms in total for reductions, by 200 ms for messages to the first rank, by 20 ms for new communicators.
@test "waiting ranks are reported, and the rank that they wait for" {
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
        [ "$(last mpi 0/MPI_Cart_sub wait)" -gt 10000000 ]
        echo "the last one waited $(last mpi 2/MPI_Allreduce wait) ns"
        # a rank without a processor waits, too, and makes others wait
        [ "$(last mpi 2/MPI_Allreduce wait)" -lt $(($(last mpi 0/MPI_Allreduce wait) / 2)) ]
    done
}

# waited_for FAMILY MODE: the line of the report that says for which rank the others wait, in a job of tests/mpi/late.c.
waited_for() {
    mpi_launcher "$1" 3
    "$SONDE" run -q -m -- "${LAUNCH[@]}" "$BATS_FILE_TMPDIR/$1/late" "$2" >&2
    "$SONDE" report | tee /dev/stderr | tr -s ' \n' ' ' | grep -o ' wait for \(rank\|no rank\).* on average'
}

# waits_for FAMILY MODE SENTENCE: waiting ranks keep a processor busy, which delays others if there are more ranks than processors:
# one of several runs must report it.
waits_for() {
    local try
    for try in 1 2 3 4 5; do
        # shellcheck disable=SC2053 # a pattern
        [[ $(waited_for "$1" "$2") != $3 ]] || return 0
        echo "run $try of $1 $2 reports something else"
    done
    return 1
}

@test "the report names the ranks that others wait for: one, all working ones, or none" {
    for family in $(mpi_families); do
        waits_for "$family" workers ' wait for ranks 1, 2, which work up to *'
        waits_for "$family" turns ' wait for no rank in particular: *'
        waits_for "$family" end ' wait for rank 1, which works * outside of MPI; *'
        waits_for "$family" file ' wait for rank 1, which works * outside of MPI and on files; *'
    done
}

# Another node: its own /dev/shm, without the directory of sonde run, and its own agent.
other_node() {
    unshare --mount --propagation private sh -c 'mount -t tmpfs none /dev/shm && touch /dev/shm/own && exec sleep 600' 3>&- &
    NODE=$!
    wait_for 'nsenter --mount --target "$NODE" test -e /dev/shm/own'
    PORT=$(free_port)
    nsenter --mount --target "$NODE" "$SONDE" agent --sensors none --jobs none --listen "127.0.0.1:$PORT" --spool "$T/spool" \
        --set "programs.tau=none" >"$T/log" 2>&1 3>&- &
    AGENT=$!
    wait_for 'curl -sf "http://127.0.0.1:$PORT/metrics" >/dev/null'
}

@test "ranks on another node are counted by its agent, and the report says how many were recorded" {
    need_root
    [[ $(mpi_families) == *openmpi* ]] || skip "no OpenMPI"
    export SONDE_SOCKET_DIR=$T/run
    other_node
    mpi_launcher openmpi 4
    run timeout 120 "$SONDE" run -q -m -- "${LAUNCH[@]}" --mca pml ob1 --mca btl tcp,self sh -c '
        [ "$OMPI_COMM_WORLD_RANK" -ge 2 ] || exec "$1"
        exec nsenter --mount --target "$0" "$1"' "$NODE" "$BATS_FILE_TMPDIR/openmpi/ring"
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *"all is well"* ]]
    for rank in 0 1; do
        [ "$(last mpi $rank/MPI_Sendrecv calls)" -eq 10 ]
    done
    [ "$(last mpi 2/MPI_Sendrecv calls)" = none ]
    wait_for 'curl -s "http://127.0.0.1:$PORT/metrics" | grep -q "^mpi_calls_total{function=\"MPI_Sendrecv\".*} 20$"'
    "$SONDE" report >page
    grep -q '2 of 4 recorded' page
    [ "$("$SONDE" report --json | python3 -c 'import json, sys; m = json.load(sys.stdin)["mpi"]; print(m["rank_count"], m["rank_total"])')" = "2 4" ]
    "$SONDE" export -f extrap | grep -q '^{"params":{"ranks":4},"metric":"tau_mpi_total{metric=\\"hits\\"}","value":[1-9]'
    "$SONDE" export -f extrap | grep -q '^{"params":{"ranks":4},"metric":"tau_hits_total{function=\\"mpi_sendrecv\\"}","value":20.0}'
}

@test "sonde run ends with the program's status after MPI_Abort" {
    for family in $(mpi_families); do
        run "$BATS_FILE_TMPDIR/$family/ends" abort
        bare=$status
        run "$SONDE" run -q -m -- "$BATS_FILE_TMPDIR/$family/ends" abort
        [ "$status" -eq "$bare" ]
        [ "$(last mpi 0/MPI_Barrier calls)" -eq 3 ]
        "$SONDE" report | tr -s ' \n' ' ' | tee page
        grep -qE ' time (at least [0-9]+|over 99|100) % of the time of 1 rank ' page
        grep -q ' missing time of the last call of 1 rank that did not finish MPI' page
        "$SONDE" run -q -m -- "$BATS_FILE_TMPDIR/$family/ring"
        "$SONDE" report | tr -s ' \n' ' ' | tee page
        run ! grep -e 'at least' -e ' missing ' page
    done
}

@test "-m and --no-probe are mutually exclusive" {
    run "$SONDE" run -m --no-probe -- true
    [ "$status" -eq 2 ]
    [[ $output == *"exclude each other"* ]]
}

# Slurm's plugin for a family. It may be missing in the distribution's package.
slurm_kind() {
    local kind=pmi2
    [ "$1" = mpich ] || kind=pmix
    srun --mpi=list 2>&1 | grep -q "$kind" || { echo "no $kind in: $(srun --mpi=list 2>&1)" >&2; return 1; }
    echo "$kind"
}

# srun starts the ranks, which are not children of sonde run; their segments are read nevertheless.
@test "a ring under Slurm: sonde run -m srun" {
    [ -n "${SLURM-}" ] || skip "needs root, and the packages slurmctld slurmd slurm-client munge"
    for family in $(mpi_families); do
        kind=$(slurm_kind "$family")
        run timeout 120 "$SONDE" run -q -m -- srun -n 4 --overcommit --oversubscribe -N 1 "--mpi=$kind" "$BATS_FILE_TMPDIR/$family/ring"
        echo "$output"
        [ "$status" -eq 0 ]
        [[ $output == *"all is well"* ]]
        ring_is_stored
    done
}

@test "the probe alone under Slurm, preloaded by srun" {
    [ -n "${SLURM-}" ] || skip "needs root, and the packages slurmctld slurmd slurm-client munge"
    for family in $(mpi_families); do
        kind=$(slurm_kind "$family")
        rm -rf segments expected && mkdir segments expected
        EXPECT=$PWD/expected SONDE_BOARDS=$PWD/segments LD_PRELOAD=$MPI_PRELOAD run timeout 120 \
            srun -n 4 --overcommit --oversubscribe -N 1 "--mpi=$kind" "$BATS_FILE_TMPDIR/$family/ring"
        echo "$output"
        [ "$status" -eq 0 ]
        mpi_compare
    done
}
