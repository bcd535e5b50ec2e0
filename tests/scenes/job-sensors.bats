#!/usr/bin/env bats
# sonde agent and the jobs on a node: the samples of a job match what the kernel counted, up to the last one.
load scene

setup() {
    scene_setup
    export SONDE_SOCKET_DIR=$T/run
    AGENT='' GROUP='' JOB=''
}

teardown() {
    [ -z "$AGENT" ] || kill -9 "$AGENT" 2>/dev/null || :
    [ -z "$JOB" ] || kill -9 "$JOB" 2>/dev/null || :
    [ -z "$GROUP" ] || remove_group
    scene_teardown
}

# 3>&-: bats waits for all processes that have it open
start_agent() {
    "$SONDE" agent --listen none --jobs none --sink "json:path=$T/out.json" --sensors taskstats,process,perf "$@" >"$T/log" 2>&1 3>&- &
    AGENT=$!
    wait_for "'$SONDE' job >/dev/null 2>&1"
}

stop_agent() {
    kill "$AGENT"
    wait "$AGENT"
    AGENT=
}

# Creates a cgroup in the hierarchy mounted at $1.
make_group() {
    [ "$(id -u)" = 0 ] || skip "needs root"
    [ -e "$1/cgroup.procs" ] || skip "no cgroups at $1"
    GROUP=$1/sonde-scene-$$-$BATS_TEST_NUMBER
    mkdir "$GROUP" || skip "cannot create a cgroup"
}

remove_group() {
    for ((i = 0; i < 500; i++)); do
        rmdir "$GROUP" 2>/dev/null && return
        [ -e "$GROUP" ] || return 0
        sleep 0.01
    done
}

# newest SET METRIC [JOB]: a value of the newest sample; default: of job 77.
newest() {
    python3 - "$T/out.json" "$1" "$2" "${3:-77}" <<'PY'
import json, sys
path, wanted, metric, job = sys.argv[1:]
samples = [json.loads(line) for line in open(path)]
print([s["values"].get(metric) for s in samples if s["set"] == wanted and s.get("job") == job][-1])
PY
}

# A job in the cgroup that starts 100 processes on a signal through the pipe go, and uses some CPU time.
start_job() {
    mkfifo "$T/go"
    bash -c 'echo $$ >"$1/cgroup.procs"
        read -r _ <"$2/go"
        for ((i = 0; i < 100; i++)); do /bin/true; done
        for ((i = 0; i < 100000; i++)); do :; done' job "$GROUP" "$T" >/dev/null 2>&1 3>&- &
    JOB=$!
    wait_for "grep -q $JOB '$GROUP/cgroup.procs'"
}

# Checks the last samples of a job that ran between two ticks of an hour.
runs_between_two_ticks() {
    start_agent --period 1h
    start_job
    "$SONDE" job begin 77 --cgroup "/${GROUP##*/}"
    echo >"$T/go"
    wait "$JOB"
    "$SONDE" job end 77
    stop_agent
    [ "$(newest taskstats records_lost)" = 0 ]
    [ "$(newest taskstats tasks)" = 0 ]
    (($(newest taskstats tasks_ended) >= 101))
    (($(newest taskstats minor_faults) > 1000))
    (($(newest process rchar) > 0))
}

@test "a job in a v1 cgroup between two ticks has all its processes" {
    make_group /sys/fs/cgroup/cpuacct
    runs_between_two_ticks
    (($(newest taskstats cpu) >= $(cat "$GROUP/cpuacct.usage") * 95 / 100))
    (($(newest taskstats cpu) <= $(cat "$GROUP/cpuacct.usage") * 105 / 100))
}

@test "a job in a v2 cgroup between two ticks has all its processes and perf events" {
    local mount=/sys/fs/cgroup/unified
    [ -e "$mount" ] || mount=/sys/fs/cgroup
    make_group "$mount"
    runs_between_two_ticks
    local usage
    usage=$(awk '$1 == "usage_usec" { printf "%.0f", $2 * 1000 }' "$GROUP/cpu.stat")
    (($(newest taskstats cpu) >= usage * 95 / 100))
    (($(newest taskstats cpu) <= usage * 105 / 100))
    (($(newest perf page_faults) > 1000))
}

@test "two simultaneous jobs are distinguished" {
    make_group /sys/fs/cgroup/cpuacct
    start_agent --period 20ms
    start_job
    "$SONDE" job begin 77 --cgroup "/${GROUP##*/}"
    bash -c 'for ((i = 0; i < 300000; i++)); do :; done; sleep 0.3' >/dev/null 2>&1 3>&- &
    local other=$!
    "$SONDE" job begin 78 --pid "$other"
    wait "$other"
    kill "$JOB"
    wait "$JOB" || :
    "$SONDE" job end 77
    "$SONDE" job end 78 || : # its end may have been detected already
    stop_agent
    local idle busy
    idle=$(newest taskstats cpu) busy=$(newest taskstats cpu 78)
    ((busy > 2 * idle))
    (($(newest taskstats tasks 78) == 0))
    (($(newest taskstats tasks_ended 78) >= 1))
}

# falls SET METRIC: how often a value of job 77 was smaller than the previous one, or missing.
falls() {
    python3 - "$T/out.json" "$1" "$2" <<'PY'
import json, sys
path, wanted, metric = sys.argv[1:]
samples = [json.loads(line) for line in open(path)]
values = [s["values"].get(metric) for s in samples if s["set"] == wanted and s.get("job") == "77"]
print(sum(b is None or b < a for a, b in zip(values, values[1:])))
PY
}

# A job in the cgroup that waits for a line on the pipe go, runs this command in a process, and reports it in done.
start_controlled_job() {
    mkfifo "$T/go"
    bash -c 'echo $$ >"$1/cgroup.procs"
        exec 9<>"$2/go"
        while read -r number <&9; do bash -c "$3"; echo "$number" >"$2/done"; done' job "$GROUP" "$T" "$1" >/dev/null 2>&1 3>&- &
    JOB=$!
    wait_for "grep -q $JOB '$GROUP/cgroup.procs'"
}

run_in_job() {
    echo "$1" >"$T/go"
    wait_for "grep -qx $1 '$T/done'"
}

# The job is read only when it begins, changes and ends: these readings must cover everything in between.
@test "perf events of a running job continue when the list of events changes" {
    local mount=/sys/fs/cgroup/unified
    [ -e "$mount" ] || mount=/sys/fs/cgroup
    make_group "$mount"
    start_agent --period 1h -e task-clock,context-switches
    [ "$("$SONDE" ctl --json | jq -r '.sensors[] | select(.name == "perf") | .state')" = reads ] || skip "no perf events"
    start_controlled_job "$TOOLS/burn 200"
    "$SONDE" job begin 77 --cgroup "/${GROUP##*/}"
    run_in_job 1
    "$SONDE" ctl events page-faults,task-clock,context-switches
    run_in_job 2
    "$SONDE" ctl events context-switches,task-clock
    run_in_job 3
    "$SONDE" ctl events task-clock,context-switches,page-faults
    run_in_job 4
    kill "$JOB"
    wait "$JOB" || :
    "$SONDE" job end 77
    stop_agent
    local usage
    usage=$(awk '$1 == "usage_usec" { printf "%.0f", $2 * 1000 }' "$GROUP/cpu.stat")
    echo "task_clock $(newest perf task_clock), the cgroup $usage"
    (($(newest perf task_clock) >= usage * 95 / 100 && $(newest perf task_clock) <= usage * 105 / 100))
    [ "$(falls perf task_clock)" = 0 ]
    [ "$(falls perf context_switches)" = 0 ]
    (($(newest perf context_switches) >= 8))
}

# A process that no process of the job waits for: no other process inherits its counters.
leave_an_orphan() {
    run_in_job "$1"
    wait_for "! grep -q '^State:[[:space:]]*[^ZX[:space:]]' /proc/$(cat "$T/orphan")/status"
}

@test "I/O of exited processes of a job is kept when settings change" {
    make_group /sys/fs/cgroup/cpuacct
    start_agent --period 20ms
    start_controlled_job "(head -c 1000000 /dev/zero >/dev/null; sleep 1) & echo \$! >$T/orphan"
    "$SONDE" job begin 77 --cgroup "/${GROUP##*/}"
    leave_an_orphan 1
    "$SONDE" ctl set process.pss=yes
    leave_an_orphan 2
    "$SONDE" ctl set process.pss=no
    leave_an_orphan 3
    kill "$JOB"
    wait "$JOB" || :
    "$SONDE" job end 77
    stop_agent
    [ "$(falls process wchar)" = 0 ]
    echo "wchar $(newest process wchar)"
    (($(newest process wchar) >= 3000000))
}
