#!/usr/bin/env bats
# Faults of programs that publish metrics: invalid messages and names, corrupt segments, a greedy user, an agent that exits.
# shellcheck disable=SC2016,SC2034,SC2119,SC2120
load scene
load program-metrics

@test "an invalid message closes only its sender's connection" {
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
t.Client().send(t.message(0)[:100])  # half a message, then a disconnect
assert good.get("good_total")[1] == len(bad)
PY
    kill -0 "$AGENT"
}

@test "names with quotes, newlines, 10 kB, reserved labels, with two types: the page stays valid" {
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
    wait_for 'is "sonde_programs_refused_total{host=\"$(host)\"}" 1' # the long name had another type before
}

@test "a corrupt segment: earlier counts are kept, and the agent continues" {
    start </dev/null
    coproc MAD { exec "$BUILD/tests/segment_program" sonde counter x_total - 5 say ready wait garbage say mad wait counter x_total - 1; }
    read -r _ <&"${MAD[0]}"
    wait_for 'is "x_total{host=\"$(host)\"}" 5'
    echo >&"${MAD[1]}"
    read -r _ <&"${MAD[0]}"
    wait_for '[ "$(value "sonde_programs_bad_boards_total{host=\"$(host)\"}")" -ge 1 ]'
    head -c 1000000 /dev/urandom >"$SONDE_BOARDS/sonde.1.sonde.0000000000000001"
    : >"$SONDE_BOARDS/sonde.2.sonde.0000000000000002"
    ln -s /etc/passwd "$SONDE_BOARDS/sonde.3.sonde.0000000000000003"
    mkfifo "$SONDE_BOARDS/sonde.4.sonde.0000000000000004"
    program sonde counter y_total - 1 kill || :
    wait_for 'is "y_total{host=\"$(host)\"}" 1'
    value "x_total{host=\"$(host)\"}" | awk '{ exit !($1 >= 5) }'
}

@test "one user's program cannot use up the quota of names, and names of exited programs are freed" {
    need_root
    start <<<'metrics = 1000'
    chmod 755 "$T/run"
    cp "$SOURCE/tests/tools/tau_client.py" "$T"
    cat >"$T/names.py" <<'PY' # PREFIX COUNT SECONDS: a client that declares and counts COUNT metrics, and stays for SECONDS
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
    program sonde counter kept_total - 3 leave
    wait_for 'is "kept_total{host=\"$(host)\"}" 3'
    for i in 1 2 3 4 5 6; do /usr/bin/python3 "$T/names.py" "round${i}_" 200 0 >/dev/null; done
    wait_for 'is "round6_199_total{host=\"$(host)\"}" 1'
    is "greedy0_total{host=\"$(host)\"}" 1
    [ -z "$(value "round1_0_total{host=\"$(host)\"}")" ]
    [ "$(value "sonde_programs_metrics{host=\"$(host)\"}")" -le 1000 ]
}

@test "one user's very long names use up neither the agent's memory nor the page" {
    need_root
    start </dev/null
    chmod 711 "$T/run"
    # Two programs with 190 MB of strings each, of which the budget of a user allows a part.
    for ((i = 0; i < 2; i++)); do
        [ "$(as_nobody env SONDE_BOARDS="$SONDE_BOARDS" "$TOOLS/instrumented_labels" fat)" = 0 ]
        wait_for '[ -z "$(find "$SONDE_BOARDS" -name "sonde.*")" ]'
    done
    program sonde counter kept_total - 3 leave
    wait_for 'is "kept_total{host=\"$(host)\"}" 3'
    [ "$(value "sonde_programs_over_budget_total{host=\"$(host)\"}")" -gt 0 ]
    rss=$(rss_kb)
    echo "$rss KiB"
    grep -q __asan_init "$SONDE" || [ "$rss" -lt 800000 ] # the sanitizer keeps freed memory
}

# One client that has sent something and is idle now, and one that has never sent anything: the agent waits for neither.
@test "it exits at once on SIGTERM and SIGINT while idle clients are connected, and can be restarted" {
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

# Data that is in the sockets when the agent gets SIGTERM; it is suspended before, so that none of it is read earlier.
@test "data that clients had sent before SIGTERM is in the agent's last samples, and in the profile" {
    for round in 1 2 3; do
        rm -f "$T/rows.csv" "$SONDE_BOARDS"/sonde-agent* # state saved for the next agent
        start --sink "csv:path=$T/rows.csv" <<<"profiles = $T/profiles-$round"
        tau counter x_total add x_total 1 get x_total
        python3 - "$AGENT" "4711-$round" <<'PY'
import os, signal, sys, tau_client as t
connected = t.Client(jobid=sys.argv[2])
connected.describe("x_total")
assert connected.get("x_total")[1] == 1
connected.describe("level", "", 2)
os.kill(int(sys.argv[1]), signal.SIGSTOP)
late = t.Client(jobid=sys.argv[2])
late.send(t.message(0, t.descriptor("y_total")) + t.message(1, t.event("y_total", 3.0)))
late.socket.close()
connected.value("level", 5.0)
connected.send(t.message(1, t.event("x_total", 1.0)) * 200)
os.kill(int(sys.argv[1]), signal.SIGTERM)
os.kill(int(sys.argv[1]), signal.SIGCONT)
assert connected.is_closed()
PY
        wait "$AGENT"
        AGENT=
        last() { tr -d '\r' <"$T/rows.csv" | awk -F, -v name="$1" -v metric="$2" '$5 == name && $6 == metric { value = $8 } END { print value }'; }
        [ "$(last x_total total)" = 201 ]
        [ "$(last y_total total)" = 3 ]
        [ "$(last level sum)" = 5 ] # not missing although its program has exited
        grep -q y_total "$T/profiles-$round/profiles/4/4711-$round.profile"
    done
}

@test "a job's name cannot lead out of the profile directory" {
    start <<<"profiles = $T/profiles/deep"
    tau -j ../../evil counter x_total add x_total 1
    stop
    run find "$T" -name '*evil*' -not -path "$T/profiles/deep/*"
    [ -z "$output" ]
    [ -s "$T/profiles/deep/profiles/%/%2E.%2F..%2Fevil.profile" ] # it is here, and nowhere else
}
