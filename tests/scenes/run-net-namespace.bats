#!/usr/bin/env bats
# In another network namespace there are no kernel events: no proc connector, no exit records. The probe and waitpid alone must give
# each process once, and the total CPU time within 1 % of the kernel's own count.
load scene
load truth

as_nobody() {
    unshare -n setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
}

setup() {
    scene_setup
    need_root
    unshare -n true || skip "no namespaces"
    truth_open
    RUN_OPTIONS=
    PATH=$TOOLS:$PATH
}

teardown() {
    truth_close
    scene_teardown
}

# monitor, with sonde run in another network namespace.
monitor_isolated() {
    if [ "$1" = root ]; then
        printf '#!/bin/sh\nexec unshare -n "%s" "$@"\n' "$SONDE" >"$T/isolated"
        chmod 755 "$T/isolated"
        SONDE=$T/isolated monitor "$@"
    else
        monitor "$@"
    fi
}

# Checks that there were no kernel events; otherwise the test would prove nothing.
expect_isolated() {
    [ "$(sql "select count(*) from process where sources & 12")" -eq 0 ]
}

spawned() {
    monitor_isolated "$1" spawn "$2" 8 4 burn 60
    expect_isolated
    expect_records 10
    expect_images spawn 1
    expect_images burn 8
    expect_cpu 450
}
@test "fork and exec, isolated, as root" { spawned root fork; }
@test "fork and exec, isolated, as nobody" { spawned nobody fork; }
@test "vfork, isolated, as nobody" { spawned nobody vfork; }
@test "posix_spawn, isolated, as nobody" { spawned nobody posix_spawn; }
@test "clone3 without the C library, isolated, as nobody" { spawned nobody clone3; }

chained() {
    monitor_isolated "$1" burn 120 burn_static 160 burn 200
    expect_isolated
    expect_records 4
    run sql "select group_concat(image || exe || state, ' ') from process where image > 0"
    [ "$output" = "1burnexeced 2burn_staticexeced 3burnended" ] || { echo "$output"; return 1; }
    run sql "select group_concat(cpu_us >= ms * 990) from
        (select cpu_us, case image when 1 then 120 when 2 then 160 else 200 end as ms from process where image > 0)"
    [ "$output" = 1,1,1 ] || { sql "select image, cpu_us from process"; return 1; }
    expect_cpu 480
}
@test "a chain with a static program in the middle, isolated, as root" { chained root; }
@test "a chain with a static program in the middle, isolated, as nobody" { chained nobody; }

killed() {
    monitor_isolated "$1" sh -c 'ends signal 9 120; sh -c "burn 120; kill -9 \$\$"; burn 120; burn_static 120; true'
    expect_isolated
    expect_images ends 1
    expect_images burn 2
    expect_images burn_static 1
    [ "$(sql "select count(*) from process where exit_signal = 9")" -eq 2 ]
    [ "$(sql "select count(*) from process where exe in ('ends', 'burn', 'burn_static') and cpu_us between 119000 and 160000")" -eq 4 ]
    expect_cpu 480
}
@test "killed and static programs, isolated, as root" { killed root; }
@test "killed and static programs, isolated, as nobody" { killed nobody; }

daemonised() {
    monitor_isolated "$1" daemonises burn 480
    wait_until_saved
    expect_isolated
    expect_images burn 1
    expect_records 4
    expect_cpu 450
}
@test "daemonising, isolated, as root" { daemonised root; }
@test "daemonising, isolated, as nobody" { daemonised nobody; }

# When the command exits, only the shell that will start the daemon is running; when that exits, the daemon is found only in /proc.
daemonised_late() {
    monitor_isolated "$1" sh -c 'setsid sh -c "sleep 0.5; burn 480 & exit" >/dev/null 2>&1 & exit 0'
    wait_until_saved
    expect_isolated
    expect_images burn 1
    [ "$(sql "select state from process where exe = 'burn'")" = ended ]
    expect_cpu 450
}
@test "a daemon that is started after the command has exited, isolated, as root" { daemonised_late root; }
@test "a daemon that is started after the command has exited, isolated, as nobody" { daemonised_late nobody; }

@test "a daemon without pidfds, isolated" { daemonised_without_pidfds monitor_isolated; }

threaded() {
    monitor_isolated "$1" crowd threads 40 8 12
    expect_isolated
    [ "$(sql "select thread_count from process where exe = 'crowd'")" -eq 41 ]
    expect_cpu 480
}
@test "threads, isolated, as root" { threaded root; }
@test "threads, isolated, as nobody" { threaded nobody; }

in_a_pid_namespace() {
    unshare -pf --mount-proc true || skip "no pid namespaces"
    "$1" root unshare -pf --mount-proc sh -c 'burn 160; burn_static 160; burn 160; true'
    expect_records 6
    expect_images burn 2
    expect_images burn_static 1
    expect_cpu 480
}
@test "another pid namespace, with kernel events" { in_a_pid_namespace monitor; }
@test "another pid namespace, isolated" { in_a_pid_namespace monitor_isolated; }
