#!/usr/bin/env bats
# Two collectors that store to one PostgreSQL. One is killed, and the other receives again what the first had stored and not
# acknowledged; later the first returns with what it had not stored. Every sample is in the table once.
bats_require_minimum_version 1.5.0
load scene
load lossless
load lossless-servers
load kafka

setup() {
    lossless_setup
    SERVER_PORT=$(free_port) OTHER_PORT=$(free_port) LINE_PORT=$(free_port) OTHER="" POUR="" MOCK="" LINE=""
    command -v initdb >/dev/null || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || skip "PostgreSQL is not installed"
    start_postgres
}

teardown() {
    for pid in $OTHER $POUR $MOCK $LINE; do kill -9 "$pid" 2>/dev/null || :; done
    servers_teardown
    lossless_teardown
}

# start_consumer NAME: starts a collector that consumes from Kafka.
start_consumer() {
    "$SONDE" collect --from-kafka "$BROKERS/sonde.wire,group=takers,options=session.timeout.ms=6000" --journal "$T/$1.journal" \
        --http none --socket "$T/$1.sock" --sink "store:path=$URL,every=$2" >>"$T/$1.log" 2>&1 3>&- &
}

# "host set samples" of all series in the table, including duplicates.
stored() {
    psql -qAtF ' ' "$URL" -c "SELECT hosts.name, sets.name, sum(count) FROM series JOIN sets ON sets.id = set_id
        JOIN runs ON runs.id = run JOIN hosts ON hosts.id = host GROUP BY 1, 2 ORDER BY 1, 2"
}

poured() { # COUNT HOST…
    for host in "${@:2}"; do printf '%s\n' "$host disk $((2 * $1))" "$host feed $1"; done
}

@test "collectors that consume from Kafka are killed in turn: every sample is once in the PostgreSQL that they share" {
    start_mock
    hosts=(a1 a2 a3 a4)
    start_consumer one 100ms
    COLLECTOR=$!
    pour ,format=wire 0 50 "${hosts[@]}"
    wait_for 'stored | diff - <(poured 50 "${hosts[@]}")'
    for ((turn = 0, n = 50; turn < 3; turn++, n += 400)); do
        pour ,format=wire $n $((n + 400)) "${hosts[@]}" &
        POUR=$!
        start_consumer two 30ms
        OTHER=$!
        doze 20 80
        kill -9 "$COLLECTOR"
        wait "$POUR"
        POUR=""
        start_consumer one $((turn % 2 ? 30 : 3000))ms # what it had not stored is in its journal
        COLLECTOR=$!
        doze 100 300
        kill -9 "$OTHER"
        OTHER=""
    done
    start_consumer two 300ms
    OTHER=$!
    for ((i = 0; i < 100; i++)); do
        stored | diff - <(poured $n "${hosts[@]}") >"$T/differs" && break
        sleep 1
    done
    kill "$COLLECTOR" "$OTHER"
    wait "$COLLECTOR" "$OTHER"
    COLLECTOR="" OTHER=""
    stored | diff - <(poured $n "${hosts[@]}")
    # one complete stream per host
    [ "$(psql -qAt "$URL" -c "SELECT count(*), min(first_sequence), max(first_sequence), min(last_sequence) FROM filed")" = "4|1|1|$n" ]
}

start_other() {
    "$SONDE" collect --plain --listen "tcp://127.0.0.1:$OTHER_PORT" --journal "$T/other-journal" --http none \
        --socket "$T/other.sock" --sink "store:path=$URL,every=200ms" >>"$T/other.log" 2>&1 3>&- &
    OTHER=$!
}

start_line() {
    : >"$T/line.out"
    "$SOURCE/tests/tools/slow-line" "$LINE_PORT" 127.0.0.1 "$PORT" 50e6 0 >"$T/line.out" 2>>"$T/line.log" 3>&- &
    LINE=$!
    wait_for 'grep -q ready "$T/line.out"'
}

stored_by() {
    psql -qAt "$URL" -c "SELECT coalesce(max(last_sequence), 0) FROM filed"
}

unacknowledged() {
    "$SONDE" ctl --json --agent "$T/agent.sock" | jq '.uplink | .lag_bytes'
}

@test "an agent sends to the next collector what the first had stored and not acknowledged: every sample once" {
    SINKS=(--sink "store:path=$URL,every=100ms")
    start_collector
    start_line
    start_other
    "$SONDE" agent -c "$T/agent.conf" -p "$PERIOD" --sensors "$SENSORS" --listen none --jobs none --socket "$T/agent.sock" --plain \
        --collector "tcp://127.0.0.1:$LINE_PORT" --collector "tcp://127.0.0.1:$OTHER_PORT" --spool "$T/spool" \
        --sink "json:path=$T/agent.json,append=yes" >>"$T/agent.log" 2>&1 3>&- &
    AGENT=$!
    wait_for '[ "$(stored_by)" -ge 100 ]'
    kill -HUP "$LINE" # from now on no acknowledgement reaches the agent
    before=$(stored_by)
    wait_for '[ "$(stored_by)" -ge $((before + 100)) ]'
    [ "$(unacknowledged)" -gt 0 ]
    kill_collector
    kill -9 "$LINE"
    LINE=""
    before=$(stored_by)
    wait_for '[ "$(stored_by)" -ge $((before + 100)) ]'
    "$SONDE" collect --status --json "$T/other.sock" | jq -e '[.hosts[].records] | add > 0' >/dev/null
    # and back: the first has in its journal what it had not stored, and the other has stored that, too
    start_collector
    start_line
    kill -9 "$OTHER"
    wait_for caught_up
    start_other
    stop_agent
    send_rest
    wait_for 'diff <(truth_counts) <(postgres_counts)'
    stop_collector
    kill "$OTHER"
    wait "$OTHER"
    OTHER=""
    diff <(truth_counts) <(postgres_counts)
    [ "$(psql -qAt "$URL" -c "SELECT count(*), min(first_sequence) FROM filed")" = "1|1" ]
}
