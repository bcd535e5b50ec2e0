#!/usr/bin/env bats
# Readers of metrics segments: an agent that starts after the program, and sonde run.
load scene

# Runs the rest of a test in a mount namespace with its own /dev/shm: other agents of this machine claim segments, too.
with_own_shm() {
    need_root
    cat <<'EOF' >script
set -e
mount -t tmpfs -o size=16m none /dev/shm
eventually() { for ((i = 0; i < 600; i++)); do "$@" && return; sleep 0.1; done; echo "never: $*" >&2; return 1; }
has() { "$SONDE" get -f txt 2>/dev/null | tr -dc '[:alnum:]_{}=., \n' | grep -qE "^$1 [0-9.]+ $2 *$"; }
EOF
    cat >>script
    export SONDE_SOCKET_DIR=$T/socket
    mkdir "$SONDE_SOCKET_DIR"
    unshare --mount --propagation private bash script
}

@test "an agent finds programs that started before it, sums them up, and keeps the counts of killed ones" {
    with_own_shm <<'EOF'
        "$TOOLS/instrumented" wait 3 >log & waiting=$!
        eventually grep -q counted log
        "$SOURCE/tests/tools/as-unit" "$SONDE" agent -q -c /dev/null -p 100ms --sensors self --listen none --jobs none & agent=$!
        trap 'kill $agent' EXIT
        eventually has 'phase_total{part=a}' 3.0
        eventually has phase_level 7.25
        "$TOOLS/instrumented" count 10
        eventually has 'phase_total{part=a}' 13.0
        kill -KILL $waiting
        segment_is_gone() { [ -z "$(find /dev/shm -name 'sonde.*')" ]; }
        eventually segment_is_gone
        has 'phase_total{part=a}' 13.0
        for i in 1 2 3 4 5; do "$TOOLS/instrumented" killed || true; done
        eventually has 'phase_total{part=a}' 18.0
        eventually segment_is_gone
EOF
}

@test "counts of programs that exit while the agent is down are not lost" {
    with_own_shm <<'EOF'
        start() { "$SOURCE/tests/tools/as-unit" "$SONDE" agent -q -c /dev/null -p 100ms --sensors self --listen none --jobs none & agent=$!; }
        trap 'kill $agent' EXIT
        start
        eventually test -e /dev/shm/sonde-agent
        eventually "$SONDE" get >/dev/null
        kill -KILL $agent
        wait $agent || true
        "$TOOLS/instrumented" count 7
        "$TOOLS/instrumented" killed || true
        start
        eventually has 'phase_total{part=a}' 8.0
EOF
}

@test "sonde run keeps the counts of its programs, with children, threads and killed ones" {
    with_own_shm <<'EOF'
        "$SONDE" run -q -p 100ms -n counting -- sh -c '"$0" threads 50; "$0" fork 2; "$0" killed; "$0" exec 3; true' "$TOOLS/instrumented"
        "$SONDE" export --what series --format csv >series
        # 50 from threads, 2 and 100 from each fork, 1, 5 and 3
        [[ $(grep 'program_counter.*phase_total' series | tail -n 1 | tr -d '\r') == *,261 ]]
        [ -z "$(find /dev/shm -name "sonde-run.*")" ]
EOF
}

@test "short programs of sonde run are in the agent's totals once, for any user, and nothing is left behind" {
    with_own_shm <<'EOF'
        is_empty() { [ -z "$(find /dev/shm -name 'sonde[.-]*' ! -name 'sonde-agent*')" ]; }
        "$SOURCE/tests/tools/as-unit" "$SONDE" agent -q -c /dev/null --sensors self --listen none --jobs none & agent=$!
        trap 'kill -KILL $agent' EXIT
        eventually "$SONDE" get >/dev/null
        for i in 1 2 3; do "$SONDE" run -q -- "$TOOLS/instrumented" count 10; done
        as_nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)
        "${as_nobody[@]}" "$SONDE" run -q -- "$TOOLS/instrumented" count 10
        "$SONDE" run -q -p 100ms -- sh -c 'for i in $(seq 40); do "$0" count 10; sleep 0.01; done; sleep 0.5' "$TOOLS/instrumented"
        [ "$("$SONDE" report --json | jq '.program.counters[] | select(.name == "phase_total{part=\"a\"}").total')" = 400 ]
        eventually has 'phase_total{part=a}' 440.0
        eventually is_empty
        # A suspended agent is not waited for, and reads it later.
        kill -STOP $agent
        SECONDS=0
        "${as_nobody[@]}" "$SONDE" run -q -- "$TOOLS/instrumented" count 10
        [ "$SECONDS" -lt 20 ]
        find /dev/shm -name 'sonde.r*' -user nobody | grep sonde
        kill -CONT $agent
        eventually has 'phase_total{part=a}' 450.0
        eventually is_empty
        # The next agent reads once what was left for a killed one.
        kill -KILL $agent
        wait $agent || true
        "$SONDE" run -q -- "$BUILD/tests/segment_program" sonde counter later_total - 10
        "$SONDE" submit
        find /dev/shm -name 'sonde.r*' | grep sonde
        "$SOURCE/tests/tools/as-unit" "$SONDE" agent -q -c /dev/null --sensors self --listen none --jobs none & agent=$!
        eventually has later_total 10.0
        eventually is_empty
        # If there is no next agent, sonde submit removes it.
        kill -KILL $agent
        wait $agent || true
        "$SONDE" run -q -- "$TOOLS/instrumented" count 10
        touch -d '11 minutes ago' /dev/shm/sonde-agent
        "$SONDE" submit
        is_empty
        trap - EXIT
EOF
}

# Root's agent, which has no capability to write to other users' directories, can neither remove nor mark such segments.
@test "segments that root's agent may not remove are counted once, and their user removes them" {
    with_own_shm <<'EOF'
        agent() { "$SOURCE/tests/tools/as-unit" "$SONDE" agent -q -c /dev/null -p 100ms --sensors self --listen none --jobs none & agent=$!; }
        as_nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)
        agent
        trap 'kill -KILL $agent' EXIT
        eventually "$SONDE" get >/dev/null
        "${as_nobody[@]}" "$SONDE" run -q -- sh -c '"$0" count 10; kill -KILL $PPID' "$TOOLS/instrumented" || true
        eventually has 'phase_total{part=a}' 10.0
        find /dev/shm/sonde-run.65534.* -name 'sonde.*' | grep sonde
        # All directories are listed again, as every minute, because the kernel has lost events.
        kill -STOP $agent
        (cd /dev/shm && seq 17000 | sed 's/^/many-/' | xargs touch && find . -name 'many-*' -delete)
        kill -CONT $agent
        "$BUILD/tests/segment_program" sonde counter later_total - 1
        eventually has later_total 1.0
        sleep 0.5
        has 'phase_total{part=a}' 10.0
        # The next agent knows which segments were counted.
        kill $agent
        wait $agent || true
        agent
        "$BUILD/tests/segment_program" sonde counter later_total - 2
        eventually has later_total 2.0
        if has 'phase_total{part=a}' 10.0; then false; fi
        "${as_nobody[@]}" "$SONDE" submit >/dev/null 2>&1 || true
        # The kernel tells that a program in another pid namespace has ended.
        unshare --pid --fork "${as_nobody[@]}" "$TOOLS/instrumented" killed || true
        eventually has 'phase_total{part=a}' 1.0
        is_gone() { [ -z "$(find /dev/shm -name 'sonde.*')" ]; }
        eventually is_gone
        [ -z "$(find /dev/shm -name 'sonde[.-]*' ! -name 'sonde-agent*')" ]
EOF
}

@test "the environment of a set-uid program does not determine its job" {
    [[ $(findmnt -no OPTIONS -T "$T") != *nosuid* ]] || skip "$T is mounted without setuid"
    with_own_shm <<'EOF'
        install -m 4755 "$BUILD/tests/segment_program" raised
        "$SOURCE/tests/tools/as-unit" "$SONDE" agent -q -c /dev/null -p 100ms --sensors self --listen none --jobs none & agent=$!
        trap 'kill $agent' EXIT
        eventually "$SONDE" get >/dev/null
        "$SONDE" job begin 4711 --user daemon
        SONDE_JOB=4711 "$BUILD/tests/segment_program" sonde counter of_root_total - 5 # root may
        SONDE_JOB=4711 setpriv --reuid=65534 --regid=65534 --clear-groups ./raised sonde counter raised_total - 3
        page() { curl -sf --unix-socket "$SONDE_SOCKET_DIR/agent.sock" http://agent/metrics >page && grep -E "^$1" page; }
        eventually page 'job_of_root_total\{.*job="4711".* 5$'
        eventually page 'user_raised_total\{.*user="root".* 3$'
        [ -z "$(grep 'raised_total.*job=' page)" ]
EOF
}
