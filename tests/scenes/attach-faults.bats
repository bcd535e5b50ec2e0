#!/usr/bin/env bats
# sonde attach to difficult processes: under a debugger, stopped, with short-lived threads, about to execute a set-uid program; and
# sonde ended in every way. The programs must be unaffected.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
load scene
load attach

# The kernel's view of the signals and state of each thread, except the state of a running thread, which changes by itself.
signals_of() {
    for task in "/proc/$1/task"/*; do
        grep -E '^(SigPnd|ShdPnd|SigBlk|SigIgn|SigCgt|TracerPid|NoNewPrivs|Seccomp):' "$task/status"
    done
}

@test "Ctrl-C, SIGTERM, SIGHUP and SIGKILL of sonde leave signals, masks, state and output unchanged" {
    "${user[@]}" bash -c 'trap "" USR1; trap "echo received" USR2; echo ready; while read -r line; do echo "got $line"; done' \
        <"$T/in" >"$T/out" 3>&- &
    program=$!
    exec 7>"$T/in"
    until_true printed ready
    until_true grep -q '^State:.S' "/proc/$program/status"
    signals_of "$program" >before
    expected=ready
    for signal in INT TERM HUP KILL; do
        attach
        kill "-$signal" "$sonde_pid"
        wait "$sonde_pid" || true
        until_true is_free "$program"
        until_true grep -q '^State:.S' "/proc/$program/status"
        signals_of "$program" >after
        diff before after
        echo "$signal" >&7
        expected+=$'\n'"got $signal"
        until_true printed "got $signal"
    done
    kill -USR1 "$program"
    kill -USR2 "$program"
    echo last >&7
    until_true printed 'got last'
    program_succeeds
    [ "$(grep -v received "$T/out")" = "$expected"$'\ngot last' ]
    [ "$(grep -c received "$T/out")" -eq 1 ]
}

@test "a stopped process stays stopped, however sonde ends" {
    start_caller work 50
    kill -STOP "$program"
    until_true grep -q '^State:.T' "/proc/$program/status"
    signals_of "$program" >before
    for signal in INT TERM HUP KILL; do
        attach
        kill "-$signal" "$sonde_pid"
        wait "$sonde_pid" || true
        until_true is_free "$program"
        until_true grep -q '^State:.T' "/proc/$program/status"
        signals_of "$program" >after
        diff before after
    done
    kill -CONT "$program"
    go
    until_true printed 'done wrong=0'
    program_succeeds
}

@test "a process under gdb is left alone, and both continue" {
    command -v gdb >/dev/null || skip "no gdb"
    mkfifo -m 666 "$T/orders"
    start_caller work 20
    "${user[@]}" env HOME="$T" gdb -nx -q -p "$program" <"$T/orders" >"$T/gdb" 2>&1 3>&- 7>&- &
    debugger=$!
    exec 8>"$T/orders"
    until_true is_traced "$program"
    run "${user[@]}" "$SONDE" attach "$program" 7>&- 8>&-
    [ "$status" -eq 1 ]
    [[ "$output" == *"process $program (caller) is already traced by process $debugger (gdb)"*"End that one first"* ]]
    [ "$(tracer_of "$program")" = "$debugger" ]
    [ ! -d "$TMPDIR/sonde-65534" ] || [ -z "$(find "$TMPDIR"/sonde-65534 -name '*.spool')" ] # the attempt leaves nothing behind
    printf 'detach\nquit\n' >&8
    exec 8>&-
    wait "$debugger" || true
    until_true is_free "$program"
    go
    until_true printed 'done wrong=0'
    program_succeeds
}

@test "as root: a process under strace is counted by the kernel, and with --ptrace left to strace" {
    need_root
    command -v strace >/dev/null || skip "no strace"
    "$SONDE" run -v -s true >log 2>&1
    user=()
    start_caller work 20
    strace -f -o /dev/null -p "$program" 2>/dev/null 3>&- 7>&- &
    tracer=$!
    until_true is_traced "$program"
    run "$SONDE" attach --ptrace "$program" 7>&-
    [ "$status" -eq 1 ]
    [[ "$output" == *"is already traced by process $tracer (strace)"* ]]
    if ! grep -q 'cannot count\|through libc' log; then
        "$SONDE" attach -v "$program" >"$T/table" 2>"$T/log" 3>&- 7>&- &
        sonde_pid=$!
        until_true grep -q 'counting in the kernel' "$T/log"
        go
        until_true printed "done"
        detach
        [ "$(count writev)" -eq 20 ]
    else
        go
        until_true printed "done"
    fi
    kill "$tracer"
    wait "$tracer" || true
    program_succeeds
}

@test "threads that come and go during attaching and detaching are unaffected" {
    start_caller threads 3000
    go
    for i in 1 2 3 4 5; do
        "${user[@]}" "$SONDE" attach -q -t 0.05 "$program" >"$T/table" 2>"$T/log" 7>&-
    done
    until_true printed "done"
    printed 'done wrong=0'
    program_succeeds
}

@test "a thread id stands for its process" {
    [ -x /usr/bin/python3 ] || skip "no python3"
    "${user[@]}" /usr/bin/python3 -c '
import threading, sys
threading.Thread(target=sys.stdin.read).start()
print("ready", flush=True)' <"$T/in" >"$T/out" 3>&- &
    program=$!
    exec 7>"$T/in"
    until_true printed ready
    thread=$(find "/proc/$program/task" -mindepth 1 -maxdepth 1 ! -name "$program" -printf '%f\n' -quit)
    "${user[@]}" "$SONDE" attach -v -t 0.2 "$thread" >"$T/table" 2>"$T/log" 7>&-
    grep -q "detached from process $program, which continues" "$T/log"
    program_succeeds
}

@test "a set-uid program runs without privileges under a user's tracer, with a warning" {
    need_root
    cp "$(command -v id)" "$T/id"
    chmod 4755 "$T/id"
    "${user[@]}" bash -c "echo ready; read -r; $T/id -u; read -r" <"$T/in" >"$T/out" 3>&- &
    program=$!
    exec 7>"$T/in"
    until_true printed ready
    attach
    go
    until_true printed '^65534$'
    detach
    grep -q "/id ran without its privileges" "$T/log"
    go
    program_succeeds || true

    rm "$T/in" && mkfifo -m 666 "$T/in" && : >"$T/out" # and with its privileges, once sonde has detached
    "${user[@]}" bash -c "echo ready; read -r; $T/id -u; read -r" <"$T/in" >"$T/out" 3>&- &
    program=$!
    exec 7>"$T/in"
    until_true printed ready
    attach
    detach
    go
    until_true printed '^0$'
    go
    program_succeeds || true
}

@test "attaching to sonde itself, init and kernel threads fails with an explanation" {
    run "${user[@]}" bash -c "exec '$SONDE' attach \$\$"
    [ "$status" -eq 1 ]
    [[ "$output" == *"sonde cannot attach to itself"* ]]
    run "${user[@]}" "$SONDE" attach 0
    [ "$status" -eq 2 ]
    run "${user[@]}" "$SONDE" attach -- -5
    [ "$status" -eq 2 ]
    if [ "$(id -u)" -eq 0 ]; then
        run "${user[@]}" "$SONDE" attach 1
        [ "$status" -eq 1 ]
        [[ "$output" == *"process 1 ("*") belongs to user root. Attach as that user or as root"* ]]
    fi
    kernel=$(grep -L '^VmSize' /proc/[0-9]*/status 2>/dev/null | head -1 | tr -dc 0-9)
    [ -n "$kernel" ] && grep -qE '^State:.[SDI]' "/proc/$kernel/status" || return 0
    run "$SONDE" attach "$kernel"
    [ "$status" -eq 1 ]
    [[ "$output" == *"is a kernel thread"* ]]
}

# A script that attaches sonde to itself, and ends.
attach_to_own_shell() {
    : >"$T/log"
    "$@" bash -c "'$SONDE' attach -v \$\$ >'$T/table' 2>'$T/log' 3>&- & echo \$! >'$T/out'
        for i in {1..100}; do grep -Eq 'counting in the kernel|is slow' '$T/log' && break; sleep 0.1; done"
    sonde_pid=$(cat "$T/out")
    until_true is_gone "$sonde_pid"
}

is_gone() {
    ! kill -0 "$1" 2>/dev/null
}

@test "a script may attach sonde to itself: sonde is excluded, and ends with it; with both methods" {
    attach_to_own_shell
    [ "$(count wait4)" -ge 1 ]
    [ -z "$(count poll)" ]
    [ "$(id -u)" -eq 0 ] || return 0
    attach_to_own_shell "${user[@]}"
    [ "$(count wait4)" -ge 1 ]
    [ -z "$(count poll)" ]
}

@test "as root: an older process that exits is recorded with its exit time and its usage since the attachment" {
    need_root
    "$SONDE" run -v -s true >log 2>&1
    ! grep -q 'cannot count\|through libc' log || skip "no eBPF"
    "$SONDE" doctor | grep -q 'every fork, exec and exit is reported' || skip "no proc connector"
    bash -c 'sleep 0.7; sleep 1; :' 3>&- &
    program=$!
    "$SONDE" attach -p 1h "$program" >"$T/table"
    [ "$(sql "select (end_ns - start_ns) / 1000000 from process where exe = 'sleep' order by start_ns limit 1")" -lt 1000 ]
    [ "$(sql "select sum(exit_code = 0) from process where exe = 'sleep'")" -eq 2 ]
    "$TOOLS/burn" 700 3>&- & # waited for at once
    program=$!
    "$SONDE" attach -p 1h -j burns "$program" >"$T/table"
    sql "select usertime + systemtime from process where exe = 'burn'" | awk '{ exit !($1 > 300000 && $1 < 800000) }'
}
