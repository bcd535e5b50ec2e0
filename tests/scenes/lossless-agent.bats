#!/usr/bin/env bats
# From an agent directly to real servers: the agent is killed in a loop, the servers go down and return. Samples wait in the agent's
# journal; every sample is stored once, counted at both ends.
bats_require_minimum_version 1.5.0
load scene
load lossless
load lossless-servers
load kafka

setup() {
    lossless_setup
    SERVER_PORT=$(free_port) REAL=$(free_port) OWN_KAFKA="" POUR=""
}

teardown() {
    [ -z "$POUR" ] || kill "$POUR" 2>/dev/null || :
    [ ! -e "$T/kafka/pid" ] || kill -CONT "$(cat "$T/kafka/pid")" 2>/dev/null || :
    [ -z "$OWN_KAFKA" ] || kill -9 "$OWN_KAFKA" 2>/dev/null || :
    servers_teardown
    "$SOURCE/tests/tools/kafka-down" "$T/kafka"
    lossless_teardown
}

# Starts an agent with the sink $1 only.
start_direct() {
    "$SONDE" agent -c "$T/agent.conf" -p "$PERIOD" --sensors "$SENSORS" --listen none --jobs none \
        --socket "$T/agent.sock" --spool "$T/spool" --sink "json:path=$T/agent.json,append=yes" --sink "$1" "${@:2}" >>"$T/agent.log" 2>&1 3>&- &
    AGENT=$!
}

# Whether a jq condition holds for the agent's own status.
agent_status_is() {
    [ "$("$SONDE" ctl --json --agent "$T/agent.sock" | jq "$1")" = true ]
}

# The sink has all but the newest samples.
caught_up() {
    agent_status_is '.sinks[1] | .success_ns > 0 and .lag_ns < 2e9'
}

kill_repeatedly() { # SINK HOW-OFTEN [hundredths of a second between two: LEAST MOST]
    for ((turn = 0; turn < $2; turn++)); do
        doze "${3:-30}" "${4:-90}"
        kill_agent
        start_direct "$1"
    done
}

# Whether the agent's last sample is there. (arrived expects it at the end of the file; here rows are sorted.)
has_last() { # FILE
    local last
    last=$(tail -n 1 "$T/agent.json" | grep -o '"time_ns": [0-9]*' | tr -dc 0-9)
    grep -q "$last" "$1"
}

@test "to Kafka: the agent is killed repeatedly and the broker goes down and returns, while jobs come and go: no message is lost, duplicates are identical" {
    start_kafka
    sink="kafka:brokers=$BROKERS,topic=node,timeout=2s,$OLD_OPTIONS"
    start_direct "$sink"
    start_jobs
    kill_repeatedly "$sink" 6 100 300 # some while it connects, some under load
    for ((round = 0; round < 3; round++)); do
        kill_kafka
        kill_repeatedly "$sink" 2
        start_kafka
        kill_repeatedly "$sink" 2 100 300
    done
    stop_jobs
    wait_for caught_up
    stop_agent
    wait_for 'take_messages node "${OLD[@]}"; has_last "$T/messages.json"'
    assert_lossless "$T/messages.json"
    assert_named_once
}

# Stopped under load, so that requests are still in its sockets after their sender was killed.
suspend_kafka() {
    kill -STOP "$(cat "$T/kafka/pid")"
}

continue_kafka() {
    kill -CONT "$(cat "$T/kafka/pid")"
}

@test "to Kafka: requests of an agent that was killed arrive late, and other producers write to the topic too" {
    start_kafka
    sink="kafka:brokers=$BROKERS,topic=node,timeout=2s,$OLD_OPTIONS"
    (trap 'exit 0' TERM; for ((n = 0; 1; n++)); do echo "stranger $n"; sleep 0.05; done) 3>&- |
        kcat -q -b "$BROKERS" -t node -P "${OLD[@]}" -X linger.ms=10 2>/dev/null 3>&- &
    POUR=$!
    start_direct "$sink"
    wait_for caught_up
    for ((round = 0; round < 5; round++)); do
        doze 20 120
        suspend_kafka
        doze 50 80 # a flush goes to the socket
        kill_agent
        start_direct "$sink"
        doze 10 50
        continue_kafka
        wait_for caught_up
    done
    stop_agent
    kill "$POUR"
    wait_for 'take_messages node "${OLD[@]}"; has_last "$T/messages.json"'
    grep -q '^stranger' "$T/messages"
    grep -v '^stranger' "$T/messages.json" >"$T/ours.json"
    assert_lossless "$T/ours.json"
}

@test "whole records to Kafka: agent and broker are killed, and a collector reads every record once" {
    start_kafka
    sink="kafka:brokers=$BROKERS,format=wire,timeout=2s,$OLD_OPTIONS"
    start_direct "$sink"
    kill_repeatedly "$sink" 5 100 300
    kill_kafka
    kill_repeatedly "$sink" 1
    start_kafka
    kill_repeatedly "$sink" 3 100 300
    wait_for caught_up
    stop_agent
    "$SONDE" collect --from-kafka "$BROKERS/sonde.wire,$OLD_OPTIONS" --journal "$T/journal" --http none \
        --socket "$T/collector.sock" --sink "json:path=$T/rows.json,append=yes" >"$T/collector.log" 2>&1 3>&- &
    COLLECTOR=$!
    wait_for 'arrived "$T/rows.json"'
    stop_collector
    assert_lossless "$T/rows.json"
}

@test "to Kafka with transactions: agent and broker are killed, readers get every message once, without dropping any" {
    SLOW_MS=40
    start_broker
    sink="kafka:brokers=$BROKERS,timeout=2s,exactly_once=yes,topic=node"
    start_direct "$sink"
    start_jobs
    kill_repeatedly "$sink" 6
    for ((round = 0; round < 3; round++)); do
        kill_broker
        kill_repeatedly "$sink" 1
        start_broker
        kill_repeatedly "$sink" 2
    done
    stop_jobs
    wait_for caught_up
    stop_agent
    wait_for 'take_committed node; has_last "$T/messages.json"'
    echo "$(read_topic node '%s\n' -X isolation.level=read_uncommitted | wc -l) were sent for $(wc -l <"$T/messages")"
    assert_lossless "$T/messages.json"
    assert_named_once
}

@test "to Kafka with transactions: after a power failure the committed position is beyond the end of the journal" {
    start_broker
    sink="kafka:brokers=$BROKERS,exactly_once=yes,topic=node"
    start_direct "$sink"
    wait_for '[ "$(readings "$T/agent.json")" -ge 400 ]'
    stop_agent
    wait_for 'take_committed node; has_last "$T/messages.json"'
    before=$(readings "$T/agent.json")
    newest=$(find "$T/spool" -name '*.journal' | sort | tail -n 1)
    truncate -s $(($(stat -c %s "$newest") / 2)) "$newest"
    start_direct "$sink"
    wait_for '[ "$(readings "$T/agent.json")" -gt $((before + 20)) ]'
    stop_agent
    wait_for 'take_committed node; has_last "$T/messages.json"'
    assert_lossless "$T/messages.json"
    assert_named_once
}

dump() { # INDEXES
    "$SOURCE/tests/tools/elasticsearch-dump" "http://127.0.0.1:$SERVER_PORT" "$1"
}

rows_of_elasticsearch() {
    dump 'sonde_*' >"$T/rows.json"
}

@test "to Elasticsearch: the agent is killed repeatedly, and the server goes down and returns" {
    PERIOD=20ms
    start_elasticsearch
    sink="elasticsearch:url=http://127.0.0.1:$SERVER_PORT"
    start_direct "$sink"
    for set in loadavg meminfo stat stat_cpu; do # an index that is being created when this old server is killed stays broken
        wait_for '[ "$(curl -s "http://127.0.0.1:$SERVER_PORT/sonde_$set/_count" | jq ".count // 0")" -gt 0 ]'
    done
    kill_repeatedly "$sink" 4
    kill -9 "$(cat "$T/es/pid")"
    kill_repeatedly "$sink" 4
    start_elasticsearch
    kill_repeatedly "$sink" 2
    wait_for caught_up
    stop_agent
    wait_for 'rows_of_elasticsearch; has_last "$T/rows.json"'
    assert_lossless "$T/rows.json"
}

@test "more than the journal may hold: the oldest records are dropped, and the gap is stored with the rest" {
    start_elasticsearch
    sink="elasticsearch:url=http://127.0.0.1:$SERVER_PORT,timeout=5s"
    kill -STOP "$(cat "$T/es/pid")"
    start_direct "$sink" --spool-age 2s
    wait_for "agent_status_is '.spool.lost > 100'"
    stop_agent
    kill -CONT "$(cat "$T/es/pid")"
    PERIOD=200ms
    start_direct "$sink"
    wait_for caught_up
    agent_status_is '.sinks[1].gaps > 100'
    stop_agent
    dump sonde_gaps >"$T/gaps"
    dump sonde_loadavg >"$T/stored"
    # samples and gaps add up to what was read
    assert_sum "$(wc -l <"$T/stored")" "$(jq -s "map(.batches) | add" "$T/gaps")" "$(readings "$T/agent.json")"
}
