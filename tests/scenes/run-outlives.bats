#!/usr/bin/env bats
# Processes that outlive the command of sonde run: only --wait waits for them, and they are monitored until they exit.
load scene
load run

@test "a daemon blocks neither sonde run nor the reader of its output" {
    # it runs until this test, which sees that sonde run has exited, writes to the pipe
    output=$("$SONDE" run -q -n daemon -- sh -c 'daemonises sh -c "until [ -e go ]; do sleep 0.05; done; exec burn_static 500"; echo out')
    [ "$output" = out ]
    [ "$(sql "select running from jobs")" -ge 1 ]
    touch go
    until_true running_is 0
    [ "$(sql "select cpu_us >= 490000 from process where exe = 'burn_static'")" -eq 1 ]
    nothing_left() { [ -z "$(find "$TMPDIR" -type f)" ]; }
    until_true nothing_left
}

sample_survivors() {
    "$@" "$SONDE" run -q -p 20ms -- sh -c '(sleep 0.3; burn 200; sleep 0.3) >/dev/null 2>&1 </dev/null & sleep 0.1'
    until_true running_is 0
    last cpu | awk '{ exit !($1 >= 180000 && $1 < 400000) }'
    # the command has exited before; on a busy machine the last sample may be late
    "$SONDE" export -w series --set tree | awk -F, 'NR == 2 { first = $1 } NR > 2 && $1 - first > 400000000 { late++ }
        END { exit !(late >= 5) }'
    [ "$(last processes)" -eq 0 ]
}

@test "sampling continues for processes that outlive the command, as root" { need_root; sample_survivors env; }
@test "sampling continues for processes that outlive the command, as nobody" { need_root; sample_survivors as_nobody; }

@test "--wait returns when the last process has exited" {
    begin=$(date +%s%N)
    "$SONDE" run -q --wait -n daemon -- daemonises burn 600
    took=$((($(date +%s%N) - begin) / 1000000))
    [ "$took" -ge 600 ]
    running_is 0
    [ "$(sql "select cpu_us >= 590000 from process where exe = 'burn'")" -eq 1 ]
}

@test "--wait ends on a signal when only survivors are left" {
    setsid "$SONDE" run -q --wait -n daemon -- sh -c 'echo $$ >pid; sleep 77 & echo $! >left; exit 3' &
    sonde_pid=$!
    until_true test -s left
    is_reaped() { [ ! -e "/proc/$(cat pid)" ]; }
    until_true is_reaped
    sleep 0.3
    kill -TERM "$sonde_pid"
    wait "$sonde_pid" || [ $? -eq 3 ]
    kill "$(cat left)"
    [ "$(sql "select exit_code || ' ' || running from jobs")" = '3 1' ]
}

@test "the monitor of a daemon ends on SIGTERM and saves what it has" {
    "$SONDE" run -q -o "$T/o" -n daemon -- sh -c 'setsid sleep 78 & echo $! >left; exit 0'
    stays=$(ps -eo pid=,comm=,args= | awk -v dir="-o $T/o" '$2 == "sonde" && index($0, dir) { print $1 }')
    kill -TERM "$stays"
    until_true is_gone "$stays"
    kill "$(cat left)"
    running_is 1
    [ -z "$(ls -A "$T/o")" ]
}
