# Loaded after scene by scenes that query a running agent: its socket is in $T/run, its port is $PORT.

setup() {
    live_setup
}

teardown() {
    live_teardown
}

live_setup() {
    scene_setup
    export SONDE_SOCKET_DIR=$T/run
    AGENT=
    PORT=$(free_port)
}

live_teardown() {
    [ -z "$AGENT" ] || kill -9 "$AGENT" 2>/dev/null || :
    scene_teardown
}

# delivered CONDITION SINK: an exiting agent has some seconds to send its samples; the rest stays in its journal. Starts an agent
# without sensors that sends it, and waits for CONDITION.
delivered() {
    eval "$1" >/dev/null 2>&1 && return
    "$SONDE" agent --sensors none --jobs none --listen none --socket none --spool "$T/spool" --sink "$2" >"$T/rest.log" 2>&1 3>&- &
    AGENT=$!
    WAIT_S=400 wait_for "$1"
    kill "$AGENT"
    wait "$AGENT" || :
    AGENT=
}

# Starts an agent with these additional options and waits for its first tick, after which all existing jobs are known. Without job
# discovery, which would find the jobs of other scenes, unless JOBS is set.
start_agent() {
    # 3>&-: bats waits for all processes that have it open
    "$SONDE" agent --listen "127.0.0.1:$PORT" --spool "$T/spool" --jobs "${JOBS:-none}" "$@" >"$T/log" 2>&1 3>&- &
    AGENT=$!
    wait_for '[ "$("$SONDE" ctl --json 2>/dev/null | jq .ticks)" -ge 1 ] 2>/dev/null'
}

