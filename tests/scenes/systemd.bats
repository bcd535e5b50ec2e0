#!/usr/bin/env bats
# The installed units under a real systemd, which is pid 1 of a user-mode Linux (tests/tools/systemd-in).
load scene

# Boots a systemd with the installed units and runs $SCRIPT in it, after the functions that it needs.
boot() {
    if ! command -v linux.uml >/dev/null || [ ! -x /lib/systemd/systemd ]; then
        skip "needs the packages user-mode-linux and systemd"
    fi
    [ -z "$(ldd "$SONDE" | grep -E 'lib(asan|tsan|ubsan)')" ] || skip "user-mode Linux has not enough address space for sanitizers"
    prepare
    { declare -f wait_for metrics show seen && cat; } >"$T/script"
    run "$SOURCE/tests/tools/systemd-in" "$T" script 3>&-
    echo "$output"
    cat "$T/service.log" || :
    [ "$status" -eq 0 ]
}

# Replaces the install path, which does not exist in that Linux; the rest of the unit is unchanged.
prepare() {
    DESTDIR=$T/root meson install -C "$BUILD" --no-rebuild >"$T/log" 2>&1 || { cat "$T/log"; return 1; }
    local binary unit service
    binary=$(cd "$T" && find root -type f -name sonde -perm -100)
    mkdir -p "$T/units/sonde-agent.service.d"
    for service in agent collect; do
        unit=$(find "$T/root" -name "sonde-$service.service")
        sed "s|^ExecStart=.*|ExecStart=/mnt/$binary $service -c /mnt/$service.conf|" "$unit" >"$T/units/sonde-$service.service"
    done
    printf '%s\n' '[Service]' 'StandardOutput=append:/mnt/service.log' 'StandardError=append:/mnt/service.log' \
        "ExecStopPost=+/bin/sh -c 'echo \$SERVICE_RESULT \$EXIT_CODE \$EXIT_STATUS >/mnt/ended'" \
        >"$T/units/sonde-agent.service.d/log.conf"
    ln -s "$binary" "$T/sonde"
    printf 'period = 1s\nsink = csv:path=/var/log/sonde/samples.csv\n' >"$T/agent.conf"
    printf 'listen = tcp://127.0.0.1:5555\nplain = yes\n' >"$T/collect.conf"
}

# For the scripts: waits until a condition holds, at most a minute.
wait_for() {
    for ((i = 0; i < 300; i++)); do
        eval "$1" 2>/dev/null && return
        sleep 0.2
    done
    echo "never: $1"
    return 1
}

metrics() {
    curl -sf http://127.0.0.1:1337/metrics
}

show() {
    systemctl show -p "$1" --value sonde-agent
}

# The metric sets of the agent whose socket is in a directory.
seen() {
    /mnt/sonde ls "$1/agent.sock" | sort
}

@test "the agent starts, notifies systemd when it is ready, and answers; reload and stop work" {
    boot <<'S'
set -eu
systemctl start sonde-agent # does not return before it is ready
[ "$(systemctl is-active sonde-agent)" = active ]
metrics >/dev/null
[ "$(show NRestarts)" = 0 ]
wait_for 'metrics | grep -q ^sonde_meminfo_'
setpriv --reuid=65534 --regid=65534 --clear-groups /mnt/sonde ls | grep /meminfo # any user may query it

printf 'period = 500ms\nsink = csv:path=/var/log/sonde/samples.csv\n' >/mnt/agent.conf
pid=$(show MainPID)
systemctl reload sonde-agent
wait_for '/mnt/sonde ctl --json | grep -q "\"period_ns\": 500000000"'
echo 'period = soon' >/mnt/agent.conf
systemctl reload sonde-agent
wait_for "grep -q \"agent.conf:1: invalid period 'soon'\" /mnt/service.log"
wait_for '[ "$(systemctl is-active sonde-agent)" = active ]'
[ "$(show MainPID)" = "$pid" ]
wait_for 'metrics | grep -q ^sonde_meminfo_'

# a job that runs when it stops has a last sample, and no line is truncated
mkdir -p /sys/fs/cgroup/system.slice/slurmstepd.scope/job_77/step_0
sleep 100 &
echo $! >/sys/fs/cgroup/system.slice/slurmstepd.scope/job_77/step_0/cgroup.procs
wait_for 'metrics | grep sonde_cgroup_ | grep -q job=\"77\"'
systemctl stop sonde-agent
[ "$(systemctl is-active sonde-agent || :)" = inactive ]
[ "$(cat /mnt/ended)" = 'success exited 0' ]
[ ! -e /run/sonde/agent.sock ]
[ "$(tail -c 2 /var/log/sonde/samples.csv | od -An -tx1)" = ' 0d 0a' ]
grep -q ',77,cgroup,' /var/log/sonde/samples.csv
S
}

@test "the sandbox is effective, and disables no sensor" {
    boot <<'S'
set -eu
systemctl start sonde-agent
pid=$(show MainPID)
[ "$(show ProtectSystem)" = strict ]
[ "$(show ProtectHome)/$(show NoNewPrivileges)/$(show MemoryDenyWriteExecute)" = read-only/yes/yes ]
[ -S /tmp/tau_metric_proxy.0.unix ] # where programs expect it
grep -qE '^NoNewPrivs:\s1$' "/proc/$pid/status"
grep -qE '^Seccomp:\s2$' "/proc/$pid/status"
[ "$(cat "/proc/$pid/oom_score_adj")" = -500 ]
show SystemCallFilter | grep -qw perf_event_open
show SystemCallFilter | grep -qw mount && exit 1
[ "$(show MemoryMax)" = $((256 << 20)) ]
bounding=$((0x$(sed -n 's/^CapBnd:\t//p' "/proc/$pid/status")))
[ $((bounding & 1 << 1)) = 0 ]  # must not write files of other users (DAC_OVERRIDE)
[ $((bounding & 1 << 16)) = 0 ] # nor load modules
[ $((bounding & 1 << 12)) != 0 ] # but may use taskstats (NET_ADMIN)
touch /mnt/here
nsenter -t "$pid" -m touch /mnt/there && exit 1
nsenter -t "$pid" -m touch /var/log/sonde/there /var/lib/sonde/there /run/sonde/there

mkdir -p /sys/fs/cgroup/system.slice/slurmstepd.scope/job_77/step_0
sleep 100 &
echo $! >/sys/fs/cgroup/system.slice/slurmstepd.scope/job_77/step_0/cgroup.procs
SONDE_SOCKET_DIR=/tmp/free /mnt/sonde agent --listen none &
free=$!
for set in cgroup taskstats process; do
    wait_for "seen /run/sonde | grep -q /77/$set"
    wait_for "seen /tmp/free | grep -q /77/$set"
done
diff <(seen /run/sonde) <(seen /tmp/free)
kill "$free"
wait "$free"
S
}

# The system calls that a unit allows, with the groups of systemd expanded.
allowed_by() {
    local words name
    words=$(sed -n 's/^SystemCallFilter=//p' "$SOURCE/integrations/systemd/sonde-$1.service.in")
    while [[ $words == *@* ]]; do
        words=$(for name in $words; do
            if [[ $name == @* ]]; then systemd-analyze syscall-filter "$name" | sed '/^ *#/d; 1d'; else echo "$name"; fi
        done | sort -u)
    done
    tr ' ' '\n' <<<"$words" | sed '/^$/d' | sort -u
}

# used FILE: the system calls in strace's output that did not fail as unknown.
used() {
    grep -v ENOSYS "$1" | sed -nE 's/^[0-9]+ +([a-z_0-9]+)\(.*/\1/p' | sort -u
}

@test "agent and collector make only system calls that their units allow" {
    need_root
    command -v strace systemd-analyze >/dev/null || skip "needs strace and systemd-analyze"
    [ -z "$(ldd "$SONDE" | grep -E 'lib(asan|tsan|ubsan)')" ] || skip "sanitizers make other calls"
    local port collector agent
    port=$(free_port)
    mkdir "$T/run"
    strace -f -qq -o collect.trace "$SONDE" collect --plain --listen "tcp://127.0.0.1:$port" --journal "$T/j" --http none \
        --socket "$T/run/c.sock" --sink "csv:path=$T/out.csv" --sink "store:path=$T/s.db" --sink "prometheus:url=http://127.0.0.1:1/" \
        --sink kafka:brokers=127.0.0.1:1 >c.log 2>&1 3>&- &
    collector=$!
    SONDE_SOCKET_DIR=$T/run strace -f -qq -o agent.trace "$SONDE" agent --listen none --plain --collector "tcp://127.0.0.1:$port" \
        --spool "$T/spool" --jobs none -p 200ms >a.log 2>&1 3>&- &
    agent=$!
    wait_for '[ -s out.csv ]'
    SONDE_SOCKET_DIR=$T/run "$SONDE" job begin 4711 --pid $$
    SONDE_SOCKET_DIR=$T/run "$SONDE" job end 4711
    sleep 1
    kill -HUP $(pgrep -P "$collector") $(pgrep -P "$agent")
    sleep 1
    kill $(pgrep -P "$collector") $(pgrep -P "$agent")
    wait "$collector" "$agent" || :
    for unit in agent collect; do
        allowed_by "$unit" >allowed
        used $unit.trace | grep -vx execve >used.$unit # before the filter, by systemd's own process
        [ "$(wc -l <"used.$unit")" -ge 30 ]
        grep -qx recvmsg allowed
        run -1 grep -xE 'mount|init_module|ptrace|reboot|kexec_load|settimeofday' allowed
        echo "not allowed by sonde-$unit.service:"
        comm -23 "used.$unit" allowed
        [ -z "$(comm -23 "used.$unit" allowed)" ]
    done
}

@test "installed agent and collector: a run that is sent to the agent is in the collector's database" {
    boot <<'S'
set -eu
printf 'collector = tcp://127.0.0.1:5555\nplain = yes\n' >>/mnt/agent.conf
systemctl start sonde-collect sonde-agent
wait_for '/mnt/sonde collect --status | grep -q " up "'
SONDE_DB=agent: /mnt/sonde run -q -j 4711 -- true
wait_for '/mnt/sonde --db /var/lib/sonde/sonde.db ps 4711 | grep -q " true$"'
systemctl stop sonde-agent sonde-collect
[ "$(systemctl is-failed sonde-collect || :)" = inactive ]
S
}

@test "members of the group can read the collector's database; others get an error with a fix" {
    boot <<'S'
set -eu
group=users # a group that every Debian has, instead of 'sonde'
as() { setpriv --reuid=65534 --regid=65534 "$@"; }
mkdir -p /mnt/units/sonde-collect.service.d
printf '[Service]\nSupplementaryGroups=%s\nStandardError=append:/mnt/service.log\n' "$group" >/mnt/units/sonde-collect.service.d/group.conf
printf 'sink = store:group=%s,every=1s\n' "$group" >>/mnt/collect.conf
SONDE_DB=/var/lib/sonde/sonde.db /mnt/sonde collect --check -q -c /mnt/collect.conf
printf 'collector = tcp://127.0.0.1:5555\nplain = yes\n' >>/mnt/agent.conf
systemctl start sonde-collect sonde-agent
wait_for '/mnt/sonde collect --status | grep -q " up "'
SONDE_DB=agent: /mnt/sonde run -q -j 4711 -- true
wait_for '/mnt/sonde --db /var/lib/sonde/sonde.db ps 4711 | grep -q " true$"'

look() { # LIST and report for members, while others write
    as --groups="$(getent group "$group" | cut -d: -f3)" /mnt/sonde --db /var/lib/sonde/sonde.db "$@"
}
refused() {
    as --clear-groups /mnt/sonde --db /var/lib/sonde/sonde.db "$@" 2>/mnt/refused && exit 1
    cat /mnt/refused
    grep -q "may not read the job database /var/lib/sonde/sonde.db: its group $group may.*usermod -aG $group nobody" /mnt/refused
}
look list | grep -q 4711
look report 4711 | grep -q 4711
look ps 4711 | grep -q " true$"
refused list
refused report 4711
stat -c '%n %a %G' /var/lib/sonde/sonde.db*
[ "$(stat -c '%a %G' /var/lib/sonde/sonde.db* | sort -u)" = "640 $group" ]
find /var/lib/sonde -mindepth 1 ! -name 'sonde.db*' -prune -perm /007 -print | grep . && exit 1 # the rest is unchanged
# later jobs are visible, too, also while the collector is stopped
SONDE_DB=agent: /mnt/sonde run -q -j 4712 -- true
wait_for 'look ps 4712 | grep -q " true$"'
systemctl stop sonde-agent sonde-collect
look list | grep -q 4712
look report 4712 | grep -q 4712
refused list
systemctl start sonde-collect
wait_for 'look list | grep -q 4712'
! grep "cannot give group" /mnt/service.log
S
}

@test "systemd restarts an agent that no longer sends watchdog notifications" {
    boot <<'S'
set -eu
[ "$(grep -c ^WatchdogSec= /mnt/units/sonde-agent.service)" = 1 ]
printf '[Service]\nWatchdogSec=8s\nRestartSec=0\n' >/mnt/units/sonde-agent.service.d/watchdog.conf
systemctl start sonde-agent
pid=$(show MainPID)
for sign in 1 2; do # it sends notifications, and is not restarted
    pinged=$(show WatchdogTimestampMonotonic)
    wait_for '[ "$(show WatchdogTimestampMonotonic)" != "$pinged" ]'
done
[ "$(show MainPID)/$(show NRestarts)" = "$pid/0" ]
kill -STOP "$pid"
wait_for '[ "$(show NRestarts)" = 1 ]'
grep -q '^watchdog ' /mnt/ended
wait_for '[ "$(systemctl is-active sonde-agent)" = active ]'
[ "$(show MainPID)" != "$pid" ]
metrics >/dev/null
kill -9 "$(show MainPID)"
wait_for '[ "$(show NRestarts)" = 2 ]'
wait_for '[ "$(systemctl is-active sonde-agent)" = active ]'
wait_for 'metrics >/dev/null'
S
}
