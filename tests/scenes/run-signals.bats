#!/usr/bin/env bats
# Signals and the terminal: a program under sonde run gets the same signals as without it, once.
load scene
load run

# --- signals ---------------------------------------------------------------------------------------------------------

# A program that counts its signals, writes them to the file got, and prints the counts when SIGALRM ends it.
counting='trap "t=\$((t+1)); echo TERM >>got" TERM; trap "u=\$((u+1)); echo USR1 >>got" USR1; trap "v=\$((v+1)); echo USR2 >>got" USR2
trap "echo TERM \$t USR1 \$u USR2 \$v; exit 6" ALRM; echo $$ >"$T/pid"; while :; do sleep 0.02; done'

# In its own group and session; $sonde_pid is the pid of sonde run.
start_counting() {
    setsid "$SONDE" run -q -- bash -c "$counting" >"$T/counted" 2>&1 &
    sonde_pid=$!
    until_true test -s "$T/pid"
    sleep 0.1
}

# Waits until it has received a signal, and some time for a second one that must not come.
got() {
    until_true grep -qx "$1" got
    sleep 0.3
}

# Ends it; $counted has its counts.
end_counting() {
    kill -ALRM "$(cat "$T/pid")"
    wait "$sonde_pid" || true
    cat "$T/counted"
    counted=$(tail -n 1 "$T/counted") # bash may print before what ended its sleep
}

@test "a signal to sonde run alone is forwarded to the program" {
    start_counting
    kill -TERM "$sonde_pid"
    got TERM
    kill -USR1 "$sonde_pid"
    got USR1
    end_counting
    [ "$counted" = "TERM 1 USR1 1 USR2" ]
}

@test "a signal to the group reaches the program once" {
    start_counting
    kill -TERM -- "-$sonde_pid"
    got TERM
    kill -USR2 -- "-$sonde_pid"
    got USR2
    end_counting
    [ "$counted" = "TERM 1 USR1 USR2 1" ]
}

@test "a signal sent to each process reaches the program once" {
    start_counting
    # shellcheck disable=SC2046
    kill -USR1 $(ps -o pid=,comm= -g "$sonde_pid" | awk '$2 != "sleep" { print $1 }')
    got USR1
    end_counting
    [ "$counted" = "TERM USR1 1 USR2" ]
}

@test "timeout, which signals both ways, counts once; also with --foreground" {
    for option in '' --foreground; do
        rm -f "$T/pid" got
        # shellcheck disable=SC2086
        timeout $option 600 "$SONDE" run -q -- bash -c "$counting" >"$T/counted" 2>&1 &
        sonde_pid=$!
        until_true test -s "$T/pid"
        kill -ALRM "$sonde_pid" # as its own timer does
        got TERM
        end_counting
        [ "$counted" = "TERM 1 USR1 USR2" ]
    done
}

@test "a signal that the job sends to its own group is not sent twice" {
    setsid "$SONDE" run -q -- bash -c 'trap "n=\$((n+1))" USR1; sh -c "trap \"\" USR1; kill -USR1 0"; sleep 0.1; sleep 0.1
        echo "USR1 $n"' >counted 2>&1
    cat counted
    [ "$(cat counted)" = "USR1 1" ]
}

@test "a queued signal keeps its value" {
    python3 - "$SONDE" <<'END'
import ctypes, os, signal, subprocess, sys, time
program = """
import signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGRTMIN + 3])
print("ready", flush=True)
print(signal.sigwaitinfo([signal.SIGRTMIN + 3]).si_signo - signal.SIGRTMIN, flush=True)
"""
run = subprocess.Popen([sys.argv[1], "run", "-q", "--", sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
assert run.stdout.readline() == "ready\n"
ctypes.CDLL(None).sigqueue(run.pid, signal.SIGRTMIN + 3, ctypes.c_void_p(42))
assert run.stdout.readline() == "3\n"
assert run.wait() == 0
END
}

@test "a stopped sonde run loses no data" {
    "$SONDE" run -n stopped -- bash -c 'echo $$ >pid; until [ -e go ]; do sleep 0.05; done; for i in $(seq 40); do /bin/true; done; touch done; exit 8' &
    sonde_pid=$!
    until_true test -s pid
    kill -STOP "$sonde_pid"
    touch go
    until_true test -e "done"
    sleep 0.2
    kill -CONT "$sonde_pid"
    wait "$sonde_pid" || [ $? -eq 8 ]
    [ "$(sql "select count(*) from process where exe = 'true'")" -eq 40 ]
}

@test "SIGCONT to sonde run alone continues the program" {
    "$SONDE" run -q -- bash -c 'echo $$ >pid; until [ -e go ]; do sleep 0.05; done; exit 8' &
    sonde_pid=$!
    until_true test -s pid
    kill -STOP "$(cat pid)"
    until_true is_stopped "$(cat pid)"
    sleep 0.2
    kill -CONT "$sonde_pid"
    touch go
    wait "$sonde_pid" || [ $? -eq 8 ]
}

@test "stopping the program alone, without a terminal, does not stop sonde run" {
    setsid "$SONDE" run -q -- bash -c 'echo $$ >pid; until [ -e go ]; do sleep 0.05; done; exit 8' &
    sonde_pid=$!
    until_true test -s pid
    kill -STOP "$(cat pid)"
    until_true is_stopped "$(cat pid)"
    sleep 0.3
    is_running "$sonde_pid"
    touch go
    kill -CONT "$(cat pid)"
    wait "$sonde_pid" || [ $? -eq 8 ]
}

@test "kill -9 of sonde run: its sentinel exits, the program continues, the spool is complete up to then" {
    SONDE_DB=/dev/null/none "$SONDE" run -q -o "$T/o" -- \
        bash -c '/bin/true early; touch early; until [ -e go ]; do sleep 0.05; done; /bin/true late; touch late' &
    sonde_pid=$!
    until_true test -e early
    has_early() { records && grep -q 'args="/bin/true\\x00early\\x00"' "$T/records"; }
    until_true has_early
    sentinel=$(pgrep -P "$sonde_pid" -x sonde-sentinel)
    kill -9 "$sonde_pid"
    wait "$sonde_pid" || true
    touch go
    until_true test -e late
    until_true is_gone "$sentinel"
    until_true records
    grep -q 'args="/bin/true\\x00early\\x00"' "$T/records"
    run grep -c '^run_end' "$T/records"
    [ "$output" = 0 ]
}

# --- the terminal ----------------------------------------------------------------------------------------------------

@test "Ctrl-C and Ctrl-\\ reach the program once each, and it may continue" {
    cat >program <<'END'
trap 'echo "interrupted $((++n))"' INT
trap 'echo "quit after $n"; exit 5' QUIT
echo read""y
while :; do sleep 0.02; done
END
    run "$TERMINAL" "send:$SONDE run -q -- bash program\r" 'await:ready' 'send:\x03' 'await:interrupted 1' 'sleep:0.3' \
        'send:\x03' 'await:interrupted 2' 'sleep:0.3' 'send:\x1c' 'await:quit after 2' 'sleep:0.3' 'send:echo status $?\r' 'await:status 5'
    echo "$output"
    [ "$status" -eq 0 ]
}

@test "an interactive shell in sonde run may stop itself and be continued" {
    run "$TERMINAL" 'await:> ' "send:$SONDE run -q -- bash --norc -i\r" 'await:> ' 'send:echo in""side\r' 'await:inside' 'await:> ' \
        'send:suspend\r' 'await:Stopped' 'await:> ' 'send:fg\r' 'await:> ' 'send:echo ba""ck\r' 'await:back' 'await:> ' 'send:exit 4\r' \
        'await:> ' 'send:echo status $?\r' 'await:status 4'
    echo "$output"
    [ "$status" -eq 0 ]
}

@test "a program that leaves our group still gets Ctrl-C" {
    run "$TERMINAL" 'await:> ' "send:$SONDE run -q -- sh -c 'echo read\"\"y; exec timeout 600 sleep 601'\r" 'await:ready' 'sleep:0.7' \
        'send:\x03' 'await:> ' 'send:echo status $?\r' 'await:status 1'
    echo "$output"
    [ "$status" -eq 0 ]
}

@test "a background program that reads the terminal is stopped, visibly for the shell" {
    # set -b: bash reports it at once
    run "$TERMINAL" 'await:> ' 'send:set -b\r' 'await:> ' "send:$SONDE run -q -- cat &\r" 'await:Stopped' 'send:fg\r' 'await:-- cat' \
        'sleep:0.3' 'send:abc\r' 'await:abc' 'await:abc' 'send:\x04' 'await:> ' 'send:echo status $?\r' 'await:status 0'
    echo "$output"
    [ "$status" -eq 0 ]
}

@test "sonde run stops and continues together with the program" {
    "$TERMINAL" "send:$SONDE run -q -- bash -c 'echo \$\$ >pid; until [ -e go ]; do sleep 0.05; done; echo all\"\"over'; echo status \$?\r" \
        'await:status 147' 'await:allover' &
    typing=$!
    until_true test -s pid
    program=$(cat pid)
    sonde_pid=$(ps -o ppid= -p "$program" | tr -d ' ')
    kill -STOP "$program"
    until_true is_stopped "$sonde_pid"
    kill -CONT "$program"
    until_true is_running "$sonde_pid"
    touch go
    wait "$typing"
}
