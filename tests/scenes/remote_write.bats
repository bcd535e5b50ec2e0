#!/usr/bin/env bats
# The remote_write sink: to a real Prometheus and a real VictoriaMetrics, with the names and labels of /metrics.
load scene
load live

setup() {
    live_setup
    SERVER='' GROUP='' MEMORY='' WEB=$(free_port)
}

teardown() {
    [ -z "$GROUP" ] || find "$GROUP" "$MEMORY" -depth -type d -exec rmdir {} \; 2>/dev/null || :
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

start_writing() {
    SINK=prometheus:url=http://127.0.0.1:$WEB/api/v1/write$1
    start_agent --sensors loadavg,meminfo,stat -p "${PERIOD:-100ms}" --sink "json:path=$T/truth" --sink "$SINK"
}

end_agent() {
    kill "$AGENT"
    wait "$AGENT" || :
    AGENT=
}

# The value of the first series of a query; empty if there is none.
query() {
    curl -s -G --data-urlencode "query=$1" "http://127.0.0.1:$WEB/api/v1/query" | jq -r '.data.result[0].value[1] // empty'
}

ticks_more() {
    local now
    now=$("$SONDE" ctl --json | jq .ticks)
    wait_for '[ "$("$SONDE" ctl --json | jq .ticks)" -ge '$((now + $1))' ]'
}

# The number of samples of a set; all its instances are read at the same time.
samples_of() {
    grep "\"set\": \"$1\"" "$T/truth" | grep -o '"time_ns": [0-9]*' | sort -u | wc -l
}

# has_all SET METRIC DURATION: as many samples as the agent has read.
has_all() {
    [ "$(query "count_over_time($2[$3])")" = "$(samples_of "$1")" ]
}

# Checks that names and labels are exactly those of /metrics.
same_as_metrics() {
    curl -s "http://127.0.0.1:$PORT/metrics" | sed -n 's/^\(sonde_[a-z0-9_]*{[^}]*}\) .*/\1/p' |
        grep -v '^sonde_\(agent\|build_info\|programs\|series\|sensor\|sink\)' | sort >scraped
    curl -s -G --data-urlencode 'match[]={__name__=~"sonde_.*"}' "http://127.0.0.1:$WEB/api/v1/series" |
        jq -r '.data[] | .__name__ as $name | del(.__name__) | to_entries |
            "\($name){" + (map("\(.key)=\(.value | tojson)") | join(",")) + "}"' | sort >written
    # the same order of labels for both
    python3 - scraped written <<'PY'
import re, sys
def series(path):
    return sorted((re.match(r"\w+", line)[0], tuple(sorted(re.findall(r'(\w+)="([^"]*)"', line)))) for line in open(path))
one, other = map(series, sys.argv[1:])
assert len(one) > 60, len(one)
assert one == other, (set(one) ^ set(other))
PY
}

@test "Prometheus has the series of /metrics, every sample of them, with the same values" {
    start prometheus
    start_writing
    "$SONDE" job begin 4711 --pid $$ --user nobody --memory 1G
    wait_for same_as_metrics
    end_agent
    delivered 'has_all loadavg sonde_loadavg_load1 10m' "$SINK"
    total=$(($(awk '/^MemTotal:/ { print $2 }' /proc/meminfo) * 1024))
    [ "$(query sonde_meminfo_mem_total_bytes)" = "$total" ]
    [ "$(query 'count_over_time(sonde_loadavg_load1[10m])')" -eq "$(samples_of loadavg)" ]
    [ "$(query 'count_over_time(sonde_stat_cpu_user_seconds_total{cpu="0"}[10m])')" -eq "$(samples_of stat_cpu)" ]
    newest=$(tail -n 300 "$T/truth" | grep '"set": "loadavg"' | tail -n 1 | jq .values.load1)
    [ "$(query sonde_loadavg_load1)" = "$newest" ]
}

@test "VictoriaMetrics too, with configured labels" {
    start victoria-metrics
    start_writing ',labels=cluster:alpha;site:lyon'
    ticks_more 5
    end_agent
    delivered 'has_all loadavg "sonde_loadavg_load1{cluster=\"alpha\",site=\"lyon\"}" 10m' "$SINK"
}

@test "kill -9 of Prometheus under load: every sample once" {
    start prometheus
    PERIOD=20ms start_writing
    for round in 1 2 3; do
        ticks_more 20
        kill -9 "$SERVER"
        ticks_more 5
        start prometheus
    done
    seen=$(samples_of loadavg)
    wait_for '[ "$(query "count_over_time(sonde_loadavg_load1[1h])")" -ge "$seen" ]'
    end_agent
    delivered 'has_all loadavg sonde_loadavg_load1 1h' "$SINK"
    [ "$(query 'count_over_time(sonde_loadavg_load1[1h])')" -eq "$(samples_of loadavg)" ]
    [ "$(query 'count_over_time(sonde_meminfo_mem_free_bytes[1h])')" -eq "$(samples_of meminfo)" ]
    [ -z "$(grep 'loses samples' "$T/log")" ]
}

# churn FIRST LAST: jobs of a few milliseconds one after another, whose cgroups are removed at once, the one with the CPU time first.
churn() {
    local i
    for ((i = $1; i <= $2; i++)); do
        mkdir "$MEMORY/uid_1/job_$i" "$GROUP/uid_1/job_$i"
        (echo 0 >"$MEMORY/uid_1/job_$i/cgroup.procs" && echo 0 >"$GROUP/uid_1/job_$i/cgroup.procs" && exec "$TOOLS/burn" $((i % 7 + 1)))
        rmdir "$GROUP/uid_1/job_$i"
        rmdir "$MEMORY/uid_1/job_$i"
    done
}

# JOB VALUE, the CPU time in microseconds, of the last sample of each job of this test.
final_cpu() {
    jq -r 'select(.set == "cgroup" and .instance == "" and .values.cpu != null) | "\(.job) \(.values.cpu)"' "$T/truth" |
        grep ^740 | tac | sort -s -u -k 1,1
}

# The same of the result of a query.
written_cpu() {
    curl -s -G --data-urlencode "query=$1" "http://127.0.0.1:$WEB/api/v1/query" |
        jq -r '.data.result[] | "\(.metric.job) \(.value[1] | tonumber * 1e6 | round)"' | sort -k 1,1
}

@test "the last samples of 200 short jobs arrive, and their series end" {
    need_root
    start prometheus
    GROUP=/sys/fs/cgroup/cpuacct/slurm_write$$
    MEMORY=/sys/fs/cgroup/memory/slurm_write$$
    mkdir "$GROUP" "$MEMORY" 2>/dev/null || skip "no writable hierarchies cpuacct and memory"
    mkdir "$GROUP/uid_1" "$MEMORY/uid_1"
    SINK=prometheus:url=http://127.0.0.1:$WEB/api/v1/write
    JOBS=slurm start_agent --sensors cgroup,taskstats,jobs -p 10ms --sink "json:path=$T/truth" --sink "$SINK"
    churn 740001 740100 &
    churn 740501 740600
    wait $!
    wait_for '[ -z "$("$SONDE" job --json | jq -r ".jobs[].id" | grep "^740")" ]'
    final_cpu >final
    [ "$(wc -l <final)" -ge 150 ] # some end before the first reading
    end_agent
    delivered 'written_cpu "last_over_time(sonde_cgroup_cpu_seconds_total{job=~\"740...\",step=\"\"}[1h])" | cmp - final' "$SINK"
    [ -n "$(query 'last_over_time(sonde_job_info{job=~"740..."}[1h])')" ]
    [ -z "$(query '{__name__=~"sonde_job_info|sonde_job_here_is_running",job=~"740..."}')" ]
    [ -z "$(grep 'loses samples' "$T/said")" ]
}

# Runs tests/tools/sink_pour.c with the sink to the server.
feed() {
    SINK_POUR_BASE=${BASE:-$(($(date +%s) - 1000))} "$BUILD/tests/sink_pour" "prometheus:url=http://127.0.0.1:$WEB/api/v1/write$SETTINGS" "$@"
}

@test "names contain unit and kind; missing values have no series" {
    start prometheus
    BASE=$(($(date +%s) - 10))
    feed 4 5 n1
    [ "$(query 'sonde_feed_batches_total{job="4711",user="ada",host="n1"}')" = 4 ]
    [ "$(query sonde_feed_level_seconds)" = 0.0045 ]
    [ "$(query sonde_feed_change)" = -4 ]
    [ "$(query 'sonde_disk_sectors_bytes_total{device="sda"}')" = $((7 * 4 * 1024)) ]
    [ -z "$(query sonde_disk_never)" ]
    [ "$(query 'sonde_job_info{job="4711",source="told"}')" = 1 ]
}

@test "a request that is sent again, in part or completely, causes no duplicates" {
    start prometheus
    BASE=$(($(date +%s) - 1000))
    feed 0 100 n1 n2 n3
    feed 99 100 n1 n2 n3 >again
    grep -q 'refused 0' again
    [ "$(query 'sum(count_over_time(sonde_feed_batches_total[1h]))')" -eq 300 ]
    # everything again, as after a crash: Prometheus rejects samples older than its newest, and has them already
    feed 0 110 n1 n2 n3 >again
    grep -q 'refused 0' again
    [ "$(query 'sum(count_over_time(sonde_feed_batches_total[1h]))')" -eq 330 ]
    [ "$(query 'sum(count_over_time(sonde_disk_sectors_bytes_total[1h]))')" -eq 660 ]
}

@test "VictoriaMetrics with deduplication stores duplicates once" {
    start victoria-metrics
    BASE=$(($(date +%s) - 1000))
    feed 0 100 n1 n2
    feed 0 110 n1 n2
    wait_for '[ "$(query "sum(count_over_time(sonde_feed_batches_total[1h]))")" = 220 ]'
}

@test "a sample that Prometheus rejects is lost alone" {
    start prometheus
    BASE=$(($(date +%s) - 1000))
    # n1 has a newer sample already: only older samples are out of order
    feed 10 11 n1
    feed 0 20 n1 n2
    [ "$(query 'count_over_time(sonde_feed_batches_total{host="n2"}[1h])')" -eq 20 ]
    [ "$(query 'count_over_time(sonde_feed_batches_total{host="n1"}[1h])')" -eq 10 ]
    # in reverse order: only the first is accepted, which is reported
    feed 40 30 n1 n2 >told
    grep -q 'refused 54 .*returned HTTP 400 (out of order sample)' told
    feed 60 70 n1
    [ "$(query 'count_over_time(sonde_feed_batches_total{host="n1"}[1h])')" -eq 21 ]
}

@test "Prometheus down, then busy: logged, and nothing is lost" {
    mkdir -p "$T/server"
    "$SOURCE/tests/tools/http_server.py" "$T/server" "$WEB" >"$T/server/out" 2>&1 3>&- &
    SERVER=$!
    wait_for 'curl -s -o /dev/null "http://127.0.0.1:$WEB/"'
    for way in "busy 1" "away 2" "closes 1" "gateway 1"; do
        echo "$way" >"$T/server/mode"
        feed 0 2 >told
        grep -q 'refused 0' told
        [ "$(cat "$T/server/mode")" = good ]
    done
    [ "$(grep -a -c '^Content-Encoding: snappy' "$T/server/log")" -ge 13 ]
    grep -a -q '^X-Prometheus-Remote-Write-Version: 0.1.0' "$T/server/log"
}
