#!/usr/bin/env bats
# Every way to create and to end processes and threads, as root and as nobody: none is missed or duplicate, and the total CPU time of
# the records is within 1 % of the kernel's own count: about 5 ms of half a second, of which 1 ms is used by the shell that joins the
# cgroup.
load scene
load truth

setup() {
    scene_setup
    need_root
    truth_open
    RUN_OPTIONS=
    PATH=$TOOLS:$PATH
}

teardown() {
    truth_close
    scene_teardown
}

# --- creation ------------------------------------------------------------------------------------------------------

forked() {
    monitor "$1" crowd processes 8 4 60
    expect_records 10
    expect_images crowd 9
    expect_cpu 450
}
@test "fork without exec, as root" { forked root; }
@test "fork without exec, as nobody" { forked nobody; }

spawned() {
    monitor "$1" spawn "$2" 8 4 burn 60
    expect_records 10
    expect_images spawn 1
    expect_images burn 8
    expect_cpu 450
}
@test "fork and exec, as root" { spawned root fork; }
@test "fork and exec, as nobody" { spawned nobody fork; }
@test "vfork, as root" { spawned root vfork; }
@test "vfork, as nobody" { spawned nobody vfork; }
@test "posix_spawn, as root" { spawned root posix_spawn; }
@test "posix_spawn, as nobody" { spawned nobody posix_spawn; }
@test "clone, as root" { spawned root clone; }
@test "clone, as nobody" { spawned nobody clone; }
@test "clone3 without the C library, as root" { spawned root clone3; }
@test "clone3 without the C library, as nobody" { spawned nobody clone3; }

chained() {
    monitor "$1" burn 120 burn 160 burn 200
    expect_records 4
    [ "$(sql "select count(distinct pid) from process")" -eq 1 ]
    [ "$(sql "select group_concat(image) from process")" = 0,1,2,3 ]
    [ "$(sql "select group_concat(state) from process")" = execed,execed,execed,ended ]
    # Each process image has its own CPU time, within 2 %.
    run sql "select group_concat(cpu_us >= ms * 990) from
        (select cpu_us, case image when 1 then 120 when 2 then 160 else 200 end as ms from process where image > 0)"
    [ "$output" = 1,1,1 ] || { sql "select image, cpu_us from process"; return 1; }
    expect_cpu 480
}
@test "a chain of execs: each image its own record, as root" { chained root; }
@test "a chain of execs: each image its own record, as nobody" { chained nobody; }

threaded() {
    monitor "$1" crowd threads 40 8 12
    expect_records 2
    [ "$(sql "select thread_count from process where exe = 'crowd'")" -eq 41 ]
    [ "$(sql "select count(*) from threads")" -eq 41 ]
    [ "$(sql "select count(*) from threads where usertime + systemtime between 11000 and 41000")" -eq 40 ]
    expect_cpu 480
}
@test "threads that end early, as root" { threaded root; }
@test "threads that end early, as nobody" { threaded nobody; }

# --- exit ----------------------------------------------------------------------------------------------------------

ended() {
    monitor "$1" sh -c '
        ends return 3 60; ends exit 4 60; ends _exit 5 60; ends group_exit 6 60; ends thread 7 60
        ends signal 15 60; ends signal 9 60; ends abort 0 60; true'
    expect_images ends 8
    run sql "select group_concat(exit_code || '/' || exit_signal, ' ') from process where exe = 'ends'"
    [ "$output" = "3/0 4/0 5/0 6/0 7/0 0/15 0/9 0/6" ] || { echo "$output"; return 1; }
    run sql "select count(*) from process where exe = 'ends' and cpu_us between 59000 and 100000"
    [ "$output" -eq 8 ] || { sql "select exit_code, exit_signal, cpu_us from process"; return 1; }
    expect_cpu 480
}
@test "return, exit, _exit, exit_group, a thread's exit, signals, SIGKILL, abort, as root" { ended root; }
@test "return, exit, _exit, exit_group, a thread's exit, signals, SIGKILL, abort, as nobody" { ended nobody; }

# --- programs without the probe ------------------------------------------------------------------------------------

static() {
    [ -x "$TOOLS/burn_static" ] || skip "no static C library"
    monitor "$1" spawn_static fork 8 4 burn_static 60
    expect_records 10
    expect_images burn_static 8
    expect_cpu 450
}
@test "static programs, as root" { static root; }
@test "static programs, as nobody" { static nobody; }

busybox_static() {
    command -v busybox >/dev/null || skip "no busybox"
    monitor "$1" busybox sh -c 'for i in 1 2 3 4 5 6 7 8; do burn 60; done'
    expect_images burn 8
    expect_cpu 450
}
@test "a static shell that starts other programs, as root" { busybox_static root; }
@test "a static shell that starts other programs, as nobody" { busybox_static nobody; }

setuid_program() {
    cp "$TOOLS/burn" "$T/burn_setuid"
    chown "$2" "$T/burn_setuid"
    chmod 4755 "$T/burn_setuid"
    findmnt -no OPTIONS -T "$T" | grep -q nosuid && skip "no set-uid programs below $T"
    monitor "$1" sh -c "$T/burn_setuid 240; $T/burn_setuid 240; true"
    expect_images burn_setuid 2
    [ "$(sql "select count(*) from process where exe = 'burn_setuid' and cpu_us between 239000 and 280000")" -eq 2 ]
    expect_cpu 480
}
@test "a set-uid program, as root" { setuid_program root nobody; }
@test "a set-uid program, as nobody" { setuid_program nobody root; }

go_program() {
    [ -x "$TOOLS/go_burn" ] || skip "no Go"
    monitor "$1" go_burn 120
    expect_images go_burn 1
    expect_images true 1
    expect_cpu 450
}
@test "a Go program, as root" { go_program root; }
@test "a Go program, as nobody" { go_program nobody; }

# --- unusual programs ----------------------------------------------------------------------------------------------

closing() {
    monitor "$1" closes spawn fork 8 4 burn 60
    expect_images closes 1
    expect_images spawn 1
    expect_images burn 8
    expect_cpu 450
}
@test "closing all descriptors, as root" { closing root; }
@test "closing all descriptors, as nobody" { closing nobody; }

cleared() {
    monitor "$1" env -i "$TOOLS/spawn" fork 8 4 "$TOOLS/burn" 60
    expect_images env 1
    expect_images spawn 1
    expect_images burn 8
    expect_cpu 450
}
@test "clearing the environment, as root" { cleared root; }
@test "clearing the environment, as nobody" { cleared nobody; }

daemonised() {
    monitor "$1" daemonises burn 480
    wait_until_saved
    # The shell that executes daemonises, its child, and the daemon.
    expect_records 4
    expect_images burn 1
    [ "$(sql "select state from process where exe = 'burn'")" = ended ]
    expect_cpu 450
}
@test "daemonising, as root" { daemonised root; }
@test "daemonising, as nobody" { daemonised nobody; }
@test "a daemon without pidfds" { daemonised_without_pidfds monitor; }

orphaned() {
    monitor "$1" sh -c '(burn 240 & burn 240 & exit 0) & wait; sleep 1.5'
    wait_until_saved
    expect_images burn 2
    expect_cpu 450
}
@test "children that outlive their parent, as root" { orphaned root; }
@test "children that outlive their parent, as nobody" { orphaned nobody; }

not_waited_for() {
    monitor "$1" ignores crowd processes 8 4 60
    wait_until_saved
    expect_images crowd 9
    expect_cpu 450
    expect_report_cpu
}
@test "children that are never reaped, as root" { not_waited_for root; }
@test "children that are never reaped, as nobody" { not_waited_for nobody; }

traced() {
    command -v strace >/dev/null || skip "no strace"
    monitor "$1" strace -f -o /dev/null crowd threads 8 4 60
    wait_until_saved
    expect_images strace 3 # it tests kernel features with two children
    expect_images crowd 1
    [ "$(sql "select count(distinct tid) from threads")" -ge 9 ]
    [ "$(sql "select count(*) from processes")" -eq 5 ]
    expect_cpu 450
}
@test "threads under a tracer are not processes, as root" { traced root; }
@test "threads under a tracer are not processes, as nobody" { traced nobody; }

# The shell, sonde run that executes spawn, and spawn's children; expect_cpu includes all of them once.
nested() {
    SLURM_JOB_ID=4711 monitor "$1" sh -c '"$0" run -- spawn fork 8 4 burn 60; "$0" run -- true; exit 5' "$SONDE" || [ $? -eq 5 ]
    [ "$(sql "select count(*) from runs")" -eq 1 ]
    expect_images burn 8
    expect_images true 1
    expect_images sonde 2
    expect_cpu 450
}
@test "nested sonde run of the same job, as root" { nested root; }
@test "nested sonde run of the same job, as nobody" { nested nobody; }

@test "nested sonde run with another job: no process appears as killed" {
    monitor root "$SONDE" run -j 4712 -- sh -c '(sleep 0.2 >/dev/null 2>&1 &); burn 20'
    wait_until_saved
    [ "$(sql "select count(*) from process where exit_signal = 9")" -eq 0 ]
}

@test "nested sonde run with another job or database: recorded by both; ignored options are reported" {
    SLURM_JOB_ID=4711 monitor root \
        sh -c '"$0" run -j 4712 -- true; "$0" run --db other.db -- true; SONDE_DB=third.db "$0" run -- true' "$SONDE"
    "$SONDE" run -j 4711 -- "$SONDE" run -j 4711 -t a=b -- true 2>log
    [ "$(grep -c 'job 4711 is already monitored' log)" -eq 1 ]
    "$SONDE" run -j 4711 -- "$SONDE" run -j 4711 -- true 2>log
    [ ! -s log ]
    mkfifo fifo
    SONDE_SPOOL=$T/fifo timeout 60 "$SONDE" run -j 4713 -- true
    run -127 "$SONDE" run -j 4711 -- "$SONDE" run -j 4711 -- nonsense
    [ "$(sqlite3 -readonly other.db "select count(*) from runs")" -eq 1 ]
    [ "$(sqlite3 -readonly third.db "select count(*) from runs")" -eq 1 ]
    [ "$(sql "select job_id, count(*) from runs join jobs on runs.job = jobs.id group by 1" | xargs)" = "4711|4 4712|1 4713|1" ]
}

@test "without the probe, as root: kernel data only" {
    mkdir alone && cp "$SONDE" alone/sonde
    SONDE=$T/alone/sonde spawned root fork
}

@test "without the probe, as nobody: kernel data only" {
    mkdir alone && cp "$SONDE" alone/sonde
    SONDE=$T/alone/sonde spawned nobody fork
}
