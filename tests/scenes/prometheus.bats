#!/usr/bin/env bats
# A real Prometheus scrapes an agent, with the configuration that sonde prometheus-config writes.
load scene
load live

setup() {
    live_setup
    command -v prometheus promtool >/dev/null || skip "no prometheus"
    PROMETHEUS=
}

teardown() {
    [ -z "${PROMETHEUS:-}" ] || kill -9 "$PROMETHEUS" 2>/dev/null || :
    live_teardown
}

start_prometheus() {
    WEB=$(free_port)
    promtool check config "$1"
    prometheus --config.file="$1" --storage.tsdb.path="$T/tsdb" --web.listen-address="127.0.0.1:$WEB" \
        >"$T/prometheus.log" 2>&1 3>&- &
    PROMETHEUS=$!
}

# The value of the first series of a query; empty if there is none.
query() {
    curl -s -G --data-urlencode "query=$1" "http://127.0.0.1:$WEB/api/v1/query" | jq -r '.data.result[0].value[1] // empty'
}

@test "values arrive, with job, user and host as labels" {
    start_agent --sensors meminfo,stat,process
    "$SONDE" job begin 4711 --pid $$ --user nobody --memory 1G
    "$SONDE" prometheus-config -i 200ms "127.0.0.1:$PORT" >prometheus.yml
    start_prometheus prometheus.yml
    total=$(($(awk '/^MemTotal:/ { print $2 }' /proc/meminfo) * 1024))
    wait_for '[ "$(query sonde_meminfo_mem_total_bytes)" = "$total" ]'
    wait_for '[ "$(query "sonde_job_memory_limit_bytes{job=\"4711\",user=\"nobody\"}")" = 1073741824 ]'
    [ "$(query 'count(sonde_stat_cpu_user_seconds_total{job="sonde"})')" -eq "$(nproc --all)" ]
    [ "$(query 'up')" -eq 1 ]
    wait_for '[ -n "$(query "sum(rate(sonde_stat_cpu_user_seconds_total[10s]))")" ]'
}

@test "hosts from a file that changes" {
    start_agent --sensors meminfo
    echo '[]' >nodes.json
    "$SONDE" prometheus-config -i 200ms --file_sd "$T/nodes.json" >prometheus.yml
    start_prometheus prometheus.yml
    "$SONDE" prometheus-config --targets "127.0.0.1:$PORT" >nodes.new
    mv nodes.new nodes.json
    wait_for '[ "$(query up)" = 1 ]'
}

@test "hosts with and without ports, and invalid hosts" {
    "$SONDE" prometheus-config n1 n2:99 ::1 '[::2]:7' >prometheus.yml
    promtool check config prometheus.yml
    grep -q "'n1:1337'" prometheus.yml
    grep -q "'n2:99'" prometheus.yml
    grep -q "'\[::1\]:1337'" prometheus.yml
    grep -q "'\[::2\]:7'" prometheus.yml
    "$SONDE" prometheus-config -p 5 --targets n1 | jq -e '.[0].targets == ["n1:5"]'
    run -2 "$SONDE" prometheus-config "n1'; rm"
    run -2 "$SONDE" prometheus-config
}
