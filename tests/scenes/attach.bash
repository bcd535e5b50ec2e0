# For scenes of sonde attach: runs a program of tests/tools with known system calls as nobody, and attaches sonde to it.
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
    touch "$T/out" "$T/table" "$T/log"
    chmod 666 "$T/out" "$T/table" "$T/log"
}

attach_teardown() {
    [ -z "$program" ] || kill -9 "$program" 2>/dev/null || true
    [ -z "$sonde_pid" ] || kill -9 "$sonde_pid" 2>/dev/null || true
    scene_teardown
}

# An array instead of a function, so that $! is the program's own pid.
user=()
[ "$(id -u)" -ne 0 ] || user=(setpriv --reuid=65534 --regid=65534 --clear-groups)

printed() {
    grep -q "$1" "$T/out"
}

# Starts the program, sets $program to its pid and waits until it is ready. Messages of an earlier sonde are removed here: a
# background command truncates the file only later, and old messages would be taken for new ones.
start_caller() {
    : >"$T/log"
    "${user[@]}" "$TOOLS/${CALLER:-caller}" "$@" <"$T/in" >"$T/out" 3>&- &
    program=$!
    exec 7>"$T/in"
    until_true printed ready
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

# Starts sonde attach in the background; $sonde_pid is its pid.
attach() {
    "${user[@]}" "$SONDE" attach "$@" "$program" >"$T/table" 2>"$T/log" 3>&- 7>&- &
    sonde_pid=$!
    until_true is_traced "$program"
}

detach() {
    kill -INT "$sonde_pid"
    wait "$sonde_pid"
}

# The number of calls that the table shows for a system call.
count() {
    awk -v call="$1" '$1 == call { gsub(",", "", $2); print $2 }' "$T/table"
}

# Closes the program's stdin and checks that it exits with status 0.
program_succeeds() {
    exec 7>&-
    status=0
    wait "$program" || status=$?
    program=
    [ "$status" -eq 0 ]
}
