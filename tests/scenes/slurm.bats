#!/usr/bin/env bats
# Jobs of a real Slurm: three slurmd on this machine, cgroup v1. Skipped if Slurm is not installed.
load scene

setup_file() {
    [ "$(id -u)" -eq 0 ] && command -v slurmctld slurmd munged >/dev/null || return 0
    mkdir -p /sys/fs/cgroup/freezer/sonde-try 2>/dev/null && rmdir /sys/fs/cgroup/freezer/sonde-try || return 0
    SLURM=$(mktemp -d /tmp/sonde-slurm-XXXXXX)
    export SLURM SLURM_CONF=$SLURM/etc/slurm.conf
    for hook in prolog epilog; do # they notify the agent only if a test wants it
        printf '#!/bin/sh\n[ -e %s/tell ] || exit 0\nexport SONDE_SOCKET_DIR=%s/run PATH=%s:$PATH\nexec %s\n' "$SLURM" "$SLURM" \
            "$(dirname "$SONDE")" "$SOURCE/integrations/slurm/$hook.sh" >"$SLURM/$hook"
        chmod 755 "$SLURM/$hook"
    done
    PROLOG=$SLURM/prolog EPILOG=$SLURM/epilog CONSTRAIN=yes "$SOURCE/tests/tools/slurm-up" "$SLURM" 3>&-
}

teardown_file() {
    [ -z "$SLURM" ] || { "$SOURCE/tests/tools/slurm-down" "$SLURM" && rm -rf "$SLURM"; }
}

setup() {
    [ -n "$SLURM" ] || skip "needs root, cgroup v1, and the packages slurmctld slurmd slurm-client munge"
    scene_setup
    export SONDE_SOCKET_DIR=$SLURM/run
    "$SONDE" agent --listen none --jobs slurm --sensors cgroup,process --period 5s --sink "csv:path=$T/out.csv" >"$T/log" 2>&1 3>&- &
    AGENT=$!
    wait_for "[ -S '$SLURM/run/agent.sock' ]"
}

teardown() {
    [ -n "$SLURM" ] || return 0
    [ -z "$AGENT" ] || kill -9 "$AGENT" 2>/dev/null || :
    rm -rf "$SLURM/tell" "$SLURM/go" "$SLURM/run"
    scene_teardown
}

stop() {
    kill "$AGENT"
    wait "$AGENT"
    AGENT=''
}

# The last value of a metric of a job: value JOB INSTANCE METRIC
value() {
    grep ",$1,cgroup,$2,$3," "$T/out.csv" | tail -1 | cut -d, -f8 | tr -d "\r"
}

job_gone() {
    ! "$SONDE" job | grep -q "^$1 "
}

# The number of jobs on the nodes of this scene.
count() {
    "$SONDE" job --json 2>/dev/null | grep -o '"/slurm_c[123]/' | wc -l
}

# The start time of the job on c3.
start_on_c3() {
    "$SONDE" job --json | python3 -c '
import json, sys
print(*(job["start_ns"] for job in json.load(sys.stdin)["jobs"] if job.get("cgroup", "").startswith("/slurm_c3/")))'
}

# The id of the newest job.
newest() {
    scontrol show job -o | sed 's/JobId=\([0-9]*\).*/\1/' | sort -n | tail -1
}

@test "a job of 50 ms has its CPU time and memory" {
    ids=()
    for try in 1 2 3; do # on a busy machine a job may start and end without being noticed
        srun -Q -w c1 --mem 50 "$TOOLS/burn" 50
        ids+=("$(newest)")
        wait_for "job_gone ${ids[-1]}"
    done
    stop
    seen=0
    for id in "${ids[@]}"; do
        [ -n "$(value "$id" "" cpu)" ] || continue
        seen=$((seen + 1))
        [ "$(value "$id" "" cpu)" -ge 50000 ]
        [ "$(value "$id" "" cpu)" -lt 300000 ] # including the CPU time of Slurm itself
        [ "$(value "$id" "" memory_peak)" -gt 100000 ]
        [ "$(value "$id" 0 cpu)" -ge 50000 ]
    done
    [ "$seen" -ge 1 ]
}

@test "two jobs on one node are distinguished" {
    sbatch -Q -w c1 -n1 --mem 60 -o /dev/null --wrap "$TOOLS/burn 600; while [ ! -e $SLURM/go ]; do sleep 0.2; done"
    first=$(newest)
    sbatch -Q -w c1 -n1 --mem 80 -o /dev/null --uid daemon --wrap "$TOOLS/burn 3000; while [ ! -e $SLURM/go ]; do sleep 0.2; done"
    second=$(newest)
    wait_for "[ \$(count) = 2 ]"
    wait_for "'$SONDE' job | grep -E '^$second +daemon .* 80M +slurm'"
    wait_for "'$SONDE' job | grep -E '^$first +root .* 60M +slurm'"
    touch "$SLURM/go"
    wait_for "job_gone $first && job_gone $second"
    stop
    [ "$(value "$first" "" cpu)" -ge 600000 ]
    [ "$(value "$first" "" cpu)" -lt 3000000 ] # including the CPU time of the waiting and of Slurm
    [ "$(value "$second" "" cpu)" -ge 3000000 ]
    [ "$(value "$first" batch cpu)" -ge 600000 ]
}

@test "a job on two nodes of this machine has two parts" {
    srun -Q -N2 -w c1,c2 --mem 50 sh -c "while [ ! -e $SLURM/go ]; do sleep 0.1; done" 3>&- &
    srun=$!
    wait_for "[ \$(count) = 2 ]"
    id=$(newest)
    "$SONDE" job | grep -q "^$id "
    "$SONDE" job | grep -q "^$id@c[12] "
    touch "$SLURM/go"
    wait "$srun"
}

@test "an agent that starts later finds the jobs, with their start time" {
    earliest=$(date +%s%N)
    srun -Q -w c3 --mem 50 sh -c "while [ ! -e $SLURM/go ]; do sleep 0.1; done" 3>&- &
    srun=$!
    wait_for "[ \$(count) = 1 ]"
    before=$(start_on_c3)
    sleep 1
    stop
    "$SONDE" agent --listen none --jobs slurm --sensors cgroup >"$T/log" 2>&1 3>&- &
    AGENT=$!
    wait_for "[ \$(count) = 1 ]"
    after=$(start_on_c3)
    echo "srun $earliest, start time by the first agent $before, by the second $after"
    [ $(((after - before) / 1000000)) -lt 500 ]
    [ $(((after - earliest) / 1000000)) -gt -100 ] # the kernel's process start times have a resolution of a clock tick
    touch "$SLURM/go"
    wait "$srun"
    stop
}

# Without PrologFlags=Contain a job has no cgroup between two steps.
@test "prolog and epilog make one job of consecutive steps" {
    touch "$SLURM/tell"
    "$SONDE" ctl period 200ms
    sbatch -Q -w c2 --mem 50 -o /dev/null --wrap "srun $TOOLS/burn 100 sleep 2; sleep 1; srun $TOOLS/burn 100 sleep 2; \
        while [ ! -e $SLURM/go ]; do sleep 0.2; done"
    id=$(newest)
    wait_for "'$SONDE' job | grep -q '^$id '"
    wait_for "'$SONDE' job | grep -q '^$id .* slurm '" # first declared, then discovered
    touch "$SLURM/go"
    wait_for "job_gone $id"
    stop
    [ "$(value "$id" "" cpu)" -ge 200000 ]
    [ "$(value "$id" 0 cpu)" -ge 100000 ]
    [ "$(value "$id" 1 cpu)" -ge 100000 ]
}

# If several slurmd run on a machine, only SONDE_NODE says which node the agent is for.
@test "with several slurmd and no SONDE_NODE no job is counted, and the log says what to do" {
    stop
    env -u SONDE_NODE "$SONDE" agent --listen none --jobs slurm --sensors cgroup --sink "csv:path=$T/out.csv" >"$T/log" 2>&1 3>&- &
    AGENT=$!
    wait_for "'$SONDE' job"
    grep -q 'several slurmd run on this machine: .*c1.*SONDE_NODE' "$T/log"
    stop
    SONDE_NODE=c2 "$SONDE" agent --listen none --jobs slurm --sensors cgroup --sink "csv:path=$T/out.csv" >"$T/log" 2>&1 3>&- &
    AGENT=$!
    wait_for "'$SONDE' job"
    sbatch -Q -w c1,c2 -N 2 -o /dev/null --wrap "srun sh -c 'while [ ! -e $SLURM/go ]; do sleep 0.2; done'"
    wait_for '[ "$(count)" -eq 1 ]'
    "$SONDE" job --json | grep -q '"/slurm_c2/'
    touch "$SLURM/go"
    wait_for '[ "$(count)" -eq 0 ]'
    [ ! -s "$T/log" ]
    stop
}

@test "a job that was killed because memory ran out has that in its values" {
    sbatch -Q -w c1 --mem 30 -o /dev/null --wrap "srun tail /dev/zero"
    id=$(newest)
    wait_for "scontrol show job $id | grep -q 'JobState=\(FAILED\|OUT_OF_MEMORY\)'"
    wait_for "job_gone $id"
    stop
    [ "$(value "$id" "" oom_kills)" -ge 1 ]
}
