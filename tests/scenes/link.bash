# An agent and its collectors: keys in $T/keys, one directory per collector, the messages of each in $T/NAME.log.

link_setup() {
    scene_setup
    export SONDE_SOCKET_DIR=$T/run
    PORT=$(free_port 2) PIDS=()
    mkdir -p "$T/keys" "$T/run"
    printf '[programs]\nenabled = no\n' >"$T/alone.conf" # no metrics of other programs on this machine
    "$SONDE" keygen --collector "$T/keys/collector.key" >/dev/null
    "$SONDE" keygen "$T/keys/host.key" >"$T/keys/allowed"
}

# Ends the started processes by their pids.
link_teardown() {
    for pid in "${PIDS[@]}"; do
        kill -9 "$pid" 2>/dev/null || :
        wait "$pid" 2>/dev/null || :
    done
    scene_teardown
}

# start NAME COMMAND…: $NAME_pid is its pid.
start() {
    local name=$1
    shift
    "$@" >>"$T/$name.log" 2>&1 3>&- &
    printf -v "${name}_pid" %s $!
    PIDS+=($!)
}

# end NAME [SIGNAL]
end() {
    local pid=${1}_pid
    kill "${2:--TERM}" "${!pid}"
    wait "${!pid}" || [ "${2:-}" = -KILL ]
}

# collector NAME PORT [OPTIONS…]: writes what it receives to $T/NAME.csv.
collector() {
    local name=$1 port=$2
    shift 2
    start "$name" "$SONDE" collect --listen "tcp://${LISTEN:-127.0.0.1}:$port" --journal "$T/$name.journal" \
        --sink "csv:path=$T/$name.csv" --http none --socket "$T/run/$name.sock" "$@"
    wait_for "[ -S '$T/run/$name.sock' ]"
}

# The same with keys.
collector_with_keys() {
    collector "$@" --key "$T/keys/collector.key" --allow "$T/keys/allowed"
}

# agent [OPTIONS…]: also writes its samples to $T/agent.csv. PREFIX: an array of words before the command.
PREFIX=()
agent() {
    start agent "${PREFIX[@]}" "$SONDE" agent --config "$T/alone.conf" --listen none --jobs none --sensors "${SENSORS:-meminfo,loadavg}" --period "${PERIOD:-100ms}" \
        --spool "$T/spool" --sink "csv:path=$T/agent.csv" "$@"
    wait_for "[ -S '$T/run/agent.sock' ]"
}

agent_with_keys() {
    agent --key "$T/keys/host.key" --collector-key "${KEY:-$T/keys/collector.key.pub}" "$@"
}

# A field of the agent's uplink status: uplink .state
uplink() {
    "$SONDE" ctl --json show | jq -r ".uplink$1"
}

is_up() {
    [ "$(uplink .state 2>/dev/null)" = up ]
}

# The sorted lines of a CSV file, without its header.
samples() {
    tail -n +2 "$1" 2>/dev/null | sort
}

# same NAME: the collector has exactly the agent's samples, without loss or duplicates.
same() {
    [ -s "$T/agent.csv" ] && cmp -s <(samples "$T/agent.csv") <(samples "$T/$1.csv")
}

# The number of values of one metric that a collector has.
count() {
    samples "$T/$1.csv" | grep -c ',load1,' || :
}

gets_more() {
    local before
    before=$(count "$1")
    wait_for "[ \$(count $1) -gt $before ]"
}
