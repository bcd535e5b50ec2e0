#!/usr/bin/env bats
# An agent that is restarted, after it was killed or stopped, continues where the previous one was: declared jobs, and what programs
# had counted in jobs before they exited.
# shellcheck disable=SC2016,SC2034,SC2119,SC2120
load scene
load program-metrics

restart() {
    stop "$1" || :
    start </dev/null
}

of_job() { is "job_$1{host=\"$(host)\",job=\"${3:-4711}\",user=\"$(id -un)\"}" "$2"; }

# Starts a program of the job that continues when a line is written to descriptor 7. Its segment is read from the start each time.
start_program() {
    mkfifo "$T/go"
    SONDE_JOB=4711 "$BUILD/tests/segment_program" sonde "$@" <"$T/go" >"$T/waits" &
    exec 7>"$T/go"
    until grep -q waited "$T/waits"; do sleep 0.05; done
}

continues_after() {
    start </dev/null
    "$SONDE" job begin 4711 --user "$(id -un)"
    start_program counter cells_total - 50 observe wait_seconds - 5 hurry cells_total - 1 wait counter cells_total - 1000
    SONDE_JOB=4711 program sonde counter cells_total - 100 observe wait_seconds - 0.5
    tau -j 4711 counter told_total add told_total 7
    wait_for 'of_job cells_total 151'
    wait_for 'of_job told_total 7'
    wait_for '[ "$(find "$SONDE_BOARDS" -name "sonde.*" | wc -l)" -eq 1 ]'
    for i in 1 2; do # saved state survives a second restart
        sleep 1.1 # one scan: what came through the socket is saved
        restart "$1"
        wait_for 'of_job cells_total 151'
        of_job told_total 7
        of_job wait_seconds_sum 5.5
        of_job wait_seconds_count 2
    done
    echo >&7
    exec 7>&-
    wait_for 'of_job cells_total 1151'
    restart "$1"
    wait_for 'of_job cells_total 1151'
    of_job wait_seconds_count 2
    "$SONDE" job end 4711
    wait_for '[ -z "$(find "$SONDE_BOARDS" -name "*.kept")" ]'
    [ ! -e "$SONDE_SOCKET_DIR/agent.sock.jobs" ] || wait_for '[ ! -e "$SONDE_SOCKET_DIR/agent.sock.jobs" ]'
    # another job with the same id starts at 0
    restart "$1"
    "$SONDE" job begin 4711 --user "$(id -un)"
    SONDE_JOB=4711 program sonde counter cells_total - 3
    wait_for 'of_job cells_total 3'
}

@test "totals of a job continue after the agent was killed" { continues_after KILL; }
@test "totals of a job continue after the agent was stopped" { continues_after TERM; }

@test "the begin or end of a job is saved before the response: the agent may be killed at once" {
    start </dev/null
    for i in 1 2 3; do
        sleep 0.3 # at a different moment between two scans
        "$SONDE" job begin "at-once-$i" -q
        restart KILL
        "$SONDE" job | grep -q "at-once-$i "
    done
    "$SONDE" job end at-once-2 -q
    restart KILL
    [ "$("$SONDE" job | grep -c at-once-)" -eq 2 ]
}

@test "metrics of tau's clients continue, too, if the agent reads no metrics segments" {
    local signal name=told_$$_total
    start --set programs.boards=none </dev/null
    "$SONDE" job begin 4711 --user "$(id -un)"
    tau -j 4711 counter "$name" add "$name" 7
    wait_for 'of_job "$name" 7'
    for signal in TERM KILL; do
        sleep 1.1 # one scan: what came through the socket is saved
        stop "$signal" || :
        start --set programs.boards=none </dev/null
        wait_for 'of_job "$name" 7'
    done
    tau -j 4711 add "$name" 1
    wait_for 'of_job "$name" 8'
    "$SONDE" job end 4711
    wait_for '! grep -l "$name" /dev/shm/sonde-agent.*.told.kept'
}

@test "a segment that was read completely is not read again after the agent was killed before removing it" {
    mkdir "$SONDE_BOARDS/aside"
    start </dev/null
    "$SONDE" job begin 4711 --user "$(id -un)"
    start_program hurry cells_total - 100 wait
    segment=$(cd "$SONDE_BOARDS" && echo sonde.*)
    ln "$SONDE_BOARDS/$segment" "$SONDE_BOARDS/aside"
    echo >&7
    exec 7>&-
    wait_for 'of_job cells_total 100 && [ ! -e "$SONDE_BOARDS/$segment" ]'
    stop KILL || :
    ln "$SONDE_BOARDS/aside/$segment" "$SONDE_BOARDS"
    start </dev/null
    wait_for 'of_job cells_total 100 && [ ! -e "$SONDE_BOARDS/$segment" ]'
    sleep 1.5
    of_job cells_total 100
    # another file with the same name belongs to another program
    stop KILL || :
    cp "$SONDE_BOARDS/aside/$segment" "$SONDE_BOARDS"
    start </dev/null
    wait_for 'of_job cells_total 200 && [ ! -e "$SONDE_BOARDS/$segment" ]'
}

# start_in JOB: starts a program that names no job itself and counts for each line written to its pipe, and declares it as JOB.
start_in() {
    mkfifo "$T/go$1"
    "$BUILD/tests/segment_program" sonde wait hurry cells_total - 100 wait hurry cells_total - 4 wait \
        <"$T/go$1" >"$T/waits$1" 3>&- 7>&- 8>&- &
    "$SONDE" job begin "$1" --pid $! --user "$(id -un)"
}

@test "metrics of programs in jobs declared with a process continue, too" {
    start </dev/null 7>&- 8>&-
    start_in 4711
    exec 7>"$T/go4711"
    start_in 4712
    exec 8>"$T/go4712"
    echo >&7
    echo >&8
    wait_for 'of_job cells_total 100 && of_job cells_total 100 4712'
    wait_for 'grep 4712 "$SONDE_SOCKET_DIR/agent.sock.jobs"'
    stop KILL || :
    start </dev/null 7>&- 8>&-
    wait_for 'of_job cells_total 100 && of_job cells_total 100 4712'
    echo >&8
    wait_for 'of_job cells_total 104 4712'
    of_job cells_total 100
    exec 7>&- 8>&-
}

# The job is a shell that outlives its program.
@test "what a program counted before its job was declared is not the job's, even after a restart when the program has exited" {
    start </dev/null
    mkfifo "$T/go"
    ("$BUILD/tests/segment_program" sonde observe wait_seconds - 5 hurry cells_total - 100 wait observe wait_seconds - 0.5 \
        hurry cells_total - 4; exec sleep 300) <"$T/go" >"$T/waits" 3>&- &
    exec 7>"$T/go"
    wait_for 'is "cells_total{host=\"$(host)\"}" 100'
    "$SONDE" job begin 4711 --pid $! --user "$(id -un)"
    echo >&7
    exec 7>&-
    wait_for 'of_job cells_total 4 && of_job wait_seconds_count 1 && [ -z "$(find "$SONDE_BOARDS" -name "sonde.*")" ]'
    wait_for 'grep 4711 "$SONDE_SOCKET_DIR/agent.sock.jobs"'
    restart KILL
    wait_for 'of_job cells_total 4'
    of_job wait_seconds_count 1
    of_job wait_seconds_sum 0.5
}

earlier_counts_excluded_after() {
    start </dev/null
    mkfifo "$T/go"
    "$BUILD/tests/segment_program" sonde observe wait_seconds - 5 hurry cells_total - 100 wait observe wait_seconds - 0.5 \
        hurry cells_total - 50 wait hurry cells_total - 7 wait <"$T/go" >"$T/waits" 3>&- &
    exec 7>"$T/go"
    wait_for 'is "cells_total{host=\"$(host)\"}" 100'
    "$SONDE" job begin 4711 --pid $! --user "$(id -un)"
    echo >&7
    wait_for 'of_job cells_total 50 && of_job wait_seconds_count 1'
    wait_for 'grep 4711 "$SONDE_SOCKET_DIR/agent.sock.jobs"'
    for i in 1 2; do # the second time from the state that the first restart saved again
        sleep 1.1
        restart "$1" 7>&-
        wait_for 'of_job cells_total 50'
        of_job wait_seconds_count 1
        of_job wait_seconds_sum 0.5
        is "cells_total{host=\"$(host)\"}" 150
        is "wait_seconds_count{host=\"$(host)\"}" 2
    done
    echo >&7
    wait_for 'of_job cells_total 57'
    echo >&7
    exec 7>&-
    wait_for '[ -z "$(find "$SONDE_BOARDS" -name "sonde.*")" ]'
    wait_for '[ -z "$(find "$SONDE_BOARDS" -name "*.kept")" ]'
}

@test "what a program counted before its job was declared is not the job's after the agent was killed" {
    earlier_counts_excluded_after KILL
}

@test "what a program counted before its job was declared is not the job's after the agent was stopped" {
    earlier_counts_excluded_after TERM
}

@test "a job that is started again right after its end starts at 0" {
    start </dev/null
    "$SONDE" job begin 4711 --user "$(id -un)"
    SONDE_JOB=4711 program sonde counter cells_total - 100
    wait_for 'of_job cells_total 100 && [ -z "$(find "$SONDE_BOARDS" -name "sonde.*")" ]'
    "$SONDE" job end 4711
    "$SONDE" job begin 4711 --user "$(id -un)"
    SONDE_JOB=4711 program sonde counter cells_total - 3
    wait_for 'is "cells_total{host=\"$(host)\"}" 103 && [ -z "$(find "$SONDE_BOARDS" -name "sonde.*")" ]'
    of_job cells_total 3
    restart KILL
    wait_for 'of_job cells_total 3'
}

@test "programs that outlived their job are not in the next job with its id" {
    start </dev/null
    "$SONDE" job begin 4711 --user "$(id -un)"
    start_program counter cells_total - 1000 gauge heat - 9 observe wait_seconds - 5 hurry cells_total - 1 wait counter cells_total - 20 wait
    coproc CLIENT { exec "$SOURCE/tests/tools/tau_client.py" -j 4711 counter told_total add told_total 7 gauge level set level 3 stay; }
    wait_for 'of_job cells_total 1001 && of_job told_total 7 && of_job level 3'
    "$SONDE" job end 4711
    sleep 2.5 # longer than a job without programs is kept
    "$SONDE" job begin 4711 --user "$(id -un)"
    echo >&7
    SONDE_JOB=4711 program sonde counter cells_total - 5 observe wait_seconds - 0.5
    tau -j 4711 counter told_total add told_total 2
    wait_for 'is "cells_total{host=\"$(host)\"}" 1026 && is "told_total{host=\"$(host)\"}" 9'
    of_job cells_total 5
    of_job told_total 2
    of_job wait_seconds_count 1
    [ -z "$(ask /metrics | grep -E '^(heat|level)\{.*job=')" ]
    is "heat{host=\"$(host)\"}" 9
    is "level{host=\"$(host)\"}" 3
    exec 7>&-
    kill "$CLIENT_PID"
    wait_for '[ -z "$(find "$SONDE_BOARDS" -name "sonde.*")" ]'
    restart KILL
    wait_for 'of_job cells_total 5 && of_job told_total 2'
}

told_1() { "$SONDE" job --json | jq -S '.. | objects | select(.id? == "1") | del(.slot)'; }

@test "declared jobs are known after a restart, except for those whose process has exited" {
    start </dev/null
    sleep 300 & stays=$!
    sleep 300 & goes=$!
    "$SONDE" job begin 1 --pid "$stays" --cores 2 --memory 1G --user nobody
    "$SONDE" job begin 2 --pid "$goes"
    "$SONDE" job begin 3
    "$SONDE" job begin 5 --cgroup /no/such/group
    "$SONDE" job begin 4
    "$SONDE" job end 4
    told_1 >"$T/before"
    grep '"memory_bytes": 1073741824' "$T/before"
    wait_for 'grep -q "\"id\": \"3\"" "$SONDE_SOCKET_DIR/agent.sock.jobs" && ! grep "\"id\": \"4\"" "$SONDE_SOCKET_DIR/agent.sock.jobs"'
    stop KILL || :
    kill "$goes"
    wait "$goes" || :
    start </dev/null
    run -0 "$SONDE" job
    [ "$(awk 'NR > 1 && $NF == "told" { print $1 }' <<<"$output" | sort | paste -sd' ')" = "1 3" ]
    told_1 | diff "$T/before" -
    # a file of another boot, or none: no jobs
    stop TERM
    sed -i '1s/"boot": "./"boot": "x/' "$SONDE_SOCKET_DIR/agent.sock.jobs"
    start </dev/null
    run -0 "$SONDE" job
    [[ $output != *told* ]]
}

@test "a file that a user put at the path of the saved state does not stop root's agent" {
    need_root
    as_nobody mkdir "$SONDE_BOARDS/sonde-agent.kept"
    start </dev/null
    "$SONDE" job begin 4711 --user "$(id -un)"
    SONDE_JOB=4711 program sonde counter cells_total - 100
    wait_for 'of_job cells_total 100 && [ -f "$SONDE_BOARDS/sonde-agent.kept" ]'
    [ "$(stat -c '%U %a' "$SONDE_BOARDS/sonde-agent.kept")" = "root 600" ]
    stop KILL || :
    rm "$SONDE_BOARDS/sonde-agent.kept"
    as_nobody sh -c 'printf "\14sonde kept 2" >"$0"' "$SONDE_BOARDS/sonde-agent.kept"
    as_nobody mkdir "$SONDE_BOARDS/sonde-agent.kept.new"
    start </dev/null
    SONDE_JOB=4711 program sonde counter cells_total - 3
    wait_for 'of_job cells_total 3'
    restart KILL
    wait_for 'of_job cells_total 3'
}

# The path is blocked by a directory of the agent's own user, which the agent does not remove.
@test "state that could not be saved is saved as soon as possible, and the error is logged once" {
    kept=sonde-agent$([ "$(id -u)" -eq 0 ] || echo ".$(id -u)").kept
    mkdir "$SONDE_BOARDS/$kept.new"
    mkdir "$SONDE_SOCKET_DIR/agent.sock.jobs.new"
    start </dev/null
    "$SONDE" job begin 4711 --user "$(id -un)"
    SONDE_JOB=4711 program sonde counter cells_total - 100
    wait_for 'of_job cells_total 100 && grep "What programs have counted" "$T/log" && grep "cannot save the jobs" "$T/log"'
    SONDE_JOB=4711 program sonde counter cells_total - 3
    "$SONDE" job begin 4712
    wait_for 'of_job cells_total 103 && [ -z "$(find "$SONDE_BOARDS" -name "sonde.*")" ]'
    [ "$(grep -c "What programs have counted" "$T/log")" -eq 1 ]
    [ "$(grep -c "cannot save the jobs" "$T/log")" -eq 1 ]
    rmdir "$SONDE_BOARDS/$kept.new" "$SONDE_SOCKET_DIR/agent.sock.jobs.new"
    wait_for '[ -e "$SONDE_BOARDS/$kept" ] && [ -e "$SONDE_SOCKET_DIR/agent.sock.jobs" ]'
    restart KILL
    wait_for 'of_job cells_total 103'
    "$SONDE" job | grep 4712
}

@test "a process with a reused pid is not mistaken for the old one" {
    start </dev/null
    sleep 300 & pid=$!
    "$SONDE" job begin 1 --pid "$pid"
    wait_for '[ -e "$SONDE_SOCKET_DIR/agent.sock.jobs" ]'
    stop TERM
    sed -i 's/"pid_start_ns": [0-9]\{5\}/&9/' "$SONDE_SOCKET_DIR/agent.sock.jobs"
    start </dev/null
    run -0 "$SONDE" job
    [[ $output != *told* ]]
}
