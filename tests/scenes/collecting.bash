# Loaded after scene by scenes with a collector: its socket is in $T/run, its port for agents is $PORT, its HTTP address $HTTP.
# Everything that was started is killed at the end of the test.

setup() {
    scene_setup
    export SONDE_SOCKET_DIR=$T/run
    PIDS=()
    PORT=$(free_port) HTTP=127.0.0.1:$(free_port)
}

teardown() {
    [ ${#PIDS[@]} -eq 0 ] || kill -9 "${PIDS[@]}" 2>/dev/null || :
    wait 2>/dev/null || :
    ! mountpoint -q "$T/small" || umount -l "$T/small"
    scene_teardown
}

# Starts a command in the background until the end of the test; $STARTED is its pid. 3>&-: bats waits for all processes that have it
# open.
start() {
    "$@" >>"$T/log" 2>&1 3>&- &
    STARTED=$!
    PIDS+=("$STARTED")
}

# Starts a collector with these additional options and waits until it answers. For a second one set NAME (journal and socket) and
# --listen.
start_collector() {
    local name=${NAME:-c}
    mkdir -p "$T/run"
    start "$SONDE" collect --plain --listen "tcp://127.0.0.1:$PORT" --journal "$T/$name.journal" --http "$HTTP" \
        --socket "$T/run/$name.sock" "$@"
    COLLECTOR=$STARTED
    wait_for '"$SONDE" collect --status --json "$T/run/'"$name"'.sock" >/dev/null 2>&1'
}

# Starts an agent with these additional options. For a second one set NAME (journal).
start_agent() {
    start "$SONDE" agent --listen none --jobs none --socket none --plain --collector "tcp://127.0.0.1:$PORT" \
        --spool "$T/${NAME:-a}.spool" -p 100ms --sensors loadavg,meminfo "$@"
    AGENT=$STARTED
}

# An exiting agent has 2 s to send its samples; the rest stays in its journal. Starts an agent without sensors that sends it.
send_rest() {
    start "$SONDE" agent --listen none --jobs none --socket none --plain --collector "tcp://127.0.0.1:$PORT" \
        --spool "$T/${NAME:-a}.spool" --sensors none
}

# Checks that every sample of truth.csv, identified by its time, is in out.csv (or $1) exactly once.
is_complete() {
    grep ',load1,' "$T/truth.csv" | cut -d, -f1 | sort >"$T/want"
    grep ',load1,' "${1:-$T/out.csv}" | cut -d, -f1 | sort >"$T/got"
    cmp "$T/want" "$T/got"
}

# The collector's status, through a jq filter.
status_of() {
    "$SONDE" collect --status --json "$T/run/${NAME:-c}.sock" | jq -r "$1"
}

# stop PID [SIGNAL]: ends a process and waits for it; $status is its exit status.
stop() {
    kill "${2:--TERM}" "$1"
    status=0
    wait "$1" || status=$?
}

# The number of rows of loadavg's load1 in a CSV file, and of their different times.
rows_of() {
    awk -F, '$5 == "loadavg" || $4 == "loadavg"' "$1" | grep -c ',load1,'
}

times_of() {
    grep ',load1,' "$1" | cut -d, -f1 | sort -u | wc -l
}
