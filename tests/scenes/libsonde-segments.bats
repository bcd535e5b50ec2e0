#!/usr/bin/env bats
# Programs that use libsonde, also under adverse conditions: their segments hold exactly what they counted.
load scene

setup() {
    scene_setup
    export SONDE_BOARDS=$T/segments
    mkdir -m 1777 "$SONDE_BOARDS"
}

dump() {
    "$BUILD/tests/segment_show" "$SONDE_BOARDS"
}

# The lines of a metric in all segments.
values() {
    dump | awk -v name="$1" '$1 == name { print $2 }' | sort -n | paste -sd' '
}

# A header field of the segment, or of all of them.
header() {
    dump | grep -oP "^# .*\b$1=\K\S+" | sort | paste -sd' '
}

# Runs a command in its own mount namespace, with a /dev/shm that has these mount options.
with_shm() {
    local options=$1
    shift
    unshare --mount --propagation private sh -c 'mount -t tmpfs -o "$0" none /dev/shm && exec "$@"' "$options" "$@"
}

@test "the segment has all counts of a program, with labels, units and a histogram" {
    "$TOOLS/instrumented" count 1000
    run -0 dump
    [[ ${lines[0]} == *"library=sonde"*"state=ended gone=1 metrics=4 command="*"instrumented count 1000" ]]
    [ "${lines[1]}" = 'phase_total{part="a"} 1000' ]
    [ "${lines[2]}" = 'phase_seconds_total{part="a"} 0.5' ]
    [ "${lines[3]}" = 'phase_level 7.25' ]
    [ "${lines[5]}" = 'phase_sizes_bucket{le="2"} 1' ]
    [ "${lines[7]}" = 'phase_sizes_bucket{le="+Inf"} 3' ]
    [ "${lines[8]}" = 'phase_sizes_sum 10' ]
}

@test "a running program can be read, and its last values after SIGKILL" {
    "$TOOLS/instrumented" wait 5 >log & pid=$!
    until grep -q counted log; do sleep 0.05; done
    [ "$(header gone)" = 0 ]
    [ "$(values 'phase_total{part="a"}')" = 5 ]
    kill -KILL "$pid"
    wait "$pid" || [ $? -eq 137 ]
    [ "$(header gone) $(header state)" = "1 alive" ]
    [ "$(values 'phase_total{part="a"}')" = 5 ]
}

@test "10,000 consecutive threads need the memory of a few" {
    "$TOOLS/instrumented" threads 10000
    [ "$(values 'phase_total{part="a"}')" = 10000 ]
    [ "$(values 'phase_seconds_total{part="a"}')" = 5000 ]
    [ "$(header bytes)" -le 131072 ]
}

@test "eight threads on the same metrics lose no counts" {
    "$TOOLS/instrumented" crowd 100000
    [ "$(values 'phase_total{part="a"}')" = 800000 ]
    [ "$(values 'phase_sizes_bucket{le="+Inf"}')" = 800000 ]
    [ "$(values phase_level)" = 800000 ]
}

@test "100,000 metrics created by two threads at once" {
    "$TOOLS/instrumented" metrics 100000
    run dump
    [ "$(grep -c 'phase_many_total{number="[0-9]*"} 2' <<<"$output")" -eq 100000 ]
    [ "$(header lost)" = 0 ]
    [ "$(header bytes)" -le 30000000 ]
}

@test "forked children count separately, with the metrics of their parent" {
    "$TOOLS/instrumented" fork 3
    [ "$(values 'phase_total{part="a"}')" = "2 100 100 100" ]
    [ "$(values phase_level)" = "1 unset unset unset" ] || [ "$(values phase_level)" = "unset unset unset 1" ]
}

@test "children created without the C library count separately, too" {
    "$TOOLS/instrumented" raw-fork
    [ "$(values 'phase_total{part="a"}')" = "2 100" ]
}

@test "grandchildren and their threads are counted" {
    "$TOOLS/instrumented" fork-chain 5
    [ "$(values 'phase_total{part="a"}')" = "0 11 11 11 11 11" ]
}

@test "a vfork child counts for its parent" {
    "$TOOLS/instrumented" vfork 3
    [ "$(values 'phase_total{part="a"}')" = 4 ]
}

@test "exec ends a segment and starts another" {
    "$TOOLS/instrumented" exec 2
    [ "$(values 'phase_total{part="a"}')" = "2 5" ]
    [ "$(header gone)" = "1 1" ]
}

@test "the writer of a segment is gone after an exec, although its pid is not" {
    "$TOOLS/instrumented" exec-sleep 60 & pid=$!
    until [ "$(cat "/proc/$pid/comm")" = sleep ]; do sleep 0.05; done
    run header gone
    kill "$pid"
    wait "$pid" || true
    [ "$output" = 1 ]
}

@test "the writer of a segment is gone, although a child that never counted has it mapped" {
    child=$("$TOOLS/instrumented" orphan 3>&-)
    run header gone
    kill "$child"
    [ "$output" = 1 ]
}

@test "the writer is alive after its main thread has ended, as long as another thread runs" {
    mkfifo go
    "$TOOLS/instrumented" first-ends 5 <>go >log 3>&- & pid=$!
    until grep -q '^State:.Z' "/proc/$pid/status" && grep -q counted log; do sleep 0.05; done
    [ "$(header gone)" = 0 ]
    echo >go
    wait "$pid"
    [ "$(header gone)" = 1 ]
    [ "$(values 'phase_total{part="a"}')" = 6 ]
}

@test "a writer in its own pid namespace is alive as long as it runs" {
    need_root
    unshare --pid --fork --kill-child "$TOOLS/instrumented" wait 5 >log & pid=$!
    until grep -q counted log; do sleep 0.05; done
    [ "$(header pid) $(header gone)" = "1 0" ]
    kill -KILL "$pid"
    wait "$pid" || true
    until [ "$(header gone)" = 1 ]; do sleep 0.05; done
    [ "$(values 'phase_total{part="a"}')" = 5 ]
}

@test "a program that closes all descriptors can still add threads and metrics" {
    "$TOOLS/instrumented" closes
    [ "$(values 'phase_total{part="a"}')" = 2 ]
    [ "$(values phase_late_total)" = 3 ]
}

@test "a signal handler that uses the same counter loses no counts" {
    expected=$("$TOOLS/instrumented" handler 2000)
    [ "$(values 'phase_total{part="a"}')" = "$expected" ]
    [ "$(values 'phase_seconds_total{part="a"}')" = "$expected" ]
    [ "$(values phase_sizes_sum)" = 2000 ]
    rm "$SONDE_BOARDS"/*
    "$TOOLS/instrumented" first-in-handler
    [ "$(values 'phase_total{part="a"}')" = 1 ]
}

@test "the library is loaded late, unloaded and loaded again" {
    "$TOOLS/instrumented_late" "$LIBSONDE" 100
    [ "$(values late_total)" = 100 ]
}

@test "names with quotes, newlines and 10 kB are accepted, longer and invalid ones are rejected" {
    run -0 "$TOOLS/instrumented" odd
    [ "$output" = "0 0 3 3 3 3 3 3 3" ]
    run -0 dump
    [[ $output == *'{a_b="say \"hi\"\n\\"} 1'* ]]
    [ "$(header metrics)" = 2 ]
}

@test "NaN, infinite and negative values are not added to counters and histograms" {
    "$TOOLS/instrumented_numbers" none
    [ "$(values 'phase_seconds_total{part="a"}')" = 0.25 ]
    [ "$(values phase_sizes_sum)" = 0 ]
    [ "$(values phase_level)" = -2 ]
    [ "$(values unknown)" = unset ]
    [ "$(values infinite)" = inf ]
}

@test "a sum that overflows is infinite in the report and in the series" {
    unset SONDE_BOARDS
    run -0 "$SONDE" run -q -- "$TOOLS/instrumented_numbers" too-much
    "$SONDE" report >"$T/page"
    grep -q '^ *phase_seconds_total{part="a"} *inf$' "$T/page"
    grep -q '^ *phase_sizes *2 *inf *>4 *>4 *>4 *inf *$' "$T/page"
    "$SONDE" report --json >"$T/json"
    [ "$(jq -c '.program | [.counters[0].total, .histograms[0].sum, .histograms[0].mean, .histograms[0].count]' "$T/json")" = '["inf","inf","inf",2]' ]
    "$SONDE" export -w series --set program_counter --format csv >"$T/series"
    grep -q ',phase_sizes_sum,inf' "$T/series"
}

@test "a name that a run uses with two types is reported, and the total of the first type is kept" {
    run -0 --separate-stderr "$SONDE" run -p 100ms -- bash -c "'$BUILD/tests/segment_program' sonde counter level - 5; sleep 1
        '$BUILD/tests/segment_program' sonde gauge level - 42; sleep 1; '$BUILD/tests/segment_program' sonde counter level - 3"
    [[ $stderr == *"1 metrics or values of its programs were rejected"*"level is a gauge in one program and a counter in another"* ]]
    "$SONDE" report --json | jq -e '.program.counters[] | select(.name == "level") | .total == 8'
}

@test "every accepted name is in the report, however long; longer ones are rejected" {
    unset SONDE_BOARDS
    run -0 "$SONDE" run -q -- "$TOOLS/instrumented_labels" long
    [ "$output" = "0 0 3 3 0" ]
    "$SONDE" export -w series --set program_counter --format csv >"$T/series"
    [ "$(grep -o 'quotes_total\|most_total\|more_total\|help_total\|nnnn_total' "$T/series" | sort -u | tr '\n' ' ')" = "help_total most_total quotes_total " ]
}

@test "metrics that are left out of the report are counted there" {
    # A segment of another writer with a name longer than libsonde allows: its help becomes part of it.
    name=$(printf 'n%.0s' {1..32760})
    "$BUILD/tests/segment_program" sonde counter "$name" - 1 kill || :
    mv "$SONDE_BOARDS"/sonde.* "$T/segment"
    python3 - "$T/segment" <<'PY'
import struct, sys
segment = open(sys.argv[1], "r+b")
at = segment.read(1 << 20).index(b"n" * 32760) - 20
segment.seek(at)
name, labels, unit, help = struct.unpack("<4I", segment.read(16))
segment.seek(at)
segment.write(struct.pack("<4I", name + help, labels, unit, 0))
PY
    unset SONDE_BOARDS
    "$SONDE" run -- sh -c 'cp --sparse=always "$1" "$SONDE_BOARDS/sonde.1.sonde.8000000000000000"' sh "$T/segment" >"$T/log" 2>&1
    grep "1 metrics of its programs are not in the report" "$T/log"
}

@test "labels in another order are the same metric" {
    run -0 "$TOOLS/instrumented_labels" orders
    [ "$output" = "0 0 0 2" ]
    [ "$(values 'order{a="1",b="2"}')" = 7 ]
    [ "$(header metrics)" = 2 ]
}

@test "one name has one type, and the program gets an error" {
    run -0 "$TOOLS/instrumented" types
    [ "$output" = "2 2 2 1" ]
    [ "$(values 'phase_total{part="a"}')" = 1 ]
    [ "$(header metrics)" = 4 ]
}

@test "a full /dev/shm: the program continues, and what fitted is there" {
    need_root
    mkdir tiny
    run -0 unshare --mount --propagation private sh -c '
        mount -t tmpfs -o size=128k none tiny && SONDE_BOARDS=$PWD/tiny "$0/instrumented" full 5000 && "$1" tiny' "$TOOLS" "$BUILD/tests/segment_show"
    [ "${lines[0]}" = "out of space: the metric is not recorded" ]
    [[ ${lines[1]} =~ lost=[1-9] ]]
    [[ $output == *'full_0_total 1'* ]]
    run -0 unshare --mount --propagation private sh -c '
        mount -t tmpfs -o size=4k none tiny && head -c 4096 /dev/zero >tiny/file && SONDE_BOARDS=$PWD/tiny "$0/instrumented" full 5000 && ls tiny' "$TOOLS"
    [ "$output" = created$'\n'file ]
    run -0 unshare --mount --propagation private sh -c '
        mount -t tmpfs -o size=128k none /dev/shm && unset SONDE_BOARDS && "$1" run -- "$0/instrumented" full 5000' "$TOOLS" "$SONDE"
    [[ $output =~ [1-9][0-9]*" metrics of its programs, or parts of them, are not in the report for lack of space" ]]
}

@test "no /dev/shm, or one that is not writable" {
    SONDE_BOARDS=/nowhere/at/all "$TOOLS/instrumented" crowd 1000
    SONDE_BOARDS=/proc "$TOOLS/instrumented" metrics 1000
    SONDE_BOARDS=$(printf '/x%.0s' {1..500}) "$TOOLS/instrumented" threads 100
    need_root
    chmod 755 "$SONDE_BOARDS"
    as_nobody "$TOOLS/instrumented" crowd 1000
    [ -z "$(ls "$SONDE_BOARDS")" ]
}

@test "little address space" {
    for mib in 8 10 16 64 1024; do
        "$TOOLS/instrumented" narrow "$mib"
    done
    [ "$(header metrics | wc -w)" -ge 3 ]
}

@test "a file size limit causes no signal" {
    for kib in 0 1 100 300 1024; do
        "$TOOLS/instrumented" small-files "$kib"
    done
    [ "$(values 'phase_many_total{number="999"}')" = "2 2" ]
}

@test "a program that locks its memory does not lock the whole segment" {
    "$TOOLS/instrumented" locked
    [ "$(header bytes)" -le 131072 ]
    [ "$(values 'phase_total{part="a"}')" = 2 ]
}

@test "it works with an old kernel" {
    "$TOOLS/instrumented" old-kernel 3
    [ "$(values 'phase_total{part="a"}')" = "5 100 100 100" ]
    rm "$SONDE_BOARDS"/*
    SONDE_BOARDS=/nowhere "$TOOLS/instrumented" old-kernel 3
    need_root
    mkdir tiny
    unshare --mount --propagation private sh -c 'mount -t tmpfs -o size=4k none tiny && SONDE_BOARDS=$PWD/tiny "$0/instrumented" old-kernel 50' "$TOOLS"
}

@test "errno is preserved, and the MPI rank is recorded" {
    "$TOOLS/instrumented" errno
    rm "$SONDE_BOARDS"/*
    SLURM_JOB_ID=4711 "$TOOLS/instrumented" rank
    [ "$(header rank) $(header job)" = "3/8 4711" ]
}

@test "without a reader nothing is left behind; for an agent everything is" {
    need_root
    unset SONDE_BOARDS
    with_shm size=1m sh -c '"$0/instrumented" count && [ -z "$(ls /dev/shm)" ]' "$TOOLS"
    # for an agent that ran a moment ago
    with_shm size=1m sh -c 'touch /dev/shm/sonde-agent && "$0/instrumented" count && ls /dev/shm/sonde.*.sonde.*' "$TOOLS"
    # … or eleven minutes ago
    with_shm size=1m sh -c 'touch -d "11 minutes ago" /dev/shm/sonde-agent && "$0/instrumented" count && [ "$(ls /dev/shm)" = sonde-agent ]' "$TOOLS"
    # … and for one that another user only claims to run
    with_shm size=1m sh -c 'touch /dev/shm/sonde-agent && chown 65534 /dev/shm/sonde-agent && "$0/instrumented" count &&
        [ "$(ls /dev/shm)" = sonde-agent ]' "$TOOLS"
}

@test "1,000 consecutive short programs leave nothing behind" {
    need_root
    unset SONDE_BOARDS
    with_shm size=64k bash -c 'for ((i = 0; i < 1000; i++)); do "$0/instrumented" count || exit 1; done; [ -z "$(ls /dev/shm)" ]' "$TOOLS"
}

@test "a directory with other files, links and truncated segments" {
    "$TOOLS/instrumented" count 3
    segment=$(ls "$SONDE_BOARDS")
    head -c 5000 "$SONDE_BOARDS/$segment" >"$SONDE_BOARDS/sonde.1.cut.0"
    : >"$SONDE_BOARDS/sonde.1.empty.0"
    head -c 8192 /dev/zero >"$SONDE_BOARDS/sonde.1.zeros.0"
    yes | head -c 8192 >"$SONDE_BOARDS/sonde.1.other.0" || true
    ln -s /etc/passwd "$SONDE_BOARDS/sonde.1.link.0"
    mkfifo "$SONDE_BOARDS/sonde.1.fifo.0"
    run -1 dump
    [ "$(values 'phase_total{part="a"}')" = 3 ]
    [ "$(grep -c '^# /' <<<"$output")" -eq 6 ]
}
