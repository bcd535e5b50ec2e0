#!/usr/bin/env bats
# The hdf5 sink: files in Colmet's layout, read by h5py and PyTables while they are written, after kill -9, on a full disk.

load scene

setup() {
    scene_setup
    export SONDE_MODULES=${SONDE_MODULES:-$BUILD/src/modules}
    [ -e "$SONDE_MODULES/sink-hdf5.so" ] || skip "no libhdf5"
    /usr/bin/python3 -c 'import h5py, tables' 2>/dev/null || skip "no h5py or PyTables"
    FEED=$TOOLS/sink_feed
}

check() {
    /usr/bin/python3 "$SOURCE/tests/tools/hdf5_check.py" "$@"
}

layout() {
    /usr/bin/python3 "$SOURCE/tests/tools/hdf5_layout.py" "$@"
}

@test "types, attributes and chunks are those that PyTables wrote for Colmet" {
    "$FEED" hdf5:path=f.hdf5,level=0 4201 100
    check f.hdf5 100 4201
    layout f.hdf5 >ours
    diff <(sed -n '1,/^job_0 /p' ours | sed '$d') "$SOURCE/tests/compat/colmet/root.layout"
    diff <(sed -n '/^job_42\/taskstats/,/^job_43/p' ours | sed '$d') "$SOURCE/tests/compat/colmet/taskstats.layout"
}

@test "a compressed file is complete" {
    "$FEED" hdf5:path=plain.hdf5,level=0 3000
    "$FEED" hdf5:path=small.hdf5,level=9 3000
    check small.hdf5 1000 3000
    layout small.hdf5 | grep -q 'filter gzip shuffle True'
    [ "$(stat -c %s small.hdf5)" -lt $(($(stat -c %s plain.hdf5) / 5)) ]
}

@test "the file can be read while it is written and jobs start, by h5py with and without SWMR and by PyTables" {
    for level in 0 6; do
        for batches in 3000 20000 100000; do # more if the reader is slow
            rm -f "c$level.hdf5"
            timeout 600 "$FEED" "hdf5:path=c$level.hdf5,level=$level,every=1ms" "$batches" 200 20 1 1000 >fed 3>&- &
            pid=$!
            wait_for '[ -e "c$level.hdf5" ]'
            times=0
            while kill -0 "$pid" 2>/dev/null; do
                check "c$level.hdf5" 200
                times=$((times + 1))
            done
            wait "$pid"
            echo "read $times times at level $level"
            check "c$level.hdf5" 200 "$batches"
            [ "$times" -lt 2 ] || break
        done
        [ "$times" -ge 2 ]
    done
}

@test "a reader that keeps the file open sees it grow" {
    timeout 200 "$FEED" hdf5:path=g.hdf5,level=0,every=1ms 99000 100000 20 1 2000 >fed 3>&- &
    pid=$!
    timeout 150 /usr/bin/python3 - <<'PY'
import os, time
import h5py
while True:
    try:
        file = h5py.File("g.hdf5", "r", libver="latest", swmr=True)
        table = file["job_1/taskstats_default"]
        break
    except (OSError, KeyError):
        time.sleep(0.02)
seen, last = 0, 0
while seen < 5:
    table.refresh()
    if len(table) > last:
        last = len(table)
        assert table[-1]["cpu_count"] == last, (table[-1]["cpu_count"], last)
        seen += 1
    time.sleep(0.05)
PY
    kill "$pid"
    wait "$pid" || :
}

@test "after kill -9 at any time the file is readable, and finally holds every batch once" {
    for level in 0 6; do
        for ((i = 0; i < 8; i++)); do
            "$FEED" "hdf5:path=k$level.hdf5,level=$level,every=1ms" 1000000 150 20 1 100 >fed 2>&1 3>&- &
            pid=$!
            sleep "0.$(printf %03d $((RANDOM % 500)))"
            kill -9 "$pid"
            wait "$pid" || true
            [ ! -e "k$level.hdf5" ] || check "k$level.hdf5" 150
        done
        "$FEED" "hdf5:path=k$level.hdf5,level=$level" 30000 150 1000
        check "k$level.hdf5" 150 30000
    done
}

@test "a full disk keeps what was committed, and writing continues when there is space" {
    need_root
    unshare -m true || skip "no namespaces"
    run unshare -m bash -euc '
        mkdir small && mount -t tmpfs -o size=2m tmpfs small
        if "'"$FEED"'" hdf5:path=small/f.hdf5,level=0,every=1ms 4000 1000 50 2>why; then exit 1; fi
        grep -qi "space\|full" why || { cat why; exit 1; }
        /usr/bin/python3 "'"$SOURCE"'/tests/tools/hdf5_check.py" small/f.hdf5 1000
        mount -o remount,size=100m small
        "'"$FEED"'" hdf5:path=small/f.hdf5,level=0,every=1ms 4000 1000 50
        /usr/bin/python3 "'"$SOURCE"'/tests/tools/hdf5_check.py" small/f.hdf5 1000 4000'
    echo "$output"
    [ "$status" -eq 0 ]
}

@test "without .hdf5 in its name each start creates a new file; no row is in two of them" {
    "$FEED" hdf5:path=dir/colmet,level=0 500
    sleep 1.1
    "$FEED" hdf5:path=dir/colmet,level=0 900
    [ "$(find dir -mindepth 1 | grep -cE '/colmet\.[0-9]{10}\.hdf5$')" -eq 2 ]
    /usr/bin/python3 - dir/*.hdf5 <<'PY'
import sys
import h5py
numbers = []
for path in sys.argv[1:]:
    with h5py.File(path, "r") as file:
        numbers += list(file["job_1/taskstats_default"]["cpu_count"])
assert numbers == list(range(1, 901)), (numbers[:3], numbers[-3:], len(numbers))
PY
}

@test "two processes cannot write to one file; next to a file of Colmet's own a new one is started" {
    "$FEED" hdf5:path=f.hdf5,every=1ms 100000 1000 20 1 1000 >fed 2>&1 3>&- &
    pid=$!
    wait_for '[ -s f.hdf5 ]'
    run "$FEED" hdf5:path=f.hdf5 10
    kill "$pid"
    wait "$pid" || true
    [ "$status" -eq 1 ]
    [[ $output == *"another process writes to it"* ]]
    /usr/bin/python3 -c 'import tables; tables.open_file("theirs.hdf5", "w").close()'
    cp theirs.hdf5 before
    "$FEED" hdf5:path=theirs.hdf5,level=0 10
    "$FEED" hdf5:path=theirs.hdf5,level=0 20 # continues
    cmp theirs.hdf5 before
    [ "$(find . -name 'theirs.*.hdf5' | wc -l)" -eq 1 ]
    check theirs.[0-9]*.hdf5 1000 20
    echo text >text.hdf5
    run -1 "$FEED" hdf5:path=text.hdf5 10
    [[ $output == *"choose another path"* ]]
}

@test "a collector that is killed repeatedly stores every sample once" {
    [ -e "$SONDE_MODULES/wire-zmq.so" ] || skip "no libzmq"
    port=$(free_port)
    collect() {
        "$SONDE" collect --plain --listen "tcp://127.0.0.1:$port" --http none --socket none --journal "$T/journal" \
            --sink "hdf5:path=$T/o.hdf5,level=1,every=200ms" >>log 2>&1 3>&- &
        collector=$!
    }
    collect
    "$SONDE" agent --jobs none -p 20ms --sensors loadavg,stat --set stat.per_cpu=no --collector "tcp://127.0.0.1:$port" --plain --spool "$T/spool" \
        --listen none --socket none --sink csv:path=truth.csv,set=loadavg >agent.log 2>&1 3>&- &
    agent=$!
    for ((i = 0; i < 5; i++)); do
        sleep "1.$((RANDOM % 10))"
        kill -9 "$collector"
        wait "$collector" || true
        collect
    done
    kill "$agent"
    wait "$agent"
    compare() {
        /usr/bin/python3 - <<'PY'
import collections, csv, sys
import h5py
truth = collections.Counter(int(row["time_ns"]) // 10**9 for row in csv.DictReader(open("truth.csv")))
with h5py.File("o.hdf5", "r") as file:
    rows = collections.Counter(int(t) for t in file["job_0/procstats_default"]["timestamp"])
print(sum(truth.values()), sum(rows.values()), {s: (truth[s], rows[s]) for s in truth | rows if truth[s] != rows[s]})
sys.exit(0 if sum(truth.values()) == sum(rows.values()) and sum(rows.values()) > 50 else 1)
PY
    }
    # What the agent could not send before its exit stays in its journal for the next one.
    "$SONDE" agent -p 1h --sensors nfs --collector "tcp://127.0.0.1:$port" --plain --spool "$T/spool" --listen none --jobs none --socket none \
        >agent.log 2>&1 3>&- &
    agent=$!
    for ((i = 0; i < 240; i++)); do compare && break; sleep 0.5; done
    kill "$agent" "$collector"
    wait "$agent" "$collector" || true
    compare
}
