#!/usr/bin/env bats
# sonde ctl: a running agent is told, and its series have no hole.
load scene
load live

state() {
    "$SONDE" ctl --json show | jq -r "$1"
}

# What the agent does, without what changes by itself.
plan() {
    state 'del(.ticks, .late, .missed, .worst_ns, .sensors[].ticks, .sensors[].late, .sensors[].missed, .sensors[].worst_ns)'
}

@test "the page says what the agent does" {
    start_agent --sensors meminfo,stat
    run -0 "$SONDE" ctl
    [[ "$output" == *"every 1.0 s"* ]]
    grep -qE "^meminfo +reads +1.0 s" <<<"$output"
    grep -qE "^vmstat +off" <<<"$output"
}

@test "a new period, for all and for one" {
    start_agent --sensors meminfo,loadavg
    "$SONDE" ctl period 50ms loadavg=2h
    [ "$(state .period_ns)" -eq 50000000 ]
    [ "$(state '.sensors[] | select(.name == "loadavg") | .period_ns')" -eq 7200000000000 ]
    before=$("$SONDE" ls --json | jq '[.sets[].updates] | max')
    sleep 1
    [ "$("$SONDE" ls --json | jq '[.sets[].updates] | max')" -ge $((before + 5)) ]
}

@test "sensors go and come, and the others do not notice" {
    start_agent --sensors meminfo,loadavg -p 50ms --sink "csv:path=$T/out.csv"
    "$SONDE" ctl sensors -loadavg +vmstat
    wait_for '"$SONDE" ls | grep -q /vmstat$'
    run ! grep loadavg <("$SONDE" ls)
    "$SONDE" ctl sensors +loadavg
    wait_for '"$SONDE" ls | grep -q /loadavg$'
    missed=$(state '.sensors[] | select(.name == "meminfo") | .missed')
    updates=$("$SONDE" ls --json | jq '.sets[] | select(.schema == 0) | .updates')
    seconds=$("$SONDE" ls --json | jq '.sets[] | select(.schema == 0) | (.time_ns - .first_ns) / 1e9')
    python3 - "$updates" "$missed" "$seconds" <<'PY'
import sys
updates, missed, seconds = (float(a) for a in sys.argv[1:])
assert abs(updates + missed - seconds / 0.05) <= 3, (updates, missed, seconds / 0.05)
PY
}

@test "a mistake changes nothing, and is explained" {
    start_agent --sensors meminfo,loadavg
    plan >before
    run -1 "$SONDE" ctl set period=2s nothing.period=1s
    [[ "$output" == *"no sensor 'nothing'"* ]]
    run -1 "$SONDE" ctl period soon
    [[ "$output" == *"'soon' is no duration"* ]]
    run -2 "$SONDE" ctl period
    [[ "$output" == *"sonde ctl period PERIOD"* ]]
    run -2 "$SONDE" ctl dance
    [[ "$output" == *"say show, period"* ]]
    plan | diff before -
}

@test "events of jobs are changed while it runs" {
    start_agent --sensors perf,loadavg
    run "$SONDE" ctl events task-clock,page-faults
    [ "$status" -eq 0 ] || skip "this machine has no perf: $output"
    [ "$(state '.sensors[] | select(.name == "perf") | .settings.events')" = task-clock,page-faults ]
}

@test "reload reads the configuration anew; with a mistake in it, nothing happens" {
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

@test "only the masters may" {
    need_root
    start_agent --sensors meminfo
    run -1 as_nobody env SONDE_SOCKET_DIR="$T/run" "$SONDE" ctl period 5s
    [[ "$output" == *"only root and the agent's own user"* ]]
    [ "$(state .period_ns)" -eq 1000000000 ]
    [ "$(curl -s -o /dev/null -w '%{http_code}' -d '{}' "127.0.0.1:$PORT/ctl")" -eq 403 ]
    run -1 "$SONDE" ctl -a "$T/nowhere.sock"
    [[ "$output" == *"no agent answers at"* ]]
}
