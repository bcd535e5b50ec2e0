#!/usr/bin/env bats
# Many at once and very many in all, more than there are pids: each life is there, and is there once.
load scene

setup() {
    scene_setup
    PATH=$TOOLS:$PATH
}

images() {
    sql "select count(*) from process where exe = '$1'"
}

crowd_of_processes() {
    ulimit -u unlimited 2>/dev/null || true
    "$@" "$SONDE" run -n crowd -- crowd processes 50000 2000
    [ "$(images crowd)" -eq 50001 ] || { images crowd; sql "select * from process limit 3"; return 1; }
    [ "$(sql "select count(*) from process where state <> 'ended' or exit_code <> 0")" -eq 0 ]
    # pids were used again, and each life is there once.
    [ "$(sql "select count(*) from (select distinct pid, start_ns from process)")" -eq 50001 ]
    [ "$(sql "select count(*) from process where parent is null")" -eq 1 ]
    [ "$(sql "select live_peak from jobs")" -ge 2001 ]
}
@test "2,000 processes at once and 50,000 in all, as root" { crowd_of_processes; }
@test "2,000 processes at once and 50,000 in all, as nobody" { need_root; crowd_of_processes as_nobody; }

@test "10,000 programs one after another: each is there once" {
    "$SONDE" run -n many -- spawn posix_spawn 10000 4 true
    [ "$(images true)" -eq 10000 ]
    [ "$(sql "select count(*) from process where exe = 'true' and (state <> 'ended' or exit_code <> 0)")" -eq 0 ]
    [ "$(sql "select count(*) from process")" -eq 10001 ] || {
        sql "select * from (select number, parent, pid, ppid, image, exe, state, sources, start_ns, end_ns, cpu_us from process)
            where exe <> 'true' or pid in (select pid from process where exe <> 'true') limit 10"
        return 1
    }
}

crowd_of_threads() {
    "$@" "$SONDE" run -n crowd -- crowd threads 8000 1000
    [ "$(sql "select thread_count from process where exe = 'crowd'")" -eq 8001 ]
    [ "$(sql "select count(*) from threads")" -eq 8001 ]
    [ "$(sql "select count(*) from threads where usertime is null")" -eq 0 ]
}
@test "1,000 threads at once and 8,000 in all, as root" { crowd_of_threads; }
@test "1,000 threads at once and 8,000 in all, as nobody" { need_root; crowd_of_threads as_nobody; }
