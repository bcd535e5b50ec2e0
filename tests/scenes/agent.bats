#!/usr/bin/env bats
# sonde agent: ticks, configuration changes at run time, failing sensors, and exit.
load scene

setup() {
    scene_setup
    export SONDE_SOCKET_DIR=$T/run
    AGENT=
}

teardown() {
    [ -z "$AGENT" ] || kill -9 "$AGENT" 2>/dev/null || :
    scene_teardown
}

# Starts an agent with these options that writes to $T/out.csv, and waits for its first samples. Its root has no cgroups, so it does
# not find other jobs of this machine.
start() {
    mkdir -p "$T/root"
    [ -e "$T/root/proc" ] || ln -s /proc "$T/root/proc"
    # 3>&-: bats waits for all processes that have it open
    "$SONDE" agent --root "$T/root" --listen none --sink "csv:path=$T/out.csv" "$@" >"$T/log" 2>&1 3>&- &
    AGENT=$!
    wait_for "[ \$(rows) -gt 1 ]"
}

rows() {
    [ -e "$T/out.csv" ] && wc -l <"$T/out.csv" || echo 0
}

# Its exit status after a signal.
stop() {
    local status=0
    kill "-${1:-TERM}" "$AGENT"
    wait "$AGENT" || status=$?
    AGENT=
    return "$status"
}

# Sends a request with a body over the socket and prints the response.
ctl() {
    python3 - "$T/run/agent.sock" "$1" <<'PY'
import socket, sys
path, body = sys.argv[1:]
s = socket.socket(socket.AF_UNIX)
s.connect(path)
s.sendall(f"POST /ctl HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
answer = b""
while piece := s.recv(65536):
    answer += piece
print(answer.decode().split("\r\n\r\n", 1)[1])
PY
}

# Times of the samples of a set, in ms.
times_ms() {
    awk -F, -v set="$1" '$4 == set && !seen[$1]++ { printf "%.0f\n", $1 / 1000000 }' "$T/out.csv"
}

# The largest pause between two of them, in ms.
largest_pause_ms() {
    times_ms "$1" | awk 'NR > 1 && $1 - last > most { most = $1 - last } { last = $1 } END { printf "%.0f", most }'
}

@test "files in LDMS's layout have its rows and columns" {
    "$SONDE" agent --once --listen none --socket none --sensors stat,interrupts,meminfo,self,vmstat \
        --sink csv:dir=ldms,layout=ldms
    cpus=$(grep -c '^cpu[0-9]' /proc/stat)
    [ "$(head -1 ldms/sonde/procstat2)" = "#Time,Time_usec,ProducerName,component_id,job_id,app_id,cpu_list_entry_idx,cpu_list_name,$(
        printf 'cpu_list_%s,' user nice system idle iowait irq softirq steal guest guest_nice
        )intr,ctxt,btime,processes,procs_running,procs_blocked,softirq" ]
    [ "$(awk -F, 'NR > 1 { print $7 "," $8 }' ldms/sonde/procstat2 | head -3 | tr '\n' ' ')" = "0,cpu 1,cpu0 2,cpu1 " ] || [ "$cpus" -lt 2 ]
    [ "$(($(wc -l <ldms/sonde/procstat2) - 1))" -eq $((cpus + 1)) ]
    [ "$(awk -F, 'NR == 2 { print $21 }' ldms/sonde/procstat2)" = "$(awk '/^btime/ { print $2 }' /proc/stat)" ]
    [ "$(wc -l <ldms/sonde/procinterrupts)" -eq 2 ]
    head -1 ldms/sonde/procinterrupts | grep -qE ',irq\.LOC#0,irq\.LOC#1|,irq\.[^,]*#0$|,irq\.[^,]*#0,'
    [ "$(head -1 ldms/sonde/procinterrupts | tr ',' '\n' | sort | uniq -d)" = "" ]
    [ "$(head -1 ldms/sonde/procinterrupts | tr -cd , | wc -c)" -eq "$(tail -1 ldms/sonde/procinterrupts | tr -cd , | wc -c)" ]
    [ ! -e ldms/sonde/stat_cpu ]
    [ "$(head -1 ldms/sonde/dstat | cut -d, -f 7-)" = "$(echo rchar wchar syscr syscw read_bytes write_bytes cancelled_write_bytes \
        pid ppid minflt cminflt majflt cmajflt utime stime cutime cstime priority nice num_threads vsize rss rsslim signal processor \
        rt_priority policy delayacct_blkio_ticks VmSize VmRSS share_pages text_pages lib_pages data_pages dirty_pages | tr ' ' ,)" ]
    column=$(head -1 ldms/sonde/vmstat | tr , '\n' | grep -nx nr_kernel_stack | cut -d: -f1)
    stack=$(tail -1 ldms/sonde/vmstat | cut -d, -f "$column") now=$(awk '/^nr_kernel_stack / { print $2 }' /proc/vmstat)
    [ "$stack" -gt $((now / 2)) ] && [ "$stack" -lt $((now * 2)) ]
}

@test "without options it reads the node at multiples of a second and exits with 0" {
    "$SONDE" agent >"$T/log" 2>&1 3>&- & # with the default --listen, if the port is free
    AGENT=$!
    wait_for "[ -S $T/run/agent.sock ]"
    wait_for "ctl {} | grep -q '\"ticks\": [1-9]'"
    [[ $(ctl '{}') == *'"name": "meminfo"'*'"state": "reads"'* ]]
    stop
    [ ! -e "$T/run/agent.sock" ]
}

@test "ticks fall on multiples of the period" {
    start -p 200ms --sensors loadavg
    wait_for "[ \$(times_ms loadavg | wc -l) -ge 20 ]"
    stop
    # some within a tenth of the period: a busy machine may wake the agent late
    times_ms loadavg | awk '{ print $1 % 200 }' | sort -n | paste -sd' '
    [ "$(times_ms loadavg | awk '$1 % 200 < 20 { good++ } END { print (good >= 3) }')" = 1 ]
}

@test "once reads everything and prints it" {
    run "$SONDE" agent --once --sensors loadavg,meminfo
    [ "$status" -eq 0 ]
    [[ ${lines[0]} == time_ns,host,job,set,instance,metric,unit,value* ]]
    [[ $output == *,meminfo,,mem_total,B,* && $output == *,loadavg,,load1,1,* ]]
    [[ $output != *,stat,* ]]
    run "$SONDE" agent --once --root "$SOURCE/tests/nodes/big" --sensors meminfo
    [[ $output == *",meminfo,,mem_total,B,$((1056563004 * 1024))"* ]]
}

@test "an invalid configuration is rejected with line and reason" {
    printf 'period = 2s\n[meminfo]\nperiod = 10s\n' >agent.conf
    run "$SONDE" agent --check -c agent.conf
    [ "$status" -eq 0 ]
    [ "$output" = "Configuration OK." ]
    printf 'period = 2s\n[meminfo]\nperiode = 10s\n' >agent.conf
    run "$SONDE" agent -c agent.conf
    [ "$status" -eq 1 ]
    [ "$output" = "sonde agent: agent.conf:3: unknown setting 'periode' of meminfo; did you mean 'period'?" ]
    run "$SONDE" agent -c missing.conf
    [ "$status" -eq 1 ]
    [[ $output == *"missing.conf: "* ]]
    printf 'sink = csv:path=\n' >agent.conf
    run "$SONDE" agent --check -c agent.conf
    [ "$status" -eq 1 ]
    [[ $output == *"agent.conf:1: the sink csv: setting path has no value"* ]]
    run "$SONDE" agent --check --period 1us # a usage error, unlike an error in a file
    [ "$status" -eq 2 ]
    [[ $output == *"--period: invalid period '1us' (expected 1ms to 7d)"* ]]
    run "$SONDE" agent --sink csv:path=
    [ "$status" -eq 2 ]
    run "$SONDE" agent --check --set memifo.period=1s
    [ "$status" -eq 2 ]
    [[ $output == *"did you mean 'meminfo'?"* ]]
    run "$SONDE" agent --check --set stat.per_cpu=maybe
    [[ $output == *"invalid stat.per_cpu 'maybe' (expected yes or no)"* ]]
    run "$SONDE" agent --check --root /nonexistent
    [ "$status" -eq 1 ]
    [[ $output == *"--root: no such directory: /nonexistent"* ]]
}

@test "SIGHUP reloads the configuration" {
    printf 'period = 100ms\nsensors = loadavg\n' >agent.conf
    start -c agent.conf
    printf 'period = 100ms\nsensors = loadavg,meminfo\n[meminfo]\nperiod = 50ms\n' >agent.conf
    kill -HUP "$AGENT"
    wait_for "grep -q ,meminfo, $T/out.csv"
    [[ $(ctl '{}') == *'"name": "meminfo"'*'"period_ns": 50000000'* ]]
    stop
    [ ! -s log ]
}

@test "a reload can be requested, even if the listening address changes" {
    printf 'period = 100ms\nsensors = loadavg\n' >agent.conf
    start -c agent.conf
    printf 'period = later\n' >agent.conf
    run "$SONDE" ctl reload
    [ "$status" -eq 1 ]
    [[ $output == *"agent.conf:1: invalid period 'later'"* ]]
    printf 'period = 20ms\nsensors = loadavg\nsocket = %s\n' "$T/run/other.sock" >agent.conf
    "$SONDE" ctl reload
    wait_for "[ -S $T/run/other.sock ]"
    [ ! -e "$T/run/agent.sock" ]
    [[ $("$SONDE" ctl -a "$T/run/other.sock" --json) == *'"period_ns": 20000000'* ]]
    stop
}

@test "an error in a reloaded configuration is logged, and the old one stays" {
    printf 'period = 100ms\nsensors = loadavg\n' >agent.conf
    start -c agent.conf
    printf 'period = 100ms\nsensors = loadavg,meminf\n' >agent.conf
    kill -HUP "$AGENT"
    wait_for "grep -q 'agent.conf:2: unknown sensor' $T/log"
    grep -q "did you mean 'meminfo'? The old configuration stays in effect\.$" log
    before=$(rows)
    wait_for "[ \$(rows) -gt $((before + 10)) ]"
    [[ $(ctl '{}') == *'"period_ns": 100000000'* ]]
    stop
}

@test "SIGTERM between ticks: everything is written, and the status is 0" {
    for i in 1 2 3 4 5; do
        rm -f out.csv
        start -p 1ms --sensors loadavg,meminfo,stat,vmstat --sink "json:path=$T/out.json"
        sleep "0.0$i"
        stop
        [ "$(tail -c 2 out.csv | od -An -tx1)" = " 0d 0a" ] # no partial line
        # ticks are complete: as many rows of the first value as of the last value of the last set
        [ "$(grep -c ,load1, out.csv)" -eq "$(grep -c ,newest_pid, out.csv)" ]
        [ "$(grep -c ,mem_total, out.csv)" -eq "$(grep -c ,load1, out.csv)" ]
        python3 -c 'import json, sys
for line in open(sys.argv[1]): json.loads(line)' out.json
    done
}

@test "SIGINT stops it too" {
    start -p 100ms --sensors loadavg
    stop INT
}

@test "a restart appends to the files of sinks" {
    start -p 50ms --sensors loadavg
    stop
    before=$(rows)
    start -p 50ms --sensors loadavg
    wait_for "[ \$(rows) -gt $((before + 5)) ]"
    stop
    [ "$(grep -c ^time_ns out.csv)" -eq 1 ]
}

@test "as nobody it runs with fewer sensors" {
    need_root
    mkdir -m 777 run out
    # not as_nobody: a shell in between would get the signal
    setpriv --reuid=65534 --regid=65534 --clear-groups "$SONDE" agent --listen none -p 100ms \
        --sink "csv:path=$T/out/out.csv" >"$T/log" 2>&1 3>&- &
    AGENT=$!
    wait_for "grep -q ,meminfo, $T/out/out.csv 2>/dev/null"
    stop
    run grep -c . log
    [ "$output" -eq 0 ] # no messages: values that need privileges are left out
}

@test "a failing sensor is logged once, retried, and does not affect others" {
    mkdir node
    cp -r "$SOURCE/tests/nodes/vm/proc" "$SOURCE/tests/nodes/vm/sys" node
    start -p 50ms --root "$T/node" --sensors stat,loadavg
    wait_for "grep -q ,stat, $T/out.csv"
    : >node/proc/stat
    wait_for "grep -q 'cannot read sensor stat' $T/log"
    before=$(grep -c ,load1, out.csv)
    wait_for "[ \$(grep -c ,load1, $T/out.csv) -gt $((before + 40)) ]" # until after its first retry
    [[ $(ctl '{}') == *'"name": "stat"'*'"state": "fails"'* ]]
    stats=$(grep -c ,stat, out.csv)
    cat "$SOURCE/tests/nodes/vm/proc/stat" >node/proc/stat
    wait_for "[ \$(grep -c ,stat, $T/out.csv) -gt $stats ]"
    stop
    [ "$(grep -c 'cannot read sensor' log)" -eq 1 ]
    [ "$(largest_pause_ms loadavg)" -lt 10000 ]
}

@test "period and sensors are changed over the socket without a gap" {
    start -p 100ms --sensors loadavg,meminfo
    wait_for "[ \$(grep -c ,load1, $T/out.csv) -gt 5 ]"
    [[ $(ctl '{"set": {"loadavg.period": "20ms", "sensors": "+stat"}}') == *'"ok": true'* ]]
    wait_for "grep -q ,stat, $T/out.csv"
    [[ $(ctl '{"set": {"sensors": "-meminfo"}}') == *'"name": "meminfo"'*'"state": "off"'* ]]
    wait_for "[ \$(grep -c ,load1, $T/out.csv) -gt 50 ]"
    stop
    [ "$(largest_pause_ms loadavg)" -lt 10000 ]
    [ "$(times_ms loadavg | wc -l)" -gt "$(times_ms stat | wc -l)" ]
}

@test "an invalid request over the socket returns an error and changes nothing" {
    start -p 100ms --sensors loadavg
    run ctl '{"set": {"loadavg.period": "20ms", "period": "soon"}}'
    [[ $output == *'"ok": false'*"invalid period 'soon'"* ]]
    run ctl '{"set": {"listen": "0.0.0.0:1"}}'
    [[ $output == *"cannot be changed at run time"* ]]
    run ctl 'period=1s'
    [[ $output == *'"ok": false'*"not JSON"* ]]
    [[ $(ctl '{}') == *'"name": "loadavg"'*'"period_ns": 100000000'* ]]
    stop
}

@test "two agents do not share a socket" {
    start -p 100ms --sensors loadavg
    run "$SONDE" agent --listen none
    [ "$status" -eq 1 ]
    [[ $output == *"another agent is already listening on"* ]]
    [[ $(ctl '{}') == *'"ok": true'* ]]
    stop
}

@test "an address that it cannot listen on is reported" {
    run "$SONDE" agent --listen 192.0.2.1:80 --socket none
    [ "$status" -eq 1 ]
    [[ $output == *"cannot listen on 192.0.2.1:80: not an address of this node"* ]]
    run "$SONDE" agent --listen none --socket none --sink csv:path=/nonexistent/x
    [ "$status" -eq 1 ]
    [[ $output == *"cannot open the sink csv:path=/nonexistent/x"* ]]
}

@test "systemd is notified of ready, watchdog, reloading and stopping" {
    printf 'period = 100ms\nsensors = loadavg\n' >agent.conf
    python3 - "$T/notify" >"$T/received" 2>&1 3>&- <<'PY' &
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
s.settimeout(60)
while True:
    text = s.recv(4096).decode()
    print(text, flush=True)
    if text == "STOPPING=1":
        break
PY
    listener=$!
    wait_for "[ -S $T/notify ]"
    export NOTIFY_SOCKET=$T/notify WATCHDOG_USEC=2000000
    start -c agent.conf
    wait_for "grep -q READY=1 $T/received"
    wait_for "grep -q WATCHDOG=1 $T/received"
    kill -HUP "$AGENT"
    wait_for "grep -q MONOTONIC_USEC= $T/received"
    wait_for "[ \$(grep -c READY=1 $T/received) -eq 2 ]"
    stop
    wait "$listener"
    [ "$(tail -n 1 received)" = STOPPING=1 ]
}

@test "a job shorter than a period has a first and a last sample, and is no longer shown" {
    start -p 1s --sensors loadavg,process
    [[ $(ctl '{"set": {"period": "1h"}}') == *'"ok": true'* ]] # no more ticks during this test
    sleep 60 3>&- &
    worker=$!
    "$SONDE" job begin --pid "$worker" 4711
    wait_for '[[ $("$SONDE" ls) == *4711/process* ]]'
    "$SONDE" job end 4711
    wait_for "[ \$(awk -F, '\$3 == 4711 && \$4 == \"process\"' $T/out.csv | cut -d, -f1 | sort -u | wc -l) -eq 2 ]"
    wait_for '[[ $("$SONDE" ls) != *4711* ]]'
    kill "$worker"
    stop
}

@test "doctor reports whether an agent is running" {
    LC_ALL=C run "$SONDE" doctor
    [[ $output == *"- agent "*"Not running"* ]]
    start -p 100ms --sensors loadavg
    LC_ALL=C run "$SONDE" doctor
    [[ $output == *"+ agent "*"running, listening on"* ]]
    stop
}

@test "a configuration with every setting is printed and valid" {
    "$SONDE" agent --check -v --set interrupts.period=10s >agent.conf
    grep -qx 'period = 10s' agent.conf
    run "$SONDE" agent --check -c agent.conf
    [ "$output" = "Configuration OK." ]
}

@test "perf events are changed at run time, and an invalid list changes nothing" {
    start --root / -p 50ms --sensors loadavg,perf -e page_faults
    [[ $(ctl '{}') == *'"name": "perf"'*'"state": "reads"'* ]] || { stop; skip "no perf events"; }
    "$SONDE" ctl events page_faults,context_switches
    [[ $("$SONDE" ctl --json) == *'"events": "page_faults,context_switches"'* ]]
    run "$SONDE" ctl events no_such_event
    [ "$status" -eq 1 ]
    [[ $output == *"unknown perf event 'no_such_event'"* ]]
    [[ $("$SONDE" ctl --json) == *'"state": "reads"'*'"events": "page_faults,context_switches"'* ]]
    stop
    [ "$(largest_pause_ms loadavg)" -lt 10000 ]
}

# The thread NAME of the agent: its effective and permitted capabilities.
capabilities_of() {
    local task
    for task in "/proc/$AGENT/task"/*; do
        # shellcheck disable=SC2053 # a pattern
        if [[ $(cat "$task/comm") == $1 ]]; then sed -n 's/^Cap\(Eff\|Prm\):\t//p' "$task/status"; fi
    done | sort -u
}

@test "threads that talk to servers have no capabilities" {
    need_root
    [ -e "$SONDE_MODULES/sink-kafka.so" ] && [ -e "$SONDE_MODULES/sink-http.so" ] || skip "no librdkafka or no libcurl"
    start -p 100ms --sensors loadavg --spool "$T/spool" --sink "prometheus:url=http://127.0.0.1:1/" \
        --sink "kafka:brokers=127.0.0.1:1,exactly_once=no"
    wait_for '[ -n "$(capabilities_of sink-kafka)" ] && [ -n "$(capabilities_of sink-prometheus)" ]'
    wait_for '[ -n "$(capabilities_of "rdk:*")" ]' # threads of librdkafka
    for thread in sink-kafka sink-prometheus 'rdk:*'; do
        [ "$(capabilities_of "$thread")" = 0000000000000000 ]
    done
    [ "$(capabilities_of sonde)" != 0000000000000000 ]
}

@test "directories of users can be read by them and a group, and by nobody else" {
    need_root
    start -p 100ms --sensors loadavg,jobs --sink "csv:dir=$T/csv,access=user,group=daemon"
    "$SONDE" job begin 4711 --pid $$ --user nobody
    wait_for "[ -s '$T/csv/nobody/4711/$(hostname)/job_here.csv' ]"
    files=$T/csv/nobody/4711/$(hostname)
    as_nobody grep -q 4711 "$files/job_here.csv"
    setpriv --reuid=7 --regid=1 --clear-groups grep -q 4711 "$files/job_here.csv" # another user, in the group daemon
    run ! setpriv --reuid=7 --regid=7 --clear-groups ls "$T/csv/nobody"
    run ! setpriv --reuid=7 --regid=7 --clear-groups cat "$files/job_here.csv"
    run ! as_nobody touch "$files/new" "$files/job_here.csv" # it cannot replace what the agent writes to
    [ "$(stat -c '%U %A' "$T/csv/nobody")" = "root drwxr-x---" ]
    setpriv --reuid=7 --regid=7 --clear-groups grep -q . "$T/csv/node/$(hostname)/loadavg.csv"
    run -2 "$SONDE" agent --check -q --sink "csv:dir=$T/csv,access=none"
    [[ $output == *"invalid access (expected all or user)"* ]]
}

@test "start and reload do not wait for a database server that does not answer" {
    [ -e "$SONDE_MODULES/store-postgres.so" ] || skip "no libpq"
    silent=$(free_port)
    python3 -c 'import socket, sys, time
server = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=64)
time.sleep(1000)' "$silent" 3>&- &
    server=$!
    wait_for 'timeout 1 bash -c "exec 4<>/dev/tcp/127.0.0.1/$silent"'
    SECONDS=0
    start -p 100ms --sensors loadavg --spool "$T/spool" --sink "store:path=postgresql://ada@127.0.0.1:$silent/x"
    "$SONDE" ctl reload
    [ "$SECONDS" -lt 5 ]
    wait_for 'grep -q "cannot open the sink store:path=postgresql://ada@127.0.0.1:$silent/x: .*timeout" "$T/log"'
    kill "$server"
}
