#!/usr/bin/env bats
# sonde run: options, records in the spool, series, perf events, scarce resources. What the records become in the database is tested
# in run-processes.bats.
load scene
load run

@test "the first record identifies the run, the last says how it ended" {
    spooled -n name -j job-7 -t case=7 -t label -p 100ms -- sh -c 'exit 3' || [ $? -eq 3 ]
    head -n 1 "$T/records" | grep -q '^run '
    [ "$(field job_id '^run ')" = job-7 ]
    [ "$(field name '^run ')" = name ]
    [ "$(field tags '^run ')" = 'case:7;label:1' ]
    [ "$(field period_ns '^run ')" = 100000000 ]
    [ "$(field uid '^run ')" = "$(id -u)" ]
    [ "$(field cwd '^run ')" = "$T" ]
    [ "$(field command '^run ')" = 'sh\x00-c\x00exit 3\x00' ]
    tail -n 2 "$T/records" | grep -q '^run_end .* status_known=1 status=768 '
}

@test "name and id come from the batch system, else from the command and the time" {
    SLURM_JOB_ID=4711 SLURM_JOB_NAME=nightly spooled -- true
    [ "$(field job_id '^run ')" = 4711 ]
    [ "$(field name '^run ')" = nightly ]
    spooled -- /bin/true
    [[ $(field job_id '^run ') == 20??????-??????-* ]]
    [ "$(field name '^run ')" = true ]
}

@test "invalid options are rejected before anything runs" {
    for wrong in '-p 1ms' '-p 25h' '-p x' '-t =v' '-t a;b' '-t a:b=c' '--nonsense' "-j $(printf '%0128d' 1)"; do
        # shellcheck disable=SC2086
        run "$SONDE" run $wrong -- touch "$T/ran"
        echo "$wrong: $output"
        [ "$status" -eq 2 ]
        [ ! -e "$T/ran" ]
    done
    run "$SONDE" run -j 'a b' -- touch "$T/ran"
    [ "$status" -eq 2 ]
    run "$SONDE" run -j '' -- touch "$T/ran"
    [ "$status" -eq 2 ]
    run "$SONDE" run --db '' -- touch "$T/ran"
    [[ $status -eq 2 && $output == *"--db is empty"* ]]
    [ ! -e "$T/ran" ]
    run "$SONDE" run
    [ "$status" -eq 2 ]
}

@test "options after the command belong to the command" {
    run "$SONDE" run sh -c 'echo "$0 $*"' -n x -p y
    [ "$output" = '-n x -p y' ]
}

@test "only the user can access the spool, and it is removed once saved" {
    "$SONDE" run -o "$T/o" -- sh -c 'stat -c "%a %n" "$0" "$0"/*.spool*' "$T/o" >seen
    [ "$(awk '{ print $1 }' seen | tr '\n' ' ')" = '700 600 600 600 ' ]
    [ -z "$(ls -A "$T/o")" ]
    "$SONDE" run -- sh -c 'find "$TMPDIR" -name "*.spool"' >seen
    grep -q "^$TMPDIR/sonde-$(id -u)/spool/" seen
    [ -z "$(find "$TMPDIR" -type f)" ]
}

@test "a spool directory created by another user is not used" {
    need_root
    mkdir "$TMPDIR/sonde-65534"
    chmod 777 "$TMPDIR/sonde-65534"
    run as_nobody "$SONDE" run -- echo ran
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *ran* && $output == *"$TMPDIR/sonde-65534"*"permission denied"*"is not monitored"*"-o DIR"* ]]
    [ -z "$(ls -A "$TMPDIR/sonde-65534")" ]
}

@test "kernel events are recorded: forks, execs with arguments, exits, and our wait" {
    # Long enough for a busy machine.
    spooled --no-probe -- sh -c '/bin/sh -c "sleep 2; :" one "two words"; exit 4' || [ $? -eq 4 ]
    if ! grep -q '^kernel_fork' "$T/records"; then skip "no kernel events"; fi
    grep -q '^kernel_exec .*path="/usr/bin/dash" args="/bin/sh\\x00-c\\x00sleep 2; :\\x00one\\x00two words\\x00"' "$T/records"
    [ "$(grep -c '^kernel_exit ' "$T/records")" -eq 3 ]
    [ "$(grep -c '^wait ' "$T/records")" -eq 1 ]
    [ "$(field status '^wait ')" = 1024 ]
}

@test "without access to kernel events (network namespace) the run is still recorded" {
    need_root
    unshare -n true || skip "no namespaces"
    rm -rf o
    SONDE_DB=/dev/null/none unshare -n "$SONDE" run -q -o "$T/o" -- sh -c 'true; burn_static 20; exit 5' 2>/dev/null || [ $? -eq 5 ]
    records
    run grep -c '^kernel_\|^taskstats' "$T/records"
    [ "$output" = 0 ]
    grep -q '^image .*args="sh' "$T/records"
    [ "$(field status '^run_end ')" = 1280 ]
}

@test "samples are taken at multiples of the period, and at start and end" {
    spooled -p 50ms -- sleep 1.02
    count=$(grep -c '^sample set=0 ' "$T/records")
    late=$(field ticks_late '^run_end ')
    ticks=$((($(field time_ns '^run_end ') - $(field time_ns '^run ')) / 50000000))
    echo "$count samples, $late late, $ticks ticks in all"
    [ "$ticks" -ge 20 ]
    # one more at each end, and at each end one more or less
    [ $((count + late)) -ge "$ticks" ]
    [ "$count" -le $((ticks + 4)) ]
    [ "$(grep -c '^set ' "$T/records")" -eq "$(grep '^set ' "$T/records" | sort -u | wc -l)" ]
    # Some within 5 ms of a tick: a busy machine may wake sonde late.
    grep '^sample set=0 ' "$T/records" | sed 's/.*time_ns=\([0-9]*\).*/\1/' |
        awk '{ off = substr($1, 11, 9) % 50000000; if (off < 5000000) good++ } END { exit !(good >= 3) }'
}

@test "samples include the job's processes and not our own" {
    spooled -p 50ms -- sh -c 'sleep 1.5 & sleep 1.5 & wait'
    # tree: cpu rss processes threads …, each after its "known" flag: the sixth number
    most=$(grep '^sample set=0 ' "$T/records" | sed 's/.*values=\[\(.*\)\]/\1/' | awk '{ print $6 }' | sort -n | tail -n 1)
    [ "$most" -eq 3 ]
}

timeline_matches_records() {
    "$@" "$SONDE" run -q -p 50ms -- sh -c 'for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.03; echo x | cat >/dev/null; done'
    [ "$(last wchar)" -eq "$(sql 'SELECT sum(wchar) FROM processes')" ]
    [ "$(last rchar)" -lt $(($(sql 'SELECT sum(rchar) FROM processes') + 31 * 2000)) ]
    [ "$(last vol_ctxsw)" -eq "$(sql 'SELECT sum(vol_ctxsw) FROM processes')" ]
}

@test "the timeline's totals match the records, as root" { need_root; timeline_matches_records env; }
@test "the timeline's totals match the records, as nobody" { need_root; timeline_matches_records as_nobody; }

@test "the probe's own writes do not count as I/O of the run" {
    need_root
    as_nobody "$SONDE" run -q -p 50ms -- sh -c 'for i in 1 2 3 4 5 6 7 8 9; do for j in 1 2 3 4 5 6 7 8 9; do /bin/true; done; done'
    [ "$(last write_bytes)" -eq 0 ]
    run -0 "$SONDE" report
    [[ $output =~ to\ disk\ +[^\ ]+\ +0\ B ]]
}

same_io_from_script() {
    local what='SELECT rchar, syscr, wchar, syscw FROM processes WHERE thread_count = 4'
    "$@" "$SONDE" run -q -- "$TOOLS/acts" threads
    sql "$what" >"$T/alone"
    [[ $(<"$T/alone") =~ ^[1-9][0-9]*\|[1-9][0-9]*\|[0-9]+\|[0-9]+$ ]]
    for script in 'exec "$0" threads' '/bin/true; exec "$0" threads' '(:); (/bin/true); exec env "$0" threads'; do
        rm -f "$SONDE_DB"*
        "$@" "$SONDE" run -q -- bash -c "$script" "$TOOLS/acts"
        sql "$what" | diff "$T/alone" -
    done
}

@test "I/O of a multi-threaded program started by a script is known, as root" {
    need_root
    same_io_from_script env
}
@test "I/O of a multi-threaded program started by a script is known, as nobody" {
    need_root
    same_io_from_script as_nobody
}

@test "the timeline starts at 0, whatever the shell ran before exec'ing sonde run" {
    bash -c 'dd if=/dev/zero of=/dev/null bs=1M count=500 2>/dev/null; exec "$0" "$@"' "$SONDE" run -q -p 50ms -- burn 20
    [ "$(last rchar)" -lt 10000000 ]
    [ "$(last cpu)" -eq "$(sql 'SELECT total_usertime + total_systemtime FROM jobs')" ]
    [ "$(sql 'SELECT total_rchar FROM jobs')" -lt 10000000 ]
}

@test "the total equals getrusage, without earlier children" {
    SONDE_DB=/dev/null/none bash -c 'burn 300; exec "$0" "$@"' "$SONDE" run -q -o "$T/o" -- burn 100 2>/dev/null
    records
    total=$(grep '^run_end ' "$T/records" | sed 's/.*usertime=\([0-9]*\) systemtime=\([0-9]*\).*/\1 \2/' | awk '{ print $1 + $2 }')
    echo "total $total us"
    [ "$total" -ge 100000 ] && [ "$total" -lt 400000 ]
}

@test "perf events are counted in every thread, also of killed processes" {
    spooled -e page-faults,task-clock -- \
        sh -c 'crowd threads 20 5 20; burn 100; burn 100000 & echo $! >killed
            until [ "${14:-0}" -ge 5 ]; do sleep 0.1; read -r stat </proc/$!/stat; set -- $stat; done; kill -9 $!; wait'
    [ "$(field events '^run ')" = 'page-faults\x00task-clock\x00' ]
    # Each process and thread once; task-clock is the second event, in ns: known, value, enabled, running.
    grep '^perf ' "$T/records" | sed 's/.*pid=\([0-9]*\) tid=\([0-9]*\).*counts=\[\(.*\)\] .*/\1 \2 \3/' >counts
    [ "$(awk '$1 != $2' counts | wc -l)" -eq 20 ]
    [ "$(awk '$3 != 1 || $7 != 1' counts | wc -l)" -eq 0 ]
    [ "$(awk '$1 != $2 && $8 >= 15000000' counts | wc -l)" -eq 20 ]
    [ "$(awk -v pid="$(cat killed)" '$1 == $2 && $1 != pid && $8 >= 80000000' counts | wc -l)" -eq 1 ]
    # The killed one: it has two records, before and after an exec.
    [ "$(awk -v pid="$(cat killed)" '$1 == pid { sum += $8 } END { print (sum > 20000000) }' counts)" -eq 1 ]
    [ -z "$(find "$T/o" -name 'perf*')" ]
}

@test "perf events of 1,000 concurrent threads are complete" {
    spooled -e page-faults -- crowd threads 2000 1000 0
    [ "$(grep -c '^perf ' "$T/records")" -eq 2001 ]
    [ "$(field records_lost '^run_end ')" -eq 0 ]
    [ "$(field events_lost '^run_end ')" -eq 0 ]
}

@test "perf counts of an image end with its exec" {
    spooled -e task-clock -- sh -c 'burn 1; exec burn 80'
    pid=$(field pid '^spawn ')
    [ "$(grep -c "^perf pid=$pid tid=$pid " "$T/records")" -eq 2 ]
}

@test "perf counts work without kernel events" {
    need_root
    unshare -n true || skip "no namespaces"
    SONDE_DB=/dev/null/none unshare -n "$SONDE" run -q -o "$T/o" -e task-clock -- sh -c 'burn 30; burn 30; sleep 0.5' 2>/dev/null
    records
    [ "$(grep '^perf ' "$T/records" | sed 's/.*counts=\[1 \([0-9]*\) .*/\1/' | awk '$1 >= 20000000' | wc -l)" -eq 2 ]
}

# --- scarce resources --------------------------------------------------------------------------------------------------

@test "few descriptors: the program runs with its original limit" {
    for limit in 6 7 8 10 12 14 16 18 20 24 32; do
        run bash -c 'ulimit -n "$1"; "$0" run -q -- sh -c "ulimit -n; exit 3"' "$SONDE" "$limit"
        echo "$limit: $status $output"
        [ "$status" -eq 3 ]
        [ "${lines[-1]}" = "$limit" ]
    done
}

@test "no process left for sonde: the command runs, with one warning that it is not monitored" {
    need_root
    chmod 755 "$T"
    local uid=$((500000 + BASHPID % 100000)) # a user without other processes
    one="setpriv --reuid=$uid --regid=$uid --clear-groups prlimit --nproc"
    # shellcheck disable=SC2086
    run $one=1 "$SONDE" run -- bash -c 'echo ran; exit 3'
    echo "$output"
    [ "$status" -eq 3 ]
    [ "$(grep -c "is not monitored" <<<"$output")" -eq 1 ]
    grep -qx ran <<<"$output"
    # shellcheck disable=SC2086
    run $one=2 env SONDE_DB="$T/db/of-$uid" "$SONDE" run -- bash -c 'echo ran; exit 3'
    echo "$output"
    [ "$status" -eq 3 ]
    [ "$output" = ran ]
}

@test "the largest possible arguments and environment still work" {
    python3 - "$SONDE" "$T/db/full.db" <<'END'
import os, subprocess, sys
sonde, db = sys.argv[1:]
def environment(size):
    env = {"PATH": os.environ["PATH"], "SONDE_DB": db, "TMPDIR": os.environ["TMPDIR"]}
    for i in range(size // 100000):
        env["PAD%03d" % i] = "x" * 100000
    env["PAD"] = "x" * (size % 100000)
    return env
def fits(size):
    try:
        subprocess.run(["/bin/true"], env=environment(size), check=True)
        return True
    except OSError:
        return False
low, high = 0, 8 << 20
while high - low > 16:
    middle = (low + high) // 2
    low, high = (middle, high) if fits(middle) else (low, middle)
# Leaves space for the variables that sonde adds, and no more.
room = len(sonde) * 2 + 60
result = subprocess.run([sonde, "run", "-q", "--", "/bin/true"], env=environment(low - room))
assert result.returncode == 0, result
END
    [ "$(sqlite3 "$T/db/full.db" "select exit_code from jobs")" -eq 0 ]
}

# --- size ------------------------------------------------------------------------------------------------------------

@test "at most 8 MB resident while 5,000 processes come and go" {
    if grep -q __asan_init "$SONDE"; then skip "sanitizers need additional memory"; fi
    "$SONDE" run -q -- bash -c 'grep VmHWM /proc/$PPID/status >before; for ((i = 0; i < 5000; i++)); do /bin/true; done
        grep VmHWM /proc/$PPID/status >after'
    cat before after
    [ "$(awk '{ print $2 }' after)" -le 8192 ]
}
