#!/usr/bin/env bats
# sonde attach: the system calls of a running process are counted exactly, and the process is unaffected. As nobody, for whom the
# method is always ptrace. The program caller reports how many calls it makes, and whether anything went wrong.
load scene
load attach

@test "calls, errors and bytes of a process are counted exactly" {
    start_caller work 500
    attach --time
    go
    until_true printed "done"
    detach
    [ "$(count writev)" -eq 500 ]
    [ "$(count pread64)" -eq 500 ]
    [ "$(count getppid)" -eq 500 ]
    [ "$(count close)" -eq 500 ]
    [ "$(count write)" -eq 501 ]
    # the pending read may or may not be restarted under the tracer, and the last one may or may not be counted
    [ "$(count read)" -ge 500 ]
    [ "$(count read)" -le 502 ]
    grep -Eq '^close +500 +500 ' "$T/table"
    grep -Eq '^writev +500 +2.9 KiB ' "$T/table"
    program_succeeds
}

@test "unknown system calls are reported as others, with both methods" {
    for way in --ptrace --time; do # as root, without --ptrace, the kernel counts
        rm "$T/in" && mkfifo -m 666 "$T/in" && : >"$T/out"
        start_caller vain 70
        "$SONDE" attach -v "$way" "$program" >"$T/table" 2>"$T/log" 3>&- 7>&- &
        sonde_pid=$!
        until_true grep -q 'counting in the kernel\|ptrace is slow' "$T/log"
        go
        until_true printed "done"
        detach
        grep -Eq '^other +70 +70 ' "$T/table"
        program_succeeds
    done
}

main_thread_is_dead() {
    grep -q '^State:.Z' "/proc/$program/status"
}

@test "a process whose main thread has ended is monitored, with both methods" {
    for way in --ptrace --time; do
        rm "$T/in" && mkfifo -m 666 "$T/in" && : >"$T/out"
        start_caller alone 30
        go
        until_true main_thread_is_dead
        "$SONDE" attach -v "$way" "$program" >"$T/table" 2>"$T/log" 3>&- 7>&- &
        sonde_pid=$!
        until_true grep -q 'counting in the kernel\|ptrace is slow' "$T/log"
        go
        until_true printed "done"
        program_succeeds
        wait "$sonde_pid"
        sonde_pid=
        [ "$(count writev)" -eq 30 ]
        [ "$(sql "select count(*) from process where exe = 'caller' and args like '%caller alone 30'")" -eq 1 ]
        [ "$way" != --ptrace ] || [ "$(sql "select j.exit_code, p.exit_code from job j, process p")" = '0|0' ]
        "$SONDE" report >page
        grep -Eq '^  command .*caller alone 30$' page
        rm "$SONDE_DB"*
    done
}

@test "monitoring ends with a process that has not waited for its children" {
    for way in --ptrace --time; do
        bash -c 'true & exec sleep 2' 3>&- &
        program=$!
        until_true is_sleeping
        timeout 60 "$SONDE" attach -q "$way" "$program" >"$T/table"
        wait "$program"
        grep -Eq '^exit_group +1 |^clock_nanosleep +1 ' "$T/table"
    done
    program=
}

is_sleeping() {
    grep -q '^Name:.sleep' "/proc/$program/status" && grep -q '^State:.S' "/proc/$program/status"
}

@test "a blocked program is reported in its system call, with both methods; its time counts from the attachment" {
    for way in --ptrace --time; do # as root, without --ptrace, the kernel counts
        sleep 60 3>&- & program=$!
        until_true is_sleeping
        "$SONDE" attach -q -t 0.5 --time "$way" "$program" >"$T/table"
        grep -Eq '^all +0 ' "$T/table"
        grep -qx 'still in progress (not counted): clock_nanosleep (1 thread)' "$T/table"
        kill -9 "$program"
        wait "$program" || :
        sleep 4 3>&- & program=$!
        until_true is_sleeping
        sleep 0.5
        "$SONDE" attach -q --time "$way" "$program" >"$T/table"
        grep -Eq '^clock_nanosleep +1 +[123]\.[0-9] s ' "$T/table"
        run ! grep -q 'still in progress' "$T/table"
    done
    program=
}

@test "the result is a job like one of sonde run" {
    start_caller work 300
    attach -n looked
    go
    until_true printed "done"
    detach
    program_succeeds
    "${user[@]}" "$SONDE" report >page
    grep -q '^looked, job' page
    grep -q '^  status  *still running when monitoring stopped$' page
    grep -q "$TOOLS/caller" page
    "${user[@]}" "$SONDE" export -w series --set syscall >rows
    grep -q writev rows
}

@test "threads that come and go, and children, are included" {
    start_caller threads 50
    attach
    go
    until_true printed "done"
    detach
    [ "$(count writev)" -eq 1000 ]
    [ "$(count close)" -ge 1000 ]
    program_succeeds

    rm "$T/in" && mkfifo -m 666 "$T/in" && : >"$T/out"
    start_caller children 50
    attach
    go
    until_true printed "done"
    detach
    [ "$(count writev)" -eq 250 ]
    program_succeeds
}

@test "an exec by a thread is handled" {
    start_caller exec 200
    attach
    go
    until_true printed "done"
    detach
    [ "$(count writev)" -eq 200 ]
    program_succeeds
}

@test "signals are not lost, changed or added" {
    start_caller signals 3000
    attach
    go
    until_true printed "done"
    detach
    printed 'done wrong=0 received=3000'
    program_succeeds
}

@test "signals survive attaching, detaching and a killed sonde" {
    start_caller signals 20000
    go
    for signal in INT KILL TERM KILL HUP KILL KILL; do
        "${user[@]}" "$SONDE" attach -q "$program" >"$T/table" 2>"$T/log" 3>&- 7>&- &
        sonde_pid=$!
        for ((i = 0; i < 100; i++)); do
            [ "$(tracer_of "$program")" != 0 ] && break
            sleep 0.01
        done
        tracer=$(tracer_of "$program")
        [ "$signal" != KILL ] || [ "$tracer" = 0 ] || kill -KILL "$tracer" || true
        kill "-$signal" "$sonde_pid" || true
        wait "$sonde_pid" || true
    done
    until_true printed "done"
    printed 'done wrong=0 received=20000'
    program_succeeds
}

# undisturbed MODE TIMES: the program reports no errors while sonde attaches and detaches repeatedly.
undisturbed() {
    start_caller "$@"
    go
    for i in 1 2 3 4; do
        "${user[@]}" "$SONDE" attach -q -t 0.1 "$program" >"$T/table" 2>"$T/log"
    done
    until_true printed "done"
    printed 'done wrong=0'
    program_succeeds
}

@test "a wait for events is not interrupted by attaching and detaching" {
    undisturbed events 60
}

@test "nor is a wait for messages" {
    undisturbed messages 60
}

@test "a stopped process stays stopped until it is continued" {
    start_caller work 100
    kill -STOP "$program"
    attach
    detach
    until_true is_free "$program"
    grep -q '^State:.T' "/proc/$program/status"
    attach
    kill -CONT "$program"
    go
    until_true printed "done"
    kill -STOP "$program"
    until_true grep -q '^State:.[tT]' "/proc/$program/status"
    detach
    grep -q '^State:.T' "/proc/$program/status"
    kill -CONT "$program"
    program_succeeds
}

@test "sonde ends with the process, whose parent gets its exit status" {
    start_caller work 10
    attach
    go
    program_succeeds
    status=0
    wait "$sonde_pid" || status=$?
    [ "$status" -eq 0 ]
    [ "$(count writev)" -eq 10 ]
}

@test "errors explain why a process cannot be attached to" {
    run "${user[@]}" "$SONDE" attach 999999999
    [ "$status" -eq 1 ]
    [[ "$output" == *"no such process: 999999999"* ]]
    run "${user[@]}" "$SONDE" attach x
    [ "$status" -eq 2 ]
    run "${user[@]}" "$SONDE" attach
    [ "$status" -eq 2 ]

    start_caller work 10
    attach
    run "${user[@]}" "$SONDE" attach "$program"
    [ "$status" -eq 1 ]
    [[ "$output" == *"is already traced by process"* ]]
    detach

    if [ "$(id -u)" -eq 0 ]; then
        run as_nobody "$SONDE" attach $$
        [ "$status" -eq 1 ]
        [[ "$output" == *"belongs to user root"* ]]
        run as_nobody "$SONDE" attach 2
        [ "$status" -eq 1 ]
    fi
    program_succeeds
}

@test "a zombie is reported as such" {
    bash -c 'sleep 0.01 & echo $!; exec sleep 60' >"$T/out" 3>&- &
    program=$!
    until_true grep -q . "$T/out"
    zombie=$(cat "$T/out")
    until_true grep -q '^State:.Z' "/proc/$zombie/status"
    run "$SONDE" attach "$zombie"
    [ "$status" -eq 1 ]
    [[ "$output" == *"has already exited"* ]]
}

@test "as root the kernel counts, even for a process under a debugger" {
    need_root
    "$SONDE" run -v -s true >log 2>&1
    ! grep -q 'cannot count\|through libc' log || skip "no eBPF"
    user=()
    start_caller children 400
    "$SONDE" attach -v "$program" >"$T/table" 2>"$T/log" 3>&- 7>&- &
    sonde_pid=$!
    until_true grep -q 'counting in the kernel' "$T/log"
    [ "$(tracer_of "$program")" = 0 ]
    go
    until_true printed "done"
    detach
    [ "$(count writev)" -eq 2000 ]
    program_succeeds
}

@test "attaching to a process under strace or gdb fails with an explanation" {
    start_caller work 10
    command -v strace >/dev/null || skip "no strace"
    "${user[@]}" strace -f -o /dev/null -p "$program" 2>/dev/null 3>&- 7>&- &
    tracer=$!
    until_true is_traced "$program"
    run "${user[@]}" "$SONDE" attach "$program"
    kill "$tracer"
    wait "$tracer" || true
    [ "$status" -eq 1 ]
    [[ "$output" == *"is already traced by process $tracer (strace)"* ]]
    program_succeeds
}

@test "Ctrl-Z stops sonde and not the program" {
    start_caller work 100
    set -m # its own process group: orphaned groups are not stopped from a terminal
    attach
    set +m
    kill -TSTP "$sonde_pid"
    until_true grep -q '^State:.T' "/proc/$sonde_pid/status"
    go
    until_true printed "done"
    kill -CONT "$sonde_pid"
    detach
    [ "$(count writev)" -eq 100 ]
    program_succeeds
}

@test "strace counts the same" {
    command -v strace >/dev/null || skip "no strace"
    touch "$T/counts" && chmod 666 "$T/counts"
    start_caller threads 30
    "${user[@]}" strace -f -c -o "$T/counts" -p "$program" 2>/dev/null 3>&- 7>&- &
    tracer=$!
    until_true is_traced "$program"
    go
    until_true printed "done"
    kill -INT "$tracer"
    wait "$tracer" || true
    program_succeeds
    rm "$T/in" && mkfifo -m 666 "$T/in" && : >"$T/out"
    start_caller threads 30
    attach
    go
    until_true printed "done"
    detach
    for call in writev pread64 getppid clone3 close; do
        [ "$(count $call)" = "$(awk -v call=$call '$NF == call { print $4 }' counts)" ]
    done
    program_succeeds
}

@test "a user cannot attach to a program with more privileges" {
    need_root
    cp "$(command -v sleep)" "$T/sleep"
    chmod 4755 "$T/sleep"
    "${user[@]}" "$T/sleep" 60 3>&- &
    program=$!
    until_true grep -q '^Uid:.65534.0' "/proc/$program/status"
    run "${user[@]}" "$SONDE" attach "$program"
    [ "$status" -eq 1 ]
    [[ "$output" == *"cannot be traced"*"more privileges than you have"* ]] || grep -q '[123]' /proc/sys/kernel/yama/ptrace_scope
    kill -0 "$program"
}

@test "the job records the exit of the process and of all its children" {
    start_caller children 50
    attach -v -n tree
    go
    program_succeeds
    wait "$sonde_pid"
    grep -q 'exited with status 0' "$T/log"
    [ "$(sql "select exit_code, exit_signal from job")" = '0|0' ]
    [ "$(sql "select count(distinct pid) from process")" -eq 7 ]
    root=$(sql "select pid from process where depth = 0")
    [ "$(sql "select count(*) from process where exit_code = 42 and exe = 'caller' and ppid = $root")" -eq 5 ]
    [ "$(sql "select count(*) from process where exit_code = 0 and exe = 'true' and ppid = $root")" -eq 1 ]
    [ "$(sql "select count(*) from process where state = 'ended' and usertime is null")" -eq 0 ]
    # Without a probe, the peak of a process that called exec cannot be told from that of its parent.
    [ "$(sql "select count(*) from process where state = 'ended' and rssmax is null and exe != 'true'")" -eq 0 ]
}

@test "a process killed by a signal is recorded with the usage of its threads" {
    start_caller threads 20
    attach -v
    go
    until_true printed "done"
    kill -TERM "$program"
    status=0
    wait "$program" || status=$?
    program=
    [ "$status" -eq 143 ]
    wait "$sonde_pid"
    grep -q 'was terminated by signal 15' "$T/log"
    [ "$(sql "select exit_signal from job")" = 15 ]
    [ "$(sql "select exit_signal, usertime + systemtime > 0 from process")" = '15|1' ]
}

@test "a process that continues has no exit, and only usage since the attachment" {
    "${user[@]}" bash -c 'for ((i = 0; i < 200000; i++)); do :; done; echo ready; while read -r; do :; done' <"$T/in" >"$T/out" 3>&- &
    program=$!
    exec 7>"$T/in"
    until_true printed ready
    attach -t 0.3
    wait "$sonde_pid"
    [ "$(sql "select ifnull(exit_code, 'none') from job")" = none ]
    [ "$(sql "select state from process")" = running ]
    sql "select usertime + systemtime from process" | awk '{ exit !($1 < 50000) }'
    program_succeeds
}

@test "as root the kernel counts, and the end of the process is recorded too" {
    need_root
    "$SONDE" run -v -s true >log 2>&1
    ! grep -q 'cannot count\|through libc' log || skip "no eBPF"
    user=()
    start_caller killed 50
    "$SONDE" attach -v "$program" >"$T/table" 2>"$T/log" 3>&- 7>&- &
    sonde_pid=$!
    until_true grep -q 'counting in the kernel' "$T/log"
    go
    status=0
    wait "$program" || status=$?
    program=
    wait "$sonde_pid"
    [ "$status" -eq 137 ]
    [ "$(count writev)" -eq 50 ]
    if grep -q 'was terminated by signal' "$T/log"; then # reported by Linux 6.15 and later
        [ "$(sql "select exit_signal from job where name = 'caller'")" = 9 ]
    fi
}

@test "as root counting continues after the process has exited, until its last child has" {
    need_root
    "$SONDE" run -v -s true >log 2>&1
    ! grep -q 'cannot count\|through libc' log || skip "no eBPF"
    mkfifo "$T/later"
    bash -c "exec 8<>'$T/later'; echo ready; read -r x; (read -r x <&8; dd if=/dev/zero of=/dev/null bs=1 count=321 status=none; exit 3) & exit 5" \
        <"$T/in" >"$T/out" 3>&- 7>&- &
    program=$!
    exec 7>"$T/in"
    until_true printed ready
    "$SONDE" attach -v -p 100ms "$program" >"$T/table" 2>"$T/log" 3>&- 7>&- &
    sonde_pid=$!
    until_true grep -q 'counting in the kernel' "$T/log"
    first=$program
    go
    wait "$program" || [ $? -eq 5 ]
    program=
    sleep 1
    kill -0 "$sonde_pid" # it has recorded the exit of the process, and continues
    echo >"$T/later"
    wait "$sonde_pid"
    sonde_pid=
    [ "$(count write)" -ge 321 ]
    [ "$(sql "select exe from process where pid = $first")" = bash ]
    if grep -q 'exited with status' "$T/log"; then # reported by Linux 6.15 and later
        [ "$(sql "select exit_code from process where pid = $first")" = 5 ]
        [ "$(sql "select count(*) from process where exe = 'bash' and exit_code = 3")" -eq 1 ]
    fi
}

@test "as root short-lived children are recorded too, with exit and usage" {
    need_root
    "$SONDE" run -v -s true >log 2>&1
    ! grep -q 'cannot count\|through libc' log || skip "no eBPF"
    "$SONDE" doctor | grep -q 'every fork, exec and exit is reported' || skip "no proc connector"
    cat >"$T/script" <<'S'
read -r go
for ((i = 0; i < 100; i++)); do /bin/true; done
(exit 7)
bash -c 'kill -9 $$'
bash -c 'for ((i = 0; i < 200000; i++)); do :; done'
S
    bash "$T/script" <"$T/in" >"$T/out" 2>&1 3>&- 7>&- &
    program=$!
    exec 7>"$T/in"
    "$SONDE" attach -v -j short "$program" >"$T/table" 2>"$T/log" 3>&- 7>&- &
    sonde_pid=$!
    until_true grep -q 'counting in the kernel' "$T/log"
    go
    wait "$sonde_pid"
    sonde_pid=
    wait "$program"
    program=
    "$SONDE" ps --json short >ps.json
    [ "$(jq '[.[] | select(.name == "true")] | length' ps.json)" -eq 100 ]
    [ "$(jq '[.[] | select(.name == "true" and .exit_code == 0 and .counters.minflt > 0 and .state == "ended")] | length' ps.json)" -eq 100 ]
    [ "$(jq '[.[] | select(.exit_code == 7)] | length' ps.json)" -eq 1 ]
    [ "$(jq '[.[] | select(.exit_signal == 9)] | length' ps.json)" -eq 1 ]
    [ "$(jq '[.[] | .pid] | unique | length' ps.json)" -eq 104 ] # no process is missing, and none is of another job
    [ "$(jq '[.[] | select(.pid == '"$(jq '[.[] | select(.exit_signal == 9)][0].pid' ps.json)"')] | length' ps.json)" -eq 1 ]
    jq -e '[.[] | select(.cpu_s > 0.05)] | length >= 1' ps.json
}
