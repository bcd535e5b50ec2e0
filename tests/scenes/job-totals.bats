#!/usr/bin/env bats
# What the job database has about jobs that only the agent has seen, compared with the kernel's own count.
load scene

setup() {
    scene_setup
    need_root
    export SONDE_SOCKET_DIR=$T/run XDG_STATE_HOME=$T/state
    AGENT='' NAME=totals$$
    [ -w /sys/fs/cgroup/cpuacct/cgroup.procs ] && [ -d /sys/fs/cgroup/unified ] || skip "no cgroup v1 beside v2"
}

teardown() {
    [ -z "$AGENT" ] || kill -9 "$AGENT" 2>/dev/null || :
    find /sys/fs/cgroup/*/slurm_"$NAME" -depth -type d -exec rmdir {} + 2>/dev/null || :
    scene_teardown
}

start_agent() {
    SONDE_NODE=$NAME "$SONDE" agent --listen none --jobs slurm --sensors cgroup,taskstats --period 100ms --spool "$T/spool" \
        --sink "store:path=$SONDE_DB,every=300ms" --sink "csv:path=$T/out.csv" "$@" >>"$T/agent.log" 2>&1 3>&- &
    AGENT=$!
    wait_for "[ -S '$T/run/agent.sock' ]"
}

stop_agent() {
    kill "$AGENT"
    wait "$AGENT"
    AGENT=''
}

# Each job in the file truth has ended, and its stored CPU time is the last one that was sampled. That is the kernel's own, if the
# sample was taken 0.2 s after the process had exited (a loaded machine may take that long to read it). A cgroup that is removed at
# once can no longer be read, but the value is never too high (exit records include what a task used before it joined).
compare_totals() {
    sql "SELECT job_id, ended, coalesce(total_usertime, 0) + coalesce(total_systemtime, 0) FROM jobs" | sort >"$T/stored"
    tr -d '\r' <"$T/out.csv" | awk -F, '$4 == "cgroup" && $5 == "" && $6 == "cpu" { time[$3] = $1; cpu[$3] = $8 }
        END { for (job in cpu) print job "|" cpu[job] "|" time[job] }' | sort >"$T/sampled"
    sort "$T/truth" | tr ' ' '|' | join -t'|' -a1 -e none -o 0,1.2,1.3,2.2,2.3 - "$T/stored" |
        join -t'|' -a1 -e 0 -o 0,1.2,1.3,1.4,1.5,2.2,2.3 - "$T/sampled" >"$T/all"
    awk -F'|' '{ is_exact = $7 > $3 + 2e8; exact += is_exact }
        $4 != 1 || $5 != $6 || $5 > $2 + 6000 || (is_exact && $5 < $2 - 10) { print; wrong++ }
        END { print NR " jobs, " exact + 0 " sampled 0.2 s after their exit, " wrong + 0 " wrong"; exit wrong > 0 || exact < NR / 8 }' "$T/all"
}

@test "the stored CPU time of hundreds of short jobs is the kernel's, whichever cgroup is removed first" {
    local group=/sys/fs/cgroup/cpuacct/slurm_$NAME/uid_0/job_999 since=$SECONDS
    start_agent
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
