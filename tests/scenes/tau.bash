# Loaded after scene and live by scenes of tau_metric_proxy: its drop-in names in $T, an agent with tau's socket at $TAU.

setup() {
    live_setup
    for name in tau_metric_client tau_metric_proxy tau_metric_proxy_run; do
        ln -s "$SONDE" "$name"
    done
    unset TAU_METRIC_PROXY SLURM_STEP_ID PMIX_ID
    TAU=$T/tau.sock
    SPACE=
}

teardown() {
    [ -z "${other:-}" ] || kill -9 "$other" 2>/dev/null || :
    [ -z "$SPACE" ] || kill "$SPACE" 2>/dev/null || :
    live_teardown
}

# Creates a private /dev/shm, where no other agent of this machine reads segments; inside COMMAND… runs a command there.
use_private_shm() {
    unshare --mount --propagation private sh -c 'mount -t tmpfs none /dev/shm && touch /dev/shm/own && exec sleep 600' 3>&- &
    SPACE=$!
    wait_for 'inside test -e /dev/shm/own 2>/dev/null'
}

inside() {
    nsenter --mount --target "$SPACE" sh -c 'cd "$0" && exec "$@"' "$T" "$@"
}

# Starts an agent with tau's socket at $TAU. "alone": without reading segments, which may be of other programs.
start_tau_agent() {
    local alone=${1:+--set programs.boards=none}
    # shellcheck disable=SC2086 # two words, or none
    start_agent --sensors loadavg --set "programs.tau=$TAU" $alone
}

# Starts tau_metric_proxy: only HTTP and tau's socket.
start_proxy() {
    ${SPACE:+nsenter --mount --target "$SPACE" --} "$T/tau_metric_proxy" -u "$TAU" -p "$PORT" -P "$T/profiles-of-tau" "$@" >"$T/log" 2>&1 3>&- &
    AGENT=$!
    wait_for '[ -S "$TAU" ] && curl -sf "http://127.0.0.1:$PORT/metrics" >/dev/null'
}

stop() {
    kill "$1"
    wait "$1" || return
    AGENT=
}

program() {
    /usr/bin/python3 "$SOURCE/tests/tools/tau_program.py" "$TAU" "$@"
}
