#!/usr/bin/env bats
# Programs that install seccomp filters, and whole jobs under such a filter.
load scene

@test "in a container with a seccomp filter, the probe still records" {
    SONDE_TAGS=place:inside "$TOOLS/refuses" 9999 "$SONDE" run -- true
    "$SONDE" ps --json >ps.json
    grep -q '"tags": "place:inside"' ps.json
}

@test "a program that installs a filter is recorded by its parent" {
    run "$SONDE" run -- sh -c "'$TOOLS/acts' seccomp; exit 3"
    [ "$status" -eq 3 ]
    [[ $output == *alive* ]]
    "$SONDE" ps --json >ps.json
    grep '"args": \[".*acts", "seccomp"\]' ps.json | grep -q '"exit_code": 0, "exit_signal": 0'
}

@test "a killing filter, as systemd's, does not affect programs that exec others" {
    process_vm_readv=310
    [ "$(uname -m)" = x86_64 ] || process_vm_readv=270
    run "$TOOLS/refuses" -$process_vm_readv "$SONDE" run -- sh -c '/bin/true; exec "$0" 1' "$TOOLS/burn"
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$("$SONDE" export --what processes | tail -n +2 | wc -l)" -eq 3 ]
}

@test "with delay accounting, delays are recorded even without access to taskstats" {
    need_root
    echo 1 >"$T/on"
    echo 0 >"$T/off"
    for switch in on off; do
        unshare -m --propagation private bash -c 'mount --bind "$0" /proc/sys/kernel/task_delayacct && exec "$@"' "$T/$switch" \
            setpriv --reuid=65534 --regid=65534 --clear-groups "$SONDE" run -q -n "$switch" -- "$TOOLS/burn" 1
    done
    known="select count(*) from process join jobs using (job_id) where exe = 'burn' and process.delayacct_blkio_time is not null"
    [ "$(sql "$known and jobs.name = 'on'")" -eq 1 ]
    [ "$(sql "$known and jobs.name = 'off'")" -eq 0 ]
    [ "$(sql "select count(delayacct_blkio_time) from jobs")" -eq 1 ]
}
