#!/usr/bin/env bats
# sonde ctl: changes to a running agent leave no gaps in its series.
load scene
load live

state() {
    "$SONDE" ctl --json show | jq -r "$1"
}

# The agent's state, without values that change by themselves.
plan() {
    state 'del(.ticks, .late, .missed, .worst_ns, .sensors[].ticks, .sensors[].late, .sensors[].missed, .sensors[].worst_ns)'
}

@test "the page shows the state of the agent" {
    start_agent --sensors meminfo,stat
    run -0 "$SONDE" ctl
    [[ "$output" == *"every 1.0 s"* ]]
    grep -qE "^meminfo +reads +1.0 s" <<<"$output"
    grep -qE "^vmstat +off" <<<"$output"
}

@test "it shows the actual listening address, not the configured one" {
    # another program has the default address: ours, or one that was there before
    python3 -c 'import socket, time
s = socket.socket()
for _ in range(100):
    try:
        s.bind(("127.0.0.1", 1337)); s.listen()
        break
    except OSError:
        time.sleep(0.2)
open("bound", "w").close()
time.sleep(120)' 3>&- &
    other=$!
    wait_for '[ -e bound ]'
    start_agent --sensors loadavg --listen 127.0.0.1:1337
    grep -q 'the address is already in use' "$T/log"
    run -0 "$SONDE" ctl
    kill "$other"
    [[ "$output" == *"/metrics is disabled"* ]]
    [[ "$output" != *1337* ]]
}

@test "a new period, for all and for one" {
    start_agent --sensors meminfo,loadavg
    "$SONDE" ctl period 50ms loadavg=2h
    [ "$(state .period_ns)" -eq 50000000 ]
    [ "$(state '.sensors[] | select(.name == "loadavg") | .period_ns')" -eq 7200000000000 ]
    before=$("$SONDE" ls --json | jq '[.sets[].updates] | max')
    wait_for '[ "$("$SONDE" ls --json | jq "[.sets[].updates] | max")" -ge $((before + 5)) ]'
}

# Of the sensor meminfo: number of updates, tick of the newest one, and ticks counted as missed.
meminfo_now() {
    local missed sets
    missed=$(meminfo_missed)
    sets=$("$SONDE" ls --json)
    while [ "$(meminfo_missed)" != "$missed" ]; do # no tick was missed between the two queries
        missed=$(meminfo_missed)
        sets=$("$SONDE" ls --json)
    done
    jq -r --arg missed "$missed" '.sets[] | select(.schema == 0) | "\(.updates) \(.time_ns / 5e7) \($missed)"' <<<"$sets"
}

meminfo_missed() {
    state '.sensors[] | select(.name == "meminfo") | .missed'
}

@test "sensors are removed and added without affecting others" {
    start_agent --sensors meminfo,loadavg -p 50ms --sink "csv:path=$T/out.csv"
    before=$(meminfo_now)
    "$SONDE" ctl sensors -loadavg +vmstat
    wait_for '"$SONDE" ls | grep -q /vmstat$'
    run ! grep loadavg <("$SONDE" ls)
    "$SONDE" ctl sensors +loadavg
    wait_for '"$SONDE" ls | grep -q /loadavg$'
    after=$(meminfo_now)
    # every tick in between was an update or was counted as missed
    awk -v before="$before" -v after="$after" 'BEGIN {
        split(before, b); split(after, a); off = a[2] - b[2] - (a[1] - b[1]) - (a[3] - b[3])
        print before, after, off; exit !(off >= -3 && off <= 3) }'
}

@test "an error changes nothing and is explained" {
    start_agent --sensors meminfo,loadavg
    plan >before
    run -1 "$SONDE" ctl set period=2s nothing.period=1s
    [[ "$output" == *"unknown sensor 'nothing'"* ]]
    run -1 "$SONDE" ctl period soon
    [[ "$output" == *"invalid period 'soon'"* ]]
    run -2 "$SONDE" ctl period
    [[ "$output" == *"sonde ctl period PERIOD"* ]]
    run -2 "$SONDE" ctl dance
    [[ "$output" == *"expected show, period"* ]]
    plan | diff before -
}

@test "an unknown event is rejected, and the old ones stay" {
    start_agent --sensors perf,loadavg
    plan >before
    run -1 "$SONDE" ctl events task-clock,blah
    [[ "$output" == *"unknown perf event 'blah'"* ]]
    run -1 "$SONDE" ctl set perf.events=blah
    plan | diff before -
}

@test "events of jobs are changed at run time" {
    start_agent --sensors perf,loadavg
    run "$SONDE" ctl events task-clock,page-faults
    [ "$status" -eq 0 ] || skip "no perf events: $output"
    [ "$(state '.sensors[] | select(.name == "perf") | .settings.events')" = task-clock,page-faults ]
}

# As Colmet's own script does: pushes a MessagePack map of strings.
push_colmet() {
    /usr/bin/python3 - "$@" <<'EOF'
import msgpack, sys, zmq
context = zmq.Context()
socket = context.socket(zmq.PUSH)
socket.setsockopt(zmq.LINGER, 60000)
socket.connect(sys.argv[1])
socket.send(sys.argv[2].encode() if len(sys.argv) == 3 else
            msgpack.packb({sys.argv[4]: sys.argv[3], "sample_period": sys.argv[2]}))
socket.close()
context.term()
EOF
}

@test "messages of Colmet's configure_colmet.py are understood, when that is switched on" {
    /usr/bin/python3 -c 'import msgpack, zmq' || skip "no python3-zmq, python3-msgpack"
    [ -e "$SONDE_MODULES/wire-zmq.so" ] || skip "no wire-zmq.so"
    address_port=$(free_port)
    start_agent --sensors perf,loadavg --colmet "tcp://127.0.0.1:$address_port"
    push_colmet "tcp://127.0.0.1:$address_port" 0.25 rss:2:-1,cache metrics
    wait_for '[ "$(state .period_ns)" = 250000000 ]'
    push_colmet "tcp://127.0.0.1:$address_port" 1.5 task_clock,page_faults perfhw_metrics
    wait_for '[ "$(state .period_ns)" = 1500000000 ]'
    [ "$(state '.sensors[] | select(.name == "perf") | .settings.events')" = task_clock,page_faults ]
    for _ in 1 2 3; do
        push_colmet "tcp://127.0.0.1:$address_port" 2 no_such_metric,task_clock,mempry:2:-1 metrics
    done
    wait_for '[ "$(state .period_ns)" = 2000000000 ]'
    [ "$(state '.sensors[] | select(.name == "perf") | .settings.events')" = task_clock ]
    push_colmet "tcp://127.0.0.1:$address_port" garbage
    push_colmet "tcp://127.0.0.1:$address_port" -1 rss metrics
    push_colmet "tcp://127.0.0.1:$address_port" 3 rss metrics
    wait_for '[ "$(state .period_ns)" = 3000000000 ]'
    wait_for '[ "$(grep -c "invalid Colmet message" "$T/log")" -eq 2 ]'
    [ "$(grep -c "unknown metrics ignored: no_such_metric, mempry" "$T/log")" -eq 1 ] # once
    [ "$(grep -c "periods and jobs of single metrics are ignored" "$T/log")" -eq 1 ]
}

@test "an address on which it cannot receive Colmet's messages is reported" {
    run -2 "$SONDE" agent --listen none --colmet 5557
    [[ "$output" == *"expected an address such as tcp://127.0.0.1:5557"* ]]
    SONDE_MODULES=$T run -1 "$SONDE" agent --listen none --colmet tcp://127.0.0.1:5557
    [[ "$output" == *"wire-zmq.so is not installed"* ]]
}

@test "reload reloads the configuration; if it has an error nothing changes" {
    echo 'period = 2s' >agent.conf
    start_agent -c agent.conf --sensors meminfo
    echo 'period = 3s' >agent.conf
    "$SONDE" ctl reload
    wait_for '[ "$(state .period_ns)" -eq 3000000000 ]'
    echo 'period = never' >agent.conf
    run -1 "$SONDE" ctl reload
    [[ "$output" == *"never"* ]]
    [ "$(state .period_ns)" -eq 3000000000 ]
}

@test "only root and the agent's own user may change it" {
    need_root
    start_agent --sensors meminfo
    run -1 as_nobody env SONDE_SOCKET_DIR="$T/run" "$SONDE" ctl period 5s
    [[ "$output" == *"only root and the agent's own user"* ]]
    [ "$(state .period_ns)" -eq 1000000000 ]
    [ "$(curl -s -o /dev/null -w '%{http_code}' -d '{}' "127.0.0.1:$PORT/ctl")" -eq 403 ]
    cd "$T/run"
    "$SONDE" ctl -a ./agent.sock | grep -q meminfo
    "$SONDE" ctl -a agent.sock | grep -q meminfo
    run -1 "$SONDE" ctl -a "$T/nowhere.sock"
    [[ "$output" == *"no agent or collector is reachable at"* ]]
}
