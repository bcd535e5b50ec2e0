#!/usr/bin/env bats
# Compatibility with Colmet: independent senders and receivers (pyzmq), captured messages of real nodes, drop-in names.

load scene

setup() {
    scene_setup
    export SONDE_MODULES=${SONDE_MODULES:-$BUILD/src/modules} SONDE_SOCKET_DIR=$T/run
    mkdir -p "$T/run"
    [ -e "$SONDE_MODULES/wire-zmq.so" ] || skip "no libzmq"
    /usr/bin/python3 -c 'import zmq' 2>/dev/null || skip "no pyzmq"
    ln -s "$SONDE" colmet-node
    ln -s "$SONDE" colmet-collector
    PORT=$(free_port)
    ADDRESS=tcp://127.0.0.1:$PORT
    pid=
}

teardown() {
    [ -z "$pid" ] || kill "$pid" 2>/dev/null || true
    [ ! -e "$T/es/pid" ] || kill -9 "$(cat "$T/es/pid")" 2>/dev/null || :
    scene_teardown
}

need_hdf5() {
    [ -e "$SONDE_MODULES/sink-hdf5.so" ] || skip "no libhdf5"
    /usr/bin/python3 -c 'import h5py, tables' 2>/dev/null || skip "no h5py or PyTables"
}

collect() {
    ./colmet-collector --zeromq-bind-uri "$ADDRESS" "$@" -- --journal "$T/journal" >out 2>err 3>&- &
    pid=$!
}

stop() {
    kill "$pid"
    wait "$pid"
    pid=
}

push() {
    timeout 120 /usr/bin/python3 - "$ADDRESS" "$@" <<'PY'
import sys
import zmq
context = zmq.Context()
socket = context.socket(zmq.PUSH)
socket.connect(sys.argv[1])
for what in sys.argv[2:]:
    socket.send(what[5:].encode() if what.startswith("text:") else open(what, "rb").read())
socket.close(100000)
context.term()
PY
}

@test "Python records and Rust messages become Colmet's tables; garbage in between is ignored" {
    need_hdf5
    collect --hdf5-filepath "$T/colmet.hdf5"
    push text:0123456789 "$SOURCE/tests/compat/colmet/golden_all10.bin" "$SOURCE/tests/compat/colmet/rs_config.bin" \
        "$SOURCE/tests/compat/colmet/rs_v2020.bin" "$SOURCE/tests/compat/colmet/rs_v2022.bin" text:
    cat >tables.py <<'PY'
import json, sys
import h5py
try:
    file = h5py.File("colmet.hdf5", "r")
    rows = {name: file[name][:] for name in ("job_42/memory", "job_42/cpu")}
    assert len(rows["job_42/memory"]) == 2 and len(rows["job_42/cpu"]) == 2
except (OSError, KeyError, AssertionError):
    sys.exit(1)
for record in json.load(open(sys.argv[1])):
    table = file["job_%d/%s" % (record["job_id"], record["metric_backend"])][:]
    assert len(table) == 1 and table["timestamp"][0] == record["timestamp"] and table["hostname"][0] == b"vm"
    for name, value in record["counters"].items():
        got = table[name][0]
        if name == "involved_jobs":
            assert got.decode() == value, (got, value)
            continue
        assert abs(got - value) < 1e-3, (record["metric_backend"], name, got, value)
PY
    until_true /usr/bin/python3 tables.py "$SOURCE/tests/compat/colmet/golden_all10.json"
    /usr/bin/python3 tables.py "$SOURCE/tests/compat/colmet/golden_all10.json"
    figures() { "$SONDE" ls -l "$T/run/collector.sock" | grep -A4 /collector_colmet; }
    wait_for "figures | grep -qE 'messages +6$'"
    figures | grep -qE 'samples +14$'
    stop
    grep -q "invalid message on Colmet's port" err
    [ "$(grep -c "invalid message on Colmet's port" err)" -eq 1 ]
}

@test "next to a file that Colmet has written a new one is started, with a message" {
    need_hdf5
    /usr/bin/python3 -c 'import tables; tables.open_file("colmet.hdf5", "w").close()'
    cp colmet.hdf5 before
    collect --hdf5-filepath "$T/colmet.hdf5"
    push "$SOURCE/tests/compat/colmet/golden_all10.bin"
    until_true /usr/bin/python3 -c '
import glob, h5py
assert len(h5py.File(glob.glob("colmet.*.hdf5")[0], "r")["job_42/taskstats_default"]) == 1'
    stop
    grep -qE "colmet.hdf5 was written by Colmet and is left as it is; rows go to .*/colmet\.[0-9]+\.hdf5" err
    cmp colmet.hdf5 before
}

@test "a new file at SIGHUP, and no row in two of them" {
    need_hdf5
    collect --hdf5-filepath "$T/files/colmet"
    push "$SOURCE/tests/compat/colmet/golden_all10.bin"
    rows() {
        [ "$(/usr/bin/python3 -c '
import glob, h5py
print(sum(len(h5py.File(f, "r").get("job_42/taskstats_default", [])) for f in glob.glob("files/*.hdf5")))' 2>/dev/null)" = "$1" ]
    }
    until_true rows 1
    sleep 1.1
    kill -HUP "$pid"
    push "$SOURCE/tests/compat/colmet/golden_all10.bin"
    until_true rows 2
    [ "$(find files -mindepth 1 | grep -cE '/colmet\.[0-9]{10}\.hdf5$')" -eq 2 ]
    stop
}

# Each document has exactly the counters of its record, except for unknown values, which Colmet writes as -1.
compare_documents() {
    "$SOURCE/tests/tools/elasticsearch-dump" "http://127.0.0.1:$WEB" 'colmet_*' all >documents &&
        /usr/bin/python3 - "$SOURCE/tests/compat/colmet/golden_all10.json" documents <<'PY'
import json, sys
expected = {}
for record in json.load(open(sys.argv[1])):
    document = {name: value for name, value in record["counters"].items() if value != -1}
    if record["job_id"] == 0: # as it was sent, although records of job 42 are in the same message
        document["involved_jobs"] = []
    document.update({name: record[name] for name in ("hostname", "job_id", "timestamp")})
    expected["colmet_" + record["metric_backend"].lower()] = document
found = [json.loads(line) for line in open(sys.argv[2])]
assert sorted(hit["_index"] for hit in found) == sorted(expected), [hit["_index"] for hit in found]
for hit in found:
    want, got = expected[hit["_index"]], hit["_source"]
    differs = {name: (want.get(name), got.get(name)) for name in set(want) | set(got) if want.get(name) != got.get(name)}
    assert not differs, (hit["_index"], differs)
PY
}

@test "Python records in a real Elasticsearch: every document is as it was sent" {
    WEB=$(free_port) status=0
    "$SOURCE/tests/tools/elasticsearch-up" "$T/es" "$WEB" || status=$?
    [ "$status" -ne 77 ] || skip "no Elasticsearch (tools/install-npm) or no java"
    [ "$status" -eq 0 ]
    "$SONDE" collect --plain --listen "tcp://127.0.0.1:$(free_port)" --colmet "$ADDRESS" --journal "$T/journal" --http none \
        --sink "elasticsearch:url=http://127.0.0.1:$WEB,layout=colmet" >out 2>err 3>&- &
    pid=$!
    push "$SOURCE/tests/compat/colmet/golden_all10.bin"
    until_true compare_documents # indexes are created one after another
    compare_documents
    stop
    compare_documents
}

@test "standard output as Colmet prints it" {
    collect -vvv --enable-stdout-backend
    push "$SOURCE/tests/compat/colmet/golden_all10.bin"
    until_true grep -q nvidiastats_default out
    stop
    grep -q "[0-9] counters in 10 samples of vm written to colmet-stdout" err
    grep -qF '1794767740  Job(42)/ taskstats_default -> Host(vm) -> {' out
    grep -qP '^\t +cpu_run_virtual_total : 29 \(seconds\)$' out
    grep -qP '^\taverage_power_consumption : 211 \(watts\)$' out
}

@test "a host name that could be a path is rejected" {
    collect --enable-stdout-backend
    sed 's|vm\x00\x00|a/b\x00|g' "$SOURCE/tests/compat/colmet/golden_all10.bin" >forged.bin
    push forged.bin "$SOURCE/tests/compat/colmet/golden_all10.bin"
    wait_for 'grep -q vm out'
    stop
    run ! grep -q a/b out
    grep -q 'a record with an invalid host' err
}

@test "colmet-node pushes records that a foreign collector decodes, and leaves its mapping files" {
    need_root
    timeout 120 /usr/bin/python3 - "$ADDRESS" >received 3>&- <<'PY' &
import struct, sys, time
import zmq
HEAD = "<255s255sQQ"
FORMS = {"procstats_default": "58Q5f8192s", "taskstats_default": "8QI21Q", "perfhwstats_default": "5q", "temperaturestats_default": "6q",
         "jobprocstats_default": "10q"}
socket = zmq.Context().socket(zmq.PULL)
socket.bind(sys.argv[1])
seen = 0
while seen < 2:
    message = socket.recv()
    while message:
        name = message[:255].rstrip(b"\0").decode()
        form = HEAD + FORMS[name]
        size = struct.calcsize(form)
        fields = struct.unpack(form, message[:size])
        message = message[size:]
        print(name, fields[1].rstrip(b"\0").decode(), fields[2], fields[3], fields[6], flush=True)
        if name == "procstats_default":
            assert abs(fields[3] - time.time()) < 60
            assert fields[6] == int(open("/proc/meminfo").readline().split()[1]), fields[6]
            seen += 1
PY
    receiver=$!
    timeout 120 ./colmet-node -s 0.5 --zeromq-uri "$ADDRESS" --enable-perfhw --perfhw-list page_faults context_switches --enable-jobproc \
        -- --socket none >node 2>&1 3>&- &
    pid=$!
    wait "$receiver"
    stop
    grep -q "^procstats_default $(hostname) 0 " received
}

# What collector/main.py of Colmet's Rust branch does with a message: names are decoded from bytes, ids looked up in its table.
@test "colmet-node sends MessagePack that the Rust version's collector decodes" {
    need_root
    /usr/bin/python3 -c 'import msgpack' 2>/dev/null || skip "no msgpack"
    group=/sys/fs/cgroup/memory/oar/$(id -un)_$((70000 + RANDOM))
    mkdir -p "$group" 2>/dev/null || skip "no cgroup v1"
    sleep 120 3>&- &
    sleeper=$!
    echo "$sleeper" >"$group/cgroup.procs"
    timeout 60 /usr/bin/python3 - "$ADDRESS" "${group##*_}" >received 3>&- <<'PY' &
import sys
import msgpack, zmq
names = {1: "cache", 2: "rss", 10: "pgfault", 17: "hierarchical_memory_limit", 19: "total_rss"}
socket = zmq.Context().socket(zmq.PULL)
socket.bind(sys.argv[1])
while True:
    data = msgpack.unpackb(socket.recv(), strict_map_key=False)
    if int(sys.argv[2]) not in data:
        continue
    host, time_ms, backends = data[int(sys.argv[2])]
    for backend in backends:
        counters = {names.get(number, number): value for number, value in zip(backend[1], backend[2])}
        if backend[0].decode("utf-8") == "Memory":
            print(host.decode("utf-8"), counters["rss"] == counters["total_rss"], counters["pgfault"] >= 0)
            sys.exit(0)
PY
    receiver=$!
    timeout 60 ./colmet-node -s 0.2 --zeromq-uri "$ADDRESS" --zeromq-format rust2019 -- --socket none >node 2>&1 3>&- &
    pid=$!
    wait "$receiver" || { cat node; false; }
    stop
    kill "$sleeper"
    wait_for "rmdir '$group' 2>/dev/null || [ ! -e '$group' ]"
    [ "$(cat received)" = "$(hostname) True True" ]
    run -0 ./colmet-node -m pgfault -- --check -v
    [[ $output == *rust2020* ]]
    run -2 ./colmet-node --zeromq-format rust1999 -- --check
    [[ $output == *"invalid format 'rust1999' (expected python, rust2019 or rust2020)"* ]]
}

# In a network namespace, because the script's port is fixed.
@test "configure_colmet.py changes a plain colmet-node, which prints its counters with -vvv" {
    need_root
    unshare -n true 2>/dev/null || skip "no namespaces"
    cat >configure.py <<'PY'
import sys
import zmq
socket = zmq.Context().socket(zmq.PUSH)
socket.connect("tcp://127.0.0.1:5557")
text = lambda word: bytes([0xa0 + len(word)]) + word.encode()
socket.send(b"\x82" + text("perfhw_metrics") + text("page_faults") + text("sample_period") + text(sys.argv[1]))
socket.close(5000)
PY
    run -0 unshare -n bash -euc '
        ip link set lo up
        ./colmet-node -vvv -s 30 --enable-perfhw --enable-temperature 2>node 3>&- &
        pid=$!
        for ((i = 0; i < 300; i++)); do
            /usr/bin/python3 configure.py 0.2
            ! grep -q "applied Colmet message" node || break
            sleep 0.1
        done
        for ((i = 0; i < 300; i++)); do
            [ "$(grep -cE "[0-9]+ counters in [0-9]+ samples written to colmet" node)" -lt 3 ] || break
            sleep 0.1
        done
        "$SONDE" ctl show >show
        kill $pid
        wait $pid'
    grep -qE "[1-9][0-9]* counters in [1-9][0-9]* samples written to colmet" node
    grep -qE '^temperature .* 200 ms' show
}

@test "one warning for each sensor that this node lacks" {
    mkdir -p empty
    timeout 60 ./colmet-node -s 0.2 --zeromq-uri "$ADDRESS" --enable-RAPL --enable-infiniband --enable-lustre --disable-procstats \
        -- --socket none --root "$T/empty" >node 2>&1 3>&- &
    pid=$!
    wait_for 'grep -q "sensor lustre is not available" node && grep -q "sensor rapl is not available" node'
    wait_for 'grep -q "sensor infiniband is not available" node'
    sleep 1 # several ticks
    for sensor in rapl infiniband lustre; do
        [ "$(grep -c "sensor $sensor is not available on this node: no such hardware" node)" -eq 1 ]
    done
    stop
}

@test "options that never worked and a collector without an output are rejected" {
    run -2 ./colmet-node -c group
    [[ $output == *"never had an effect"*"sonde job begin"* ]]
    run -2 ./colmet-node --pid 1
    [[ $output == *"crash"* ]]
    run -2 ./colmet-node --regex_job_id 'job(\d+)'
    [[ $output == *"unsupported --regex_job_id"* ]]
    run -2 ./colmet-node --no-such-option
    [[ $output == *"unknown option '--no-such-option'"* ]]
    run -2 ./colmet-collector -s 1
    [[ $output == *"at least one output backend"* ]]
    run -2 ./colmet-collector --hdf5-filepath x --hdf5-complevel 5 --hdf5-complib blosc
    [[ $output == *"zlib"* ]]
    [[ "$(./colmet-node --version)" =~ ^sonde ]]
    for name in node collector; do
        run -0 "./colmet-$name" -h
        [[ $output == *"usage: colmet-$name"* ]]
        while read -r option; do
            [ "$option" = -- ] || grep -q -- "\"$option\"" "$SOURCE/src/compat/commands/colmet_$name.c"
        done < <(grep -o -- '--[a-zA-Z0-9_-]*' <<<"$output" | sort -u)
    done
}

@test "all options of both versions of Colmet are accepted" {
    ./colmet-node -vv -s 2.5 --disable-procstats --enable-infiniband --omnipath --enable-lustre --lustre-prefix lustre --enable-perfhw \
        --perfhw-list instructions cache_misses --enable-jobproc --enable-RAPL --enable-temperature --enable-ipmipower \
        --ipmipower-cmd /usr/sbin/ipmi-oem dell --enable-nvidia --cpuset_rootpath /dev/oar_cgroups_links/cpuset/oar/ \
        --zeromq-uri "$ADDRESS" --zeromq-hwm 10 --zeromq-linger -1 -- --check
    ./colmet-node -m pgfault,cache_ll:2:-1,page_faults -v 2 -s 5 --enable-infiniband false --enable-perfhw true --zeromq-uri "$ADDRESS" \
        --zeromq-linger 2000 --cgroup-root-path /sys/fs/cgroup --cgroup-path-suffix /oar --wait-cgroup-cpuset-path true \
        --regex-job-id '_(\d+)$' -- --check
    ./colmet-collector -v -s 5 --buffer-size 100 --enable-stdout-backend --zeromq-bind-uri tcp://0.0.0.0:5556 --zeromq-hwm 1000 \
        --zeromq-linger 0 -- --check
}

@test "options of Colmet without effect are reported" {
    run -0 --separate-stderr ./colmet-node --enable-lustre --lustre-prefix scratch --enable-infiniband --omnipath -- --check -v
    [[ $output == *"prefix = "*scratch* && $output =~ word\ =\ .?8 && -z $stderr ]]
    run -0 --separate-stderr ./colmet-node --enable-ipmipower --ipmipower-cmd /usr/sbin/ipmi-oem dell -- --check
    [ "$(grep -c "the command of --ipmipower-cmd is not run" <<<"$stderr")" -eq 1 ]
    run -0 --separate-stderr ./colmet-node --lustre-prefix scratch --perfhw-list instructions -- --check
    [[ $stderr == *"--lustre-prefix has no effect without --enable-lustre"* ]]
    [[ $stderr == *"--perfhw-list has no effect without --enable-perfhw"* ]]
    run -0 --separate-stderr ./colmet-node --enable-perfhw --perfhw-list instructions cache_misses page_faults cpu_cycles \
        branch_misses task_clock cpu_clock -- --check
    [[ $stderr == *"not counted: task_clock cpu_clock"* ]]
    run -2 ./colmet-node -m pgfault,no_such_metric,cache_ll
    [[ $output == *"unknown metrics: no_such_metric"* ]]
    run -0 --separate-stderr ./colmet-node -m pgfault:2:-1 --wait-cgroup-cpuset-path false -- --check
    [[ $stderr == *"intervals and jobs of single metrics are ignored"* && $stderr == *"--wait-cgroup-cpuset-path false is ignored"* ]]
    run -0 --separate-stderr ./colmet-collector --enable-stdout-backend -s 1 --buffer-size 9 --hdf5-complevel 3 -P file -- --check
    [ "$(grep -c "have no effect: samples are received at" <<<"$stderr")" -eq 1 ]
    [[ $stderr == *"--hdf5-complevel has no effect without --hdf5-filepath"* ]]
    [[ $stderr == *"--http-credentials has no effect without --elastic-host"* ]]
}

@test "an agent's own sets through a collector are the same rows" {
    need_hdf5
    need_root
    "$SONDE" collect --plain --listen "$ADDRESS" --http none --socket none --journal "$T/journal" \
        --sink "hdf5:path=$T/ours.hdf5,level=1,every=1s" >out 2>err 3>&- &
    collector=$!
    "$SONDE" agent -p 200ms --sensors meminfo,vmstat,stat,loadavg --collector "$ADDRESS" --plain --spool "$T/spool" --listen none --jobs none \
        --socket none >agent.log 2>&1 3>&- &
    pid=$!
    cat >rows.py <<'PY'
import sys
import tables
try:
    with tables.open_file("ours.hdf5") as file:
        table = file.root.job_0.procstats_default
        if table.nrows < 5:
            sys.exit(1)
        row = table[-1]
except (OSError, tables.NoSuchNodeError, tables.HDF5ExtError):
    sys.exit(1)
assert row["meminfo_memtotal"] == int(open("/proc/meminfo").readline().split()[1])
assert abs(row["uptime_total"] - float(open("/proc/uptime").read().split()[0])) < 60
assert row["stat_cpu_user"] > 0 and row["vmstat_pgfault"] > 0 and row["loadavg_total_threads"] > 0
PY
    until_true /usr/bin/python3 rows.py
    /usr/bin/python3 rows.py
    stop
    kill "$collector"
    wait "$collector"
}
