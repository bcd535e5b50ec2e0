# The actual CPU time of a job: the kernel's count for a cgroup that contains only the job. Loaded after scene.bash.

# Creates a cgroup for the processes of the test, $TRUTH, and one in it for the job, $TRUTH/job; any user may join both.
# Without permission for that $TRUTH is empty, and the run's own getrusage is used instead.
truth_open() {
    local base
    TRUTH=
    for base in /sys/fs/cgroup/cpuacct /sys/fs/cgroup/cpu,cpuacct /sys/fs/cgroup/unified /sys/fs/cgroup; do
        [ -e "$base/cpuacct.usage" ] || [ -e "$base/cgroup.controllers" ] || continue
        mkdir -p "$base/sonde-$$-$BATS_TEST_NUMBER/job" 2>/dev/null || continue
        TRUTH=$base/sonde-$$-$BATS_TEST_NUMBER
        chmod 666 "$TRUTH/cgroup.procs" "$TRUTH/job/cgroup.procs"
        return 0
    done
}

truth_close() {
    [ -n "${TRUTH:-}" ] || return 0
    local try
    for try in $(seq 50); do
        rmdir "$TRUTH/job" "$TRUTH" 2>/dev/null && return 0
        [ -d "$TRUTH" ] || return 0
        sleep 0.1
    done
    grep -v "^0$" "$TRUTH/job/cgroup.procs" | xargs -r kill -9
    sleep 0.2
    rmdir "$TRUTH/job" "$TRUTH"
}

# The job's CPU time in us.
truth_us() {
    if [ -e "$TRUTH/job/cpuacct.usage" ]; then
        echo $(($(cat "$TRUTH/job/cpuacct.usage") / 1000))
    elif [ -n "$TRUTH" ]; then
        awk '$1 == "usage_usec" { print $2 }' "$TRUTH/job/cpu.stat"
    else
        sql "select sum(total_usertime + total_systemtime) from runs"
    fi
}

# monitor root|nobody COMMAND…: runs a job under sonde run, with the job alone in its cgroup. The shell that joins the cgroup
# executes the command: it is image 0 of the first process.
monitor() {
    local who=$1
    shift
    if [ -z "$TRUTH" ]; then
        set -- sh -c 'exec "$@"' sh "$@"
    else
        set -- sh -c 'echo $$ >"$0"; exec "$@"' "$TRUTH/job/cgroup.procs" "$@"
    fi
    # shellcheck disable=SC2086
    (
        [ -z "$TRUTH" ] || echo $BASHPID >"$TRUTH/cgroup.procs"
        if [ "$who" = nobody ]; then
            as_nobody "$SONDE" run -n monitored $RUN_OPTIONS -- "$@"
        else
            "$SONDE" run -n monitored $RUN_OPTIONS -- "$@"
        fi
    )
}

# Waits until no process of the job is left, and until the background monitor has saved the job.
wait_until_saved() {
    local try
    for try in $(seq 1200); do
        if [ -n "$TRUTH" ]; then
            [ -z "$(cat "$TRUTH/cgroup.procs" "$TRUTH/job/cgroup.procs")" ] && break
        else
            [ "$(sql "select running from jobs where name = 'monitored'")" = 0 ] && break
        fi
        sleep 0.1
    done
    [ "$(sql "select running from jobs where name = 'monitored'")" = 0 ] && return 0
    echo "still running:" && sql "select number, parent, pid, exe, state, sources from process"
    return 1
}

# The sum of the records agrees with the truth within 1 %, and the job used at least MS.
expect_cpu() {
    local least_ms=$1 sum truth off
    sum=$(sql "select sum(cpu_us) from process")
    truth=$(truth_us)
    off=$((sum > truth ? sum - truth : truth - sum))
    echo "records $sum us, truth $truth us, off by $off us"
    [ "$truth" -ge $((least_ms * 1000)) ] && [ $((off * 100)) -le "$truth" ]
}

# So does the CPU time in the report and in the list.
expect_report_cpu() {
    local truth off reported
    truth=$(truth_us)
    for reported in "$("$SONDE" report --json | jq .use.cpu_s)" "$("$SONDE" list --json | jq '.[0].cpu_s')"; do
        echo "reported $reported s, truth $truth us"
        off=$(jq -n "$reported * 1e6 - $truth | fabs | floor")
        [ $((off * 100)) -le "$truth" ] || return 1
    done
}

# expect_images EXE COUNT: the number of records of this executable, each of its own process instance.
expect_images() {
    local count
    count=$(sql "select count(*) from process where exe = '$1'")
    echo "$1: $count records, expected $2"
    [ "$count" -eq "$2" ] || { sql "select number, parent, pid, image, exe, state, sources from process limit 40"; return 1; }
}

# The total number of records, including that of the shell that joined the cgroup.
expect_records() {
    local count
    count=$(sql "select count(*) from process")
    echo "$count records, expected $1"
    [ "$count" -eq "$1" ] || { sql "select number, parent, pid, image, exe, state, sources from process limit 40"; return 1; }
}

# daemonised_without_pidfds monitor|monitor_isolated: the kernel is too old for pidfds, or a container forbids them. The last sample
# of a daemon without probe and exit record still counts, and Sonde notices its exit.
daemonised_without_pidfds() {
    [ -x "$TOOLS/burn_static" ] || skip "no static C library"
    printf '#!/bin/sh\nexec refuses 434 "%s" "$@"\n' "$SONDE" >"$T/refused"
    chmod 755 "$T/refused"
    SONDE=$T/refused "$1" nobody daemonises burn_static 2600
    wait_until_saved
    expect_images burn_static 1
    run sql "select cpu_us between 300000 and 2700000 from process where exe = 'burn_static'"
    [ "$output" = 1 ] || { sql "select exe, state, sources, cpu_us from process"; return 1; }
}
