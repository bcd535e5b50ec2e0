#!/usr/bin/env bats
# The whole way to real servers, which are killed in the middle of a load, in a loop, and the collector with them: every sample
# is there once, counted from both ends.
bats_require_minimum_version 1.5.0
load scene
load lossless

setup() {
    lossless_setup
    SERVER_PORT=$(free_port)
}

teardown() {
    [ ! -d "$T/pg" ] || kill_postgres
    [ ! -e "$T/es/pid" ] || kill -9 "$(cat "$T/es/pid")" 2>/dev/null || :
    lossless_teardown
}

# A line with its name and how many samples the agent read of it, for each set.
truth_counts() {
    grep -o '"set": "[a-z_]*"' "$T/agent.json" | cut -d'"' -f4 | sort | uniq -c | awk '{ print $2, $1 }'
}

start_postgres() {
    URL=$("$SOURCE/tests/tools/postgres-up" "$T/pg" "$SERVER_PORT")
}

# All of them at once: nobody has time to write anything down.
kill_postgres() {
    local first
    first=$(head -n 1 "$T/pg/data/postmaster.pid" 2>/dev/null) || return 0
    kill -9 "$first" $(pgrep -P "$first") 2>/dev/null || :
}

postgres_counts() {
    psql -qAtF ' ' "$URL" -c "SELECT sets.name, sum(count) FROM series JOIN sets ON sets.id = set_id WHERE job = 0
        GROUP BY 1 ORDER BY 1"
}

@test "PostgreSQL and the collector are killed again and again" {
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
    wait_for 'arrived "$T/rows.json"'
    wait_for 'diff <(truth_counts) <(postgres_counts)'
    stop_collector
    assert_lossless "$T/rows.json"
    diff <(truth_counts) <(postgres_counts)
}

start_elasticsearch() {
    local status=0
    timeout 90 "$SOURCE/tests/tools/elasticsearch-up" "$T/es" "$SERVER_PORT" || status=$?
    [ "$status" -ne 77 ] || skip "no Elasticsearch (tools/install-npm) or no java"
    [ "$status" -eq 0 ]
}

elasticsearch_counts() {
    local set
    curl -s -XPOST "http://127.0.0.1:$SERVER_PORT/sonde_*/_refresh" >/dev/null
    truth_counts | while read -r set _; do
        echo "$set $(curl -s "http://127.0.0.1:$SERVER_PORT/sonde_$set/_count" | jq .count)"
    done
}

@test "Elasticsearch and the collector are killed again and again" {
    PERIOD=20ms
    start_elasticsearch
    SINKS+=(--sink "elasticsearch:url=http://127.0.0.1:$SERVER_PORT")
    start_collector
    start_agent
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
    wait_for 'arrived "$T/rows.json"'
    wait_for 'diff <(truth_counts) <(elasticsearch_counts)'
    stop_collector
    assert_lossless "$T/rows.json"
    diff <(truth_counts) <(elasticsearch_counts)
}
