#!/usr/bin/env bats
# Jobs on a node: declared by sonde job and sonde run, or discovered in cgroups that the test creates.
load scene

setup() {
    scene_setup
    export SONDE_SOCKET_DIR=$T/run
    AGENT='' GROUP=''
}

teardown() {
    [ -z "$AGENT" ] || kill -9 "$AGENT" 2>/dev/null || :
    [ -z "$GROUP" ] || find "$GROUP" -depth -type d -exec rmdir {} + || :
    scene_teardown
}

start() {
    "$SONDE" agent --listen none --sensors cgroup,process --period 200ms --sink "csv:path=$T/out.csv" "$@" >"$T/log" 2>&1 3>&- &
    AGENT=$!
    wait_for "[ -S '$T/run/agent.sock' ]"
}

# job …: the value of a key of a job in sonde job --json.
job() {
    "$SONDE" job --json | python3 -c '
import json, sys
for job in json.load(sys.stdin)["jobs"]:
    if job["id"] == sys.argv[1]:
        print(job.get(sys.argv[2], ""))' "$1" "$2"
}

@test "without an agent sonde job reports it, and a prolog does not fail" {
    run "$SONDE" job begin 1
    [ "$status" -eq 1 ]
    [[ $output == *"no agent is running on this node"*"sonde agent"* ]]
    run "$SONDE" job
    [ "$status" -eq 1 ]
    SLURM_JOB_ID=1 run "$SONDE" job begin -q
    [ "$status" -eq 0 ]
    [ -z "$output" ]
}

@test "invalid arguments are explained" {
    start
    run "$SONDE" job begin
    [ "$status" -eq 2 ]
    [[ $output == *"missing job id"* ]]
    run "$SONDE" job stop 1
    [ "$status" -eq 2 ]
    [[ $output == *"expected begin, end or list"* ]]
    [ "$("$SONDE" job list)" = "$("$SONDE" job)" ]
    run "$SONDE" job begin 1 --memory lots
    [ "$status" -eq 2 ]
    [[ $output == *"4G"* ]]
    run "$SONDE" job begin 1 --cores many
    [ "$status" -eq 2 ]
    run "$SONDE" job end none-such
    [ "$status" -eq 1 ]
    [[ $output == *"no such job"* ]]
}

@test "a job is declared, listed and ended" {
    start
    "$SONDE" job begin 4711 --user daemon --cores 2.5 --memory 4G
    [ "$(job 4711 user)" = daemon ]
    [ "$(job 4711 uid)" = 1 ]
    [ "$(job 4711 cores_milli)" = 2500 ]
    [ "$(job 4711 memory_bytes)" = 4294967296 ]
    run "$SONDE" job
    [[ $output == *4711*daemon*2.5*4.0G*told* ]]
    "$SONDE" job begin 4711 # again, without effect
    "$SONDE" job end 4711
    [ -z "$(job 4711 id)" ]
}

@test "a node without jobs is reported as such" {
    mkdir -p "$T/empty"
    start --root "$T/empty" # this machine may have other jobs
    run "$SONDE" job
    [ "$status" -eq 0 ]
    [ "$output" = "No jobs on this node." ]
}

@test "a prolog declares the job of its environment" {
    start
    SLURM_JOB_ID=17 SLURM_JOB_USER=daemon SLURM_JOB_UID=1 "$SONDE" job begin -q
    [ "$(job 17 user)" = daemon ]
    SLURM_JOB_ID=17 "$SONDE" job end -q
    [ -z "$(job 17 id)" ]
}

@test "the exit of the declared process ends its job" {
    start
    sleep 60 3>&- &
    pid=$!
    "$SONDE" job begin mine --pid $pid
    [ "$(job mine pid)" = $pid ]
    kill $pid
    wait_for '[ -z "$(job mine id)" ]'
}

# Starts a sleep in a new pid namespace and writes its pid there to $T/NAME; then runs SCRIPT in it.
in_pid_namespace() { # NAME SCRIPT
    unshare -pf --kill-child --mount-proc bash -c "sleep 60 & echo \$! >'$T/$1'
        $2
        wait" >/dev/null 2>&1 3>&- &
    wait_for "[ -s '$T/$1' ]"
}

# The pid of that sleep outside of its namespace.
outer_pid() { # UNSHARE'S PID
    pgrep -P "$(pgrep -P "$1")" -x sleep
}

@test "a pid from within a pid namespace is translated" {
    need_root
    unshare -pf --mount-proc true || skip "no pid namespaces"
    start
    in_pid_namespace other true
    OTHER=$!
    in_pid_namespace ours "'$SONDE' job begin inside --pid \$!; '$SONDE' job begin init --pid 1
        unshare -pf --mount-proc bash -c 'sleep 60 & '\''$SONDE'\'' job begin deep --pid \$!; wait' &"
    OURS=$!
    [ "$(cat other)" = "$(cat ours)" ]
    wait_for "'$SONDE' job --json | grep -q '\"deep\"'"
    [ "$(job init pid)" = "$(pgrep -P "$OURS")" ]
    inner=$(pgrep -P "$(pgrep -P "$OURS")" -x unshare)
    [ "$(job deep pid)" = "$(outer_pid "$inner")" ]
    [ "$(job inside pid)" = "$(outer_pid "$OURS")" ]
    [ "$(job inside pid)" != "$(outer_pid "$OTHER")" ]
    kill -9 "$OURS" "$OTHER"
}

@test "an agent in a pid namespace refuses processes outside of it" {
    need_root
    unshare -pf --mount-proc true || skip "no pid namespaces"
    unshare -pf --kill-child --mount-proc "$SONDE" agent --listen none --sensors process >"$T/log" 2>&1 3>&- &
    AGENT=$!
    wait_for "[ -S '$T/run/agent.sock' ]"
    run -1 "$SONDE" job begin outside --pid 1
    [[ $output == *"no such process"* ]]
    [ -z "$(job outside pid)" ]
}

@test "a cgroup is given by its full path or within its hierarchy, and a process must exist" {
    need_root
    [ -e /sys/fs/cgroup/cpuacct/tasks ] || skip "no cgroup v1"
    start
    for path in /sys/fs/cgroup/cpuacct/none-$$ /cpuacct/none-$$ /none-$$; do
        "$SONDE" job begin "named-$$" --cgroup "$path"
        [ "$("$SONDE" job --json | jq -r ".jobs[] | select(.id == \"named-$$\").cgroup")" = "/none-$$" ]
        "$SONDE" job end "named-$$"
    done
    run "$SONDE" job begin "nobody-$$" --pid 2147483647
    [ "$status" -ne 0 ]
    [[ $output == *"no process with PID 2147483647"* ]]
}

@test "sonde run is a job while it runs" {
    start
    mkfifo "$T/held"
    "$SONDE" run cat "$T/held" 3>&- >/dev/null 2>&1 &
    pid=$!
    id="[0-9]*-[0-9]*-$pid-"
    wait_for '[ "$("$SONDE" job --json | grep -c "$id")" = 1 ]'
    : >"$T/held"
    wait $pid
    wait_for '[ "$("$SONDE" job --json | grep -c "$id")" = 0 ]'
}

@test "users see and declare only their own jobs" {
    need_root
    start
    chmod 777 "$T/run" "$T/run/agent.sock"
    "$SONDE" job begin 4711 --user daemon
    run as_nobody "$SONDE" job
    [[ $output == *"None of your jobs"* ]]
    [[ $output != *4711* ]]
    run as_nobody "$SONDE" job begin 1
    [ "$status" -eq 1 ]
    [[ $output == *"only root"* ]]
    run as_nobody "$SONDE" job end 4711
    [ "$status" -eq 1 ]
    [ "$(job 4711 user)" = daemon ]
}

@test "a removed cgroup leaves its complete CPU time" {
    need_root
    GROUP=/sys/fs/cgroup/cpuacct/slurm_sonde$$
    mkdir "$GROUP" 2>/dev/null || { GROUP=''; skip "no writable cpuacct hierarchy"; }
    start --period 60s
    mkdir -p "$GROUP/uid_1/job_99/step_0"
    wait_for '[ "$(job 99 user)" = daemon ]'
    sh -c 'echo 0 >"$1/uid_1/job_99/step_0/cgroup.procs" && exec "$2" 100' - "$GROUP" "$TOOLS/burn"
    rmdir "$GROUP/uid_1/job_99/step_0"
    sleep 0.2
    rmdir "$GROUP/uid_1/job_99"
    wait_for '[ -z "$(job 99 id)" ]'
    kill "$AGENT"
    wait "$AGENT"
    AGENT=''
    cpu=$(grep ',99,cgroup,,cpu,us,' "$T/out.csv" | tail -1 | cut -d, -f8 | tr -d "\r")
    [ "$cpu" -ge 100000 ]
    [ "$cpu" -lt 200000 ]
}

# short_jobs GROUP: twenty jobs of 20 ms between two ticks, whose cgroup is removed with the last process. The final CPU time is what
# they used, or missing: never an earlier reading. $known counts the jobs that have it.
short_jobs() {
    local i truth cpu
    start --period 60s --sensors cgroup,taskstats
    mkdir -p "$1/uid_1"
    for i in {9001..9020}; do
        mkdir "$1/uid_1/job_$i"
        sh -c 'echo 0 >"$1/cgroup.procs" && exec "$2" 20' - "$1/uid_1/job_$i" "$TOOLS/burn"
        if [ -e "$1/uid_1/job_$i/cpuacct.usage" ]; then
            read -r truth <"$1/uid_1/job_$i/cpuacct.usage"
            truth=$((truth / 1000))
        else
            read -r _ truth <"$1/uid_1/job_$i/cpu.stat"
        fi
        rmdir "$1/uid_1/job_$i"
        echo "$i $truth" >>"$T/truth"
    done
    wait_for '[ -z "$(job 9020 id)" ]'
    kill "$AGENT"
    wait "$AGENT"
    AGENT='' known=0
    while read -r i truth; do
        cpu=$(grep ",$i,cgroup,,cpu,us," "$T/out.csv" | tail -1 | cut -d, -f8 | tr -d "\r")
        echo "job $i used $truth us; reported: ${cpu:-nothing}"
        [ "${cpu:-0}" -eq 0 ] && continue # its first sample, before it started
        [ "$cpu" -ge $((truth - 1000)) ]
        [ "$cpu" -lt $((truth + 15000)) ] # including what a task used before it joined
        known=$((known + 1))
    done <"$T/truth"
}

@test "jobs of 20 ms whose cgroup is removed at once have their CPU time, v1" {
    need_root
    GROUP=/sys/fs/cgroup/cpuacct/slurm_short$$
    mkdir "$GROUP" 2>/dev/null || { GROUP=''; skip "no writable cpuacct hierarchy"; }
    short_jobs "$GROUP"
    [ "$known" -ge 18 ]
}

@test "jobs of 20 ms whose cgroup is removed at once have their CPU time, v2" {
    need_root
    GROUP=/sys/fs/cgroup/unified/slurm_short$$
    mkdir "$GROUP" 2>/dev/null || { GROUP=''; skip "no writable v2 hierarchy beside v1"; }
    short_jobs "$GROUP"
    [ "$known" -ge 18 ]
}

@test "5,000 jobs with 1,024 descriptors" {
    need_root
    GROUP=/sys/fs/cgroup/cpuacct/slurm_many$$
    mkdir "$GROUP" 2>/dev/null || { GROUP=''; skip "no writable cpuacct hierarchy"; }
    (ulimit -n 1024 && start --period 10s && echo "$AGENT" >"$T/pid")
    AGENT=$(cat "$T/pid")
    mkdir "$GROUP/uid_1"
    (cd "$GROUP/uid_1" && seq -f 'job_%.0f' 500001 505000 | xargs mkdir)
    many() { # the jobs of this scene
        "$SONDE" job --json | grep -o "\"/slurm_many$$/uid_1/job_" | wc -l
    }
    wait_for '[ "$(many)" = 5000 ]'
    [ "$(find "/proc/$AGENT/fd" -type l | wc -l)" -lt 600 ]
    wait_for "grep -q ',505000,cgroup,,cpu,us,' '$T/out.csv'"
    (cd "$GROUP/uid_1" && seq -f 'job_%.0f' 500001 505000 | xargs rmdir)
    wait_for '[ "$(many)" = 0 ]'
    [ ! -s "$T/log" ]
    # their memory, 20 MB and more, is freed; sanitizers keep it
    [ -z "$(ldd "$SONDE" | grep -E 'lib(asan|tsan)')" ] || return 0
    wait_for '[ "$(awk "/^RssAnon:/ { print \$2 }" "/proc/$AGENT/status")" -lt 8000 ]'
}

@test "without inotify watches jobs are found once a second, which is logged once" {
    unshare -Ur sh -c 'echo 4 >/proc/sys/user/max_inotify_watches' 2>/dev/null || skip "no user namespaces"
    jobs=$T/root/sys/fs/cgroup/memory/slurm/uid_1
    mkdir -p "$jobs"
    touch "$T/root/sys/fs/cgroup/memory/cgroup.procs"
    unshare -Ur sh -c 'echo 4 >/proc/sys/user/max_inotify_watches && exec "$@"' - "$TOOLS/job_events" 6 "$T/root" \
        >"$T/log" 2>&1 3>&- &
    pid=$!
    wait_for "grep -q watching '$T/log'"
    mkdir "$jobs"/job_{1,2,3,4,5,6}
    wait_for "[ \$(grep -c begin '$T/log') = 6 ]"
    rmdir "$jobs/job_5"
    wait_for "grep -q 'end id=5' '$T/log'"
    wait $pid
    [ "$(grep -c max_user_watches "$T/log")" = 1 ]
    [ "$(grep -c ' end ' "$T/log")" = 1 ]
}
