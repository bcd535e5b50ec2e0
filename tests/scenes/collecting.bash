# Loaded behind scene by scenes with a collector: its socket is in $T/run, its port for agents $PORT, its address for HTTP
# $HTTP. Everything that was started is ended.

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

# In the background, and ended with the scene; its process is $STARTED. 3>&-: bats waits for whoever holds it.
start() {
    "$@" >>"$T/said" 2>&1 3>&- &
    STARTED=$!
    PIDS+=("$STARTED")
}

# A collector with these options more, until it answers. Further ones: NAME=… for journal and socket, and --listen.
start_collector() {
    local name=${NAME:-c}
    mkdir -p "$T/run"
    start "$SONDE" collect --plain --listen "tcp://127.0.0.1:$PORT" --journal "$T/$name.journal" --http "$HTTP" \
        --socket "$T/run/$name.sock" "$@"
    COLLECTOR=$STARTED
    wait_for '"$SONDE" collect --status --json "$T/run/'"$name"'.sock" >/dev/null 2>&1'
}

# An agent with these options more; further ones: NAME=… for its spool.
start_agent() {
    start "$SONDE" agent --listen none --jobs none --socket none --plain --collector "tcp://127.0.0.1:$PORT" \
        --spool "$T/${NAME:-a}.spool" -p 100ms --sensors loadavg,meminfo "$@"
    AGENT=$STARTED
}

# An agent that ends has 2 s; what it could not hand over waits in its spool, and one that reads nothing brings it.
bring_rest() {
    start "$SONDE" agent --listen none --jobs none --socket none --plain --collector "tcp://127.0.0.1:$PORT" \
        --spool "$T/${NAME:-a}.spool" --sensors none
}

# Each reading in truth.csv, by its time, is in out.csv (or $1), and once.
all_is_there() {
    grep ',load1,' "$T/truth.csv" | cut -d, -f1 | sort >"$T/want"
    grep ',load1,' "${1:-$T/out.csv}" | cut -d, -f1 | sort >"$T/got"
    cmp "$T/want" "$T/got"
}

# What jq makes of the collector's status.
status_of() {
    "$SONDE" collect --status --json "$T/run/${NAME:-c}.sock" | jq -r "$1"
}

# Ends a process that was started, and waits for it; its status is $status then.
stop() {
    kill "${2:--TERM}" "$1"
    status=0
    wait "$1" || status=$?
}

# How many different times of loadavg's load1 a CSV file has, and how many rows of it.
rows_of() {
    awk -F, '$5 == "loadavg" || $4 == "loadavg"' "$1" | grep -c ',load1,'
}

times_of() {
    grep ',load1,' "$1" | cut -d, -f1 | sort -u | wc -l
}
