# A node and its collector, and two users who do not trust each other: $VICTIM and $ATTACKER, with their uids. Loaded after scene.
# The collector's key list has the node n1; the attacker's own node n2 has a key, too.

VICTIM=daemon VICTIM_UID=1
ATTACKER=nobody ATTACKER_UID=65534

setup() {
    scene_setup
    need_root
    [ "$(id -nu $VICTIM_UID) $(id -nu $ATTACKER_UID)" = "$VICTIM $ATTACKER" ] || skip "no users $VICTIM and $ATTACKER"
    export SONDE_SOCKET_DIR=$T/run XDG_STATE_HOME=$T/state
    PIDS=() PORT=$(free_port)
    mkdir -m 755 "$T/run"
    mkdir -m 777 "$T/open"
}

teardown() {
    [ ${#PIDS[@]} -eq 0 ] || kill -9 "${PIDS[@]}" 2>/dev/null || :
    wait 2>/dev/null || :
    scene_teardown
}

as_victim() {
    setpriv --reuid=$VICTIM_UID --regid=$VICTIM_UID --clear-groups env XDG_DATA_HOME="$T/open" "$@"
}

as_attacker() {
    setpriv --reuid=$ATTACKER_UID --regid=65534 --clear-groups env XDG_DATA_HOME="$T/open" "$@"
}

# start NAME COMMAND…: in the background until the end of the test; messages in $T/NAME.log, its pid in $STARTED.
start() {
    local name=$1
    shift
    "$@" >>"$T/$name.log" 2>&1 3>&- &
    STARTED=$!
    PIDS+=("$STARTED")
}

start_collector() {
    start collector "$SONDE" collect --plain --listen "tcp://127.0.0.1:$PORT" --journal "$T/journal" --http none \
        --socket "$T/run/collect.sock" --sink "store:path=$SONDE_DB,every=200ms" "$@"
    COLLECTOR=$STARTED
    wait_for '"$SONDE" collect --status --json "$T/run/collect.sock"'
}

start_agent() {
    start agent "$SONDE" agent --listen none --jobs "${JOBS:-none}" --collector "tcp://127.0.0.1:$PORT" --plain --spool "$T/spool" \
        --sensors loadavg --period 100ms "$@"
    AGENT=$STARTED
    wait_for "[ -S '$T/run/agent.sock' ]"
}

# forge NAME RUN_ID JOB_ID USER UID HOST [START_NS [PADDING]]: a spool in $T/open that belongs to the attacker.
forge() {
    local file=$T/open/$1.spool
    shift
    "$BUILD/tests/forge_spool" "$@" >"$file"
    chown $ATTACKER_UID "$file"
}

# post NAME: the attacker sends it; prints the answer.
post() {
    as_attacker curl -s --unix-socket "$T/run/agent.sock" -d "{\"spool\": \"$T/open/$1.spool\"}" http://agent/run
}

# job JSON [COMMAND…]: the attacker's POST /job.
post_job() {
    as_attacker curl -s --unix-socket "$T/run/agent.sock" -d "$1" http://agent/job
}

rows() {
    sql "$1" 2>/dev/null
}

node_rows() {
    rows "SELECT coalesce(sum(count), 0) FROM series WHERE job = 0"
}

# Waits until everything that was posted is saved or rejected.
settled() {
    wait_for "[ -z \"\$(ls '$T/spool/runs' 2>/dev/null)\" ]"
    as_attacker "$SONDE" --db agent: run -q -j "mark$1" -- /bin/true
    wait_for "[ \"\$(rows \"SELECT count(*) FROM jobs WHERE job_id = 'mark$1'\")\" = 1 ]"
}
