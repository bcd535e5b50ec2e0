#!/usr/bin/env bats
# sonde attach --tell: an agent attributes the counts to the job and the user of the process, once.
# shellcheck disable=SC2030,SC2031,SC2154
load scene
load attach

CALLS=${PROBE%/*}/libsonde-calls.so

setup() {
    attach_setup
    export SONDE_SOCKET_DIR=$T/run SONDE_BOARDS=$T/segments
    mkdir -m 1777 "$T/segments" "$T/run"
    mkdir "$T/root" && ln -s /proc /etc "$T/root"
    printf '[programs]\ntau = none\nboards = %s\n' "$SONDE_BOARDS" >"$T/conf"
    "$SONDE" agent --jobs none --root "$T/root" -c "$T/conf" --sensors loadavg --listen none >"$T/agent" 2>&1 </dev/null 3>&- &
    agent=$!
    until_true ask /
}

teardown() {
    kill -9 "$agent" 2>/dev/null || true
    attach_teardown
}

ask() { curl -sf --max-time 20 --unix-socket "$T/run/agent.sock" "http://agent$1"; }

# shows LABELS VALUE: whether the agent exposes this count of writev. Sums of users and jobs have names of their own.
shows() {
    local of=
    [[ $1 != *user=* ]] || of=user_
    [[ $1 != *job=* ]] || of=job_
    ask /metrics | grep -Fqx "${of}syscall_calls_total{call=\"writev\",host=\"$(hostname)\"$1} $2"
}

@test "the calls count for the job and user of the process, not of who attaches" {
    SLURM_JOB_ID=4711 start_caller work 100
    SLURM_JOB_ID=999 attach -v --tell -p 100ms
    go
    until_true printed "done"
    until_true shows ",job=\"4711\",user=\"$("${user[@]}" id -un)\"" 100
    shows '' 100
    detach
    grep -q 'under job 4711' "$T/log"
    run ! grep -q 999 <(ask /metrics)
    [ "$(sql 'select job_id from job')" = 4711 ]
    program_succeeds
}

@test "attached by root they still count for the user; a missing job is reported" {
    need_root
    start_caller work 100
    "$SONDE" attach -v --tell --ptrace -p 100ms "$program" >"$T/table" 2>"$T/log" 3>&- 7>&- &
    sonde_pid=$!
    until_true is_traced "$program"
    go
    until_true printed "done"
    until_true shows ',user="nobody"' 100
    detach
    grep -q 'belongs to no known job' "$T/log"
    run ! grep -q 'user="root"' <(ask /metrics)
    program_succeeds
}

@test "a process that already has the probe is not counted twice" {
    LD_PRELOAD=$CALLS start_caller work 100
    attach --tell -p 100ms
    go
    until_true printed "done"
    until_true shows '' 100
    detach
    [ "$(count writev)" -eq 100 ]
    grep -q "process $program already reports its system calls to the agent" "$T/log"
    program_succeeds
    sleep 0.5 # time for a duplicate to arrive
    shows '' 100
}

@test "a user cannot publish for another user with a forged segment" {
    need_root
    start_caller work 10
    as_nobody "$BUILD/tests/segment_program" attach subject $$ 0 4712 counter syscall_calls_total 'call="writev"' 7 leave
    until_true shows '' 7
    shows ',user="nobody"' 7 || shows ',job="4712",user="nobody"' 7
    run ! grep -q 'user="root"' <(ask /metrics)
    program_succeeds
}

@test "without an agent there is a warning" {
    start_caller work 10
    mkdir -m 1777 "$T/other"
    SONDE_BOARDS=$T/other attach --tell
    detach
    grep -q 'no agent is running on this node' "$T/log"
    : >"$T/log"
    attach --tell
    detach
    run ! grep -q 'no agent is running' "$T/log"
    program_succeeds
}
