# Loaded after scene by scenes with an agent that reads only program metrics: from tau's clients at $TAU_METRIC_PROXY, and from
# segments in $SONDE_BOARDS.
# shellcheck disable=SC2016,SC2034,SC2119,SC2120

setup() {
    scene_setup
    export SONDE_SOCKET_DIR=$T/run PYTHONPATH=$SOURCE/tests/tools PYTHONDONTWRITEBYTECODE=1
    # in memory, as in production: on a disk the kernel's read-ahead makes each new segment slow
    SONDE_BOARDS=$(mktemp -d /dev/shm/sonde-scene-XXXXXX)
    chmod 1777 "$SONDE_BOARDS"
    export TAU_METRIC_PROXY=$T/tau.sock SONDE_BOARDS
    mkdir -m 1777 "$T/run"
    AGENT='' GROUP=''
}

teardown() {
    # shellcheck disable=SC2046
    kill -CONT "$AGENT" $(jobs -p) 2>/dev/null || :
    # shellcheck disable=SC2046
    kill -9 "$AGENT" $(jobs -p) 2>/dev/null || :
    [ -z "$GROUP" ] || wait_for 'find "$GROUP" -depth -type d -exec rmdir {} \;; [ ! -e "$GROUP" ]'
    rm -rf "$SONDE_BOARDS"
    scene_teardown
}

tau() { "$SOURCE/tests/tools/tau_client.py" "$@"; }

program() { "$BUILD/tests/segment_program" "$@"; }

# An agent that reads nothing else; lines on stdin are added to its configuration.
start() {
    mkdir -p "$T/root"
    [ -e "$T/root/proc" ] || ln -s /proc /etc "$T/root"
    printf '[programs]\ntau = %s\nboards = %s\n' "$TAU_METRIC_PROXY" "$SONDE_BOARDS" >"$T/conf"
    [ -t 0 ] || cat >>"$T/conf"
    "$SOURCE/tests/tools/as-unit" "$SONDE" agent --root "$T/root" -c "$T/conf" --sensors loadavg --listen none "$@" >>"$T/log" 2>&1 </dev/null 3>&- &
    AGENT=$!
    wait_for 'ask / >/dev/null 2>&1'
}

stop() {
    kill "-${1:-TERM}" "$AGENT"
    wait "$AGENT" || return $?
    AGENT=
}

ask() { curl -sf --max-time 60 --unix-socket "$T/run/agent.sock" "http://agent$1"; }

# The value of a line of /metrics.
value() { ask /metrics | awk -v line="$1" 'index($0, line " ") == 1 { print substr($0, length(line) + 2) }'; }

host() { hostname; }

is() { [ "$(value "$1")" = "$2" ]; }

rss_kb() { awk '/^VmRSS/ { print $2 }' "/proc/$AGENT/status"; }

ask_has() { ask /metrics | grep "^$1"; }
