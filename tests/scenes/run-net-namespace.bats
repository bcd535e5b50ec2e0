#!/usr/bin/env bats
# In another network namespace the kernel tells nothing: no connector, no exit records. The probe and the waits alone must
# still give each process once, and the CPU time of all within 1 % of the kernel's own count.
load scene
load truth

as_nobody() {
    unshare -n setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
}

setup() {
    scene_setup
    need_root
    unshare -n true || skip "no namespaces here"
    truth_open
    RUN_OPTIONS=
    PATH=$TOOLS:$PATH
}

teardown() {
    truth_close
    scene_teardown
}

# watch, with sonde run apart from the kernel's events.
watch_apart() {
    if [ "$1" = root ]; then
        printf '#!/bin/sh\nexec unshare -n "%s" "$@"\n' "$SONDE" >"$T/apart"
        chmod 755 "$T/apart"
        SONDE=$T/apart watch "$@"
    else
        watch "$@"
    fi
}

# Nothing of the kernel's events came through: the test would prove nothing.
expect_apart() {
    [ "$(sql "select count(*) from process where sources & 12")" -eq 0 ]
}

spawned() {
    watch_apart "$1" spawn "$2" 8 4 burn 60
    expect_apart
    expect_records 10
    expect_images spawn 1
    expect_images burn 8
    expect_cpu 450
}
@test "fork and exec, apart, as root" { spawned root fork; }
@test "fork and exec, apart, as nobody" { spawned nobody fork; }
@test "vfork, apart, as nobody" { spawned nobody vfork; }
@test "posix_spawn, apart, as nobody" { spawned nobody posix_spawn; }
@test "clone3 without the C library, apart, as nobody" { spawned nobody clone3; }

chained() {
    watch_apart "$1" burn 120 burn_static 160 burn 200
    expect_apart
    expect_records 4
    run sql "select group_concat(image || exe || state, ' ') from process where image > 0"
    [ "$output" = "1burnexeced 2burn_staticexeced 3burnended" ] || { echo "$output"; return 1; }
    run sql "select group_concat(cpu_us >= ms * 990) from
        (select cpu_us, case image when 1 then 120 when 2 then 160 else 200 end as ms from process where image > 0)"
    [ "$output" = 1,1,1 ] || { sql "select image, cpu_us from process"; return 1; }
    expect_cpu 480
}
@test "a chain with a static program in the middle, apart, as root" { chained root; }
@test "a chain with a static program in the middle, apart, as nobody" { chained nobody; }

killed() {
    watch_apart "$1" sh -c 'ends signal 9 120; sh -c "burn 120; kill -9 \$\$"; burn 120; burn_static 120; true'
    expect_apart
    expect_images ends 1
    expect_images burn 2
    expect_images burn_static 1
    [ "$(sql "select count(*) from process where exit_signal = 9")" -eq 2 ]
    [ "$(sql "select count(*) from process where exe in ('ends', 'burn', 'burn_static') and cpu_us between 119000 and 160000")" -eq 4 ]
    expect_cpu 480
}
@test "killed and static programs, apart, as root" { killed root; }
@test "killed and static programs, apart, as nobody" { killed nobody; }

daemonised() {
    watch_apart "$1" daemonises burn 480
    settle
    expect_apart
    expect_images burn 1
    expect_records 4
    expect_cpu 450
}
@test "daemonising, apart, as root" { daemonised root; }
@test "daemonising, apart, as nobody" { daemonised nobody; }

# When the command ends only the shell that will make the daemon is there; when that ends, nobody but /proc tells of it.
daemonised_late() {
    watch_apart "$1" sh -c 'setsid sh -c "sleep 0.5; burn 480 & exit" >/dev/null 2>&1 & exit 0'
    settle
    expect_apart
    expect_images burn 1
    [ "$(sql "select state from process where exe = 'burn'")" = ended ]
    expect_cpu 450
}
@test "a daemon that is made after the command has ended, apart, as root" { daemonised_late root; }
@test "a daemon that is made after the command has ended, apart, as nobody" { daemonised_late nobody; }

@test "a daemon without pidfds, apart" { daemonised_without_pidfds watch_apart; }

threaded() {
    watch_apart "$1" crowd threads 40 8 12
    expect_apart
    [ "$(sql "select thread_count from process where exe = 'crowd'")" -eq 41 ]
    expect_cpu 480
}
@test "threads, apart, as root" { threaded root; }
@test "threads, apart, as nobody" { threaded nobody; }

in_a_pid_namespace() {
    unshare -pf --mount-proc true || skip "no pid namespaces here"
    "$1" root unshare -pf --mount-proc sh -c 'burn 160; burn_static 160; burn 160; true'
    expect_records 6
    expect_images burn 2
    expect_images burn_static 1
    expect_cpu 480
}
@test "another pid namespace, where the kernel tells of all" { in_a_pid_namespace watch; }
@test "another pid namespace, apart" { in_a_pid_namespace watch_apart; }
