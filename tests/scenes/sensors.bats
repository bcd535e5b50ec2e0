#!/usr/bin/env bats
# The agent's sensors of /proc and /sys with their settings, read once from captured nodes.
load scene

# once NODE OPTION…: the samples of an agent on NODE, without times, as set,instance,metric,unit,value.
once() {
    local node=$1
    shift
    "$SONDE" agent --once --root "$SOURCE/tests/nodes/$node" "$@" >"$T/csv" 2>"$T/err"
    tr -d '\r' <"$T/csv" | cut -d, -f4-
}

@test "each sensor of a server matches its files" {
    once server --sensors meminfo,vmstat,stat,interrupts,loadavg,diskstats,netdev,pressure,schedstat,numa,edac,nfs >"$T/all"
    for line in meminfo,,mem_total,B,540622286848 vmstat,,pgmajfault,1,77 stat,,forks,1,40001 \
        interrupts,cpu1,irq_125,1,1000 interrupts_errors,,errors,1,3 loadavg,,load1,1,3.5 diskstats,sda,reads,1,1000 \
        netdev,ib0,tx_bytes,B,3333333333333 pressure,io,some_avg10,%,99.99 schedstat,cpu3,schedules,1,2003 \
        numa,node1,numa_hit,1,9001 edac,mc0,corrected,1,12 edac_dimm,mc1/dimm2,corrected,1,3 nfs,,v3_read,1,106; do
        grep -qxF "$line" "$T/all" || { echo "no $line"; return 1; }
    done
    [ ! -s "$T/err" ]
}

@test "settings select what is read" {
    once server --sensors diskstats --set diskstats.partitions=yes --set diskstats.all=yes | grep -q '^diskstats,sda1,reads,1,900$'
    [ "$(once server --sensors diskstats --set diskstats.all=yes | grep -c ',reads,')" -eq 4 ]
    [ "$(once server --sensors stat --set stat.per_cpu=no | grep -c '^stat_cpu,')" -eq 0 ]
    [ "$(once server --sensors netdev --set netdev.max=2 | grep -c ',rx_bytes,')" -eq 2 ]
    [ "$(once server --sensors interrupts --set interrupts.values=10 | grep '^interrupts,,irq_1044,')" = "interrupts,,irq_1044,1,26" ]
}

@test "what an old kernel lacks is left out; a missing sensor that was named is logged once" {
    once old --sensors stat,diskstats,pressure,nfs >"$T/all"
    grep -qxF "nfs,,v4_sequence,1,51" "$T/all"
    [ -z "$(grep "^pressure,\|,steal,\|,discards,\|,v4_get_lease_time," "$T/all")" ]
    [ "$(wc -l <"$T/err")" -eq 1 ]
    grep -q "sensor pressure is not available on this node" "$T/err"
}

@test "doctor lists absent sensors with the reason" {
    run "$SONDE" doctor --no-trial
    for sensor in meminfo vmstat stat interrupts loadavg diskstats netdev pressure schedstat numa edac nfs self; do
        [[ $output == *" $sensor "* ]]
    done
    [ -e /proc/net/rpc/nfs ] || [[ $output == *"No NFS file system is mounted"* ]]
}

@test "a node whose files are all empty has no values and no failures" {
    for node in "$SOURCE"/tests/nodes/*/; do
        rm -rf empty && cp -R "$node" empty
        chmod -R u+w empty
        find empty -type f -exec truncate -s 0 {} +
        "$SONDE" agent --once --root "$PWD/empty" >csv 2>err
        # only the agent's own metrics and the number of jobs need no files
        [ -z "$(cut -d, -f4 csv | grep -vxE 'set|self|jobs')" ]
        [ -z "$(tr -d '\r' <csv | awk -F, '$4 == "jobs" && $8 != 0')" ]
        [ -z "$(grep -v 'cannot read sensor .*: damaged data' err)" ]
        "$SONDE" doctor --no-trial --root "$PWD/empty" >doctor.out
        grep -q 'essential works' doctor.out
    done
}
