#!/usr/bin/env bats
# One user makes root's agent read a lot: segments and clients of tau over the user's budget are not read, or later. Another user's
# programs are counted all the same, and the agent's memory and time stay small.
# shellcheck disable=SC2016,SC2034,SC2119,SC2120
load scene
load program-metrics

ATTACKER=65534 VICTIM=65533

as() { setpriv --reuid="$1" --regid=65534 --clear-groups "${@:2}"; }

# Runs a Python script on stdin as the attacker, in the directory of the segments.
attack() {
    cat >"$T/attack.py"
    (cd "$SONDE_BOARDS" && as "$ATTACKER" /usr/bin/python3 "$T/attack.py")
}

cat_segment_tools() {
    cat <<'PY'
import os, struct
PAGE, MAX = 4096, 256 << 20

def name(i):
    return f"sonde.{i + 1}.sonde.{i:016x}"

# A segment of a process that runs, with this many pages; block: the head of the second page.
def create(i, pages, block):
    fd = os.open(name(i), os.O_RDWR | os.O_CREAT, 0o600)
    os.ftruncate(fd, MAX)
    os.pwrite(fd, struct.pack("<8sIIQQQi", b"SondeBrd", 1, 1, MAX, pages, 0, os.getppid()), 0)
    os.pwrite(fd, block, PAGE)
    return fd

def block(kind, pages, used=0, chunk=0, thread=0):
    return struct.pack("<IIIIQ", kind, pages, chunk, thread, used)

def descriptor(size, metric, name_bytes, help_bytes=0):
    return struct.pack("<IIBBHIIIII", size, metric, 1, 1, 0, name_bytes, 0, 0, help_bytes, 0)
PY
}

cpu_ticks() { awk '{ print $14 + $15 }' "/proc/$AGENT/stat"; }

# The victim's counts arrive, the agent uses less than a fifth of a processor meanwhile, and little memory.
check_victim() {
    local before
    before=$(cpu_ticks)
    SECONDS=0
    for i in 1 2 3 4 5; do
        as "$VICTIM" env SONDE_BOARDS="$SONDE_BOARDS" "$BUILD/tests/segment_program" sonde counter victim_total - 1
        sleep 1
    done
    WAIT_S=5 wait_for 'is "victim_total{host=\"$(host)\"}" 5'
    echo "$(($(cpu_ticks) - before)) ticks of 10 ms in $SECONDS s, $(rss_kb) KiB"
    [ "$(($(cpu_ticks) - before))" -lt $((SECONDS * 20)) ]
    grep -q __asan_init "$SONDE" || [ "$(rss_kb)" -lt 150000 ]
}

refused() { value "sonde_programs_over_budget_total{host=\"$(host)\"}"; }

@test "a sparse segment with descriptors of 256 MiB, under 100 names, costs no memory" {
    need_root
    start </dev/null
    { cat_segment_tools; cat <<'PY'; } | attack
fd = create(0, MAX // PAGE, block(1, MAX // PAGE - 1, MAX - PAGE))
os.pwrite(fd, descriptor(MAX - 2 * PAGE, 520, 1) + b"x", PAGE + 64)
for i in range(1, 100):
    os.link(name(0), name(i))
# 3,800 descriptors in a page each, with 64 KiB of zeros as help
fd = create(1000, 17 * 3800, block(1, 17 * 3800 - 1, 64 + 3800 * 65536))
for i in range(3800):
    os.pwrite(fd, descriptor(65536, (1 + i // 500) * 512 + 8 + i % 500, 4, 65500) + b"%04d" % i, PAGE + 64 + i * 65536)
PY
    check_victim
    [ "$(refused)" -gt 0 ]
    [ "$(grep -c "program metrics of user $ATTACKER are not read" "$T/log")" -eq 1 ]
    run ! grep "user $VICTIM" "$T/log"
    run ! ask_has "x{" # no descriptor has such a length
}

@test "a segment of 256 MiB under 60 names is read once, and not at each tick" {
    need_root
    start </dev/null
    { cat_segment_tools; cat <<'PY'; } | attack
fd = create(0, MAX // PAGE, block(1, 1, 64 + 40))
os.pwrite(fd, descriptor(40, 520, 5) + b"big_x", PAGE + 64)
for page in range(2, MAX // PAGE):
    os.pwrite(fd, block(2, 1, chunk=1, thread=page), page * PAGE)
for i in range(1, 60):
    os.link(name(0), name(i))
PY
    check_victim
    [ "$(refused)" -gt 0 ]
    grep "program metrics of user $ATTACKER are not read" "$T/log"
    [ "$(value "sonde_programs_boards{host=\"$(host)\"}")" -le 1 ]
}

@test "20,000 empty files and 2,000 directories do not delay the agent" {
    need_root
    start </dev/null
    { cat_segment_tools; cat <<'PY'; } | attack
for i in range(20000):
    os.close(os.open(name(i), os.O_RDWR | os.O_CREAT, 0o600))
for i in range(2000):
    os.mkdir(f"sonde-run.{os.getuid()}.{i:x}")
PY
    check_victim
    [ "$(refused)" -gt 0 ]
    [ "$(grep -c "program metrics of user $ATTACKER are not read" "$T/log")" -eq 1 ]
}

@test "clients of tau that request everything and never read use a bounded amount of memory" {
    need_root
    ulimit -n 4096
    start </dev/null
    cp "$SOURCE/tests/tools/tau_client.py" "$T"
    cat >"$T/mute.py" <<'PY'
import time, tau_client as t
first = t.Client()
for i in range(3000):
    first.describe(f"much{i}_total")
first.values()
clients = []
for i in range(1400):
    try:
        client = t.Client()
        client.send(t.message(3))
        clients.append(client)
    except OSError:
        pass
print("sent", flush=True)
time.sleep(600)
PY
    as "$ATTACKER" env TAU_METRIC_PROXY="$T/tau.sock" /usr/bin/python3 "$T/mute.py" >"$T/mute" 2>&1 3>&- &
    wait_for 'grep -q sent "$T/mute"'
    wait_for '[ "$(value "sonde_programs_connections{host=\"$(host)\"}")" -le 65 ]' # 64 of a user may have unread replies
    run -0 as "$VICTIM" env TAU_METRIC_PROXY="$T/tau.sock" /usr/bin/python3 "$T/tau_client.py" counter y_total add y_total 3 get y_total
    [ "$output" = $'y_total\t3.0' ]
    echo "$(rss_kb) KiB"
    grep -q __asan_init "$SONDE" || [ "$(rss_kb)" -lt 150000 ]
}
