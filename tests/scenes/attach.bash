# For scenes of sonde attach: a program of tests/tools whose calls are known, as nobody, and sonde attach beside it.
setup() {
    attach_setup
}

teardown() {
    attach_teardown
}

attach_setup() {
    scene_setup
    export SONDE_DB=$T/db/sonde.db
    mkfifo -m 666 "$T/in"
    touch "$T/out" "$T/table" "$T/said"
    chmod 666 "$T/out" "$T/table" "$T/said"
}

attach_teardown() {
    [ -z "$program" ] || kill -9 "$program" 2>/dev/null || true
    [ -z "$watcher" ] || kill -9 "$watcher" 2>/dev/null || true
    scene_teardown
}

# Not a function of the shell, so that $! is the program's own pid.
user=()
[ "$(id -u)" -ne 0 ] || user=(setpriv --reuid=65534 --regid=65534 --clear-groups)

said() {
    grep -q "$1" "$T/out"
}

# Program and its pid; it waits for us. What sonde said of one before goes at once: who is started in the background does so some
# time later, and the old text would be taken for the new.
start_caller() {
    : >"$T/said"
    "${user[@]}" "$TOOLS/${CALLER:-caller}" "$@" <"$T/in" >"$T/out" 3>&- &
    program=$!
    exec 7>"$T/in"
    until_true said ready
}

go() {
    echo >&7
}

tracer_of() {
    sed -n 's/^TracerPid:\t//p' "/proc/$1/status"
}

is_traced() {
    for task in "/proc/$1/task"/*; do
        [ "$(tracer_of "${task##*/}")" != 0 ] || return 1
    done
}

is_free() {
    ! is_traced "$1"
}

# sonde attach in the background; its pid.
attach() {
    "${user[@]}" "$SONDE" attach "$@" "$program" >"$T/table" 2>"$T/said" 3>&- 7>&- &
    watcher=$!
    until_true is_traced "$program"
}

let_go() {
    kill -INT "$watcher"
    wait "$watcher"
}

# What the table has in a column for a call: calls 2, errors 3 …
count() {
    awk -v call="$1" '$1 == call { gsub(",", "", $2); print $2 }' "$T/table"
}

# ends COMMAND STATUS: closes stdin; the program ends as it would have.
program_ends_well() {
    exec 7>&-
    status=0
    wait "$program" || status=$?
    program=
    [ "$status" -eq 0 ]
}
