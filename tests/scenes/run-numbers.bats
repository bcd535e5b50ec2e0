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

# 40 MiB, and eight copies of the process with 8 MiB of their own, for a second: 104 MiB.
forks='import os, time
def fill(size):
    memory = bytearray(size)
    memory[::4096] = b"x" * len(memory[::4096])
    return memory
shared = fill(40 << 20)
for i in range(8):
    if os.fork() == 0:
        own = fill(8 << 20)
        time.sleep(1)
        os._exit(0)
for i in range(8):
    os.wait()'

@test "memory that forked processes share counts once" {
    monitored as_root /usr/bin/python3 -c "$forks"
    expect '.use.memory_peak_source == "pss" and (.use.memory_peak_bytes / 1048576 | . > 104 and . < 150)'
    expect '.use.memory_peak_bytes >= ([.over_time.memory_bytes[] | numbers] | max)'
    "$SONDE" report | grep 'memory .*peak 1[0-4][0-9] MiB of .* (PSS)'
    "$SONDE" list --json | jq -e '.[0].memory_max_bytes / 1048576 | . > 104 and . < 150'
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

# 900,000 bytes in the buffer of a stream, which libc writes after all exit handlers; and 3,000 in that of stdout.
flushes='#include <stdio.h>
static char buffer[1 << 20], line[1000];
int main(int count, char **names)
{
    FILE *file = fopen(names[count - 1], "w");
    setvbuf(file, buffer, _IOFBF, sizeof buffer);
    for (int i = 0; i < 900; i++)
        fwrite(line, 1, sizeof line, file);
    for (int i = 0; i < 3; i++)
        fwrite(line, 1, sizeof line, stdout);
    return 0;
}'

late_output_is_attributed() {
    command -v cc >"$T/cc" || skip "no C compiler"
    cc -x c -o flushes - <<<"$flushes"
    mkdir -m 777 out
    monitored "$1" ./flushes "$T/out/file" >"$T/printed"
    [ "$(stat -c %s "$T/out/file" "$T/printed" | paste -sd +)" = 900000+3000 ]
    expect '.use.sum.wchar_bytes == 903000 and .use.total.wchar_bytes == 903000 and .use.sum.syscw == 2'
    expect '[.executables[] | select(.name == "flushes") | .wchar_bytes] == [903000]'
    run ! grep -q "attributed" <("$SONDE" report)
}

@test "output that libc flushes at exit belongs to the process" { late_output_is_attributed as_root; }
@test "output that libc flushes at exit belongs to the process, as nobody" {
    need_users
    late_output_is_attributed as_nobody
}

# Pages of a job's files, and none of the spool's: 40 processes write 10 pages each.
@test "bytes written to disk are those of the job" {
    mkdir out
    [ "$(stat -f -c %T out)" != tmpfs ] || skip "files are in memory"
    monitored as_root sh -c 'for i in 0 1 2 3; do for j in 0 1 2 3 4 5 6 7 8 9; do
        dd if=/dev/zero of=out/$i$j bs=4096 count=10 2>/dev/null; done; done'
    expect '.use.total.write_bytes / (400 * 4096) | . >= 0.99 and . < 1.06'
}

@test "an event that cannot be counted is reported, also with -q" {
    "$SONDE" run -q -e no-such-event -- true 2>"$T/output" || :
    grep -q "no-such-event" "$T/output"
    run --separate-stderr "$SONDE" run -q -e instructions -- true
    [ "$status" -eq 0 ]
    # Either it was counted, or sonde said that it was not.
    "$SONDE" report --json | jq -e '.events | length == 1' || [[ $stderr == *"event instructions is not counted"* ]]
}

# Five processes of 40 MiB at the same time, for too short a time to be sampled.
burst='import os
ready, go = os.pipe(), os.pipe()
pids = []
for i in range(5):
    pid = os.fork()
    if pid == 0:
        memory = bytearray(40 << 20)
        memory[::4096] = b"x" * len(memory[::4096])
        os.write(ready[1], b"x")
        os.read(go[0], 1)
        os._exit(0)
    pids.append(pid)
for i in range(5):
    os.read(ready[0], 1)
os.write(go[1], b"x" * 5)
for pid in pids:
    os.waitpid(pid, 0)'

@test "a cgroup of its own has the peak that samples miss" {
    group=/sys/fs/cgroup/memory/sonde-$$-$BATS_TEST_NUMBER
    mkdir "$group" 2>/dev/null || skip "no v1 memory controller, or no permission"
    (
        echo "$BASHPID" >"$group/cgroup.procs"
        exec "$SONDE" run -q -p 60s -- /usr/bin/python3 -c "$burst"
    )
    kernel=$(cat "$group/memory.max_usage_in_bytes")
    wait_for "rmdir $group"
    "$SONDE" report --json >"$T/report.json"
    expect '.use.memory_peak_source == "cgroup"'
    expect ".use.memory_peak_bytes | . > 200 * 1048576 and . <= $kernel"
}
