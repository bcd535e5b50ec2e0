# Loaded behind scene by scenes that look at a running agent: its socket is in $T/run, its port is $PORT.

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

# delivered CONDITION SINK: an agent that ends has some seconds; what it could not hand over waits in its spool, and one that
# reads nothing brings it.
delivered() {
    eval "$1" >/dev/null 2>&1 && return
    "$SONDE" agent --sensors none --jobs none --listen none --socket none --spool "$T/spool" --sink "$2" >"$T/rest.said" 2>&1 3>&- &
    AGENT=$!
    WAIT_S=400 wait_for "$1"
    kill "$AGENT"
    wait "$AGENT" || :
    AGENT=
}

# An agent with these options more, which finds no jobs (those of other scenes are none of ours) but where JOBS says so, until it has ticked: jobs that it finds at its start come before the first tick.
start_agent() {
    # 3>&-: bats waits for whoever holds it
    "$SONDE" agent --listen "127.0.0.1:$PORT" --spool "$T/spool" --jobs "${JOBS:-none}" "$@" >"$T/said" 2>&1 3>&- &
    AGENT=$!
    wait_for '[ "$("$SONDE" ctl --json 2>/dev/null | jq .ticks)" -ge 1 ] 2>/dev/null'
}

