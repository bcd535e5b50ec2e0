#!/usr/bin/env bats
# From an agent through a collector to real servers, which are killed in a loop under load together with the collector: every sample
# is stored once, counted at both ends.
bats_require_minimum_version 1.5.0
load scene
load lossless
load lossless-servers

setup() {
    lossless_setup
    SERVER_PORT=$(free_port)
}

teardown() {
    servers_teardown
    lossless_teardown
}

@test "PostgreSQL and the collector are killed repeatedly" {
    command -v initdb >/dev/null || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || skip "PostgreSQL is not installed"
    start_postgres
    SINKS+=(--sink "store:path=$URL,every=200ms")
    start_collector
    start_agent
    for ((turn = 0; turn < 8; turn++)); do
        doze 80 160
        kill_postgres
        doze 10 60
        if ((turn % 2)); then
            kill_collector
            start_collector
        fi
        wait_for start_postgres
    done
    wait_for caught_up
    stop_agent
    send_rest
    wait_for 'arrived "$T/rows.json"'
    wait_for 'diff <(truth_counts) <(postgres_counts)'
    stop_collector
    assert_lossless "$T/rows.json"
    diff <(truth_counts) <(postgres_counts)
}

@test "Elasticsearch and the collector are killed repeatedly" {
    PERIOD=20ms
    start_elasticsearch
    SINKS+=(--sink "elasticsearch:url=http://127.0.0.1:$SERVER_PORT")
    start_collector
    start_agent
    wait_for elasticsearch_shards_started
    for ((turn = 0; turn < 3; turn++)); do
        doze 100 200
        kill -9 "$(cat "$T/es/pid")"
        doze 10 60
        kill_collector
        start_collector
        start_elasticsearch
    done
    wait_for caught_up
    stop_agent
    send_rest
    wait_for 'arrived "$T/rows.json"'
    wait_for 'diff <(truth_counts) <(elasticsearch_counts)'
    stop_collector
    assert_lossless "$T/rows.json"
    diff <(truth_counts) <(elasticsearch_counts)
}
