#!/usr/bin/env bats
# Kafka between agents and collectors: agents write whole records to a topic, and several collectors share it.
load scene
load live
load kafka

setup() {
    kafka_setup
    COLLECTORS=()
}

teardown() {
    for pid in "${COLLECTORS[@]}"; do kill -9 "$pid" 2>/dev/null || :; done
    kafka_teardown
}

# start_collector NAME [settings of --from-kafka]: with its journal in $T/NAME.journal and its output in $T/NAME.json.
start_collector() {
    "$SONDE" collect --from-kafka "$BROKERS/sonde.wire$2" --journal "$T/$1.journal" --http none --socket "$T/$1.sock" \
        --sink "json:path=$T/$1.json" >>"$T/$1.log" 2>&1 3>&- &
    LAST=$!
    COLLECTORS+=("$LAST")
}

# "host instance seconds" of each row of these collectors.
rows() {
    for name in "$@"; do
        jq -r '"\(.host) \(if .instance == "" then "-" else .instance end) \(.time_ns / 1000000000 - 1700000000 | round)"' "$T/$name.json"
    done | sort
}

# The rows that tests/tools/sink_pour.c writes for these hosts, batches $1 to $2.
poured_rows() {
    for ((n = $1; n < $2; n++)); do
        for host in "${@:3}"; do printf '%s\n' "$host - $n" "$host sda $n" "$host sdb $n"; done
    done | sort
}

# Waits until these collectors have written COUNT rows in total.
wait_for_rows() { # COUNT NAME…
    local count=$1
    shift
    for ((i = 0; i < 600; i++)); do
        [ "$(cat "${@/%/.json}" 2>/dev/null | wc -l)" -ge "$count" ] && return
        sleep 0.1
    done
    echo "only $(cat "${@/%/.json}" | wc -l) of $count rows"
    for name in "$@"; do cat "$T/$name.log"; done
    return 1
}

end_collector() {
    kill "$1"
    wait "$1"
}

@test "an agent sends to Kafka, and a collector consumes" {
    start_mock
    "$SONDE" collect --from-kafka "$BROKERS" --journal "$T/journal" --http none --socket "$T/c.sock" \
        --sink "json:path=$T/taken" >"$T/collector.log" 2>&1 3>&- &
    COLLECTORS+=($!)
    start_agent --sensors loadavg,meminfo,stat -p 100ms --sink "json:path=$T/truth" --sink "kafka:brokers=$BROKERS,format=wire"
    "$SONDE" job begin 4711 --pid $$ --user nobody
    wait_for '[ "$("$SONDE" ctl --json | jq .ticks)" -ge 20 ]'
    kill "$AGENT"
    wait "$AGENT" || :
    AGENT=
    wait_for '[ "$(wc -l <"$T/taken")" -ge "$(wc -l <"$T/truth")" ]'
    # every value of every sample is unchanged
    host=$(uname -n)
    diff <(jq -c "del(.host)" "$T/truth" | sort) <(jq -c "del(.host)" "$T/taken" | sort)
    [ "$(jq -r .host "$T/taken" | sort -u)" = "$host" ]
    "$SONDE" collect --status "$T/c.sock" | grep -q "^$host  *up"
}

@test "two collectors share the hosts; when one stops, the other takes over without loss or duplicates" {
    start_mock
    hosts=(a1 a2 a3 a4 a5 a6 a7 a8)
    start_collector one
    first=$LAST
    start_collector two
    pour ,format=wire 0 20 "${hosts[@]}"
    wait_for_rows 480 one two
    # until both have joined the consumer group
    for ((n = 20; n < 400; n += 20)); do
        pour ,format=wire $n $((n + 20)) "${hosts[@]}"
        wait_for_rows $((n * 24 + 480)) one two
        [ -s one.json ] && [ -s two.json ] && break
    done
    [ -s one.json ]
    [ -s two.json ]
    pour ,format=wire $((n + 20)) $((n + 220)) "${hosts[@]}" &
    POUR=$!
    sleep 0.2
    end_collector "$first"
    wait "$POUR"
    POUR=
    wait_for_rows $(((n + 220) * 24)) one two
    diff <(rows one two) <(poured_rows 0 $((n + 220)) "${hosts[@]}")
}

@test "a collector that starts in the middle of a stream reads back to a snapshot" {
    start_mock
    start_collector one
    first=$LAST
    start_agent --sensors loadavg,meminfo,stat -p 100ms --sink "json:path=$T/truth" \
        --sink "kafka:brokers=$BROKERS,format=wire,states=1h"
    wait_for_rows 100 one
    end_collector "$first"
    now=$("$SONDE" ctl --json | jq .ticks)
    start_collector two
    wait_for '[ "$("$SONDE" ctl --json | jq .ticks)" -ge $((now + 20)) ]'
    kill "$AGENT"
    wait "$AGENT" || :
    AGENT=
    wait_for_rows "$(wc -l <"$T/truth")" one two
    [ -s two.json ]
    [ "$("$SONDE" collect --status --json "$T/two.sock" | jq '.kafka.rewinds')" -ge 1 ]
    "$SONDE" collect --status "$T/two.sock" | grep -q "^  kafka  *$BROKERS/sonde.wire: .* messages, 4 partitions"
    diff <(jq -c "del(.host)" "$T/truth" | sort) <(cat one.json two.json | jq -c "del(.host)" | sort)
    # only the first message, with the descriptions, is large (about 5 kB); the others are deltas of up to 200 bytes
    [ "$(read_topic sonde.wire '%S\n' | awk '$1 > 3000' | wc -l)" -eq 1 ]
}

@test "kill -9 of a real Kafka and of the collector, repeatedly: every sample once" {
    start_kafka
    start_collector one ",$OLD_OPTIONS"
    pour ",format=wire,timeout=2s,$OLD_OPTIONS" 0 3000 n1 n2 &
    POUR=$!
    for round in 1 2 3; do
        sleep 0.5
        kill -9 "$LAST"
        start_collector one ",$OLD_OPTIONS"
        if [ "$round" -ne 2 ]; then
            kill_kafka
            start_kafka
        fi
    done
    wait "$POUR" || { cat "$T/poured"; false; }
    POUR=
    wait_for_rows 18000 one
    end_collector "$LAST"
    diff <(rows one) <(poured_rows 0 3000 n1 n2)
}

@test "invalid messages are logged, counted and skipped; a producer that died starts again" {
    start_mock
    start_collector one
    echo 'no record' | kcat -q -P -b "$BROKERS" -t sonde.wire -k n1
    pour ,format=wire 0 10 n1
    "$BUILD/tests/sink_pour" "kafka:brokers=$BROKERS,format=wire" 10 9000 n1 >"$T/poured" 2>&1 3>&- &
    POUR=$!
    wait_for_rows 300 one
    kill -9 "$POUR"
    pour ,format=wire 10 4000 n1
    POUR=
    wait_for '[ "$(rows one | cut -d" " -f3 | sort -un | tail -n 1)" -ge 3999 ]'
    end_collector "$LAST"
    [ -z "$(rows one | uniq -d)" ]
    diff <(rows one | awk '$3 < 4000') <(poured_rows 0 4000 n1)
    grep -q "skipped a message from Kafka: it was not written by Sonde; is the topic right?" one.log
}

@test "the collector's disk is full: messages stay in Kafka until there is space" {
    need_root
    start_mock
    mkdir "$T/small"
    mount -t tmpfs -o size=1m none "$T/small" 2>/dev/null || skip "cannot mount"
    head -c 900000 /dev/zero >"$T/small/fill"
    "$SONDE" collect --from-kafka "$BROKERS" --journal "$T/small/journal" --http none --socket "$T/c.sock" \
        --sink "json:path=$T/nowhere/no.json" --sink "json:path=$T/one.json" >"$T/one.log" 2>&1 3>&- &
    COLLECTORS+=($!)
    pour ,format=wire 0 3000 n1 n2 n3 n4
    wait_for 'grep -q "cannot write the journal" "$T/one.log"'
    rm "$T/small/fill"
    status=0
    wait_for_rows 36000 one || status=1
    kill "${COLLECTORS[0]}"
    wait "${COLLECTORS[0]}" || :
    umount "$T/small"
    [ "$status" -eq 0 ]
    diff <(rows one) <(poured_rows 0 3000 n1 n2 n3 n4)
}

@test "error messages" {
    fails_with() {
        run "$SONDE" collect --from-kafka "$1" --journal "$T/j" --http none --socket none
        [ "$status" -ne 0 ]
        [[ "$output" == *"$2"* ]] || { echo "$output"; return 1; }
    }
    fails_with '' 'missing Kafka brokers'
    fails_with '/topic' 'missing Kafka brokers'
    fails_with 'k1:9092/t,speed=5' "unknown setting 'speed=5' for Kafka (expected group, options or config)"
    [ -x "$TOOLS/kafka_mock" ] || skip "no librdkafka"
    fails_with 'k1:9092/t,options=no.such=1' 'no.such=1: No such configuration property'
}
