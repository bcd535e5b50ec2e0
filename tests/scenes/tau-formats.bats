#!/usr/bin/env bats
# Metrics of tau's clients in the output of sonde get, list-metrics and track: formats are compared with Python's json, yaml and rich,
# the protocol with an independent client.
load scene
load live
load tau

# The values that an independent client reads: "NAME VALUE" per line.
values_by_tau() {
    /usr/bin/python3 - "$TAU" <<'PY'
import socket
import struct
import sys
link = socket.socket(socket.AF_UNIX)
link.connect(sys.argv[1])
link.sendall(struct.pack("<i4x608sB7x", 3, b"", 7))
def take(size):
    data = b""
    while len(data) < size:
        part = link.recv(size - len(data))
        assert part
        data += part
    return data
for _ in range(struct.unpack("<i", take(4))[0]):
    name, value, when = struct.unpack("<300s4xdd", take(320))
    print(name.split(b"\0")[0].decode(), value)
PY
}

@test "sonde get, list-metrics and track show the metrics of tau's clients, and so does tau's protocol" {
    start_tau_agent alone
    program counter 'x_total{a="b"}' 5 'the x' counter y_total 2.5 'a y with: colon # and more' gauge heat 7 hot
    wait_for '"$SONDE" get -f txt | grep -q y_total'
    run -0 "$SONDE" get -f txt x_total
    [[ ${lines[0]} == "# name ts value" ]]
    [[ ${lines[1]} =~ ^x_total\{a=\"b\"\}\ [0-9.]+\ 5\.0\ $ ]]
    run -0 "$SONDE" list-metrics -f txt 'y*'
    [[ $output == *'y_total "a y with: colon # and more" TAU_METRIC_COUNTER '* ]]
    run -0 values_by_tau
    [[ $output == *'x_total{a="b"} 5.0'* && $output == *"y_total 2.5"* ]]
    run -1 "$SONDE" get no_such
    [[ $output == *"no metric no_such"* ]]
    run -0 "$SONDE" track -n 2 -F 100 'x_total{a=b}'
    [ "$(jq -c '[.[][].value]' <<<"$output")" = '[5]' ]
}

@test "tau's socket also provides types and descriptions, which are separate from values in tau" {
    start_tau_agent alone
    program counter 'x_total{a="b"}' 5 'the x' counter y_total 2.5 'a y'
    wait_for '"$SONDE" get -f txt | grep -q y_total'
    [[ $("$SONDE" get -a --tau-socket "$TAU" -f txt 'x_total{a=b}') =~ '"the x" TAU_METRIC_COUNTER '[0-9.]+' 5.0 '$ ]]
    "$SONDE" get -a --tau-socket "$TAU" -f json |
        jq -e 'map(select(.name == "y_total"))[0] | .doc == "a y" and .type == "TAU_METRIC_COUNTER" and .value == 2.5'
    "$SONDE" track -a -n 1 --tau-socket "$TAU" 'y*' | jq -e '.[0][0].doc == "a y" and .[0][0].type == "TAU_METRIC_COUNTER"'
    [[ $("$SONDE" get --tau-socket "$TAU" -f json y_total) != *doc* ]]
}

@test "json is identical to Python's, and yaml parses to the same data, for all kinds of names and numbers" {
    start_tau_agent alone
    program counter 'a_total{l="ä\\n ☃"}' 1e16 "it's # a: \"doc\" and a long one: it stays on one line whatever its length, as every other string in YAML does" \
        counter b_total 1e-7 'yes' counter c_total 0.1 '- dash' counter d_total 123456789012345680 '1.5' gauge g 1e400 ' blank ' \
        counter e_total 3 'tab	and café' counter h_total 1 $'two\nlines, and\n\na third that has '"'quotes' and is longer than the others" \
        counter i_total 1 $'an end\n' counter j_total 1 $'a blank\n before' counter k_total 1 $'a blank \nbehind' counter f_total 1e22 ''
    program counter l_total 1 $'\u00e9"\u00e9 "\a\u00e9 \U0001f600'
    wait_for '"$SONDE" get -f txt | grep -q f_total'
    for kind in list-metrics get; do
        for format in json yaml txt; do
            "$SONDE" "$kind" -f "$format" >"$T/$kind.$format"
        done
    done
    /usr/bin/python3 - "$T" <<'PY'
import json
import sys
for kind in ("list-metrics", "get"):
    text = open(f"{sys.argv[1]}/{kind}.json").read()
    data = json.loads(text)
    assert text == json.dumps(data, indent=4) + "\n", text
    assert len(data) >= 6
try:
    import yaml
except ImportError:
    sys.exit(0)
for kind in ("list-metrics", "get"):
    text = open(f"{sys.argv[1]}/{kind}.yaml").read()
    data = yaml.safe_load(text)
    wanted = json.load(open(f"{sys.argv[1]}/{kind}.json"))
    for item in data + wanted:
        item.pop("ts", None)
    wanted = [dict(item, value=float("inf")) if item.get("value", 0) is None else item for item in wanted]  # JSON has no infinity
    assert data == wanted, f"{data}\n---\n{wanted}"
PY
}

# The Markdown that tau's client renders with rich.
rendered_md() {
    /usr/bin/python3 - "$1" <<'PY'
import json
import sys
from rich.console import Console
from rich.markdown import Markdown
lines = {"list-metrics": "* **{name}** ({type}) : {doc}", "get": "* {name} = **{value}** @ {ts}"}
title = {"list-metrics": "Metrics", "get": "Values"}
kind = sys.argv[1].split("/")[-1].split(".")[0]
text = f"# List of tau_metric_exporter {title[kind]}\n\n"
Console().print(Markdown(text + "\n".join(lines[kind].format(**item) for item in json.load(open(sys.argv[1])))))
PY
}

@test "md is identical to the output of Python's rich, for descriptions and values" {
    /usr/bin/python3 -c 'import rich.markdown' 2>/dev/null || skip "no python3-rich"
    start_tau_agent alone
    program counter 'x_total{a="b"}' 5 'the x' counter heat_total 7.25 'a doc that is so long that it does not fit into one line, nor into two of the usual width of a terminal' \
        counter 'a_rather_long_name_that_leaves_no_room_total{function="MPI_Alltoallv"}' 123456.789 doc counter big_total 1e22 'large'
    wait_for '"$SONDE" get -f txt | grep -q big_total'
    names=('x_total{a=b}' heat_total 'a_rather_long_name_that_leaves_no_room_total{function=MPI_Alltoallv}' big_total)
    for width in 80 60 100; do
        for kind in list-metrics get; do
            COLUMNS=$width "$SONDE" "$kind" -f json "${names[@]}" >"$T/$kind.json"
            COLUMNS=$width "$SONDE" "$kind" -f md "${names[@]}" >"$T/$kind.md"
            COLUMNS=$width rendered_md "$T/$kind.json" >"$T/$kind.wanted"
            diff "$T/$kind.wanted" "$T/$kind.md"
        done
    done
}

@test "the file of track is complete at any time, and after SIGINT, SIGTERM and SIGKILL" {
    start_tau_agent alone
    program counter x_total 1 doc
    "$SONDE" track -F 200 -o "$T/log.json" x_total >/dev/null 3>&- &
    tracker=$!
    wait_for '[ -s "$T/log.json" ]'
    for i in 1 2 3 4 5 6 7 8; do
        program counter x_total 1 doc >/dev/null
        jq -e . "$T/log.json" >/dev/null
    done
    wait_for '[ "$(jq "[.[][].value] | last" "$T/log.json")" = 9 ]'
    kill -KILL "$tracker"
    wait "$tracker" || :
    [ "$(jq '[.[][].value] == ([.[][].value] | unique)' "$T/log.json")" = true ]
    for signal in INT TERM; do # background processes would ignore the first
        env --default-signal=INT "$SONDE" track -F 50 -o "$T/$signal.json" x_total >/dev/null 3>&- &
        tracker=$!
        wait_for '[ -s "$T/$signal.json" ] && jq -e ".[0]" "$T/$signal.json" >/dev/null 2>&1'
        kill "-$signal" "$tracker"
        wait "$tracker"
        jq -e '.[0][0].value == 9' "$T/$signal.json"
    done
}

@test "track continues after a restart of the agent" {
    start_tau_agent alone
    program counter x_total 1 doc
    "$SONDE" track -F 50 -o "$T/log.json" x_total >/dev/null 2>&1 3>&- &
    tracker=$!
    wait_for 'jq -e ".[0]" "$T/log.json" >/dev/null 2>&1'
    stop "$AGENT"
    start_tau_agent alone
    program counter x_total 41 doc
    wait_for '[ "$(jq "[.[][].value] | last" "$T/log.json")" = 41 ]'
    kill -TERM "$tracker"
    wait "$tracker"
}

@test "missing metrics and usage errors are reported with a fix" {
    start_tau_agent alone
    program counter x_total 3 doc
    run -1 --separate-stderr "$SONDE" get -f json -j nojob
    [ "$output" = '[]' ]
    [[ $stderr == *"no program metrics of job nojob"* ]]
    run -1 --separate-stderr "$SONDE" list-metrics -f json -U nosuch
    [[ $stderr == *"no program metrics of user nosuch"* ]]
    run -1 --separate-stderr "$SONDE" list-metrics -f json x_total y_total
    [ "$(jq -r '.[].name' <<<"$output")" = x_total ]
    [[ $stderr == *"no metric y_total;"* ]]
    program counter zero_total 0 doc
    run -0 --separate-stderr "$SONDE" get -f json --positive zero_total x_total # a metric with the value 0 is shown nevertheless
    [ "$(jq -r '.[].name' <<<"$output")" = x_total ]
    [ -z "$stderr" ]
    run -1 "$SONDE" get --tau-socket "$T/nobody"
    [[ $output == *"cannot connect to $T/nobody"*--tau-socket* ]]
    for command in get list-metrics track; do
        run -2 "$SONDE" "$command" --tau-socket "$TAU" -j 1 # tau's protocol has no jobs: an error instead of the totals of all jobs
        run -2 "$SONDE" "$command" -f xml
    done
    run -2 "$SONDE" track -o "$T"
    [[ $output == *"$T is a directory"* ]]
    run -1 "$SONDE" track -o "$T/no/such"
    [[ $output == *"no such directory"* ]]
    run -2 "$SONDE" track -F 1001
    # Without an agent nothing is written, and the previous file stays.
    echo '[[]]' >"$T/before.json"
    run -1 "$SONDE" track --tau-socket "$T/nobody" -o "$T/before.json"
    [[ $output == *"cannot connect to $T/nobody"* ]]
    [ "$(cat "$T/before.json")" = '[[]]' ]
    run -1 "$SONDE" track --tau-socket "$T/nobody" -o "$T/none.json"
    [ ! -e "$T/none.json" ]
    /usr/bin/python3 -c '
import os, socket, sys
server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[1] + ".new")
server.listen()
os.rename(sys.argv[1] + ".new", sys.argv[1])
for _ in range(2):
    server.accept()[0].close()' "$T/closes" 3>&- &
    wait_for '[ -S "$T/closes" ]'
    for command in track get; do
        run -1 "$SONDE" "$command" --tau-socket "$T/closes"
        [[ $output == *"the proxy at $T/closes closed the connection"* ]]
    done
    wait "$!"
    long=$T/$(printf 'x%.0s' {1..120})
    run -1 "$SONDE" get --tau-socket "$long"
    [[ $output == *"longer than 107 bytes"*"$long"* ]]
}
