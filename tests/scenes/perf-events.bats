#!/usr/bin/env bats
# Perf events of sonde run -e, compared with the kernel's own counts of the same processes.

load scene

setup() {
    scene_setup
    [ "$(id -u)" -eq 0 ] || [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ] || skip "perf events are not available to users"
    PATH=$TOOLS:$PATH
}

# The job's sum of an event.
sum_of() {
    sql "select sum(r.value) from run_events r join events e on e.id = r.event where e.name in ('$1', '$1:u')"
}

@test "each -e adds its events" {
    "$SONDE" run -q -e page-faults -e cpu-clock,task-clock -e page-faults -- burn 20
    run sql "select group_concat(name, ' ') from (select e.name as name from run_events r join events e on e.id = r.event order by 1)"
    echo "$output"
    [ "${output//:u/}" = "cpu-clock page-faults task-clock" ]
    [ "$(sum_of task-clock)" -ge 19000000 ]
}

# Of each process image: exe, image, value of the event or "none".
counts_of() {
    sql "select p.exe || ' ' || p.image || ' ' || ifnull(v.value, 'none') from process p
        left join (process_events v join events e on e.id = v.event and e.name in ('$1', '$1:u'))
            on v.job = p.job and v.process = p.number order by p.job, p.number"
}

# within MINIMUM MAXIMUM: checks that all numbers read from stdin are in this range, and that there is one.
within() {
    awk -v least="$1" -v most="$2" '{ print; n++; if ($NF == "none" || $NF < least || $NF > most) bad = 1 } END { exit bad || !n }'
}

@test "short programs are counted from their exec" {
    need_root # kernel mode is counted, too
    "$SONDE" run -q -e page-faults,task-clock -- sh -c 'for i in 1 2 3 4 5 6 7 8 9 10; do /bin/true; done'
    counts_of page-faults
    faults=$(sql "select sum(minflt + majflt) from process") counted=$(sum_of page-faults)
    echo "$counted of $faults page faults, $(sum_of task-clock) ns"
    [ "$counted" -ge $((faults * 85 / 100)) ]
    [ "$counted" -le "$faults" ]
    used_us=$(sql "select sum(usertime + systemtime) from process")
    [ "$(sum_of task-clock)" -ge $((used_us * 500)) ]
}

@test "the images of an exec chain have separate counts that add up" {
    "$SONDE" run -q -e task-clock -- sh -c 'exec env A=1 nice bash -c "burn 30; exec burn 50"'
    counts_of task-clock
    counts_of task-clock | grep '^burn 0 ' | within 29000000 60000000
    counts_of task-clock | grep '^burn [1-9]' | within 50000000 80000000
    counts_of task-clock | grep -v '^burn' | within 100000 20000000
    [ "$(counts_of task-clock | wc -l)" -eq 6 ]
}

@test "an exec by another thread: both images have their own counts" {
    "$SONDE" run -q -e task-clock -- execs thread
    counts_of task-clock
    counts_of task-clock | grep '^execs 0 ' | within 59000000 90000000
    counts_of task-clock | grep '^burn 1 ' | within 29000000 50000000
    # Without events for exited threads, they are searched for.
    [ "$(id -u)" -eq 0 ] && unshare -n true || return 0
    unshare -n "$SONDE" run -q -e task-clock -- execs thread
    counts_of task-clock | tail -n 2 | grep '^execs 0 ' | within 59000000 90000000
    counts_of task-clock | tail -n 2 | grep '^burn 1 ' | within 29000000 50000000
}

@test "a failed exec is not counted in addition to a successful one" {
    printf 'no\0program\n' >"$T/bad"
    chmod 755 "$T/bad"
    "$SONDE" run -q -o "$T/o" -e task-clock -- \
        bash -c 'shopt -s execfail; for i in 1 2 3; do exec "$0"; done; exec burn 40' "$T/bad" 2>log
    [ "$(grep -c 'bad' log)" -ge 3 ]
    counts_of task-clock
    counts_of task-clock | grep '^bash 0 ' | within 100000 30000000
    counts_of task-clock | grep '^burn 1 ' | within 40000000 70000000
    [ "$(counts_of task-clock | wc -l)" -eq 2 ]
}

@test "a static program executed by others is counted" {
    [ -x "$TOOLS/burn_static" ] || skip "no static programs"
    "$SONDE" run -q -e task-clock -- sh -c 'burn_static 30; burn 30; true'
    counts_of task-clock
    counts_of task-clock | grep '^burn' | within 29000000 60000000
    "$SONDE" run -q -e task-clock -- burn_static 40
    counts_of task-clock | tail -n 1 | within 39000000 70000000
}

@test "the number of programs that could not be counted is reported" {
    need_root # processes created without libc are reported by the kernel
    [ -x "$TOOLS/spawn_static" ] || skip "no static programs"
    "$SONDE" run -q -e task-clock -- sh -c 'burn 20; spawn_static fork 3 1; true'
    counts_of task-clock
    [ "$(counts_of task-clock | grep -c '^spawn_static 0 none')" -eq 3 ]
    # on a busy machine a fork of the shell may be recorded before its exec
    "$SONDE" report | grep -E 'perf events of ([34] of 7|3 of 6) program'
    "$SONDE" run -q -e task-clock -- sh -c 'burn 20; true'
    run "$SONDE" report
    [[ $output == *task-clock* && $output != *"perf events"* ]]
}

@test "if no program could be counted, that is reported instead of a total" {
    [ -x "$TOOLS/crowd_static" ] || skip "no static programs"
    "$SONDE" run -q -e task-clock -- crowd_static threads 4 4 30
    run "$SONDE" report
    [[ $output == *"perf events: no program could be counted"* && $output != *task-clock* ]]
    [ "$("$SONDE" report --json | jq '.events | length')" -eq 0 ]
}

@test "the number of posix_spawn children, counted from their own start, is reported" {
    "$SONDE" run -q -e task-clock -- spawn posix_spawn 3 1 burn 20
    counts_of task-clock | grep '^burn 0' | within 19000000 60000000
    "$SONDE" report | grep 'the exec and loader of 3 programs'
}

@test "-e and --no-probe are mutually exclusive" {
    run "$SONDE" run -e task-clock --no-probe -- touch ran
    [ "$status" -eq 2 ]
    [[ $output == *"exclude each other"* ]]
    [ ! -e ran ]
}
