#!/usr/bin/env bats
# From agents through collectors to Kafka, which are killed in a loop under load: every sample is stored once, counted at both ends.
bats_require_minimum_version 1.5.0
load scene
load lossless
load lossless-servers
load kafka

setup() {
    lossless_setup
    SERVER_PORT=$(free_port) REAL=$(free_port) OTHER="" POUR="" MOCK="" OWN_KAFKA=""
}

teardown() {
    for pid in "$OTHER" "$POUR" "$MOCK" "$OWN_KAFKA"; do
        [ -z "$pid" ] || kill -9 "$pid" 2>/dev/null || :
    done
    servers_teardown
    "$SOURCE/tests/tools/kafka-down" "$T/kafka"
    lossless_teardown
}

@test "an old Kafka and the collector are killed repeatedly while jobs come and go: no message is lost, duplicates are identical" {
    start_kafka
    SINKS+=(--sink "kafka:brokers=$BROKERS,topic=node,timeout=2s,$OLD_OPTIONS")
    start_collector
    start_agent
    wait_for '[ -S "$T/agent.sock" ]'
    start_jobs
    for ((turn = 0; turn < 4; turn++)); do
        doze 80 160
        kill_kafka
        doze 10 60
        kill_collector
        start_collector
        start_kafka
        doze 80 160
        kill_collector
        start_collector
    done
    stop_jobs
    wait_for caught_up
    stop_agent
    send_rest
    wait_for 'arrived "$T/rows.json"'
    wait_for 'take_messages node "${OLD[@]}"; [ "$(wc -l <"$T/messages.json")" -ge "$(wc -l <"$T/agent.json")" ]'
    stop_collector
    take_messages node "${OLD[@]}"
    grep -q 'Kafka brokers .* refuse transactions .*: delivery is at least once' "$T/collector.log"
    assert_lossless "$T/rows.json" "$T/messages.json"
    assert_named_once
    assert_job_events
}

@test "agent, collector and an old Kafka are killed repeatedly: no message is lost, in one topic for each set" {
    start_kafka
    SINKS+=(--sink "kafka:brokers=$BROKERS,timeout=2s,$OLD_OPTIONS")
    start_collector
    start_agent
    for ((turn = 0; turn < 3; turn++)); do
        doze 100 200
        kill_kafka
        doze 10 60
        kill_agent
        kill_collector
        start_collector
        start_agent
        start_kafka
        doze 200 300
        kill_collector
        start_collector
        doze 100 200
        kill_agent
        start_agent
    done
    wait_for caught_up
    stop_agent
    send_rest
    wait_for 'arrived "$T/rows.json"'
    take_sets() {
        for set in meminfo loadavg stat stat_cpu; do read_topic "sonde.$set" '%s\n' "${OLD[@]}"; done | sort -u >"$T/messages.json"
    }
    wait_for 'take_sets; [ "$(wc -l <"$T/messages.json")" -ge "$(wc -l <"$T/rows.json")" ]'
    stop_collector
    take_sets
    assert_lossless "$T/rows.json" "$T/messages.json"
}

@test "Kafka with transactions and the collector are killed repeatedly: readers get every message once, without dropping any" {
    SLOW_MS=40
    start_broker
    SINKS+=(--sink "kafka:brokers=$BROKERS,topic=node,timeout=2s,exactly_once=yes")
    start_collector
    start_agent
    wait_for '[ -S "$T/agent.sock" ]'
    start_jobs
    for ((turn = 0; turn < 6; turn++)); do
        doze 60 140
        kill_broker
        doze 10 60
        kill_collector
        start_collector
        start_broker
        for ((i = 0; i < 3; i++)); do
            doze 40 90
            kill_collector
            start_collector
        done
    done
    stop_jobs
    wait_for caught_up
    stop_agent
    wait_for 'arrived "$T/rows.json"'
    wait_for 'take_committed node; [ "$(wc -l <"$T/messages.json")" -ge "$(wc -l <"$T/agent.json")" ]'
    stop_collector
    take_committed node
    echo "$(read_topic node '%s\n' -X isolation.level=read_uncommitted | wc -l) were sent for $(wc -l <"$T/messages")"
    assert_lossless "$T/rows.json" "$T/messages.json"
    assert_named_once
    assert_job_events
}

# start_consumer NAME: starts a collector that consumes from Kafka, with its own files and an Elasticsearch that all share.
start_consumer() {
    "$SONDE" collect --from-kafka "$BROKERS/sonde.wire,group=takers,options=session.timeout.ms=6000" --journal "$T/$1.journal" \
        --http none --socket "$T/$1.sock" --sink "json:path=$T/$1.json,append=yes" \
        --sink "elasticsearch:url=http://127.0.0.1:$SERVER_PORT" >>"$T/$1.log" 2>&1 3>&- &
}

# "host instance batch" of the rows in the collectors' own files, or of documents.
poured_names() {
    python3 -c 'import json, sys
for line in sys.stdin:
    row = json.loads(line)
    print(row["host"], row.get("instance") or "-", row["time_ns"] // 1000000000 - 1700000000)' | sort
}

expected_names() { # COUNT HOST…
    for ((n = 0; n < $1; n++)); do
        for host in "${@:2}"; do printf '%s\n' "$host - $n" "$host sda $n" "$host sdb $n"; done
    done | sort
}

documents() {
    "$SOURCE/tests/tools/elasticsearch-dump" "http://127.0.0.1:$SERVER_PORT" 'sonde_*' | poured_names
}

@test "a collector that consumes from Kafka is killed, and another takes over its partitions: every document once" {
    start_elasticsearch
    start_mock
    hosts=(a1 a2 a3 a4)
    start_consumer one
    COLLECTOR=$!
    pour ,format=wire 0 50 "${hosts[@]}"
    wait_for '[ "$(wc -l <"$T/one.json")" -eq 600 ]'
    for ((turn = 0, n = 50; turn < 3; turn++, n += 400)); do
        pour ,format=wire $n $((n + 400)) "${hosts[@]}" &
        POUR=$!
        start_consumer two
        OTHER=$!
        doze 20 80
        kill -9 "$COLLECTOR"
        wait "$POUR"
        POUR=""
        start_consumer one # what it had not forwarded is in its journal
        COLLECTOR=$!
        doze 100 300
        kill -9 "$OTHER"
        OTHER=""
    done
    start_consumer two
    OTHER=$!
    for ((i = 0; i < 100; i++)); do
        documents | diff - <(expected_names $n "${hosts[@]}") >"$T/differs" && break
        sleep 1
    done
    kill "$COLLECTOR" "$OTHER"
    wait "$COLLECTOR" "$OTHER"
    COLLECTOR="" OTHER=""
    documents | diff - <(expected_names $n "${hosts[@]}")
    # separate files cannot be deduplicated: nothing is missing, and there are few duplicates
    cat "$T/one.json" "$T/two.json" | poured_names >"$T/all"
    diff <(uniq "$T/all") <(expected_names $n "${hosts[@]}")
    echo "$(uniq -d "$T/all" | wc -l) duplicates of $(wc -l <"$T/all") in separate files"
}
