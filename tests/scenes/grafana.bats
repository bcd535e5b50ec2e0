#!/usr/bin/env bats
# The dashboards: valid JSON, and every name in their queries is one that Sonde writes.
load scene

setup() {
    scene_setup
    export SONDE_SOCKET_DIR=$T/run
    AGENTS=()
}

teardown() {
    [ "${#AGENTS[@]}" -eq 0 ] || kill -9 "${AGENTS[@]}" 2>/dev/null || :
    scene_teardown
}

# Names of /metrics, of this node and of a captured node with jobs and hardware.
write_names() {
    local port
    port=$(free_port)
    "$SONDE" agent -p 100ms --listen "127.0.0.1:$port" --socket none "$@" >"log.$port" 2>&1 3>&- &
    AGENTS+=($!)
    wait_for "curl -sf http://127.0.0.1:$port/metrics | grep -q '^sonde_'"
    wait_for "curl -s http://127.0.0.1:$port/metrics >page && grep -q '^$WANTED' page"
    grep -o '^sonde_[a-z0-9_]*' page | sort -u >>names
}

@test "queries of the Prometheus dashboard have metrics of /metrics" {
    : >names
    WANTED=sonde_self_ticks write_names --jobs none
    cp -r "$SOURCE/tests/nodes/sensors" node
    group=node/sys/fs/cgroup/unified/system.slice/slurmstepd.scope/job_12
    printf '%s\n' 'usage_usec 8' 'nr_periods 1' 'nr_throttled 1' 'throttled_usec 1' >"$group/cpu.stat"
    echo 4096 >"$group/memory.current"
    echo 8192 >"$group/memory.max"
    echo 'pgfault 1' >"$group/memory.stat"
    echo '8:0 rbytes=1 wbytes=1 rios=1 wios=1' >"$group/io.stat"
    WANTED=sonde_temperature_temperature write_names --root "$T/node" --set temperature.period=100ms
    echo sonde_job_memory_limit_bytes >>names # of a job from its batch system: prometheus.bats
    grep -qx sonde_cgroup_cpu_seconds_total names
    jq -r '.panels[].targets[].expr, .templating.list[].definition' "$SOURCE/integrations/grafana/prometheus.json" >queries
    [ "$(wc -l <queries)" -gt 20 ]
    grep -o 'sonde_[a-z0-9_]*' queries | sort -u >used
    while read -r name; do
        grep -qx "$name" names || { echo "not exported: $name"; exit 1; }
    done <used
}

@test "queries of the Elasticsearch dashboard have Colmet's indexes and fields" {
    jq -r '.[] | ("colmet_" + (.metric_backend | ascii_downcase)) as $index | (.counters | keys[]) | $index + " " + .' \
        "$SOURCE/tests/compat/colmet/golden_all10.json" | sort -u >fields
    jq -r '.panels[].targets[] | (.query | capture("_index:(?<index>[a-z_]+)").index) as $index
        | .metrics[] | select(.type != "derivative") | $index + " " + .field' "$SOURCE/integrations/grafana/colmet.json" >used
    [ "$(wc -l <used)" -gt 15 ]
    while read -r index field; do
        grep -q "^$index " fields || { echo "no index $index"; exit 1; }
        [ "$field" = job_id ] || [ "$field" = hostname.keyword ] || grep -qx "$index $field" fields ||
            { echo "no field $field in $index"; exit 1; }
    done <used
}
