#!/usr/bin/env bats
# Perf events of sonde run -e: what is counted of whom, compared with what the kernel counted of the same processes.

load scene

setup() {
    scene_setup
    [ "$(id -u)" -eq 0 ] || [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ] || skip "perf is closed to users"
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

@test "-e and --no-probe contradict one another" {
    run "$SONDE" run -e task-clock --no-probe -- touch ran
    [ "$status" -eq 2 ]
    [[ $output == *"leave out one of them"* ]]
    [ ! -e ran ]
}
