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
        --sink "store:path=$SONDE_DB,every=300ms" "$@" >>"$T/agent.log" 2>&1 3>&- &
    AGENT=$!
    wait_for "[ -S '$T/run/agent.sock' ]"
}

stop_agent() {
    kill "$AGENT"
    wait "$AGENT"
    AGENT=''
}

# compare_totals: each job of job_churn.py has ended, and its stored CPU time is that of the kernel. A cgroup that is removed with its
# last process cannot be read again, but never has more; exit records of taskstats include what a task used before it joined.
compare_totals() {
    sql "SELECT job_id, ended, coalesce(total_usertime, 0) + coalesce(total_systemtime, 0) FROM jobs" | sort >"$T/stored"
    sort "$T/truth" | tr ' ' '|' | join -t'|' -a1 -e none -o 0,1.2,1.3,2.2,2.3 - "$T/stored" >"$T/both"
    awk -F'|' '$4 != 1 || $5 == "none" || $5 > $2 + 6000 || ($3 == "late" && $5 < $2 - 10) { print; wrong++ }
        END { print NR " jobs, " wrong + 0 " wrong"; exit wrong > 0 || !NR }' "$T/both"
}

@test "the stored CPU time of hundreds of short jobs is the kernel's, whichever cgroup is removed first" {
    start_agent
    "$SOURCE/tests/tools/job_churn.py" "$NAME" "$TOOLS/burn" 8 >"$T/truth"
    wait_for '[ "$("$SONDE" job | grep -c slurm)" -eq 0 ]'
    stop_agent
    [ "$(wc -l <"$T/truth")" -eq 192 ]
    compare_totals
}
