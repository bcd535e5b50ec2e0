#!/usr/bin/env bats
# Many programs that publish metrics, concurrent and consecutive: each is complete, and memory does not grow.
# shellcheck disable=SC2016,SC2034,SC2119,SC2120
load scene
load program-metrics

@test "a client that requests everything and does not read affects no others" {
    start </dev/null
    python3 - "$AGENT" <<'PY'
import socket, sys, time, tau_client as t
def cpu():
    fields = open(f"/proc/{sys.argv[1]}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / 100
client = t.Client()
names = [f"x{i}_total" for i in range(5000)]
client.send(b"".join(t.message(0, t.descriptor(n)) for n in names))
assert len(client.values()) == 5000
slow = [t.Client() for _ in range(20)]
for s in slow:
    s.socket.setblocking(False)
    try:
        while True:
            s.socket.send(t.message(3) * 10)  # until its send queue is full
    except BlockingIOError:
        pass
begin = time.time()
for i in range(200):
    client.send(b"".join(t.message(1, t.event(n, 1.0)) for n in names[:100]))
assert client.get("x7_total")[1] == 200
assert time.time() - begin < 60
before = cpu()
time.sleep(2)
assert cpu() - before < 0.5, cpu() - before  # no busy loop
slow[0].socket.setblocking(True)  # a client that reads at last gets everything
count = int.from_bytes(slow[0].read(4), "little")
assert count == 5000 and len(slow[0].read(320 * count)) == 320 * count
PY
    ask /metrics | grep -c '_total{' | awk '{ exit !($1 >= 5000) }'
    [ "$(rss_kb)" -lt 60000 ]
}

@test "clients come and go while pages are requested: every session is complete" {
    start </dev/null
    ask_on() { while [ ! -e "$T/done" ]; do ask /metrics >/dev/null; ask '/programs?all' >/dev/null; done; }
    ask_on 3>&- &
    ask_on 3>&- &
    python3 - <<'PY'
import threading, tau_client as t
def session(count):
    for _ in range(count):
        client = t.Client()
        client.describe("session_total")
        client.value("session_total", 1.0)
        assert client.get("session_total")[1] >= 1
        client.socket.close()
threads = [threading.Thread(target=session, args=(250,)) for _ in range(8)]
[x.start() for x in threads]
[x.join() for x in threads]
assert t.Client().get("session_total")[1] == 2000
PY
    touch "$T/done"
    kill -0 "$AGENT"
}

@test "without free descriptors clients wait until others disconnect, and none is lost" {
    start </dev/null
    stop
    (
        ulimit -n 96
        exec "$SONDE" agent --root "$T/root" -c "$T/conf" --sensors loadavg --listen none >>"$T/log" 2>&1 </dev/null 3>&-
    ) &
    AGENT=$!
    wait_for '[ -S "$TAU_METRIC_PROXY" ]'
    python3 - <<'PY'
import tau_client as t
clients = [t.Client() for _ in range(300)]
for c in clients:
    c.describe("x_total")
    c.value("x_total", 1.0)
for c in clients:  # each makes room for a waiting one
    assert c.get("x_total") is not None
    c.socket.close()
assert t.Client().get("x_total")[1] == 300
PY
    kill -0 "$AGENT"
}

@test "a user's idle clients cannot use up all descriptors, and the quota is available again when they have left" {
    need_root
    ulimit -n 128
    start </dev/null
    chmod 711 "$T/run"
    cp "$SOURCE/tests/tools/tau_client.py" "$T"
    cat >"$T/idle.py" <<'PY' # COUNT: opens COUNT idle connections, prints how many were not closed, and keeps them until it reads a line
import select, socket, os, sys
links = [socket.socket(socket.AF_UNIX) for _ in range(int(sys.argv[1]))]
for link in links:
    link.connect(os.environ["TAU_METRIC_PROXY"])
while True:
    ready = select.select([link for link in links if link] + [sys.stdin], [], [], 0.5)[0]
    if sys.stdin in ready:
        break
    for link in ready:
        assert link.recv(1) == b""
        links[links.index(link)] = None
    if not ready:
        print(sum(link is not None for link in links), flush=True)
PY
    mkfifo "$T/stay"
    chmod 666 "$T/stay"
    setpriv --reuid=65534 --regid=65534 --clear-groups /usr/bin/python3 "$T/idle.py" 100 <>"$T/stay" >"$T/idle" 2>&1 3>&- &
    idle=$!
    wait_for '[ "$(tail -1 "$T/idle")" = 48 ]' # half of the three quarters for all users
    for uid in 65533 0; do
        setpriv "--reuid=$uid" --regid=65533 --clear-groups timeout 60 /usr/bin/python3 "$T/tau_client.py" counter "of_${uid}_total" \
            add "of_${uid}_total" 3 get "of_${uid}_total"
        is "of_${uid}_total{host=\"$(host)\"}" 3
    done
    run ! as_nobody /usr/bin/python3 "$T/tau_client.py" counter x_total get x_total
    echo >"$T/stay"
    wait "$idle"
    wait_for '[ "$(as_nobody /usr/bin/python3 "$T/tau_client.py" counter x_total add x_total 3 get x_total)" ]'
}

@test "a user who fills the directory with segments and run directories cannot use up all descriptors" {
    need_root
    ulimit -n 512
    start </dev/null
    as_nobody sh -c 'for i in $(seq 1000); do mkdir "$0/sonde-run.65534.$i"; done' "$SONDE_BOARDS"
    program sonde counter x_total - 5
    wait_for 'is "x_total{host=\"$(host)\"}" 5'
    [ "$(find "/proc/$AGENT/fd" -type l | wc -l)" -lt 300 ]
    # Segments of running processes: those beyond the limit are read when others have exited.
    rmdir "$SONDE_BOARDS"/sonde-run.*
    stop
    start </dev/null
    mkfifo "$T/stay"
    chmod 666 "$T/stay"
    for ((i = 0; i < 300; i++)); do
        setpriv --reuid=65534 --regid=65534 --clear-groups "$BUILD/tests/segment_program" sonde counter y_total - 1 wait <>"$T/stay" 3>&- &
    done
    wait_for '[ "$(find "$SONDE_BOARDS" -name "sonde.*" | wc -l)" = 300 ]'
    wait_for '[ "$(value "sonde_programs_boards{host=\"$(host)\"}")" -gt 150 ]'
    program sonde counter x_total - 5
    wait_for 'is "x_total{host=\"$(host)\"}" 5'
    [ "$(value "sonde_programs_boards{host=\"$(host)\"}")" -lt 200 ]
    # shellcheck disable=SC2046
    kill -9 $(jobs -p | grep -vx "$AGENT")
    wait_for 'is "y_total{host=\"$(host)\"}" 300'
}

@test "hundreds of clients that connect at the same moment are all accepted" {
    start </dev/null
    python3 - <<'PY'
import os, socket, tau_client as t
sockets = []
for _ in range(500):
    s = socket.socket(socket.AF_UNIX)
    s.setblocking(False)
    s.connect(os.environ["TAU_METRIC_PROXY"])  # BlockingIOError: the queue is full
    sockets.append(s)
PY
}

@test "an agent that is suspended, killed and restarted while 100 programs run delays none of them, and loses nothing" {
    start </dev/null
    python3 - "$BUILD/tests/segment_program" "$AGENT" <<'PY'
import os, signal, subprocess, sys, threading, tau_client as t
MANY = 20000 # messages of 624 bytes: more than a socket holds
words = "sonde hurry x_total - 1000 wait hurry x_total - 100000 wait hurry x_total - 100000".split()
programs = [subprocess.Popen([sys.argv[1], *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(100)]
clients = [t.Client() for _ in range(50)]
def none_waited():
    for p in programs:
        word, waits = p.stdout.readline().split()
        assert word == b"waited" and int(waits) <= 3, waits
def go_on():
    for p in programs:
        p.stdin.write(b"\n")
        p.stdin.flush()
def fill(client):
    client.describe("z_total")
    for _ in range(MANY):
        client.value("z_total", 1.0)
none_waited()
os.kill(int(sys.argv[2]), signal.SIGSTOP)
go_on()
none_waited()
filler = threading.Thread(target=fill, args=(t.Client(),))
filler.start()
for c in clients:
    c.describe("y_total")
    c.value("y_total", 1.0)
filler.join(1)
assert filler.is_alive() # only this client waits, with the rest of its data
os.kill(int(sys.argv[2]), signal.SIGCONT)
for c in clients:
    assert c.get("y_total")[1] >= 1
assert clients[0].get("y_total")[1] == 50
filler.join(100)
while clients[0].get("z_total")[1] != MANY:
    pass
os.kill(int(sys.argv[2]), signal.SIGKILL)
go_on()
none_waited()
for p in programs:
    assert p.wait(60) == 0
PY
    wait "$AGENT" || :
    start </dev/null
    wait_for 'value "x_total{host=\"$(host)\"}" | awk "{ is_whole = \$1 == 20100000 } END { exit !is_whole }"'
    wait_for '[ "$(find "$SONDE_BOARDS" -name "sonde.*" | wc -l)" -eq 0 ]'
}

@test "100,000 consecutive clients and 100,000 short programs: no leak, no growth" {
    if grep -q __asan_init "$SONDE"; then skip "sanitizers need additional memory"; fi
    start </dev/null
    crowd() {
        python3 - "$1" <<'PY'
import sys, tau_client as t
for i in range(int(sys.argv[1])):
    client = t.Client(jobid=str(i % 1000))
    client.send(t.message(0, t.descriptor("x_total")) + t.message(1, t.event("x_total", 1.0))
                + t.message(0, t.descriptor("g", "", 2)) + t.message(1, t.event("g", 1.0)))
    client.socket.close()
PY
    }
    crowd 20000
    for i in {1..300}; do program sonde counter b_total - 1 leave; done
    program sonde programs 20000 b_total
    wait_for 'is "x_total{host=\"$(host)\"}" 20000 && is "b_total{host=\"$(host)\"}" 20300'
    sleep 1.5 # one tick, after which the last ones are removed
    before=$(rss_kb)
    crowd 80000
    for i in {1..700}; do program sonde counter b_total - 1 leave; done
    program sonde programs 79000 b_total
    wait_for 'is "x_total{host=\"$(host)\"}" 100000 && is "b_total{host=\"$(host)\"}" 100000'
    wait_for '[ "$(value "sonde_programs_connections{host=\"$(host)\"}")" -eq 0 ]'
    wait_for '[ "$(find "/proc/$AGENT/fd" | wc -l)" -lt 60 ]' # the next tick closes those of programs that a query has read to their end
    sleep 1.5
    echo "$before kB before, $(rss_kb) kB after"
    [ "$(rss_kb)" -lt $((before + 2048)) ]
}
