#!/usr/bin/env bats
# The kafka sink: with librdkafka's mock cluster, which has the current protocol, and a real broker of 2016 that is killed.
load scene
load live
load kafka

# "host stream sequence place" of each message.
names() {
    jq -r '"\(.host) \(.stream) \(.sequence) \(.place)"'
}

# The same for what tests/tools/sink_pour.c writes for hosts n1 and n2, batches $1 to $2.
poured() {
    for ((n = $1; n < $2; n++)); do
        for host in n1 n2; do
            for place in 0 1 2; do echo "$host 000000000000004d $((n + 1)) $place"; done
        done
    done | sort
}

@test "a topic per metric set, valid JSON, and the rows of a job on one partition in order" {
    start_mock 3
    pour '' 0 40 n1 n2
    read_topic sonde.feed '%k %p %s\n' >feed
    [ "$(wc -l <feed)" -eq 80 ]
    [ "$(cut -d' ' -f1,2 feed | sort -u | wc -l)" -eq 1 ]
    grep -q '^4711 ' feed
    cut -d' ' -f3- feed | jq -r 'select(.host == "n1") | .batches' >order
    diff order <(seq 0 39)
    cut -d' ' -f3- feed | jq -es 'all(.job == "4711" and .job_user == "ada" and .set == "feed" and .level == .batches + 0.5
        and .change == -.batches and .time_ns == (1700000000 + .batches) * 1000000000)'
    # messages of the node have its name as key, their instance, and no unknown values
    read_topic sonde.disk '%k %s\n' >disk
    [ "$(grep -c '^n1 ' disk)" -eq 80 ]
    cut -d' ' -f2- disk | jq -es 'all(has("never") | not) and ([.[].instance] | unique == ["sda", "sdb"])'
}

@test "headers and fields identify a message" {
    start_mock
    pour '' 0 3 n1
    read_topic sonde.feed '%h %s\n' >feed
    head -n 1 feed | grep -q '^host=n1,stream=000000000000004d,sequence=1,place=0 {'
    { read_topic sonde.feed '%s\n'; read_topic sonde.disk '%s\n'; } | names | sort >found
    diff found <(poured 0 3 | grep '^n1')
}

@test "one topic, MessagePack, and LDMS's names" {
    /usr/bin/python3 -c 'import msgpack' || skip "no python3-msgpack"
    start_mock
    pour ',topic=metrics,format=msgpack,names=ldms,compression=zstd' 0 5 n1
    read_topic metrics '%s' >packed
    /usr/bin/python3 -c 'import msgpack, sys
rows = list(msgpack.Unpacker(open("packed", "rb")))
assert len(rows) == 15, len(rows)
row = rows[0]
assert row["ProducerName"] == "n1" and row["job_id"] == 4711 and row["Time"] == 1700000000.0 and row["batches"] == 0, row
assert sorted({(r["sequence"], r["place"]) for r in rows}) == [(s, p) for s in range(1, 6) for p in range(3)]'
}

@test "brokers that are down, reject requests or lose a leader: all messages arrive in order" {
    start_mock 3
    BROKERS=$BROKERS pour ',timeout=2s' 0 400 n1 n2 &
    POUR=$!
    for round in 1 2 3; do
        for broker in 1 2 3; do echo "down $broker" >>"$T/mock/say"; done
        sleep 0.3
        for broker in 1 2 3; do echo "up $broker" >>"$T/mock/say"; done
        echo "produce 3 6" >>"$T/mock/say" # NOT_LEADER_FOR_PARTITION
        echo "produce 2 7" >>"$T/mock/say" # REQUEST_TIMED_OUT
        sleep 0.3
    done
    wait $POUR || { cat "$T/poured"; false; }
    POUR=
    { read_topic sonde.feed '%s\n'; read_topic sonde.disk '%s\n'; } | names | sort -u >found
    diff found <(poured 0 400)
    read_topic sonde.feed '%s\n' | jq -r 'select(.host == "n2") | .batches' | uniq >order
    diff order <(seq 0 399)
}

@test "kill -9 of a real Kafka and of the producer under load: every sample once after dropping duplicates" {
    start_kafka
    feed() { pour ",$OLD_OPTIONS,timeout=10s" "$@"; }
    feed 0 2000 n1 n2 &
    POUR=$!
    for round in 1 2; do
        sleep 0.3
        kill_kafka
        start_kafka
    done
    wait $POUR || { cat "$T/poured"; false; }
    # producers that are killed: their caller sends again what was not durable
    for round in 1 2 3; do
        "$BUILD/tests/sink_pour" "kafka:brokers=$BROKERS,$OLD_OPTIONS" 2000 9000 n1 n2 >"$T/poured" 2>&1 3>&- &
        POUR=$!
        sleep 0.4
        kill -9 $POUR
        wait $POUR || :
    done
    feed 2000 2500 n1 n2
    POUR=
    { read_topic sonde.feed '%s\n' "${OLD[@]}"; read_topic sonde.disk '%s\n' "${OLD[@]}"; } >all
    names <all | sort >found
    sort -u found | awk '$3 <= 2500' >once
    diff once <(poured 0 2500)
    # duplicates are identical to the last byte
    [ "$(sort -u all | wc -l)" -eq "$(sort -u found | wc -l)" ]
}

@test "from an agent through a collector to an old Kafka, each but the agent killed: no sample is lost, duplicates are identical" {
    start_kafka
    address=tcp://127.0.0.1:$(free_port)
    collect() {
        "$SONDE" collect --plain --listen "$address" --journal "$T/journal" --http none --socket "$T/c.sock" \
            --sink "kafka:brokers=$BROKERS,topic=node,$OLD_OPTIONS" >>"$T/collector.log" 2>&1 3>&- &
        POUR=$!
    }
    collect
    start_agent --sensors loadavg,stat -p 50ms --plain --collector "$address" --spool "$T/spool" --sink "json:path=$T/truth"
    for round in 1 2 3; do
        now=$("$SONDE" ctl --json | jq .ticks)
        wait_for '[ "$("$SONDE" ctl --json | jq .ticks)" -ge $((now + 20)) ]'
        kill -9 "$POUR"
        if [ "$round" -eq 2 ]; then
            kill_kafka
            collect
            start_kafka
        else
            collect
        fi
    done
    now=$("$SONDE" ctl --json | jq .ticks)
    wait_for '[ "$("$SONDE" ctl --json | jq .ticks)" -ge $((now + 20)) ]'
    kill "$AGENT"
    wait "$AGENT" || :
    AGENT=
    "$SONDE" agent --sensors none --jobs none --listen none --socket none --plain --collector "$address" --spool "$T/spool" \
        >"$T/rest.log" 2>&1 3>&- & # sends what the other had no time to send
    AGENT=$!
    for ((i = 0; i < 300; i++)); do
        read_topic node '%s\n' "${OLD[@]}" | sort -u >once
        [ "$(wc -l <once)" -ge "$(wc -l <"$T/truth")" ] && break
        sleep 0.2
    done
    [ -z "$(names <once | sort | uniq -d)" ]
    diff <(jq -r '"\(.set) \(.instance // "") \(.time_ns)"' once | sort) <(jq -r '"\(.set) \(.instance) \(.time_ns)"' "$T/truth" | sort)
}

@test "error messages" {
    start_mock
    say() {
        "$SONDE" agent --once --listen none --socket none --sensors loadavg --sink "kafka:$1" 2>"$T/log" || :
        grep -q "$2" "$T/log" || { cat "$T/log"; return 1; }
    }
    say "brokers=127.0.0.1:1,timeout=3s" '127.0.0.1:1.*Connection refused'
    say "brokers=$BROKERS,format=xml" "invalid format 'xml' (expected json"
    say "brokers=$BROKERS,options=no.such=1" 'no.such=1: No such configuration property'
    say "brokers=$BROKERS,config=/nonexistent" 'cannot read /nonexistent'
    say "brokers=$BROKERS,compression=best" 'compression.type=best'
    say "brokers=$BROKERS,idempotent=no,exactly_once=yes" 'exactly_once=yes needs transactions, which idempotent=no rules out'
}

@test "an agent writes to Kafka, and a message that is too large does not block others" {
    start_mock
    start_agent --sensors loadavg,stat -p 100ms --sink "json:path=$T/truth" --sink "kafka:brokers=$BROKERS,topic=node"
    wait_for '[ "$("$SONDE" ctl --json | jq .ticks)" -ge 10 ]'
    kill "$AGENT"
    wait "$AGENT" || :
    AGENT=
    same_as_truth() {
        diff <(read_topic node '%s\n' | jq -r '"\(.set) \(.instance // "") \(.time_ns)"' | sort) \
            <(jq -r '"\(.set) \(.instance) \(.time_ns)"' "$T/truth" | sort)
    }
    delivered same_as_truth "kafka:brokers=$BROKERS,topic=node"
    [ "$(read_topic node '%s\n' | names | sort | uniq -d | wc -l)" -eq 0 ]
    start_agent --sensors loadavg,vmstat -p 100ms --sink "kafka:brokers=$BROKERS,topic=small,options=message.max.bytes=1000"
    wait_for 'grep -q "the sink kafka:[^ ]* loses samples: topic small: .*too large.*: message dropped" "$T/log"'
    wait_for '[ "$(read_topic small "%s\n" | wc -l)" -ge 3 ]'
}
