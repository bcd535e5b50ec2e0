#!/usr/bin/env bats
# Jobs of a real OAR 2. Skipped if OAR is not installed.
load scene

teardown() {
    rmdir /sys/fs/cgroup/*/oar 2>/dev/null || :
    scene_teardown
}

@test "two jobs of OAR are found, with user, cores and CPU time" {
    [ "$(id -u)" -eq 0 ] && [ -x /usr/sbin/Almighty ] && [ -d /usr/lib/postgresql ] && [ -d /sys/fs/cgroup/cpuset ] ||
        skip "needs root, cgroup v1, and the packages of OAR (tests/tools/oar-in)"
    cat >"$T/script" <<'S'
#!/bin/bash
export SONDE_SOCKET_DIR=$T/run
"$SONDE" agent --listen none --jobs oar --sensors cgroup --period 5s --sink "csv:path=$T/out.csv" >"$T/log" 2>&1 &
agent=$!
for i in 1 2; do
    su - jdoe -c "oarsub -l nodes=1,walltime=0:05:00 '$TOOLS/burn ${i}00; while [ ! -e $T/go ]; do sleep 0.2; done'"
done
for _ in $(seq 1200); do
    "$SONDE" job >"$T/jobs" 2>/dev/null
    [ "$(grep -c '/oar/jdoe_[12]$' "$T/jobs")" = 2 ] && grep -q '^1 ' "$T/jobs" && break
    sleep 0.1
done
for _ in $(seq 1200); do
    "$SONDE" job --json >"$T/jobs.json"
    [ "$(grep -o '"cores_milli": 1000' "$T/jobs.json" | wc -l)" -ge 2 ] && [ "$(grep -o '"uid": 4711' "$T/jobs.json" | wc -l)" = 2 ] && break
    sleep 0.1
done
touch "$T/go"
for _ in $(seq 1200); do
    "$SONDE" job | grep -q /oar/jdoe || break
    sleep 0.1
done
kill $agent
wait $agent
S
    chmod +x "$T/script"
    export T
    timeout 600 "$SOURCE/tests/tools/oar-in" "$T/oar" "$T/script" 3>&-
    cat "$T/jobs" "$T/log"
    grep -E '^1 +jdoe .* oar +/oar/jdoe_1$' "$T/jobs"
    grep -E '^2 +jdoe ' "$T/jobs"
    [ "$(grep -o '"uid": 4711' "$T/jobs.json" | wc -l)" = 2 ]
    [ "$(grep -o '"cores_milli": 1000' "$T/jobs.json" | wc -l)" -ge 2 ]
    for i in 1 2; do
        cpu=$(grep ",$i,cgroup,,cpu,us," "$T/out.csv" | tail -1 | cut -d, -f8 | tr -d "\r")
        echo "job $i: $cpu us"
        [ "$cpu" -ge $((i * 100000)) ]
    done
}
