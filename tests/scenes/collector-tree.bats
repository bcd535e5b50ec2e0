#!/usr/bin/env bats
# Collectors that forward to another collector.
load scene
load collecting

# Starts the top collector, and reserves the ports of two below it.
start_top() {
    TOP_PORT=$PORT
    NAME=top start_collector --sink "csv:path=$T/out.csv"
    TOP=$COLLECTOR
    LOW_PORT=("$(free_port)" "$(free_port)")
    LOW_HTTP=("$(free_port)" "$(free_port)")
}

# start_low 0|1
start_low() {
    PORT=${LOW_PORT[$1]} HTTP=127.0.0.1:${LOW_HTTP[$1]} NAME=low$1 \
        start_collector --upstream "tcp://127.0.0.1:$TOP_PORT"
    LOW[$1]=$COLLECTOR
}

@test "samples sent to a lower collector reach the top once, with their own host name" {
    start_top
    start_low 0
    PORT=${LOW_PORT[0]} start_agent --sink "csv:path=$T/truth.csv"
    wait_for '[ "$(NAME=top status_of "[.hosts[] | select(.records > 10)] | length")" -ge 1 ]'
    [ "$(NAME=low0 status_of .upstream.state)" = up ]
    kill -9 "$TOP"
    wait "$TOP" || :
    sleep 1
    PORT=$TOP_PORT NAME=top start_collector --sink "csv:path=$T/out.csv"
    kill -9 "${LOW[0]}"
    wait "${LOW[0]}" || :
    start_low 0
    wait_for '[ "$(NAME=low0 status_of "[.hosts[].records] | max // 0")" -ge 10 ]'
    stop "$AGENT"
    PORT=${LOW_PORT[0]} send_rest
    wait_for is_complete
}

@test "an agent changes to another collector: the top gets everything through both" {
    need_root
    start_top
    for low in 0 1; do
        PORT=${LOW_PORT[$low]} HTTP=127.0.0.1:${LOW_HTTP[$low]} NAME=low$low
        start unshare --uts -- sh -c 'hostname "$0" && exec "$@"' "low$low" "$SONDE" collect --plain \
            --listen "tcp://127.0.0.1:$PORT" --journal "$T/$NAME.journal" --http none --socket "$T/run/$NAME.sock" \
            --upstream "tcp://127.0.0.1:$TOP_PORT"
        LOW[low]=$STARTED
        wait_for '"$SONDE" collect --status --json "$T/run/'"$NAME"'.sock" >/dev/null 2>&1'
    done
    unset NAME
    PORT=${LOW_PORT[0]} start_agent --collector "tcp://127.0.0.1:${LOW_PORT[1]}" --sink "csv:path=$T/truth.csv"
    wait_for '[ "$(NAME=top status_of "[.hosts[] | select(.records > 5)] | length")" -ge 1 ]'
    stop "$TOP" -9 # so that the first has samples that it has not forwarded
    before=$(NAME=low0 status_of "[.hosts[].records] | max")
    wait_for '[ "$(NAME=low0 status_of "[.hosts[].records] | max")" -gt $((before + 10)) ]'
    kill -9 "${LOW[0]}"
    wait_for '[ "$(NAME=low1 status_of "[.hosts[].records] | max // 0")" -gt 10 ]'
    PORT=$TOP_PORT NAME=top start_collector --sink "csv:path=$T/out.csv"
    # samples sent through the second are at the top before the first is back
    wait_for '[ "$(NAME=top status_of "[.hosts[].missing] | max")" -gt 0 ]'
    start unshare --uts -- sh -c 'hostname "$0" && exec "$@"' low0 "$SONDE" collect --plain \
        --listen "tcp://127.0.0.1:${LOW_PORT[0]}" --journal "$T/low0.journal" --http none --socket "$T/run/low0.sock" \
        --upstream "tcp://127.0.0.1:$TOP_PORT"
    wait_for '[ "$(NAME=top status_of "[.hosts[].missing] | max")" -eq 0 ]'
    stop "$AGENT"
    PORT=${LOW_PORT[1]} send_rest
    wait_for is_complete
}

@test "a rollup forwards minimum, mean, maximum and last value, and the lower collector stores every sample" {
    start_top
    PORT=${LOW_PORT[0]} HTTP=127.0.0.1:${LOW_HTTP[0]} NAME=low0 \
        start_collector --upstream "tcp://127.0.0.1:$TOP_PORT" --rollup 1s --sink "csv:path=$T/all.csv"
    PORT=${LOW_PORT[0]} start_agent
    wait_for '[ "$(grep -c ,loadavg_rollup,.*,load1_mean, out.csv)" -ge 3 ]'
    [ -z "$(grep ',loadavg,' out.csv)" ]
    grep -q ',loadavg,' all.csv
    [ "$(grep ,load1_mean, out.csv | cut -d, -f1 | sort | uniq -d | wc -l)" -eq 0 ]
    # the rollup of a window matches its samples
    wait_for '[ "$(NAME=low0 status_of ".sinks[0].waiting_bytes")" -lt 5000 ]'
    end=$(grep ,load1_max, out.csv | sed -n 2p | cut -d, -f1)
    maximum=$(grep "^$end,.*,load1_max," out.csv | sed 's/\r//' | awk -F, '{ print $NF + 0 }')
    expected=$(awk -F, -v end="$end" '/,load1,/ && $1 >= end - 1e9 && $1 < end && $NF + 0 > most { most = $NF + 0 } END { print most + 0 }' all.csv)
    [ "$maximum" = "$expected" ] || { echo "$maximum is not $expected"; head -3 out.csv; false; }
    [ "$(NAME=low0 status_of .rollup.late)" -eq 0 ]
}
