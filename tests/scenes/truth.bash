# What a job really used, by the kernel's own count of a cgroup that only the job is in. Loaded after scene.bash.

# A cgroup for the processes of the test, $TRUTH, and one in it for the job, $TRUTH/job; both may be joined by anybody.
# Without the right to make one, $TRUTH is empty and the run's own getrusage must do.
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

# watch root|nobody COMMAND…: a job under sonde run, with the job alone in its cgroup. The shell that joins it becomes the
# command: it is image 0 of the first process.
watch() {
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
            as_nobody "$SONDE" run -n watched $RUN_OPTIONS -- "$@"
        else
            "$SONDE" run -n watched $RUN_OPTIONS -- "$@"
        fi
    )
}

# Until no process of the job is left and what stayed to watch it has filed it.
settle() {
    local try
    for try in $(seq 1200); do
        if [ -n "$TRUTH" ]; then
            [ -z "$(cat "$TRUTH/cgroup.procs" "$TRUTH/job/cgroup.procs")" ] && break
        else
            [ "$(sql "select running from jobs where name = 'watched'")" = 0 ] && break
        fi
        sleep 0.1
    done
    [ "$(sql "select running from jobs where name = 'watched'")" = 0 ] && return 0
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

# So does the CPU time that the report and the list tell of the job.
expect_report_cpu() {
    local truth off told
    truth=$(truth_us)
    for told in "$("$SONDE" report --json | jq .use.cpu_s)" "$("$SONDE" list --json | jq '.[0].cpu_s')"; do
        echo "told $told s, truth $truth us"
        off=$(jq -n "$told * 1e6 - $truth | fabs | floor")
        [ $((off * 100)) -le "$truth" ] || return 1
    done
}

# expect_images EXE COUNT: as many records of this executable, each of its own life.
expect_images() {
    local count
    count=$(sql "select count(*) from process where exe = '$1'")
    echo "$1: $count records, expected $2"
    [ "$count" -eq "$2" ] || { sql "select number, parent, pid, image, exe, state, sources from process limit 40"; return 1; }
}

# All records together; the one of the shell that joined the cgroup is counted in.
expect_records() {
    local count
    count=$(sql "select count(*) from process")
    echo "$count records, expected $1"
    [ "$count" -eq "$1" ] || { sql "select number, parent, pid, image, exe, state, sources from process limit 40"; return 1; }
}

# daemonised_without_pidfds watch|watch_apart: the kernel is too old for them, or a container forbids them. What was seen last of
# a daemon of which neither the probe nor an exit record tells still counts, and Sonde notices its end.
daemonised_without_pidfds() {
    [ -x "$TOOLS/burn_static" ] || skip "no static C library"
    printf '#!/bin/sh\nexec refuses 434 "%s" "$@"\n' "$SONDE" >"$T/refused"
    chmod 755 "$T/refused"
    SONDE=$T/refused "$1" nobody daemonises burn_static 2600
    settle
    expect_images burn_static 1
    run sql "select cpu_us between 300000 and 2700000 from process where exe = 'burn_static'"
    [ "$output" = 1 ] || { sql "select exe, state, sources, cpu_us from process"; return 1; }
}
