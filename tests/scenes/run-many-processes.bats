#!/usr/bin/env bats
# Many concurrent processes, and more in total than there are pids: each process instance is recorded once.
load scene

setup() {
    scene_setup
    PATH=$TOOLS:$PATH
}

images() {
    sql "select count(*) from process where exe = '$1'"
}

many_processes() {
    ulimit -u unlimited 2>/dev/null || true
    "$@" "$SONDE" run -n crowd -- crowd processes 50000 2000
    [ "$(images crowd)" -eq 50001 ] || { images crowd; sql "select * from process limit 3"; return 1; }
    [ "$(sql "select count(*) from process where state <> 'ended' or exit_code <> 0")" -eq 0 ]
    # pids were reused, and each process instance is there once.
    [ "$(sql "select count(*) from (select distinct pid, start_ns from process)")" -eq 50001 ]
    [ "$(sql "select count(*) from process where parent is null")" -eq 1 ]
    [ "$(sql "select live_peak from jobs")" -ge 2001 ]
}
@test "2,000 concurrent processes and 50,000 in total, as root" { many_processes; }
@test "2,000 concurrent processes and 50,000 in total, as nobody" { need_root; many_processes as_nobody; }

@test "10,000 consecutive programs: each is recorded once" {
    "$SONDE" run -n many -- spawn posix_spawn 10000 4 true
    [ "$(images true)" -eq 10000 ]
    [ "$(sql "select count(*) from process where exe = 'true' and (state <> 'ended' or exit_code <> 0)")" -eq 0 ]
    [ "$(sql "select count(*) from process")" -eq 10001 ] || {
        sql "select * from (select number, parent, pid, ppid, image, exe, state, sources, start_ns, end_ns, cpu_us from process)
            where exe <> 'true' or pid in (select pid from process where exe <> 'true') limit 10"
        return 1
    }
}

many_threads() {
    "$@" "$SONDE" run -n crowd -- crowd threads 8000 1000
    [ "$(sql "select thread_count from process where exe = 'crowd'")" -eq 8001 ]
    [ "$(sql "select count(*) from threads")" -eq 8001 ]
    [ "$(sql "select count(*) from threads where usertime is null")" -eq 0 ]
}
@test "1,000 concurrent threads and 8,000 in total, as root" { many_threads; }
@test "1,000 concurrent threads and 8,000 in total, as nobody" { need_root; many_threads as_nobody; }
