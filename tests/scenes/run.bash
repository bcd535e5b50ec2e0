# Loaded after scene by scenes of sonde run: its spool records, its stored series, and the state of processes.

setup() {
    scene_setup
    DUMP=$BUILD/tests/spool_dump
    TERMINAL=$SOURCE/tests/tools/terminal.py
    PATH=$TOOLS:$PATH
}

teardown() { scene_teardown; }

# Runs with an impossible database, so that the spool is kept in $T/o, and prints its records to $T/records.
spooled() {
    local status=0
    rm -rf "$T/o"
    SONDE_DB=/dev/null/none "$SONDE" run -q -o "$T/o" "$@" 2>"$T/errors" || status=$?
    records
    return $status
}

records() {
    "$DUMP" "$T"/o/*.spool >"$T/records"
    tail -n 1 "$T/records" | grep -qx 'damaged bytes=0'
}

is_gone() { [[ ! -e /proc/$1 || $(ps -o stat= -p "$1") == Z* ]]; }

is_stopped() { [[ $(ps -o stat= -p "$1") == T* ]]; }

is_running() { ! is_stopped "$1"; }

running_is() { [ "$(sql "select running from jobs")" -eq "$1" ]; }

# The value of a field in the first record that matches.
field() {
    grep -m 1 -E "$2" "$T/records" | grep -oE " $1=(\"[^\"]*\"|[^ ]*)" | head -n 1 | cut -d= -f2- | tr -d '"'
}

# last METRIC: the last known value in the series of all processes.
last() {
    "$SONDE" export -w series --set tree | tr -d '\r' | awk -F, -v metric="$1" '
        NR == 1 { for (i = 1; i <= NF; i++) place[$i] = i }
        $(place[metric]) != "" { last = $(place[metric]) }
        END { print last }'
}
