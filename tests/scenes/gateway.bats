#!/usr/bin/env bats
# Programs that speak to an agent: tau's clients through their socket, others on boards in shared memory; and their bad days.
# shellcheck disable=SC2016,SC2034,SC2119,SC2120
load scene

setup() {
    scene_setup
    export SONDE_SOCKET_DIR=$T/run PYTHONPATH=$SOURCE/tests/tools PYTHONDONTWRITEBYTECODE=1
    export TAU_METRIC_PROXY=$T/tau.sock SONDE_BOARDS=$T/boards
    mkdir -m 1777 "$T/boards" "$T/run"
    AGENT='' GROUP=''
}

teardown() {
    # shellcheck disable=SC2046
    kill -CONT "$AGENT" $(jobs -p) 2>/dev/null || :
    # shellcheck disable=SC2046
    kill -9 "$AGENT" $(jobs -p) 2>/dev/null || :
    [ -z "$GROUP" ] || wait_for 'find "$GROUP" -depth -type d -exec rmdir {} \;; [ ! -e "$GROUP" ]'
    scene_teardown
}

tau() { "$SOURCE/tests/tools/tau_client.py" "$@"; }

program() { "$BUILD/tests/board_program" "$@"; }

# An agent that reads nothing else; lines on stdin are added to its configuration.
start() {
    mkdir -p "$T/root"
    [ -e "$T/root/proc" ] || ln -s /proc /etc "$T/root"
    printf '[programs]\ntau = %s\nboards = %s\n' "$TAU_METRIC_PROXY" "$SONDE_BOARDS" >"$T/conf"
    [ -t 0 ] || cat >>"$T/conf"
    "$SONDE" agent --root "$T/root" -c "$T/conf" --sensors loadavg --listen none "$@" >>"$T/said" 2>&1 </dev/null 3>&- &
    AGENT=$!
    wait_for 'ask / >/dev/null 2>&1'
}

stop() {
    kill "-${1:-TERM}" "$AGENT"
    wait "$AGENT" || return $?
    AGENT=
}

ask() { curl -sf --max-time 60 --unix-socket "$T/run/agent.sock" "http://agent$1"; }

# The value of a line of /metrics.
value() { ask /metrics | awk -v line="$1" 'index($0, line " ") == 1 { print substr($0, length(line) + 2) }'; }

host() { hostname; }

is() { [ "$(value "$1")" = "$2" ]; }

rss_kb() { awk '/^VmRSS/ { print $2 }' "/proc/$AGENT/status"; }

# --- what works ---

@test "a client of tau is counted, listed, answered and shown" {
    start </dev/null
    run -0 tau counter 'x_total{a="b"}' 'doc:my doc' add 'x_total{a="b"}' 3 gauge g set g 5 list all get 'x_total{a=b}' get nobody
    [[ $output == *$'1\tx_total{a="b"}\tmy doc'* ]]
    [[ $output == *$'x_total{a="b"}\t3.0\nunknown' ]]
    tau counter 'x_total{a="b"}' add 'x_total{a="b"}' 0.5
    wait_for 'is "x_total{a=\"b\",host=\"$(host)\"}" 3.5'
    ask '/programs?name=x_total%7Ba%3Db%7D' | python3 -c '
import json, sys
(m,) = json.load(sys.stdin)["metrics"]
assert m["value"] == 3.5 and m["type"] == "counter" and m["doc"] == "my doc" and m["job"] is None, m'
    ask /metrics >"$T/page"
    promtool check metrics <"$T/page"
    run ! grep '^g{' "$T/page" # nobody who is alive has set it
}

@test "a gauge is the sum over live programs, with least, greatest and mean; tau's clients get the mean" {
    start </dev/null
    coproc ONE { exec "$SOURCE/tests/tools/tau_client.py" gauge g set g 10 stay; }
    coproc TWO { exec "$SOURCE/tests/tools/tau_client.py" gauge g set g 2 stay; } 2>/dev/null
    wait_for 'is "g{host=\"$(host)\"}" 12'
    is "g_min{host=\"$(host)\"}" 2
    is "g_max{host=\"$(host)\"}" 10
    is "g_mean{host=\"$(host)\"}" 6
    [ "$(tau get g)" = $'g\t6.0' ]
    kill "$TWO_PID"
    wait_for 'is "g{host=\"$(host)\"}" 10'
    kill "$ONE_PID"
    wait_for '[ -z "$(value "g{host=\"$(host)\"}")" ]'
}

@test "a gauge that is infinite is so for whoever asks; in JSON, which has no number for it, it is null" {
    start </dev/null
    coproc ONE { exec "$SOURCE/tests/tools/tau_client.py" gauge g set g inf gauge below set below -inf stay; }
    wait_for 'is "g{host=\"$(host)\"}" +Inf && is "below{host=\"$(host)\"}" -Inf'
    [ "$(ask '/programs?name=g' | jq -c '.metrics[0] | [.value, .sum, .min, .max, .mean, .programs]')" = '["inf","inf","inf","inf","inf",1]' ]
    [[ $("$SONDE" get --positive -f txt) =~ $'\n'"g "[0-9.]+" inf "$ ]]
    [[ $("$SONDE" get below) == *"below = -inf @ "* ]]
    [[ $("$SONDE" get -f yaml below) == *"value: -.inf"* ]]
    [[ $("$SONDE" get -a -f txt g) == *" inf sum=inf min=inf max=inf mean=inf programs=1.0 "* ]]
    [[ $("$SONDE" track -n 1 -f txt g) =~ " inf "$ ]]
    "$SONDE" get -a -f json g | jq -e '.[0] | has("sum") and .value == null and .sum == null'
    kill "$ONE_PID"
}

@test "a gauge that a program sets to not a number is absent until it is set again" {
    start </dev/null
    mkfifo "$T/next"
    "$BUILD/tests/board_program" sonde gauge level - 7 wait gauge level - nan counter step_total - 1 wait gauge level - 9 wait \
        <>"$T/next" 3>&- & # not through a function, of which the end would not be the program's
    wait_for 'is "level{host=\"$(host)\"}" 7'
    echo >"$T/next"
    wait_for 'is "step_total{host=\"$(host)\"}" 1'
    [ -z "$(value "level{host=\"$(host)\"}")" ]
    [ -z "$("$SONDE" get level 2>/dev/null | grep 7)" ]
    echo >"$T/next"
    wait_for 'is "level{host=\"$(host)\"}" 9'
}

@test "track writes what has changed though the value is the same: a histogram that observes 0, a gauge that moves between programs" {
    start </dev/null
    mkfifo "$T/one" "$T/two"
    "$BUILD/tests/board_program" sonde gauge g - 1 observe h - 0 wait gauge g - -5 observe h - 0 wait <>"$T/one" 3>&- &
    "$BUILD/tests/board_program" sonde gauge g - 3 wait gauge g - 9 wait <>"$T/two" 3>&- &
    wait_for '[[ $("$SONDE" get -a -f txt g h) == *"min=1.0 max=3.0"*" count=1.0"* ]]'
    "$SONDE" track -a -F 50 -o "$T/log.json" g h >/dev/null 3>&- &
    tracker=$!
    wait_for '[ "$(jq "flatten | length" "$T/log.json")" = 2 ]'
    kill -STOP "$tracker" # it shall not see one program without the other
    echo >"$T/one"
    echo >"$T/two"
    wait_for '[[ $("$SONDE" get -a -f txt g h) == *" 4.0 sum=4.0 min=-5.0 max=9.0"*" count=2.0"* ]]'
    kill -CONT "$tracker"
    wait_for '[ "$(jq "flatten | length" "$T/log.json")" = 4 ]'
    sleep 0.3
    kill "$tracker"
    wait "$tracker"
    [ "$(jq -c '[flatten[] | select(.name == "g") | .min]' "$T/log.json")" = '[1,-5]' ]
    [ "$(jq -c '[flatten[] | select(.name == "h") | [.value, .count]]' "$T/log.json")" = '[[0,1],[0,2]]' ]
}

@test "boards are read while a program lives and once more when it was killed: nothing is lost, nothing is left" {
    start </dev/null
    program sonde counter cells_total 'phase="solve"' 41 observe wait_seconds - 0.5 ticks busy_seconds_total - 2 kill || :
    SONDE_JOB=4711 program sonde counter cells_total 'phase="solve"' 1 leave
    wait_for 'is "cells_total{phase=\"solve\",host=\"$(host)\"}" 42'
    is "cells_total{phase=\"solve\",host=\"$(host)\",job=\"4711\",user=\"$(id -un)\"}" 1 || [ "$(id -u)" -ne 0 ]
    is "wait_seconds_bucket{le=\"1\",host=\"$(host)\"}" 1
    is "wait_seconds_bucket{le=\"0.1\",host=\"$(host)\"}" 0
    value "busy_seconds_total{host=\"$(host)\"}" | awk '{ exit !($1 > 1.9 && $1 < 2.1) }'
    wait_for '[ "$(ls "$T/boards")" = sonde-agent ] || [ "$(ls "$T/boards")" = "sonde-agent.$(id -u)" ]'
    ask /metrics | promtool check metrics
}

@test "what our probes count has tau's names too, and is counted once" {
    start <<<'tau_names = yes'
    program mpi rank 0 1 counter mpi_calls_total 'function="MPI_Send"' 7 counter mpi_sent_bytes_total 'function="MPI_Send"' 70
    program calls counter syscall_calls_total 'call="read"' 3 counter syscall_bytes_total 'call="read"' 30
    tau counter 'tau_hits_total{function="mpi_send"}' add 'tau_hits_total{function="mpi_send"}' 1
    wait_for 'is "tau_hits_total{function=\"mpi_send\",host=\"$(host)\"}" 8'
    is "mpi_calls_total{function=\"MPI_Send\",host=\"$(host)\"}" 7
    run -0 tau get 'tau_mpi_total{metric="hits"}' get 'tau_mpi_total_size{metric="size_out"}' get 'strace_hits_total{scall="read"}' \
        get strace_read_size_total
    [ "$output" = $'tau_mpi_total{metric="hits"}\t7.0\ntau_mpi_total_size{metric="size_out"}\t70.0\nstrace_hits_total{scall="read"}\t3.0\nstrace_read_size_total\t30.0' ]
}

@test "sonde run files what its programs counted, also after kill -9 of it" {
    "$SONDE" run -q -- bash -c "'$BUILD/tests/board_program' mpi rank 3 4 counter mpi_calls_total 'function=\"MPI_Send\"' 7 \
        counter mpi_peer_bytes_total 'to=\"1\"' 99 counter x_total - 2 kill; true"
    "$SONDE" export -w series >"$T/series"
    grep ',mpi,3/MPI_Send,calls,1,7' "$T/series"
    grep ',mpi,3/,calls,1,7' "$T/series"
    grep ',mpi_peer,3>1,bytes,B,99' "$T/series"
    grep ',program_counter,x_total,total,1,2' "$T/series"
    "$SONDE" run -q -- bash -c "'$BUILD/tests/board_program' sonde counter y_total - 5 kill; echo \$SONDE_BOARDS >folder; kill -9 \$PPID; sleep 0.1" || :
    "$SONDE" submit
    "$SONDE" export -w series | grep ',program_counter,y_total,total,1,5'
    [[ $(cat folder) == /dev/shm/sonde-run.* ]]
    [ ! -e "$(cat folder)" ]
}

# --- whose it is ---

@test "a user sees the node and the own jobs, and cannot speak for a job of another" {
    need_root
    start </dev/null
    chmod 755 "$T/run"
    coproc ROOT { exec "$SOURCE/tests/tools/tau_client.py" -j 42 counter secret_total add secret_total 1 stay; }
    cp "$SOURCE/tests/tools/tau_client.py" "$T"
    setpriv --reuid=65534 --regid=65534 --clear-groups env TAU_METRIC_PROXY="$T/tau.sock" /usr/bin/python3 "$T/tau_client.py" -j 42 \
        counter secret_total add secret_total 10 wait 60 >/dev/null 2>&1 3>&- &
    wait_for 'is "secret_total{host=\"$(host)\"}" 11'
    wait_for 'is "secret_total{host=\"$(host)\",job=\"42\",user=\"root\"}" 1'
    wait_for 'is "secret_total{host=\"$(host)\",job=\"42\",user=\"nobody\"}" 10'
    as_nobody curl -sf --unix-socket "$T/run/agent.sock" 'http://agent/programs?all' | python3 -c '
import json, sys
values = {(m["job"], m["user"]): m["value"] for m in json.load(sys.stdin)["metrics"] if m["name"] == "secret_total"}
assert values[(None, None)] == 11 and ("42", "root") not in values and values[("42", "nobody")] == 10, values'
}

@test "a board that says another user's pid counts for who made it, not for that process's job" {
    need_root
    GROUP=/sys/fs/cgroup/cpuacct/slurm_board$$
    mkdir "$GROUP" 2>/dev/null || { GROUP=''; skip "no cpuacct hierarchy to write to"; }
    mkdir -p "$GROUP/uid_1/job_4711/step_0" "$T/root"
    ln -s /proc /etc /sys "$T/root"
    start --jobs slurm </dev/null
    wait_for '"$SONDE" job --json | grep -q \"4711\"'
    mkfifo "$T/stay"
    sh -c 'echo 0 >"$1/uid_1/job_4711/step_0/cgroup.procs" && shift && exec setpriv --reuid=1 --regid=1 --clear-groups "$@"' \
        - "$GROUP" "$BUILD/tests/board_program" sonde counter own_total - 3 wait <>"$T/stay" 3>&- &
    victim=$!
    wait_for 'is "own_total{host=\"$(host)\",job=\"4711\",user=\"daemon\"}" 3'
    setpriv --reuid=65534 --regid=65534 --clear-groups "$BUILD/tests/board_program" sonde pid "$victim" counter own_total - 7 wait \
        <>"$T/stay" 3>&- &
    wait_for 'is "own_total{host=\"$(host)\"}" 10'
    is "own_total{host=\"$(host)\",job=\"4711\",user=\"daemon\"}" 3
    is "own_total{host=\"$(host)\",user=\"nobody\"}" 7
}

@test "a socket that another user made first is told, and root's agent takes its place" {
    need_root
    mkdir -m 1777 "$T/place"
    export TAU_METRIC_PROXY=$T/place/tau.sock
    as_nobody /usr/bin/python3 -c "import socket; s = socket.socket(socket.AF_UNIX); s.bind('$TAU_METRIC_PROXY'); s.listen()"
    start </dev/null
    grep "had been made by user 65534" "$T/said"
    tau counter x_total add x_total 1
    stop
    touch "$TAU_METRIC_PROXY" # root's now
    printf '[programs]\ntau = %s\nboards = none\n' "$TAU_METRIC_PROXY" >"$T/conf"
    run -1 as_nobody env SONDE_SOCKET_DIR="$T/place" "$SONDE" agent --root "$T/root" -c "$T/conf" --sensors loadavg --listen none
    [[ $output == *"another user (0) made $TAU_METRIC_PROXY first"* ]]
}

@test "a second agent steals nothing; a dead socket is replaced; what is no socket is told" {
    start </dev/null
    run -1 env SONDE_SOCKET_DIR="$T/other" "$SONDE" agent --root "$T/root" -c "$T/conf" --sensors loadavg --listen none
    [[ $output == *"another agent or proxy listens at $TAU_METRIC_PROXY"* ]]
    tau counter x_total add x_total 1 # still there
    stop KILL || :
    [ -S "$TAU_METRIC_PROXY" ]
    start </dev/null
    tau counter x_total add x_total 1
    stop
    [ ! -e "$TAU_METRIC_PROXY" ]
    echo precious >"$TAU_METRIC_PROXY"
    run -1 "$SONDE" agent --root "$T/root" -c "$T/conf" --sensors loadavg --listen none
    [[ $output == *"is no socket"* ]]
    [ "$(cat "$TAU_METRIC_PROXY")" = precious ]
}

# As one user that nobody else is: the usual socket has the user's number in its name.
agent_of() {
    local uid=$1 name=$2
    install -d -o "$uid" "$T/$name"
    setpriv --reuid="$uid" --regid=65534 --clear-groups env SONDE_SOCKET_DIR="$T/$name" SONDE_DB="$T/$name/db" \
        "$SONDE" agent -v -c "$T/conf" --sensors loadavg --listen none >>"$T/said" 2>&1 </dev/null 3>&- &
}

@test "what another agent had, boards and tau's usual socket, is taken when that one is gone" {
    need_root
    local uid=$((200000 + BASHPID % 100000)) first
    TAU_METRIC_PROXY=/tmp/tau_metric_proxy.$uid.unix
    printf '[programs]\nboards = %s\n' "$SONDE_BOARDS" >"$T/conf"
    agent_of "$uid" first
    first=$!
    wait_for '[ -S "$TAU_METRIC_PROXY" ]'
    agent_of "$uid" run
    AGENT=$!
    wait_for 'ask / >/dev/null 2>&1'
    wait_for 'grep -q "as long as another agent reads them" "$T/said"'
    kill -9 "$first"
    setpriv --reuid="$uid" --regid=65534 --clear-groups env SONDE_BOARDS="$SONDE_BOARDS" \
        "$BUILD/tests/board_program" sonde counter x_total - 3 leave
    wait_for 'is "x_total{host=\"$(host)\"}" 3'
    wait_for 'tau counter y_total add y_total 2 2>/dev/null'
    wait_for 'is "y_total{host=\"$(host)\"}" 2'
    stop
    [ ! -e "$TAU_METRIC_PROXY" ]
}

# --- bad days ---

@test "nonsense costs its sender the connection, and nobody else anything" {
    start </dev/null
    python3 - <<'PY'
import os, tau_client as t
good = t.Client()
good.describe("good_total")
bad = [t.message(0, b"A" * 300 + b"d" * 300 + b"\1\0\0\0"), t.message(0, t.descriptor("x", "", 9)), t.message(9), t.message(-1),
       t.message(2, canary=0), t.message(1, t.event("nobody_total", 1.0)), t.message(1, b"A" * 608), b"GET / HTTP/1.1\r\n" * 100,
       t.message(0, t.descriptor("good_total", "", 2)), os.urandom(65536)]
for data in bad:
    client = t.Client()
    try:
        client.send(data)
        assert client.is_closed(), data[:20]
    except ConnectionError:
        pass
    good.value("good_total", 1.0)
t.Client().send(t.message(0)[:100])  # half a message, then gone
assert good.get("good_total")[1] == len(bad)
PY
    kill -0 "$AGENT"
}

@test "who asks for all and does not read is alone with it" {
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
            s.socket.send(t.message(3) * 10)  # until its own queue is full
    except BlockingIOError:
        pass
begin = time.time()
for i in range(200):
    client.send(b"".join(t.message(1, t.event(n, 1.0)) for n in names[:100]))
assert client.get("x7_total")[1] == 200
assert time.time() - begin < 60
before = cpu()
time.sleep(2)
assert cpu() - before < 0.5, cpu() - before  # nobody spins
slow[0].socket.setblocking(True)  # and he who reads at last gets all of it
count = int.from_bytes(slow[0].read(4), "little")
assert count == 5000 and len(slow[0].read(320 * count)) == 320 * count
PY
    ask /metrics | grep -c '_total{' | awk '{ exit !($1 >= 5000) }'
    [ "$(rss_kb)" -lt 60000 ]
}

@test "clients come and go while pages are asked for: every session is whole" {
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

@test "without descriptors nobody is lost: those who wait are taken when others leave" {
    start </dev/null
    stop
    (
        ulimit -n 96
        exec "$SONDE" agent --root "$T/root" -c "$T/conf" --sensors loadavg --listen none >>"$T/said" 2>&1 </dev/null 3>&-
    ) &
    AGENT=$!
    wait_for '[ -S "$TAU_METRIC_PROXY" ]'
    python3 - <<'PY'
import tau_client as t
clients = [t.Client() for _ in range(300)]
for c in clients:
    c.describe("x_total")
    c.value("x_total", 1.0)
for c in clients:  # each leaves its place to one who waits
    assert c.get("x_total") is not None
    c.socket.close()
assert t.Client().get("x_total")[1] == 300
PY
    kill -0 "$AGENT"
}

@test "hundreds connect at the same moment, none is turned away" {
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

@test "a job that only its programs name has its user from its first line on the page on" {
    start </dev/null
    tau -j 55 counter early_total add early_total 1 wait 4 3>&- & client=$!
    until_true ask_has 'early_total{.*job="55"'
    for i in {1..20}; do ask /metrics; sleep 0.1; done | grep '^early_total{.*job="55"' | sed 's/ .*//' | sort -u >"$T/series"
    [ "$(wc -l <"$T/series")" -eq 1 ]
    grep -q "user=\"$(id -un)\"" "$T/series"
    wait "$client"
}

@test "names with quotes, newlines, 10 kB, other people's labels, in two types: the page stays whole" {
    start </dev/null
    long=$(printf 'n%.0s' {1..10240})
    tau counter $'evil\nevil_total 666' add $'evil\nevil_total 666' 1 counter 'cut{a="bbb' add 'cut{a="bbb' 2 \
        counter 'q_total{a="say \"hi\"\\"}' add 'q_total{a="say \"hi\"\\"}' 3 counter 'x_total{job="7",host="other"}' \
        add 'x_total{job="7",host="other"}' 4 counter 'sonde_build_info' counter $'\xff\xfe' counter 'y_total{a="1"}' gauge 'y_total{a="2"}' \
        set 'y_total{a="2"}' nan gauge inf set inf inf counter helped_total $'doc:\xff, and one cut: \xe2\x82' add helped_total 1
    program sonde counter "${long}_total" - 5 counter 'b_total' "l=\"$long\"" 6 counter $'new\nline' $'x="\n"' 7 gauge 'b_total' - 8 kill || :
    program sonde observe h - 1 counter k_count - 1 kill || :
    program sonde counter h_count - 2 counter h_sum - 3 observe k - 1 kill || :
    program sonde gauge "${long}_total" - 1 counter 'mad"name' 'no labels at all' 8 kill || :
    wait_for 'ask /metrics | grep -q "^b_total"'
    for accept in text/plain application/openmetrics-text; do
        curl -sf -H "Accept: $accept" --unix-socket "$T/run/agent.sock" http://agent/metrics >"$T/page"
        python3 - "$accept" "$T/page" <<'PY'
import sys, re
try:
    if "openmetrics" in sys.argv[1]:
        from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse
    else:
        from prometheus_client.parser import text_string_to_metric_families as parse
    list(parse(open(sys.argv[2]).read()))
except ImportError:
    pass
line = re.compile(r'^[a-zA-Z_:][a-zA-Z0-9_:]*\{([a-zA-Z_][a-zA-Z0-9_]*="([^"\\\n]|\\["\\n])*",?)+\} \S+$')
seen, families = set(), set()
for text in open(sys.argv[2], encoding="utf-8").read().splitlines():
    if text.startswith("# TYPE "):
        assert text.split()[2] not in families, text
        families.add(text.split()[2])
    if text.startswith("#"):
        continue
    assert line.match(text), text[:200]
    assert text.rsplit(" ", 1)[0] not in seen, text[:200]
    seen.add(text.rsplit(" ", 1)[0])
PY
    done
    run ! ask_has 'evil_total 666'
    promtool check metrics <<<"$(ask /metrics)" >"$T/lint" 2>&1 || run ! grep -i 'error while' "$T/lint"
    ask '/programs?all&tau' | python3 -c 'import json, sys; json.load(sys.stdin)'
    wait_for 'is "sonde_programs_refused_total{host=\"$(host)\"}" 1' # the long one had another type before
}

ask_has() { ask /metrics | grep "^$1"; }

@test "garbage on a board: what was counted before stays, the agent goes on" {
    start </dev/null
    coproc MAD { exec "$BUILD/tests/board_program" sonde counter x_total - 5 say ready wait garbage say mad wait counter x_total - 1; }
    read -r _ <&"${MAD[0]}"
    wait_for 'is "x_total{host=\"$(host)\"}" 5'
    echo >&"${MAD[1]}"
    read -r _ <&"${MAD[0]}"
    wait_for '[ "$(value "sonde_programs_bad_boards_total{host=\"$(host)\"}")" -ge 1 ]'
    head -c 1000000 /dev/urandom >"$T/boards/sonde.1.sonde.0000000000000001"
    : >"$T/boards/sonde.2.sonde.0000000000000002"
    ln -s /etc/passwd "$T/boards/sonde.3.sonde.0000000000000003"
    mkfifo "$T/boards/sonde.4.sonde.0000000000000004"
    program sonde counter y_total - 1 kill || :
    wait_for 'is "y_total{host=\"$(host)\"}" 1'
    value "x_total{host=\"$(host)\"}" | awk '{ exit !($1 >= 5) }'
}

@test "an agent that is stopped, killed and restarted while 100 programs run slows none of them, and loses nothing" {
    start </dev/null
    python3 - "$BUILD/tests/board_program" "$AGENT" <<'PY'
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
assert filler.is_alive() # it waits with the rest of it, and only it
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
    wait_for '[ "$(find "$T/boards" -name "sonde.*" | wc -l)" -eq 0 ]'
}

@test "one user's program does not take the names of all, and the names of who has gone make room" {
    need_root
    start <<<'metrics = 1000'
    chmod 755 "$T/run"
    cp "$SOURCE/tests/tools/tau_client.py" "$T"
    cat >"$T/names.py" <<'PY' # PREFIX COUNT SECONDS: a client that describes and counts so many, and stays so long
import sys, time, tau_client as t
client = t.Client()
for i in range(int(sys.argv[2])):
    name = f"{sys.argv[1]}{i}_total"
    client.send(t.message(0, t.descriptor(name)) + t.message(1, t.event(name, 1.0)))
print("told", flush=True)
time.sleep(float(sys.argv[3]))
PY
    setpriv --reuid=65534 --regid=65534 --clear-groups env TAU_METRIC_PROXY="$T/tau.sock" /usr/bin/python3 "$T/names.py" greedy 5000 600 \
        >"$T/greedy" 2>&1 3>&- &
    wait_for 'grep -q told "$T/greedy"'
    wait_for '[ "$(value "sonde_programs_left_out_total{host=\"$(host)\"}")" -ge 4500 ]'
    is "greedy0_total{host=\"$(host)\"}" 1
    program sonde counter board_total - 3 leave
    wait_for 'is "board_total{host=\"$(host)\"}" 3'
    for i in 1 2 3 4 5 6; do /usr/bin/python3 "$T/names.py" "round${i}_" 200 0 >/dev/null; done
    wait_for 'is "round6_199_total{host=\"$(host)\"}" 1'
    is "greedy0_total{host=\"$(host)\"}" 1
    [ -z "$(value "round1_0_total{host=\"$(host)\"}")" ]
    [ "$(value "sonde_programs_metrics{host=\"$(host)\"}")" -le 1000 ]
}

# A client that has said something and stays silent, and one that has never said anything: neither is waited for.
@test "it ends at once on SIGTERM and SIGINT while idle clients are connected, and starts again in their place" {
    for signal in TERM INT; do
        start </dev/null
        coproc STAY { exec "$SOURCE/tests/tools/tau_client.py" counter x_total add x_total 1 stay; }
        read -r _ <&"${STAY[0]}"
        python3 -c 'import time, tau_client as t; c = t.Client(); print(flush=True); time.sleep(600)' >"$T/mute" 3>&- &
        mute=$!
        wait_for '[ -s "$T/mute" ]'
        SECONDS=0
        stop "$signal"
        [ "$SECONDS" -lt 10 ]
        start </dev/null
        tau counter x_total add x_total 2
        wait_for 'is "x_total{host=\"$(host)\"}" 2'
        kill "$STAY_PID" "$mute" 2>/dev/null || :
        wait "$mute" || :
        stop
        rm "$T/mute"
    done
}

@test "a job's name does not lead out of the folder of profiles" {
    start <<<"profiles = $T/profiles/deep"
    tau -j ../../evil counter x_total add x_total 1
    stop
    run find "$T" -name '*evil*' -not -path "$T/profiles/deep/*"
    [ -z "$output" ]
}

@test "100,000 clients and 11,000 short programs in a row: no leak, no growth" {
    if grep -q __asan_init "$SONDE"; then skip "sanitizers take memory of their own"; fi
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
    program sonde programs 2000 b_total
    wait_for 'is "x_total{host=\"$(host)\"}" 20000 && is "b_total{host=\"$(host)\"}" 2300'
    before=$(rss_kb)
    crowd 80000
    for i in {1..700}; do program sonde counter b_total - 1 leave; done
    program sonde programs 8000 b_total
    wait_for 'is "x_total{host=\"$(host)\"}" 100000 && is "b_total{host=\"$(host)\"}" 11000'
    wait_for '[ "$(value "sonde_programs_connections{host=\"$(host)\"}")" -eq 0 ]'
    [ "$(find "/proc/$AGENT/fd" | wc -l)" -lt 60 ]
    echo "$before kB before, $(rss_kb) kB after"
    [ "$(rss_kb)" -lt $((before + 2048)) ]
}
