#!/usr/bin/env bats
# The figures of a report, compared with workloads whose usage is known.
load scene

# as_root, as_nobody: who runs sonde.
as_root() {
    "$@"
}

# monitored WHO COMMAND…: one job in the database.
monitored() {
    local who=$1
    shift
    rm -f "$SONDE_DB"
    "$who" "$SONDE" run -q -p 50ms -- "$@"
    "$SONDE" report --json >"$T/report.json"
}

# expect FILTER: a condition on the report in JSON.
expect() {
    jq -e "$1" "$T/report.json" >"$T/expected" || { cat "$T/expected"; jq '.use, .executables' "$T/report.json"; return 1; }
}

need_users() {
    [ "$(id -u)" -eq 0 ] || skip "needs root, to become another user"
}

# 100 MiB, and eight copies of the process for half a second.
forks='import os, time
memory = bytearray(100 << 20)
memory[::4096] = b"x" * len(memory[::4096])
for i in range(8):
    if os.fork() == 0:
        time.sleep(0.5)
        os._exit(0)
for i in range(8):
    os.wait()'

@test "memory that forked processes share counts once" {
    monitored as_root /usr/bin/python3 -c "$forks"
    expect '.use.memory_peak_source == "pss" and (.use.memory_peak_bytes / 1048576 | . > 100 and . < 140)'
    expect '.use.memory_peak_bytes >= ([.over_time.memory_bytes[] | numbers] | max)'
    "$SONDE" report | grep 'memory .*peak 1[0-3][0-9] MiB of .* (PSS)'
    "$SONDE" list --json | jq -e '.[0].memory_max_bytes / 1048576 | . > 100 and . < 140'
}

# A process of 200 MiB starts small ones in four ways; one is killed.
starts_small='import os, signal, subprocess
memory = bytearray(200 << 20)
memory[::4096] = b"x" * len(memory[::4096])
subprocess.run(["true"])
os.system("exec true")
pid = os.fork()
if pid == 0:
    os.execv("/bin/sleep", ["sleep", "0.1"])
os.waitpid(pid, 0)
pid = os.posix_spawn("/bin/sleep", ["sleep", "60"], os.environ)
os.kill(pid, signal.SIGKILL)
os.waitpid(pid, 0)'

small_ones_are_small() {
    monitored "$1" /usr/bin/python3 -c "$starts_small"
    expect '[.executables[].name] | contains(["true", "sleep", "dash"])'
    expect '[.executables[] | select(.name | startswith("python") | not) | .rss_max_kb // 0] | max < 20000'
    expect '[.executables[] | select(.name == "true") | .rss_max_kb] | min > 500'
    expect '[.executables[] | select(.name | startswith("python")) | .rss_max_kb] | max | . > 200000 and . < 240000'
}

@test "the memory of a process is not that of the process that forked it" { small_ones_are_small as_root; }
@test "the same as nobody" {
    need_users
    small_ones_are_small as_nobody
}
