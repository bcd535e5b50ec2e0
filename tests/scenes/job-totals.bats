#!/usr/bin/env bats
# What the job database has about jobs that only the agent has seen, compared with the kernel's own count.
load scene

setup() {
    scene_setup
    need_root
    export SONDE_SOCKET_DIR=$T/run XDG_STATE_HOME=$T/state SONDE_DB=$T/run/sonde.db
    AGENT='' OTHER='' NAME=totals$$
    [ -w /sys/fs/cgroup/cpuacct/cgroup.procs ] || skip "no cgroup v1"
    [ -d /sys/fs/cgroup/unified ] || skip "no cgroup v2 beside it"
}

teardown() {
    local pid
    for pid in $AGENT $OTHER; do kill -9 "$pid" 2>/dev/null || :; done
    find /sys/fs/cgroup/*/slurm_"$NAME" -depth -type d -exec rmdir {} + 2>/dev/null || :
    scene_teardown
}

# start_agent DIRECTORY …: DIRECTORY has its socket, spool and database.
start_agent() {
    local dir=$1
    shift
    mkdir -p "$dir"
    SONDE_NODE=$NAME SONDE_SOCKET_DIR=$dir "$SONDE" agent --listen none --jobs slurm --sensors cgroup,taskstats --period 100ms --spool "$dir/spool" \
        --sink "store:path=$dir/sonde.db,every=300ms" "$@" >>"$T/agent.log" 2>&1 3>&- &
    AGENT=$!
    wait_for "SONDE_SOCKET_DIR='$dir' '$SONDE' job"
}

stop_agent() {
    kill "$AGENT"
    wait "$AGENT"
    AGENT=''
}

# Each job in the file truth has ended, and its stored CPU time is the last one that was sampled. That is the kernel's own, if the
# sample was taken 0.2 s after the process had exited (a loaded machine may take that long to read it). A cgroup that is removed at
# once can no longer be read, but the value is never too high. Exit records, which are used then, include what a task used before it
# joined, and lack its last moments.
compare_totals() {
    sql "SELECT job_id, ended, coalesce(total_usertime, 0) + coalesce(total_systemtime, 0) FROM jobs" | sort >"$T/stored"
    tr -d '\r' <"$T/out.csv" | awk -F, '$4 == "cgroup" && $5 == "" && $6 == "cpu" { time[$3] = $1; cpu[$3] = $8 }
        END { for (job in cpu) print job "|" cpu[job] "|" time[job] }' | sort >"$T/sampled"
    sort "$T/truth" | tr ' ' '|' | join -t'|' -a1 -e none -o 0,1.2,1.3,2.2,2.3 - "$T/stored" |
        join -t'|' -a1 -e 0 -o 0,1.2,1.3,1.4,1.5,2.2,2.3 - "$T/sampled" >"$T/all"
    awk -F'|' '{ is_exact = $7 > $3 + 2e8; exact += is_exact }
        $4 != 1 || $5 != $6 || $5 > $2 + 6000 || (is_exact && $5 < $2 - 500) { print; wrong++ }
        END { print NR " jobs, " exact + 0 " sampled 0.2 s after their exit, " wrong + 0 " wrong"; exit wrong > 0 || exact < NR / 8 }' "$T/all"
}

@test "the stored CPU time of hundreds of short jobs is the kernel's, whichever cgroup is removed first" {
    local group=/sys/fs/cgroup/cpuacct/slurm_$NAME/uid_0/job_999 since=$SECONDS
    start_agent "$T/run" --sink "csv:path=$T/out.csv"
    mkdir -p "$group" # it is a job until it is removed, even if it has no process for more than 10 s
    "$SOURCE/tests/tools/job_churn.py" "$NAME" "$TOOLS/burn" 8 >"$T/truth"
    wait_for '[ $SECONDS -gt $((since + 11)) ]'
    sh -c 'echo 0 >"$1/cgroup.procs" && exec "$2" 50' - "$group" "$TOOLS/burn"
    echo "999 $(($(cat "$group/cpuacct.usage") / 1000)) $(date +%s%N)" >>"$T/truth"
    sleep 0.4
    rmdir "$group"
    wait_for '[ "$("$SONDE" job | grep -c slurm)" -eq 0 ]'
    stop_agent
    [ "$(wc -l <"$T/truth")" -eq 193 ]
    compare_totals
}

# Jobs that use CPU time and then wait, so that everything is sampled even if an agent is just restarting.
run_jobs() {
    local i group=/sys/fs/cgroup/cpuacct/slurm_$NAME/uid_1
    mkdir -p "$group"
    for i in $(seq 2001 20"$1"); do
        (
            mkdir "$group/job_$i"
            sh -c 'echo 0 >"$1/cgroup.procs" && exec "$2" 30' - "$group/job_$i" "$TOOLS/burn"
            sleep 4
            rmdir "$group/job_$i"
        ) 3>&- &
        sleep 0.2
    done
    wait
}

stored() {
    sqlite3 -readonly "$T/$1/sonde.db" "SELECT job_id, \"user\", uid, hosts, ended, total_usertime + total_systemtime FROM jobs ORDER BY job_id"
}

@test "an agent that was restarted a hundred times has stored the same jobs as one that was not" {
    local restarts=0 jobs
    start_agent "$T/steady"
    OTHER=$AGENT
    start_agent "$T/run"
    "$SONDE" job begin registered -q
    "$SONDE" job begin over -q
    "$SONDE" job end over -q
    run_jobs 40 &
    jobs=$!
    while [ "$restarts" -lt 100 ]; do
        restarts=$((restarts + 1))
        kill -$((restarts % 2 ? 9 : 15)) "$AGENT"
        wait "$AGENT" 2>/dev/null || :
        start_agent "$T/run"
    done
    wait "$jobs"
    "$SONDE" job end registered -q
    wait_for '[ "$("$SONDE" job | grep -c "slurm\|told")" -eq 0 ]'
    stop_agent
    kill "$OTHER"
    wait "$OTHER"
    OTHER=''
    stored steady >"$T/expected"
    [ "$(wc -l <"$T/expected")" -eq 40 ]
    # All the same, except for the time that a task used before it joined, which only its exit record has.
    stored run | grep '^20' | paste -d'|' "$T/expected" - | awk -F'|' '
        $1 != $7 || $2 != $8 || $3 != $9 || $4 != $10 || $5 != 1 || $11 != 1 || $6 - $12 > 6000 || $12 - $6 > 6000 { print; wrong++ }
        END { exit wrong > 0 || NR != 40 }'
    [ "$(sql "SELECT group_concat(job_id || ended) FROM (SELECT * FROM jobs WHERE job_id IN ('over', 'registered') ORDER BY job_id)")" = over1,registered1 ]
}

# On v1 the kernel counts the kill in the cgroup of the task only.
@test "the report states that the kernel killed a task of a v1 job because memory ran out" {
    local group=/sys/fs/cgroup/memory/slurm_$NAME/uid_0/job_3001
    start_agent "$T/run"
    mkdir -p "$group/step_0/task_0"
    echo 20M >"$group/memory.limit_in_bytes"
    wait_for '"$SONDE" job | grep -q "^3001 "'
    sh -c 'echo 0 >"$1/step_0/task_0/cgroup.procs" && exec tail /dev/zero' - "$group" || [ $? -eq 137 ]
    grep -q '^oom_kill 0' "$group/memory.oom_control"
    grep -q '^oom_kill 1' "$group/step_0/task_0/memory.oom_control"
    sleep 0.4 # several ticks
    rmdir "$group/step_0/task_0"
    rmdir "$group/step_0"
    rmdir "$group"
    wait_for '! "$SONDE" job | grep -q "^3001 "'
    stop_agent
    "$SONDE" report 3001 >"$T/report"
    grep '1 process killed: out of memory, with a limit of 20.0 MiB' "$T/report" || { cat "$T/report"; return 1; }
    [ "$("$SONDE" report 3001 --json | jq .use.oom_kills)" = 1 ]
}
