# Loaded behind scene by scenes that count samples at both ends: an agent at 100 Hz that also writes what it reads into a file
# of its own ($T/agent.json), and a collector with sinks. Both are killed and started again as one likes.
setup() {
    lossless_setup
}

teardown() {
    lossless_teardown
}

lossless_setup() {
    scene_setup
    AGENT="" COLLECTOR="" TOP="" HOLDER="" JOBS="" INSIDE=() PERIOD=10ms SENSORS=meminfo,loadavg,stat SINKS=(--sink "json:path=$T/rows.json,append=yes")
    MOMENTS=$T/moments # a line for each time that the agent was killed
    PORT=$(free_port) TOP_PORT=$(free_port)
    : >"$MOMENTS"
    # what others run on this machine is not ours to count: their programs' boards stand in /dev/shm for every agent
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
        "$@" >>"$T/agent.said" 2>&1 3>&- &
    AGENT=$!
}

start_collector() {
    "${INSIDE[@]}" "$SONDE" collect --plain --listen "tcp://127.0.0.1:$PORT" --journal "$T/journal" --http none \
        --socket "$T/collector.sock" "${SINKS[@]}" "$@" >>"$T/collector.said" 2>&1 3>&- &
    COLLECTOR=$!
}

# The one above it, with the sinks, where the collector has --upstream.
start_top() {
    "$SONDE" collect --plain --listen "tcp://127.0.0.1:$TOP_PORT" --journal "$T/top-journal" --http none \
        --socket "$T/top.sock" "${SINKS[@]}" >>"$T/top.said" 2>&1 3>&- &
    TOP=$!
}

# A collector that hands on and has no sinks.
start_middle() {
    "$SONDE" collect --plain --listen "tcp://127.0.0.1:$PORT" --journal "$T/journal" --http none \
        --socket "$T/collector.sock" --upstream "tcp://127.0.0.1:$TOP_PORT" >>"$T/collector.said" 2>&1 3>&- &
    COLLECTOR=$!
}

# A disk of that size at $T/small, which only those see who are started through "${INSIDE[@]}", as everybody is from now on.
# It goes when its holder does.
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

# An agent that ends has some seconds; what it could not hand over waits in its spool, and one that reads nothing brings it: to
# the collector, or where the options say.
send_rest() {
    [ $# -gt 0 ] || set -- --plain --collector "tcp://127.0.0.1:$PORT"
    "${INSIDE[@]}" "$SONDE" agent -c "$T/agent.conf" --sensors none --listen none --jobs none --socket none --spool "$T/spool" "$@" \
        >>"$T/rest.said" 2>&1 3>&- &
    AGENT=$!
}

stop_collector() {
    kill "$COLLECTOR"
    wait "$COLLECTOR"
    COLLECTOR=""
}

# Jobs begin and end on the agent's node, two at a time, until stop_jobs; $T/jobs.told has a line for each that it took.
start_jobs() {
    export SONDE_SOCKET_DIR=$T
    : >"$T/jobs.told"
    for ((n = 0; 1; n++)); do
        [ ! -e "$T/jobs.stop" ] || break
        ! "$SONDE" job begin "x$n" --user nobody --pid "$$" || echo "x$n begin" >>"$T/jobs.told"
        sleep 0.05
        ((n < 2)) || ! "$SONDE" job end "x$((n - 2))" || echo "x$((n - 2)) end" >>"$T/jobs.told"
    done >"$T/jobs.said" 2>&1 3>&- &
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

# How many readings are in a file of samples.
readings() {
    grep -c '"set": "loadavg"' "$1" 2>/dev/null || :
}

# The agent's connection stands, and what it has not acknowledged yet is no older than a second.
caught_up() {
    "$SONDE" ctl --json --agent "$T/agent.sock" 2>/dev/null | jq -e '.uplink | .state == "up" and .lag_ns < 1e9' >/dev/null
}

# The agent's last sample is in each of the files. (Not by jq, for which a time in ns has too many digits.)
arrived() {
    local last rows
    last=$(tail -n 1 "$T/agent.json" | grep -o '"time_ns": [0-9]*' | tr -dc 0-9)
    for rows in "$@"; do
        tail -n 300 "$rows" 2>/dev/null | grep -q "$last" || return 1
    done
}

# Readings that the collector was told are lost.
lost() {
    "$SONDE" collect --status --json "$T/collector.sock" | jq '[.hosts[].lost] | add'
}

# Everything that the agent read is in the rows, once, and nothing else. What an agent was writing in the moment when it was
# killed may be in its own file or in the spool alone: at most one reading for each of these moments.
assert_lossless() {
    python3 "$SOURCE/tests/scenes/lossless.py" "$T/agent.json" "$MOMENTS" "$@"
}

# assert_sum STORED LOST READ: each reading is one of both. That a job of somebody else's began or ended on this machine is a record
# without a reading, which may be lost too.
assert_sum() {
    echo "$1 stored and $2 lost of $3"
    [ "$(($1 + $2))" -ge "$3" ] && [ "$(($1 + $2))" -le "$(($3 + 4))" ]
}
