#!/usr/bin/env bats
# The probe's code linked into a program instead of preloaded, so that sanitizers check it: many threads, many children, every way to
# create and to end them. Its spool is read with spool_dump.
load scene

setup() {
    scene_setup
    export SONDE_SPOOL=$T/spool SONDE_PROBE=
    : >"$SONDE_SPOOL"
    head -c 8 /dev/zero >"$SONDE_SPOOL.lost"
}

# The number of records of a kind; fails if any is damaged or lost.
records() {
    "$BUILD/tests/spool_dump" "$SONDE_SPOOL" >dump
    grep -q '^damaged bytes=0$' dump
    [ "$(od -An -tu8 <"$SONDE_SPOOL.lost" | tr -d ' ')" -eq 0 ]
    grep -c "^$1 " dump || true
}

@test "threads that come and go" {
    "$TOOLS/crowd_probed" threads 2000 50
    [ "$(records thread)" -eq 2000 ]
    [ "$(records end)" -eq 1 ]
}

@test "threads that work at the same time" {
    "$TOOLS/crowd_probed" threads 60 20 5
    [ "$(records thread)" -eq 60 ]
}

@test "threads whose records are batched in a page" {
    export SONDE_PROBE=p SONDE_BOARDS
    SONDE_BOARDS=$(mktemp -d /dev/shm/sonde-inside.XXXXXX)
    "$TOOLS/crowd_probed" threads 2000 50
    [ -z "$(ls "$SONDE_BOARDS")" ]
    rm -r "$SONDE_BOARDS"
    [ "$(records thread)" -eq 2000 ]
    [ "$(records end)" -eq 1 ]
}

@test "forked children" {
    "$TOOLS/crowd_probed" processes 300 50
    [ "$(records fork)" -eq 300 ]
    [ "$(records end)" -eq 301 ]
    [ "$(records image)" -eq 1 ]
}

@test "children by fork, vfork and posix_spawn, and every wait for them" {
    for way in fork vfork posix_spawn; do # the address sanitizer does not support clone with its own stack
        : >"$SONDE_SPOOL"
        "$TOOLS/spawn_probed" $way 100 8 "$TOOLS/ends_probed" exit 0
        [ "$(records image)" -eq 101 ]
        [ "$(records wait)" -eq 100 ]
    done
}

@test "forks and execs among threads, waits, signals" {
    acts=(fork spawn waits "chain 3" threads io)
    # The thread sanitizer does not support thrd_create, and its own thread keeps a process alive.
    grep -q __tsan_init "$TOOLS/acts_probed" || acts+=(fork_in_thread exec_with_threads main_first signals)
    for act in "${acts[@]}"; do
        # shellcheck disable=SC2086
        "$TOOLS/acts_probed" $act || { echo "$act: $?"; return 1; }
    done
    [ "$(records exec)" -ge 3 ]
}

@test "every way to exit" {
    for how in "return 3" "exit 4" "_exit 5" "thread 7"; do
        : >"$SONDE_SPOOL"
        # shellcheck disable=SC2086
        run "$TOOLS/ends_probed" $how
        [ "$status" -eq "${how#* }" ]
        [ "$(records end)" -eq 1 ]
        grep -q "^end .*exit_code=${how#* } " dump
    done
    run "$TOOLS/ends_probed" signal 15
    [ "$status" -eq 143 ]
}

@test "a missing, removed or full spool does not affect the program" {
    SONDE_SPOOL=/does/not/exist "$TOOLS/crowd_probed" threads 20 5
    SONDE_SPOOL=/dev/full "$TOOLS/crowd_probed" threads 20 5
    SONDE_SPOOL='' "$TOOLS/crowd_probed" processes 20 5
}
