#!/usr/bin/env bats
# System calls counted in libc: sonde run -s as a user without access to eBPF. The program caller reports its calls, and whether
# anything went wrong.
load scene

setup() {
    scene_setup
    user=()
    [ "$(id -u)" -ne 0 ] || user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
    calls_probe=$(dirname "$PROBE")/libsonde-calls.so
    [ -e "$calls_probe" ] || calls_probe=$BUILD/src/probe/libsonde-calls.so
    # If the scene uses copies of the binaries, the probe is copied, too.
    [ ! -d "$T/built" ] || cp "$BUILD/src/probe/libsonde-calls.so" "$T/built"
}

# run_calls [OPTIONS] -- COMMAND…: runs it with counting; its messages are in $T/log.
run_calls() {
    "${user[@]}" "$SONDE" run "$@" </dev/null >"$T/log" 2>&1
}

# count CALL [METRIC]: the last sample.
count() {
    "${user[@]}" "$SONDE" export -w series --set syscall |
        tr -d '\r' | awk -F, -v call="$1" -v metric="${2:-calls}" '
            NR == 1 { for (i = 1; i <= NF; i++) place[$i] = i }
            $(place["instance"]) == call { last = $(place[metric]) }
            END { print last }'
}

@test "calls, errors and bytes are counted exactly, and the method is shown" {
    run_calls -s -- "$TOOLS/caller" now 500
    grep -q 'done wrong=0' "$T/log"
    [ "$(count writev)" -eq 500 ]
    [ "$(count writev bytes)" -eq 3000 ]
    [ "$(count pread64 bytes)" -eq 2500 ]
    [ "$(count close)" -ge 500 ]
    [ "$(count close errors)" -eq 500 ]
    [ "$(count getppid)" -eq 500 ]
    [ -z "$(count read time)" ]
    "${user[@]}" "$SONDE" export -w series --set syscall_way | grep -q ',2.$'
}

@test "with time, a sleep has its duration" {
    run_calls --syscall-time -- "$TOOLS/caller" events 20
    [ "$(count epoll_wait)" -eq 20 ]
    time_ns=$(count epoll_wait time)
    [ "$time_ns" -ge 390000000 ]
    [ "$time_ns" -le 20000000000 ]
}

@test "threads, children, execs and killed programs are counted" {
    run_calls -s -- "$TOOLS/caller" threads 100
    [ "$(count writev)" -eq 2000 ]
    run_calls -s -- "$TOOLS/caller" children 100
    grep -q 'done wrong=0' "$T/log"
    [ "$(count writev)" -eq 500 ]
    run_calls -s -- "$TOOLS/caller" exec 100
    grep -q 'done wrong=0' "$T/log"
    [ "$(count writev)" -eq 100 ]
    run_calls -s -- "$TOOLS/caller" killed 100 || true
    [ "$(count writev)" -eq 100 ]
    run_calls -s -- bash -c "for i in 1 2 3 4 5; do $TOOLS/caller now 20 </dev/null; done"
    [ "$(count writev)" -eq 100 ]
}

@test "a cancelled wait ends, and signal handlers count too" {
    run_calls -s -- "$TOOLS/caller" cancel 50
    grep -q 'done wrong=0' "$T/log"
    run_calls -s -- "$TOOLS/caller" handlers 2000
    grep -q 'done wrong=0' "$T/log"
    received=$(sed -n 's/^done.*received=//p' "$T/log")
    # In addition to those of the handlers: "ready" and "done".
    [ "$(count write)" -eq $((received + 2)) ]
    [ "$(count close errors)" -eq "$(count close)" ]
}

ftruncate_number() {
    case $(uname -m) in
        x86_64) echo 77 ;;
        *) echo 46 ;;
    esac
}

@test "a program that enters a sandbox is not killed by the probe" {
    for how in -s --syscall-time; do
        run_calls "$how" -- "$TOOLS/acts" seccomp
        grep -qx alive "$T/log"
        for by in strict strict-seccomp strict-syscall; do
            run_calls "$how" -- "$TOOLS/caller" "$by" 100
            grep -qx strict "$T/log"
            [ "$(count write)" -eq 102 ] # it had printed "ready" before, so the counters existed
        done
        # A filter that was installed before the exec; the segment would need ftruncate.
        run_calls "$how" -- "$TOOLS/refuses" "-$(ftruncate_number)" cat "$BATS_TEST_FILENAME"
        grep -q '^load scene' "$T/log"
    done
}

@test "calls past libc are shown separately" {
    run_calls -s -- "$TOOLS/caller" stdio 700
    [ "$(count write/other)" -ge 700 ]
    [ "$(count write/other bytes)" -ge 3500 ]
    [ "$(count write/other)" -le 710 ]
    [ -x "$TOOLS/caller_static" ] || skip "no static programs"
    run_calls -s -- "$TOOLS/caller_static" now 300
    [ -z "$(count writev 2>/dev/null)" ]
    "${user[@]}" "$SONDE" report >page
    grep -q '^  system calls of 1 of 1 program without the probe' page
}

@test "strace counts the same calls" {
    command -v strace >/dev/null || skip "no strace"
    strace -f -c -o counts "$TOOLS/caller" children 40 </dev/null >/dev/null
    run_calls -s -- "$TOOLS/caller" children 40
    # Of other calls some are made by the loader, which is not libc.
    for call in writev getppid; do
        [ "$(count $call)" -eq "$(awk -v call=$call '$NF == call { print $4 }' counts)" ]
    done
}

@test "strace counts the same calls for directories, sockets, processes and queues" {
    command -v strace >/dev/null || skip "no strace"
    "${user[@]}" strace -f -c -o "$TMPDIR/counts" "$TOOLS/caller" many 40 </dev/null >/dev/null
    run_calls -s -- "$TOOLS/caller" many 40
    grep -q 'done wrong=0' "$T/log"
    for call in chdir fchdir getcwd statfs fstatfs utimensat linkat symlinkat fchmodat chown fchown lchown fchownat listen socketpair \
        setsockopt getsockopt getsockname getpeername epoll_create epoll_create1 kill wait4 mq_open mq_unlink mq_timedsend \
        mq_timedreceive mq_getsetattr; do
        counted="$(count $call) $(count $call errors)"
        traced=$(awk -v call=$call '$NF == call { print $4, (NF > 5 ? $5 : 0) }' "$TMPDIR/counts")
        [ "$counted" = "$traced" ] || { echo "$call: $counted, not $traced" && return 1; }
    done
    [ "$(count mq_timedreceive bytes)" -eq $((40 * 14)) ]
}

@test "without the probe nothing is counted, with a warning" {
    run_calls -s --no-probe -- true
    grep -q 'cannot count system calls' "$T/log"
}

@test "root may choose libc, and two methods at once are rejected" {
    [ "$(id -u)" -eq 0 ] || skip "needs root, for eBPF"
    way() { "$SONDE" export -w series --set syscall_way | tr -d '\r' | tail -1 | sed 's/.*,//'; }
    user=()
    for option in -s --libc --syscall-time; do
        rm -rf "$T/db/"*
        run_calls -v "$option" --libc -- "$TOOLS/caller" now 300
        grep -q 'through libc: requested with --libc' "$T/log"
        [ "$(way)" = 2 ]
        [ "$(count writev)" -eq 300 ]
    done
    [ -n "$(count writev time)" ]
    for other in --ptrace --no-probe; do
        run "$SONDE" run --libc $other -- touch "$T/ran"
        [ "$status" -eq 2 ]
        [[ $output == *"exclude each other"* ]]
        [ ! -e "$T/ran" ]
    done
}

@test "the library alone counts for an agent, if there is one" {
    mkdir -m 777 "$T/segments"
    SONDE_BOARDS=$T/segments LD_PRELOAD=$calls_probe "$TOOLS/caller" now 10 </dev/null
    "$BUILD/tests/segment_show" "$T/segments" >shown
    grep -q '^syscall_calls_total{call="writev"} 10$' shown
    LD_PRELOAD=$calls_probe "$TOOLS/caller" now 10 </dev/null
}

# As on the other nodes of a job: the launcher passes the environment on, the directory does not exist, but an agent is running.
@test "if the segment directory is missing, segments go to the agent" {
    [ "$(id -u)" -eq 0 ] || skip "needs root, for its own /dev/shm"
    touch "$T/file"
    mkdir -m 700 "$T/closed"
    unshare --mount --propagation private sh -c '
        mount -t tmpfs none /dev/shm && touch /dev/shm/sonde-agent || exit
        for folder in "$0/nowhere" "$0/file"; do
            SONDE_BOARDS=$folder LD_PRELOAD=$1 "$2/caller" now 10 </dev/null
        done
        SONDE_BOARDS=$0/closed LD_PRELOAD=$1 setpriv --reuid=65534 --regid=65534 --clear-groups "$2/caller" now 7 </dev/null
        "$3/tests/segment_show" /dev/shm' "$T" "$calls_probe" "$TOOLS" "$BUILD" >shown
    [ "$(grep -c '^syscall_calls_total{call="writev"} 10$' shown)" -eq 2 ]
    [ "$(grep -c '^syscall_calls_total{call="writev"}' shown)" -eq 2 ] # if the directory exists but is not accessible, no other is used
}

@test "a program whose sanitizer creates its report directory before libc is initialised is counted" {
    [ -x "$TOOLS/acts_sanitized" ] || skip "no address sanitizer"
    install -d -m 777 "$T/reports"
    ASAN_OPTIONS=${ASAN_OPTIONS:-}:log_path=$T/reports/new/of run_calls -s -- "$TOOLS/acts_sanitized" io
    [ -d "$T/reports/new" ]
    [ "$(count read bytes)" -eq 2100 ]
    [ "$(count write bytes)" -eq 15000 ]
}
