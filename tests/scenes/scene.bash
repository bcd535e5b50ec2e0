# Loaded by every scene: each test has its own directory, database and spool, and leaves nothing behind.
# Uses $SONDE, $PROBE, $BUILD, $TOOLS from the environment that meson sets; to run one file by hand:
#   meson test -C build scenes/NAME, or: SONDE=… PROBE=… BUILD=… TOOLS=… bats tests/scenes/NAME.bats

bats_require_minimum_version 1.5.0 # for "run ! …" and "run -1 …"

# Scenes measure on a machine with other load: a test that fails is run once more, and that is reported in its output.
# SONDE_SCENE_RETRIES=0 runs each once.
export BATS_TEST_RETRIES=${SONDE_SCENE_RETRIES:-1}

setup() {
    scene_setup
}

teardown() {
    scene_teardown
}

scene_setup() {
    [ "${BATS_TEST_TRY_NUMBER:-1}" -eq 1 ] || echo "# failed, and run again: $BATS_TEST_DESCRIPTION" >&3
    T=$(mktemp -d "${TMPDIR:-/tmp}/sonde-scene-XXXXXX")
    chmod 755 "$T"
    reach_as_nobody
    export T TMPDIR=$T/tmp SONDE_DB=$T/db/sonde.db XDG_DATA_HOME=$T/data NO_COLOR=1
    mkdir -m 1777 "$TMPDIR"
    mkdir -m 777 "$T/db" "$T/data"
    unset SLURM_JOB_ID SLURM_JOBID PBS_JOBID PBS_JOB_ID OAR_JOB_ID SONDE_TAGS PAPIEX_TAGS LD_PRELOAD
    cd "$T" || return 1
}

scene_teardown() {
    [ ! -d /tmp/sonde-ports ] || find /tmp/sonde-ports -lname "$T*" -delete
    cd /
    [ -n "${BATS_TEST_COMPLETED:-}" ] || kill_leftovers
    rm -rf "$T"
}

# Processes that a failed test left running in its directory may wait forever, and bats for their output.
kill_leftovers() {
    local cwd pid
    for cwd in /proc/[0-9]*/cwd; do
        pid=${cwd//[^0-9]/}
        [[ $(readlink "$cwd")/ != "$T"/* ]] || kill -9 "$pid" 2>/dev/null || :
    done
}

# A port for this test, or the first of $1 consecutive ones.
free_port() {
    "$SOURCE/tests/tools/free-port" "$T" "$@"
}

# Waits until a condition holds, at most $WAIT_S seconds, or two minutes. It sleeps twice as long as the check takes, which often
# starts programs, to leave the processor to what is waited for.
wait_for() {
    local wait_for_end=$((SECONDS + ${WAIT_S:-120})) wait_for_begin=$SECONDS wait_for_least=20000 wait_for_us wait_for_rest
    until
        wait_for_us=${EPOCHREALTIME//[.,]/}
        eval "$1" >"$T/.wait_for" 2>&1
    do
        if [ "$SECONDS" -ge "$wait_for_end" ]; then
            echo "never: $1"
            { echo "# never: ${1//$'\n'/ }" >&3; } 2>/dev/null || : # also if the test passes when it is run again
            tail -n 30 "$T/.wait_for" "$T/log" "$T"/*.log 2>/dev/null || :
            return 1
        fi
        wait_for_us=$(((${EPOCHREALTIME//[.,]/} - wait_for_us) * 2))
        [ "$SECONDS" -lt $((wait_for_begin + 5)) ] || wait_for_least=100000
        [ "$wait_for_us" -ge "$wait_for_least" ] || wait_for_us=$wait_for_least
        [ "$wait_for_us" -lt 1000000 ] || wait_for_us=999999 # also if the clock was set meanwhile
        printf -v wait_for_rest 0.%06d "$wait_for_us"
        sleep "$wait_for_rest"
    done
}

# The user nobody must be able to run the binaries, also if the build is below a private directory: then copies are used. The thread
# sanitizer's build has no sonde.
reach_as_nobody() {
    [ "$(id -u)" -eq 0 ] && [ -e "$SONDE" ] || return 0
    as_nobody test -d "$T" || { rmdir "$T" && T=$(mktemp -d /tmp/sonde-scene-XXXXXX) && chmod 755 "$T"; }
    as_nobody test -x "$SONDE" && as_nobody test -r "$PROBE" && as_nobody test -x "$TOOLS" && return 0
    mkdir "$T/built"
    cp "$SONDE" "$PROBE" "$T/built"
    mkdir "$T/built/tools"
    find "$TOOLS" -maxdepth 1 -type f -exec cp {} "$T/built/tools" \;
    SONDE=$T/built/sonde PROBE=$T/built/${PROBE##*/} TOOLS=$T/built/tools
}

# Runs a command as the user nobody.
as_nobody() {
    setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
}

# until_true COMMAND…: the same as wait_for for a command and its arguments.
until_true() {
    local until_true_end=$((SECONDS + 120))
    until "$@" 2>/dev/null; do
        [ "$SECONDS" -lt "$until_true_end" ] || { echo "never: $*" && return 1; }
        sleep 0.05
    done
}

# The directory of a finished run is removed, except for segments that an agent of this machine still has to read.
is_over() {
    [ ! -e "$1" ] || { [ ! -e "$1/run" ] && ls /dev/shm/sonde-agent*; }
}

need_root() {
    [ "$(id -u)" -eq 0 ] || skip "needs root"
}

# The result of a query to the database, with columns separated by '|'.
sql() {
    sqlite3 -readonly "$SONDE_DB" "$1"
}
