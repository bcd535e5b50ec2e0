# Loaded after scene by scenes that count samples at both ends: an agent at 100 Hz that also writes its samples to a file
# ($T/agent.json), and a collector with sinks. Both can be killed and restarted at any time.
setup() {
    lossless_setup
}

teardown() {
    lossless_teardown
}

lossless_setup() {
    scene_setup
    AGENT="" COLLECTOR="" TOP="" HOLDER="" JOBS="" INSIDE=() PERIOD=10ms SENSORS=meminfo,loadavg,stat SINKS=(--sink "json:path=$T/rows.json,append=yes")
    MOMENTS=$T/moments # one line per kill of the agent
    PORT=$(free_port) TOP_PORT=$(free_port)
    : >"$MOMENTS"
    # ignores the metrics of other programs, whose segments are in /dev/shm for every agent
    printf '[programs]\nenabled = no\n' >"$T/agent.conf"
}

lossless_teardown() {
    [ -z "$JOBS" ] || kill -9 "$JOBS" 2>/dev/null || :
    [ -z "$AGENT" ] || kill -9 "$AGENT" 2>/dev/null || :
    [ -z "$COLLECTOR" ] || kill -9 "$COLLECTOR" 2>/dev/null || :
    [ -z "$TOP" ] || kill -9 "$TOP" 2>/dev/null || :
    [ -z "$HOLDER" ] || kill -9 "$HOLDER" 2>/dev/null || :
    scene_teardown
}

start_agent() {
    "${INSIDE[@]}" "$SONDE" agent -c "$T/agent.conf" -p "$PERIOD" --sensors "$SENSORS" --listen none --jobs none \
        --socket "$T/agent.sock" --plain --collector "tcp://127.0.0.1:$PORT" --spool "$T/spool" --sink "json:path=$T/agent.json,append=yes" \
        "$@" >>"$T/agent.log" 2>&1 3>&- &
    AGENT=$!
}

start_collector() {
    "${INSIDE[@]}" "$SONDE" collect --plain --listen "tcp://127.0.0.1:$PORT" --journal "$T/journal" --http none \
        --socket "$T/collector.sock" "${SINKS[@]}" "$@" >>"$T/collector.log" 2>&1 3>&- &
    COLLECTOR=$!
}

# Starts the upstream collector, which has the sinks if the collector has --upstream.
start_top() {
    "$SONDE" collect --plain --listen "tcp://127.0.0.1:$TOP_PORT" --journal "$T/top-journal" --http none \
        --socket "$T/top.sock" "${SINKS[@]}" >>"$T/top.log" 2>&1 3>&- &
    TOP=$!
}

# Starts a collector that forwards and has no sinks.
start_middle() {
    "$SONDE" collect --plain --listen "tcp://127.0.0.1:$PORT" --journal "$T/journal" --http none \
        --socket "$T/collector.sock" --upstream "tcp://127.0.0.1:$TOP_PORT" >>"$T/collector.log" 2>&1 3>&- &
    COLLECTOR=$!
}

# Mounts a disk of this size at $T/small, visible only to processes started with "${INSIDE[@]}", as all are from now on. It is
# removed with the process that holds its mount namespace.
make_small_disk() {
    need_root
    unshare --mount --propagation private sleep 600 3>&- &
    HOLDER=$!
    INSIDE=(nsenter --target "$HOLDER" --mount --wd="$T" --)
    mkdir "$T/small"
    wait_for '[ "$(readlink /proc/$HOLDER/ns/mnt)" != "$(readlink /proc/self/ns/mnt)" ]'
    "${INSIDE[@]}" mount -t tmpfs -o "size=$1" tmpfs "$T/small"
}

enlarge_small_disk() {
    "${INSIDE[@]}" mount -o "remount,size=$1" tmpfs "$T/small"
}

kill_agent() {
    kill -9 "$AGENT"
    wait "$AGENT" 2>/dev/null || :
    AGENT=""
    tail -n 1 "$T/agent.json" >>"$MOMENTS"
}

kill_collector() {
    kill -9 "$COLLECTOR"
    wait "$COLLECTOR" 2>/dev/null || :
    COLLECTOR=""
}

kill_top() {
    kill -9 "$TOP"
    wait "$TOP" 2>/dev/null || :
    TOP=""
}

stop_agent() {
    kill "$AGENT"
    wait "$AGENT"
    AGENT=""
}

# An exiting agent has some seconds to send its samples; the rest stays in its journal. Starts an agent without sensors that sends
# it to the collector, or where the options say.
send_rest() {
    [ $# -gt 0 ] || set -- --plain --collector "tcp://127.0.0.1:$PORT"
    "${INSIDE[@]}" "$SONDE" agent -c "$T/agent.conf" --sensors none --listen none --jobs none --socket none --spool "$T/spool" "$@" \
        >>"$T/rest.log" 2>&1 3>&- &
    AGENT=$!
}

stop_collector() {
    kill "$COLLECTOR"
    wait "$COLLECTOR"
    COLLECTOR=""
}

# Starts and ends jobs on the agent's node, two at a time, until stop_jobs; $T/jobs.declared has a line for each accepted event.
start_jobs() {
    export SONDE_SOCKET_DIR=$T
    : >"$T/jobs.declared"
    for ((n = 0; 1; n++)); do
        [ ! -e "$T/jobs.stop" ] || break
        ! "$SONDE" job begin "x$n" --user nobody --pid "$$" || echo "x$n begin" >>"$T/jobs.declared"
        sleep 0.05
        ((n < 2)) || ! "$SONDE" job end "x$((n - 2))" || echo "x$((n - 2)) end" >>"$T/jobs.declared"
    done >"$T/jobs.log" 2>&1 3>&- &
    JOBS=$!
}

stop_jobs() {
    touch "$T/jobs.stop"
    wait "$JOBS"
    JOBS=""
}

# Between $1 and $2 hundredths of a second.
doze() {
    local hundredths=$(($1 + RANDOM % ($2 - $1 + 1)))
    sleep "$((hundredths / 100)).$(printf %02d $((hundredths % 100)))"
}

# The number of samples in a file.
readings() {
    grep -c '"set": "loadavg"' "$1" 2>/dev/null || :
}

# The agent is connected, and its oldest unacknowledged sample is at most a second old.
caught_up() {
    "$SONDE" ctl --json --agent "$T/agent.sock" 2>/dev/null | jq -e '.uplink | .state == "up" and .lag_ns < 1e9' >/dev/null
}

# The agent's last sample is in each of the files. (Without jq, which cannot represent a time in ns exactly.)
arrived() {
    local last rows
    last=$(tail -n 1 "$T/agent.json" | grep -o '"time_ns": [0-9]*' | tr -dc 0-9)
    for rows in "$@"; do
        tail -n 300 "$rows" 2>/dev/null | grep -q "$last" || return 1
    done
}

# The number of samples reported as lost to the collector.
lost() {
    "$SONDE" collect --status --json "$T/collector.sock" | jq '[.hosts[].lost] | add'
}

# The rows are exactly the agent's samples, without duplicates. What an agent was writing when it was killed may be only in its own
# file or only in the journal: at most one sample per kill.
assert_lossless() {
    python3 "$SOURCE/tests/scenes/lossless.py" "$T/agent.json" "$MOMENTS" "$@"
}

# assert_sum STORED LOST READ: every sample was either stored or lost. Job events of other jobs on this machine are records without
# a sample, which may be lost, too.
assert_sum() {
    echo "$1 stored and $2 lost of $3"
    [ "$(($1 + $2))" -ge "$3" ] && [ "$(($1 + $2))" -le "$(($3 + 4))" ]
}
