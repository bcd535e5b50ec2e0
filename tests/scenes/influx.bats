#!/usr/bin/env bats
# The influx sink (line protocol): on standard output, in a file, to a real InfluxDB 1.6 and a real VictoriaMetrics.
load scene
load live

setup() {
    live_setup
    SERVER='' WEB=$(free_port)
}

teardown() {
    [ -z "$SERVER" ] || kill -9 "$SERVER" 2>/dev/null || :
    live_teardown
}

start() {
    status=0
    "$SOURCE/tests/tools/series-up" "$1" "$T/$1" "$WEB" || status=$?
    [ "$status" -ne 77 ] || skip "no $1"
    SERVER=$(cat "$T/$1/pid")
    [ "$status" -eq 0 ]
}

feed() {
    "$BUILD/tests/sink_pour" "influx:url=http://127.0.0.1:$WEB$SETTINGS" "$@"
}

# One value of a response of InfluxDB.
influx() {
    curl -s -G --data-urlencode "q=$1" --data-urlencode "db=${DB:-sonde}" "http://127.0.0.1:$WEB/query" |
        jq -r '[.results[0].series[]?.values[][1]] | map(tostring) | join(" ")'
}

@test "a line per sample, on standard output and appended to a file" {
    "$SONDE" agent --once --listen none --socket none --sensors loadavg,stat --sink influx >lines
    [ "$(grep -c '^loadavg,host=[^ ,]* load1=[0-9.e+-]*,load5=[0-9.e+-]*,load15=[0-9.e+-]*,runnable=[0-9]*i,tasks=[0-9]*i,newest_pid=[0-9]*i [0-9]\{19\}$' lines)" -eq 1 ]
    [ "$(grep -c '^stat_cpu,host=[^ ,]*,cpu=cpu[0-9]* user=' lines)" -eq "$(nproc --all)" ]
    "$BUILD/tests/sink_pour" "influx:path=$T/file" 0 2 "a host, with=signs\\" >/dev/null
    "$BUILD/tests/sink_pour" "influx:path=$T/file" 2 3 n2 >/dev/null
    cat >expected <<'END'
feed,host=a\ host\,\ with\=signs_,job=4711,user=ada batches=0i,level=0.5,change=0i 1700000000000000000
disk,host=a\ host\,\ with\=signs_,device=sda sectors=0i 1700000000000000000
disk,host=a\ host\,\ with\=signs_,device=sdb sectors=0i 1700000000000000000
feed,host=a\ host\,\ with\=signs_,job=4711,user=ada batches=1i,level=1.5,change=-1i 1700000001000000000
disk,host=a\ host\,\ with\=signs_,device=sda sectors=7i 1700000001000000000
disk,host=a\ host\,\ with\=signs_,device=sdb sectors=7i 1700000001000000000
feed,host=n2,job=4711,user=ada batches=2i,level=2.5,change=-2i 1700000002000000000
disk,host=n2,device=sda sectors=14i 1700000002000000000
disk,host=n2,device=sdb sectors=14i 1700000002000000000
END
    diff expected "$T/file"
}

@test "the database is created, and every sample is stored once, however often it is sent" {
    start influxdb
    feed 0 200 n1 'a host, with=signs'
    feed 0 200 n1 'a host, with=signs'
    [ "$(influx 'select count(batches) from feed')" = 400 ]
    [ "$(influx 'select count(sectors) from disk where host = '"'a host, with=signs'")" = 400 ]
    [ "$(influx "select last(batches) from feed where job = '4711' and \"user\" = 'ada'")" = 199 ]
    [ "$(influx 'select last(change) from feed')" = -199 ]
    SETTINGS=',db=other"one' DB='other"one' && feed 0 3
    [ "$(influx 'select count(batches) from feed')" = 3 ]
    SETTINGS=,db=missing,create=no
    run timeout 5 "$BUILD/tests/sink_pour" "influx:url=http://127.0.0.1:$WEB$SETTINGS" 0 1
    [ "$status" -eq 124 ]
}

@test "kill -9 of InfluxDB under load: every sample once" {
    start influxdb
    feed 0 10
    feed 10 20000 >result &
    feeder=$!
    for round in 1 2 3; do
        sleep 0.3
        kill -9 "$SERVER"
        sleep 0.3
        start influxdb
    done
    wait "$feeder"
    grep -q 'refused 0 no answer from' result # it was interrupted in the middle
    [ "$(influx 'select count(batches) from feed')" = 20000 ]
    [ "$(influx 'select count(sectors) from disk')" = 40000 ]
}

@test "a point that InfluxDB rejects is counted, and no other is lost" {
    start influxdb
    feed 0 1
    # makes level a string field: no point of feed matches
    curl -s "http://127.0.0.1:$WEB/write?db=sonde" --data-binary 'feed,host=n7,job=4711,user=ada level="text" 1700000005000000000' >/dev/null
    DB=second
    curl -s -XPOST "http://127.0.0.1:$WEB/query" --data-urlencode 'q=create database second' >/dev/null
    curl -s "http://127.0.0.1:$WEB/write?db=second" --data-binary 'feed,host=n1 level="text" 1700000000000000000' >/dev/null
    SETTINGS=,db=second feed 0 10 >result
    grep -q 'refused 10 .*partial write: field type conflict' result
    [ "$(influx 'select count(sectors) from disk')" = 20 ]
}

@test "VictoriaMetrics accepts the same lines" {
    start victoria-metrics
    export SINK_POUR_BASE=$(($(date +%s) - 300))
    feed 0 100 n1 n2
    query() {
        curl -s -G --data-urlencode "query=$1" "http://127.0.0.1:$WEB/api/v1/query" | jq -r '.data.result[0].value[1] // empty'
    }
    wait_for '[ "$(query "sum(count_over_time(feed_batches{db=\"sonde\",job=\"4711\"}[1h]))")" = 200 ]'
    [ "$(query 'last_over_time(disk_sectors{host="n2",device="sdb"}[1h])')" = 693 ]
}

@test "an HTML page, a wrong password: logged, and nothing is lost" {
    mkdir -p "$T/server"
    "$SOURCE/tests/tools/http_server.py" "$T/server" "$WEB" >"$T/server/out" 2>&1 3>&- &
    SERVER=$!
    wait_for 'curl -s -o /dev/null "http://127.0.0.1:$WEB/"'
    for way in "html 1" "denied 1" "away 1" "large 1"; do
        echo "$way" >"$T/server/mode"
        feed 0 20 >result
        grep -q 'refused 0' result
    done
    echo html >"$T/server/mode"
    "$SONDE" agent --once --listen none --socket none --sensors loadavg --sink "influx:url=http://127.0.0.1:$WEB" 2>log || :
    grep -q 'returned an HTML page: it is not InfluxDB. Check url' log
}
