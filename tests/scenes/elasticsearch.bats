#!/usr/bin/env bats
# The Elasticsearch sink: with a real server (2.4.1), and with a simulated one (tests/tools/http_server.py) that is a strict version 8
# and injects faults on request.
load scene
load live

setup() {
    live_setup
    SERVER='' COLLECTOR='' WEB=$(free_port)
}

teardown() {
    [ -z "$COLLECTOR" ] || kill -9 "$COLLECTOR" 2>/dev/null || :
    [ -z "$SERVER" ] || kill -9 "$SERVER" 2>/dev/null || :
    live_teardown
}

# Starts the simulated server and waits until it answers.
start_server() {
    mkdir -p "$T/server"
    "$SOURCE/tests/tools/http_server.py" "$T/server" "$WEB" "$@" >"$T/server/out" 2>&1 3>&- &
    SERVER=$!
    scheme=http${1:+s}
    wait_for 'curl -sk -o /dev/null "$scheme://127.0.0.1:$WEB/"'
    rm -f "$T/server/log"
}

# Sets the server's fault mode.
server_is() {
    echo "$*" >"$T/server/mode.new"
    mv "$T/server/mode.new" "$T/server/mode"
}

# Starts an agent that writes there, and to a file as reference.
start_writing() {
    SINK=elasticsearch:url=http://127.0.0.1:$WEB$1
    start_agent --sensors loadavg,meminfo,stat -p "${PERIOD:-100ms}" --sink "json:path=$T/truth" --sink "$SINK"
}

# Stops the agent cleanly, after it has sent everything.
end_agent() {
    kill "$AGENT"
    wait "$AGENT" || :
    AGENT=
}

# "host set job instance time" of each sample in the file, and of each document that the server has stored.
truth() {
    jq -r '"\(.host) \(.set) \(.job // "") \(.instance) \(.time_ns)"' "$T/truth" | sort
}

taken() {
    jq -r '.document | "\(.host) \(.set) \(.job // "") \(.instance // "") \(.time_ns)"' "$T/server/documents" | sort
}

all_taken() {
    delivered 'diff <(truth) <(taken)' "$SINK"
}

ticks_more() {
    local now
    now=$("$SONDE" ctl --json | jq .ticks)
    wait_for '[ "$("$SONDE" ctl --json | jq .ticks)" -ge '$((now + $1))' ]'
}

start_elasticsearch() {
    status=0
    "$SOURCE/tests/tools/elasticsearch-up" "$T/es" "$WEB" || status=$?
    [ "$status" -ne 77 ] || skip "no Elasticsearch (tools/install-npm) or no java"
    SERVER=$(cat "$T/es/pid")
    [ "$status" -eq 0 ]
}

@test "a real Elasticsearch stores every sample, with declared field types" {
    start_elasticsearch
    start_writing
    "$SONDE" job begin 4711 --pid $$ --user nobody
    ticks_more 10
    end_agent
    [ "$(samples | wc -l)" -gt 30 ]
    delivered 'diff <(samples) <(documents)' "$SINK"
    curl -s "http://127.0.0.1:$WEB/sonde_loadavg/_mapping" |
        jq -e '.sonde_loadavg.mappings.doc.properties | .timestamp.format == "epoch_millis" and .loadavg.properties.load1.type == "double"'
    # a search like Grafana's
    [ "$(curl -s "http://127.0.0.1:$WEB/sonde_meminfo/_search?size=0" -d '{"aggs": {"m": {"avg": {"field": "meminfo.mem_total"}}}}' |
        jq '.aggregations.m.value / 1024 | floor')" -eq "$(awk '/^MemTotal:/ { print $2 }' /proc/meminfo)" ]
}

# An index that was being created during a kill stays broken in this old Elasticsearch: waits until all exist.
wait_for_indexes() {
    for set in "$@"; do
        wait_for '[ "$(curl -s "http://127.0.0.1:$WEB/sonde_$set/_count" | jq ".count // 0")" -gt 0 ]'
    done
}

@test "kill -9 of a real Elasticsearch under load: every document once" {
    start_elasticsearch
    PERIOD=50ms start_writing
    wait_for_indexes loadavg meminfo stat stat_cpu
    for round in 1 2 3; do
        ticks_more 20
        kill -9 "$SERVER"
        ticks_more 5
        start_elasticsearch
    done
    newest=$(grep '"set": "loadavg"' "$T/truth" | tail -n 1 | sed 's/.*"time_ns": \([0-9]*\).*/\1/')
    wait_for '[ "$(curl -s "http://127.0.0.1:$WEB/sonde_loadavg/_count?q=time_ns:$newest" | jq .count)" -gt 0 ]'
    end_agent
    delivered 'diff <(samples) <(documents)' "$SINK"
}

# Starts a collector that writes there; it keeps its journal.
start_collector() {
    WIRE=${WIRE:-$(free_port)}
    "$SONDE" collect --plain --listen "tcp://127.0.0.1:$WIRE" --http none --socket "$T/run/collector.sock" \
        --journal "$T/journal" --sink "elasticsearch:url=http://127.0.0.1:$WEB" >>"$T/collected" 2>&1 3>&- &
    COLLECTOR=$!
}

# Sends what the stopped agent had no time to send.
send_rest() {
    "$SONDE" agent --sensors none --jobs none --listen none --socket none --plain --collector "tcp://127.0.0.1:$WIRE" \
        --spool "$T/spool" >"$T/rest.log" 2>&1 3>&- &
    AGENT=$!
}

# "set instance time" of each document; numbers over 2^53 must be compared as strings.
documents() {
    "$SOURCE/tests/tools/elasticsearch-dump" "http://127.0.0.1:$WEB" 'sonde_*' | python3 -c 'import json, sys
for row in map(json.loads, sys.stdin):
    if "set" in row:
        print(row["set"], row.get("instance", ""), row["time_ns"])' | sort
}

samples() {
    sed 's/.*"time_ns": \([0-9]*\).*"set": "\([a-z_]*\)", "instance": "\([^"]*\)".*/\2 \3 \1/' "$T/truth" | sort
}

@test "through a collector: kill -9 of Elasticsearch, of the collector, under load: every document once" {
    start_elasticsearch
    mkdir -p "$T/run"
    start_collector
    start_agent --sensors loadavg,meminfo,stat -p 50ms --sink "json:path=$T/truth" --plain --collector "tcp://127.0.0.1:$WIRE" \
        --spool "$T/spool"
    "$SONDE" job begin 4711 --pid $$ --user nobody
    wait_for_indexes loadavg meminfo stat stat_cpu job_events
    for round in 1 2 3; do
        ticks_more 20
        kill -9 "$SERVER"
        ticks_more 10
        kill -9 "$COLLECTOR"
        ticks_more 10
        start_collector
        start_elasticsearch
    done
    ticks_more 10
    end_agent
    samples >expected
    send_rest
    for ((i = 0; i < 300; i++)); do
        [ "$(documents | wc -l)" -lt "$(wc -l <expected)" ] || break
        sleep 1
    done
    documents | diff expected - || { cat "$T/collected"; false; }
    [ "$(wc -l <expected)" -gt 500 ]
    [ "$(curl -s "http://127.0.0.1:$WEB/sonde_job_events/_search?q=job:4711%20AND%20event:begin" | jq .hits.total)" -eq 1 ]
    kill "$COLLECTOR"
    wait "$COLLECTOR"
    COLLECTOR=
}

@test "through a collector: an Elasticsearch that is down is reported, and delays no other sink" {
    mkdir -p "$T/run"
    start_collector
    start_agent --sensors loadavg -p 50ms --sink "json:path=$T/truth" --plain --collector "tcp://127.0.0.1:$WIRE" --spool "$T/spool"
    wait_for 'grep -q "cannot write to the sink elasticsearch:url=[^ ]*: no answer from http://127.0.0.1:$WEB: Failed to connect" "$T/collected"'
    status_of() {
        "$SONDE" collect --status --json "$T/run/collector.sock" | jq -r "$1"
    }
    wait_for '[ "$(status_of ".sinks[0].state")" = fails ]'
    end_agent
    send_rest
    # it is back and gets everything
    start_server
    for ((i = 0; i < 240; i++)); do # retries become less frequent
        [ "$(taken 2>/dev/null | wc -l)" -lt "$(truth | wc -l)" ] || break
        sleep 1
    done
    diff <(truth) <(taken)
    wait_for 'grep -q "the sink elasticsearch:url=[^ ]* accepts samples again" "$T/collected"'
}

@test "Colmet's indexes and fields, in a real Elasticsearch" {
    start_elasticsearch
    start_writing ,layout=colmet,prefix=colmet_dahu_
    "$SONDE" job begin 42 --pid $$ --user nobody
    ticks_more 10
    end_agent
    host=$(head -n 1 "$T/truth" | jq -r .host)
    as_dashboard_asks() {
        curl -s "http://127.0.0.1:$WEB/colmet_*/_refresh" -XPOST >/dev/null
        curl -s "http://127.0.0.1:$WEB/colmet_dahu_procstats_default/_search" -d '{"query": {"query_string":
            {"query": "involved_jobs:42 AND hostname:'"$host"'"}}, "sort": [{"timestamp": "desc"}]}' >found
        [ "$(jq '.hits.total // 0' found)" -gt 0 ]
    }
    delivered as_dashboard_asks "$SINK"
    jq -e '.hits.hits[0]._source | .job_id == 0 and .involved_jobs == [42] and .meminfo_memtotal > 0 and .stat_cpu_user > 0' found
    [ "$(jq '.hits.hits[0]._source.meminfo_memtotal' found)" -eq "$(awk '/^MemTotal:/ { print $2 }' /proc/meminfo)" ]
    jq -e '.hits.hits[0]._source.timestamp | . == floor and . > 1700000000 and . < 4000000000' found
    curl -s "http://127.0.0.1:$WEB/colmet_dahu_procstats_default/_mapping" | jq -e '.[].mappings.doc.properties.timestamp.format == "epoch_second"'
}

@test "Elasticsearch 8: no types, and nothing that its strict parser rejects" {
    start_server
    start_writing
    ticks_more 10
    end_agent
    [ "$(truth | wc -l)" -gt 30 ]
    all_taken
    [ ! -s "$T/server/out" ] || { cat "$T/server/out"; false; }
    grep -q '=== PUT /sonde_meminfo$' "$T/server/log"
    [ -z "$(grep _type "$T/server/log")" ]
}

@test "status 429, 503, HTML pages, truncated or missing responses: logged, and nothing is lost" {
    start_server
    start_writing ,timeout=2s
    for way in "busy 4" "away 2" "html 2" "gateway 2" "cut 1" "closes 2" "silent 1" "deaf 2"; do
        server_is "$way"
        wait_for '[ "$(cat "$T/server/mode")" = good ]'
        ticks_more 2
    done
    for ((i = 0; i < 120; i++)); do # by now it is retried once a minute
        ! tail -n 1 "$T/log" | grep -q "the sink elasticsearch:url=[^ ]* accepts samples again" || break
        sleep 1
    done
    ticks_more 2
    end_agent
    all_taken
    grep -q 'cannot write to the sink elasticsearch:url=[^ ]*: http://127.0.0.1:[0-9]*[a-z_/]* returned HTTP 429: too many requests (.*too many requests' "$T/log" ||
        { cat "$T/log" && return 1; }
}

@test "an agent keeps sampling while Elasticsearch does not respond" {
    start_server
    server_is silent
    PERIOD=10ms start_writing ,timeout=100s # an agent that waits for it would miss 10,000 ticks
    wait_for '[ "$("$SONDE" ctl --json | jq .ticks)" -ge 100 ]'
    [ "$("$SONDE" ctl --json | jq .missed)" -le 5000 ] || { "$SONDE" ctl --json; false; }
    server_is good
    kill -9 "$AGENT"
    AGENT=
}

@test "error messages" {
    start_server
    say() {
        server_is "$1"
        "$SONDE" agent --once --listen none --socket none --sensors loadavg \
            --sink "elasticsearch:url=http://127.0.0.1:$WEB$3" 2>"$T/log" || :
        grep -q "$2" "$T/log" || { cat "$T/log"; return 1; }
    }
    say html 'is not Elasticsearch: it returned an HTML page "Welcome to the portal". Check url'
    say denied 'returned HTTP 401: check user, password or key (.*unable to authenticate user'
    say away 'returned HTTP 503 (.*no master'
    say gateway 'returned HTTP 502 (502 Bad Gateway)'
    say silent 'did not answer within 0.3' ,timeout=300ms
    say closes 'no answer from http://127.0.0.1:'
    kill -9 "$SERVER"
    say good "no answer from http://127.0.0.1:$WEB: Failed to connect"
    say good "url must start with http:// or https://" ,url=localhost:9200
    say good "credentials in /nonexistent" ,credentials=/nonexistent
}

# The ids of all documents that the server received, including duplicates.
sent() {
    sed -n 's/^{"create".*"_id": "\([^"]*\)".*/\1/p' "$T/server/log" | sort
}

@test "only what failed is sent again" {
    start_server
    server_is documents_busy
    start_writing
    wait_for '[ -n "$(sent | uniq -d)" ]'
    server_is good
    ticks_more 5
    end_agent
    all_taken
    diff <(sent | sort -u) <(jq -r .id "$T/server/documents" | sort)
    # documents accepted the first time were not sent again
    sent | uniq -d >again
    python3 -c 'import sys, zlib; sys.exit(any(zlib.crc32(line.strip().encode()) % 3 for line in sys.stdin))' <again
}

@test "rejected documents are logged and counted, and do not block others" {
    start_server
    server_is documents_wrong
    start_writing
    ticks_more 5
    end_agent
    delivered 'diff <(truth | grep -v " loadavg ") <(taken)' "$SINK"
    grep -q 'loses samples: http.* rejected documents: 400 for index sonde_loadavg (mapper_parsing_exception: failed to parse field' "$T/log"
    [ "$(grep -c 'loses samples' "$T/log")" -eq 1 ]
}

@test "a request too large for the server is sent in smaller chunks" {
    start_server
    server_is large
    start_writing
    ticks_more 5
    end_agent
    delivered 'diff <(truth | grep -v meminfo) <(taken | grep -v meminfo)' "$SINK"
}

@test "user and password, credential files that change, and API keys" {
    start_server
    once() {
        rm -f "$T/server/documents"
        "$SONDE" agent --once --listen none --socket none --sensors loadavg --sink "elasticsearch:url=http://127.0.0.1:$WEB,$1" 2>"$T/log"
        [ "$(wc -l <"$T/server/documents")" -eq 1 ]
    }
    echo "Basic $(printf 'user:pa:ss' | base64)" >"$T/server/authorization"
    once user=user,password=pa:ss
    echo user:pa:ss >secret
    once "credentials=$T/secret"
    echo "ApiKey $(printf 'id:key' | base64)" >"$T/server/authorization"
    once api_key=id:key
    once "api_key=$(printf 'id:key' | base64)"
    echo "ApiKey id:key" >secret
    once "credentials=$T/secret"
    echo "Basic $(printf 'new:word' | base64)" >"$T/server/authorization"
    start_writing ",credentials=$T/secret"
    wait_for 'grep -q "returned HTTP 401" "$T/log"'
    echo new:word >secret
    wait_for 'grep -q "accepts samples again" "$T/log"'
    end_agent
    [ -z "$(grep pa:ss "$T/log")" ]
}

@test "the printed configuration does not contain the password" {
    run -0 "$SONDE" agent --check -v --sink "elasticsearch:url=http://127.0.0.1:1,user=ada,password=lovelace"
    [[ $output == *'user=ada,password=***'* ]]
    [[ $output != *lovelace* ]]
}

@test "TLS: trusted and untrusted certificates, and no verification" {
    openssl req -x509 -newkey rsa:2048 -nodes -keyout key -out certificate -days 2 -subj /CN=localhost \
        -addext subjectAltName=DNS:localhost,IP:127.0.0.1 2>/dev/null
    start_server "$T/certificate" "$T/key"
    once() {
        "$SONDE" agent --once --listen none --socket none --sensors loadavg --sink "elasticsearch:url=https://127.0.0.1:$WEB$1" 2>"$T/log"
    }
    once ",ca=$T/certificate"
    once ,insecure=yes
    [ "$(wc -l <"$T/server/documents")" -eq 2 ]
    run once ''
    grep -q "the certificate of https://127.0.0.1:$WEB is not trusted: .*ca=FILE" "$T/log"
    [ "$(wc -l <"$T/server/documents")" -eq 2 ]
}
