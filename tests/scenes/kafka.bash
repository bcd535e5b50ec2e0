# Loaded after scene and live by scenes with Kafka: librdkafka's mock cluster, or a real broker. kcat, an independent client, reads
# what arrived.

# For brokers before 0.10, which do not report their version; they have no transactions either.
OLD=(-X api.version.request=false -X broker.version.fallback=0.9.0.1)
OLD_OPTIONS='options=api.version.request=false;broker.version.fallback=0.9.0.1'

setup() {
    kafka_setup
}

teardown() {
    kafka_teardown
}

kafka_setup() {
    live_setup
    MOCK='' POUR='' REAL=$(free_port)
}

kafka_teardown() {
    for pid in $MOCK $POUR; do kill -9 "$pid" 2>/dev/null || :; done
    "$SOURCE/tests/tools/kafka-down" "$T/kafka"
    live_teardown
}

start_mock() {
    if [ ! -x "$TOOLS/kafka_mock" ] || ! command -v kcat >/dev/null; then skip "no librdkafka or no kcat"; fi
    mkdir -p "$T/mock"
    "$TOOLS/kafka_mock" "$T/mock" "${1:-1}" >"$T/mock/out" 2>&1 3>&- &
    MOCK=$!
    wait_for '[ -s "$T/mock/brokers" ]'
    BROKERS=$(tr , ';' <"$T/mock/brokers")
}

start_kafka() {
    [ -x "$TOOLS/kafka_mock" ] || skip "no librdkafka"
    status=0
    "$SOURCE/tests/tools/kafka-up" "$T/kafka" "$REAL" || status=$?
    [ "$status" -ne 77 ] || skip "no Kafka (tools/install-npm), no java or no kcat"
    [ "$status" -eq 0 ]
    BROKERS=127.0.0.1:$REAL
}

kill_kafka() {
    kill -9 "$(cat "$T/kafka/pid")"
}

# Starts a broker with transactions (tests/tools/kafka_broker.py): the real one is too old for them. May be called again after
# kill_broker.
start_broker() {
    if [ ! -x "$TOOLS/kafka_mock" ] || ! command -v kcat >/dev/null; then skip "no librdkafka or no kcat"; fi
    rm -f "$T/broker/ready"
    python3 "$SOURCE/tests/tools/kafka_broker.py" "$T/broker" "$REAL" "${SLOW_MS:-0}" >>"$T/broker.log" 2>&1 3>&- &
    OWN_KAFKA=$!
    wait_for '[ -e "$T/broker/ready" ]'
    BROKERS=127.0.0.1:$REAL
}

kill_broker() {
    kill -9 "$OWN_KAFKA"
    wait "$OWN_KAFKA" 2>/dev/null || :
    OWN_KAFKA=""
}

pour() { # SETTINGS FROM TO HOST…
    "$BUILD/tests/sink_pour" "kafka:brokers=$BROKERS$1" "${@:2}" >"$T/poured" 2>&1 3>&-
}

# All messages of a topic, in a format of kcat -f.
read_topic() { # TOPIC FORMAT [options of kcat]
    timeout 60 kcat -q -b "${BROKERS//;/,}" -t "$1" -C -e -o beginning -f "$2" "${@:3}"
}

# Reads a topic into $T/messages without duplicates, and the samples alone into $T/messages.json. Without transactions the messages in
# flight at a crash are sent again: byte for byte the same, or both copies stay here and assert_named_once fails.
take_messages() { # TOPIC [options of kcat]
    read_topic "$1" '%s\n' "${@:2}" | sort -u >"$T/messages"
    grep -v '"event":' "$T/messages" >"$T/messages.json"
}

# The same for a consumer with isolation.level=read_committed, which must get no duplicates.
take_committed() { # TOPIC [options of kcat]
    read_topic "$1" '%s\n' -X isolation.level=read_committed "${@:2}" | sort >"$T/messages"
    grep -v '"event":' "$T/messages" >"$T/messages.json"
}

assert_named_once() {
    [ -s "$T/messages" ]
    [ -z "$(jq -r '"\(.host) \(.stream) \(.sequence) \(.place)"' "$T/messages" | sort | uniq -d)" ]
}

# Checks that the start and end of every declared job is there.
assert_job_events() {
    diff <(jq -r 'select(.event == "begin" or .event == "end") | "\(.job) \(.event)"' "$T/messages" | sort) <(sort "$T/jobs.declared")
}
