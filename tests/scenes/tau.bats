#!/usr/bin/env bats
# The names of tau_metric_proxy's programs against a real agent, and an independent client against ours: formats are held to
# Python's own json and yaml, profiles and messages to the layout (tests/tools/tau_program.py).
load scene
load live

setup() {
    live_setup
    for name in tau_metric_client tau_metric_proxy tau_metric_proxy_run; do
        ln -s "$SONDE" "$name"
    done
    unset TAU_METRIC_PROXY SLURM_STEP_ID PMIX_ID
    TAU=$T/tau.sock
    SPACE=
}

teardown() {
    [ -z "${watched:-}" ] || kill -9 "$watched" 2>/dev/null || :
    [ -z "$SPACE" ] || kill "$SPACE" 2>/dev/null || :
    live_teardown
}

# A /dev/shm of our own, where no other agent of this machine reads boards: inside COMMAND… is there.
own_boards() {
    unshare --mount --propagation private sh -c 'mount -t tmpfs none /dev/shm && touch /dev/shm/own && exec sleep 600' 3>&- &
    SPACE=$!
    wait_for 'inside test -e /dev/shm/own 2>/dev/null'
}

inside() {
    nsenter --mount --target "$SPACE" sh -c 'cd "$0" && exec "$@"' "$T" "$@"
}

# An agent with the gateway at $TAU.
gateway() {
    start_agent --sensors loadavg --set "programs.tau=$TAU"
}

# Under the name of tau's own: only HTTP and the gateway.
proxy() {
    ${SPACE:+nsenter --mount --target "$SPACE" --} "$T/tau_metric_proxy" -u "$TAU" -p "$PORT" -P "$T/profiles-of-tau" "$@" >"$T/said" 2>&1 3>&- &
    AGENT=$!
    wait_for '[ -S "$TAU" ] && curl -sf "http://127.0.0.1:$PORT/metrics" >/dev/null'
}

stop() {
    kill "$1"
    wait "$1" || return
    AGENT=
}

program() {
    /usr/bin/python3 "$SOURCE/tests/tools/tau_program.py" "$TAU" "$@"
}

# What an independent client reads: "NAME VALUE" per line.
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

@test "sonde get, list-metrics and track show what a program of tau tells, and so does tau's own protocol" {
    gateway
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
    [[ $output == *"there is no metric no_such"* ]]
    run -0 "$SONDE" track -n 2 -F 100 'x_total{a=b}'
    [ "$(jq -c '[.[][].value]' <<<"$output")" = '[5]' ]
}

@test "all that is known comes through tau's socket too: types and descriptions, which tau tells apart from values" {
    gateway
    program counter 'x_total{a="b"}' 5 'the x' counter y_total 2.5 'a y'
    wait_for '"$SONDE" get -f txt | grep -q y_total'
    [[ $("$SONDE" get -a --tau-socket "$TAU" -f txt 'x_total{a=b}') =~ '"the x" TAU_METRIC_COUNTER '[0-9.]+' 5.0 '$ ]]
    "$SONDE" get -a --tau-socket "$TAU" -f json |
        jq -e 'map(select(.name == "y_total"))[0] | .doc == "a y" and .type == "TAU_METRIC_COUNTER" and .value == 2.5'
    "$SONDE" track -a -n 1 --tau-socket "$TAU" 'y*' | jq -e '.[0][0].doc == "a y" and .[0][0].type == "TAU_METRIC_COUNTER"'
    [[ $("$SONDE" get --tau-socket "$TAU" -f json y_total) != *doc* ]]
}

@test "json and yaml are those of Python, to the byte, for names and numbers of all kinds" {
    gateway
    program counter 'a_total{l="ä\\n ☃"}' 1e16 "it's # a: \"doc\" that is so long that PyYAML folds it into two lines, or even three of them" \
        counter b_total 1e-7 'yes' counter c_total 0.1 '- dash' counter d_total 123456789012345680 '1.5' gauge g 1e400 ' blank ' \
        counter e_total 3 'tab	and café' counter f_total 1e22 ''
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
    assert text == yaml.dump(data) + "\n", text + "\n---\n" + yaml.dump(data)
    wanted = json.load(open(f"{sys.argv[1]}/{kind}.json"))
    if kind == "list-metrics":
        assert data == wanted
PY
}

# What tau's client gives rich to print.
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

@test "md is that of Python's rich, to the byte, for descriptions and values" {
    /usr/bin/python3 -c 'import rich.markdown' 2>/dev/null || skip "no python3-rich here"
    gateway
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

@test "track writes a file that is whole whenever it is looked at, and after SIGINT, SIGTERM and SIGKILL" {
    gateway
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
    for signal in INT TERM; do # what runs in the background would ignore the first
        env --default-signal=INT "$SONDE" track -F 50 -o "$T/$signal.json" x_total >/dev/null 3>&- &
        tracker=$!
        wait_for '[ -s "$T/$signal.json" ] && jq -e ".[0]" "$T/$signal.json" >/dev/null 2>&1'
        kill "-$signal" "$tracker"
        wait "$tracker"
        jq -e '.[0][0].value == 9' "$T/$signal.json"
    done
}

@test "track outlives an agent that is started anew" {
    gateway
    program counter x_total 1 doc
    "$SONDE" track -F 50 -o "$T/log.json" x_total >/dev/null 2>&1 3>&- &
    tracker=$!
    wait_for 'jq -e ".[0]" "$T/log.json" >/dev/null 2>&1'
    stop "$AGENT"
    gateway
    program counter x_total 41 doc
    wait_for '[ "$(jq "[.[][].value] | last" "$T/log.json")" = 41 ]'
    kill -TERM "$tracker"
    wait "$tracker"
}

# An agent of root reads what all programs on the node tell: of these, ours.
OURS='map(select(.name | test("^(x|z|null)_total")) | .value)'

# logs OPTION… FILE: tau_metric_client with these and, where it is not among its options, without the file; until something stands
# in that, then Ctrl-C. What runs in the background would ignore that.
logs() {
    local file=${*: -1} options=("$@")
    [ "$file" != log.js ] || unset 'options[-1]'
    env --default-signal=INT ./tau_metric_client -u "$TAU" "${options[@]}" >logged 2>&1 3>&- &
    local client=$!
    wait_for "jq -e '.[0]' $file >/dev/null 2>&1"
    kill -INT "$client"
    wait "$client"
}

@test "tau_metric_client: all its options, valid JSON for -g, names without quotes" {
    proxy
    program counter 'x_total{a="b"}' 5 'the x' counter 'z_total{a="b",c="d"}' 1 'the z' counter null_total 0 nothing
    run -0 ./tau_metric_client -u "$TAU" -l -f json
    [ "$(jq -r 'map(select(.name | startswith("x_"))) | .[0] | [.name, .doc, .type] | join("|")' <<<"$output")" = 'x_total{a="b"}|the x|TAU_METRIC_COUNTER' ]
    run -0 ./tau_metric_client -u "$TAU" --values --format=json
    [ "$(jq -c "$OURS" <<<"$output")" = '[5,1]' ]
    run -0 ./tau_metric_client -u "$TAU" -f json -g 'z_total{a=b,c=d},unknown,x_total{a=b}'
    [ "$(jq -c 'map(.value)' <<<"$output")" = '[1,5]' ]
    for none in '' ',' unknown; do
        run -0 ./tau_metric_client -u "$TAU" -f=json -g "$none"
        [ "$(jq -c . <<<"$output")" = '[]' ]
    done
    run -0 ./tau_metric_client -u="$TAU" -f=json '-gx_total{a=b}'
    [ "$(jq -c 'map(.value)' <<<"$output")" = '[5]' ]
    run -0 ./tau_metric_client -u "$TAU" -l
    [[ $output == *"List of tau_metric_exporter Metrics"* && $output == *"x_total{a=\"b\"} (TAU_METRIC_COUNTER) : the x"* ]]
    run -0 ./tau_metric_client -h
    [[ $output == "usage: tau_metric_client"* ]]
    run -0 ./tau_metric_client
    run -2 ./tau_metric_client -l --nonsense
    run -1 ./tau_metric_client -u "$T/nobody" -l
    [[ $output == *"nobody listens at $T/nobody"* ]]
    logs -t -F 20 log.js
    [[ $(cat logged) == "Logging in ./log.js interrupt with CTRL + C when done... "* ]]
    [ "$(jq -c ".[0] | $OURS" log.js)" = '[5,1]' ]
    logs -T 'x_total{a=b}' -o list.json
    [ "$(jq -c '.[0] | map(.name)' list.json)" = '["x_total{a=\"b\"}"]' ]
}

@test "tau_metric_client without -u finds the agent of the node" {
    [ ! -e "/tmp/tau_metric_proxy.$(id -u).unix" ] || skip "somebody uses tau's usual socket"
    start_agent --sensors loadavg --set programs.tau="$TAU"
    program counter x_total 3 doc
    wait_for './tau_metric_client -v -f txt | grep -q "^x_total"'
}

@test "tau_metric_proxy serves on 127.0.0.1, ends well on SIGTERM, and takes nobody's socket" {
    proxy
    program counter x_total 3 doc
    curl -s "http://127.0.0.1:$PORT/metrics" | grep -q '^x_total{.*} 3'
    ss -tln | grep -q "127.0.0.1:$PORT "
    for path in /metrics/ /foo/metrics /metrics.txt '/node/metrics?job=1'; do
        curl -sf "http://127.0.0.1:$PORT$path" | grep -q '^x_total{.*} 3'
    done
    [ "$(curl -s -o /dev/null -w '%{http_code}' "http://127.0.0.1:$PORT/metric")" = 404 ]
    curl -sf "http://127.0.0.1:$PORT/programs" | jq -e .metrics
    run -1 ./tau_metric_proxy -u "$TAU" -p 0
    [ -S "$TAU" ]
    program counter x_total 3 doc
    stop "$AGENT"
    [ ! -e "$TAU" ]
    for name in tau_metric_proxy tau_metric_proxy_run; do
        for option in -h --help; do
            run -0 "./$name" "$option"
            [[ $output == "usage: $name "* ]]
        done
        run -2 "./$name" -x
        [[ $output == "$name: -x is not known"*"See '$name --help'." ]]
        run -2 "./$name" --nonsense
        [[ $output == "$name: '--nonsense' is not known"* ]]
        run -2 "./$name" --help=no
    done
}

@test "an agent under its own name serves /metrics and no path that is like it, unless it is told to" {
    gateway
    code() { curl -s -o /dev/null -w '%{http_code}' "http://127.0.0.1:$PORT$1"; }
    [ "$(code /metrics)" = 200 ]
    [ "$(code /metrics/)" = 404 ]
    "$SONDE" ctl set programs.tau_paths=yes
    [ "$(code /metrics/)" = 200 ]
    [ "$(code /foo)" = 404 ]
}

@test "messages bear the name that was typed" {
    run -2 ./tau_metric_proxy_run
    [[ $output == "tau_metric_proxy_run: say what to run"*"See 'tau_metric_proxy_run --help'." ]]
    run -127 ./tau_metric_proxy_run -u "$T/nobody" -- "$T/no-such-command"
    [[ $output == "tau_metric_proxy_run: cannot run $T/no-such-command"* ]]
    run -1 ./tau_metric_client -u "$T/nobody" -l
    [[ $output == "tau_metric_client: nobody listens"* ]]
    run -2 "$SONDE" tau-run
    [[ $output == "sonde tau-run: "* ]]
}

# A user whose usual socket nobody else has.
@test "a second tau_metric_proxy at another place leaves the usual socket, and who uses it, alone" {
    need_root
    local uid=$((60000 + RANDOM % 5000)) usual
    usual=/tmp/tau_metric_proxy.$uid.unix
    [ ! -e "$usual" ] || skip "somebody uses $usual"
    install -d -o "$uid" "$T/home"
    setpriv "--reuid=$uid" --regid=65534 --clear-groups env "HOME=$T/home" "$T/tau_metric_proxy" -p "$PORT" -P "$T/home/p" >"$T/said" 2>&1 3>&- &
    AGENT=$!
    wait_for '[ -S "$usual" ]'
    inode=$(stat -c %i "$usual")
    setpriv "--reuid=$uid" --regid=65534 --clear-groups env "HOME=$T/home" "$T/tau_metric_proxy" -u "$T/home/other" -p 0 -P "$T/home/q" >"$T/second.said" 2>&1 3>&- &
    watched=$!
    wait_for '[ -S "$T/home/other" ]'
    TAU=$T/home/other program counter second_total 1 doc
    TAU=$usual program counter first_total 1 doc
    kill "$watched"
    wait "$watched"
    watched=
    [ ! -e "$T/home/other" ]
    [ "$(stat -c %i "$usual")" = "$inode" ]
    TAU=$usual program counter first_total 1 doc
    run -0 ./tau_metric_client -u "$usual" -v -f txt
    [[ $output == *first_total*2.0* && $output != *second_total* ]]
    stop "$AGENT"
    [ ! -e "$usual" ]
}

@test "tau_metric_proxy starts again at once on its port, after SIGTERM and SIGKILL, with a scrape still connected" {
    proxy
    for signal in TERM KILL; do
        exec 7<>"/dev/tcp/127.0.0.1/$PORT"
        printf 'GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n' >&7
        read -r _ <&7
        kill "-$signal" "$AGENT"
        wait "$AGENT" || :
        proxy
        program counter x_total 3 doc
        curl -s "http://127.0.0.1:$PORT/metrics" | grep -q '^x_total{.*} 3'
        exec 7>&-
    done
    stop "$AGENT"
}

@test "tau_metric_proxy_run ends as its command does, and counts it" {
    proxy
    run -3 ./tau_metric_proxy_run -u "$TAU" -- sh -c 'exit 3'
    run -139 ./tau_metric_proxy_run -u "$TAU" -- sh -c 'kill -SEGV $$'
    run -127 ./tau_metric_proxy_run -u "$TAU" -- /no/such
    run -0 ./tau_metric_proxy_run -u "$TAU" -F 0.5 -v -- sh -c 'echo $TAU_METRIC_PROXY $TAU_METRIC_FREQ $TAU_METRIC_PROXY_VERBOSE'
    [ "${lines[-1]}" = "$TAU 0.5 1" ]
    long=$(printf 'x%.0s' $(seq 5000))
    run -0 ./tau_metric_proxy_run -u "$TAU" -- echo "$long"
    [ "$output" = "$long" ]
    run -0 --separate-stderr ./tau_metric_proxy_run -u "$TAU" -- sh -c 'yes | head -1' # SIGPIPE is as it was
    [ -z "$stderr" ]
    wait_for '[ "$(./tau_metric_client -u "$TAU" -g "tau_metric_proxy_run_total{operation=exec}" -f json | jq .[0].value)" = 6 ]'
    [ "$(./tau_metric_client -u "$TAU" -g 'tau_metric_proxy_run_total{operation=badreturn}' -f json | jq .[0].value)" = 3 ]
    jq -e '.[0].value > 0' <<<"$(./tau_metric_client -u "$TAU" -g 'tau_metric_proxy_run_total{metric=time}' -f json)"
    run -0 ./tau_metric_proxy_run -u "$T/nobody" -- echo still
    [ "$output" = still ]
    run -2 ./tau_metric_proxy_run
}

@test "tau_metric_proxy_run tells nothing and counts nothing where its client is inhibited, and runs its command" {
    proxy
    run -3 env TAU_METRIC_PROXY_INIHIBIT_CLIENT=1 ./tau_metric_proxy_run -u "$TAU" -s -m -- sh -c 'echo "<$LD_PRELOAD>"; exit 3'
    [ "$output" = "<${LD_PRELOAD:-}>" ]
    run -1 env TAU_METRIC_PROXY_INIHIBIT_CLIENT=1 ./tau_metric_proxy_run -u "$TAU" -S 999999999
    run -0 ./tau_metric_client -u "$TAU" -f json -g 'tau_metric_proxy_run_total{operation=exec}'
    [ "$(jq -c . <<<"$output")" = '[]' ]
    run -0 env TAU_METRIC_PROXY_INIHIBIT_CLIENT=0 ./tau_metric_proxy_run -u "$TAU" -- true
    wait_for '[ "$(./tau_metric_client -u "$TAU" -g "tau_metric_proxy_run_total{operation=exec}" -f json | jq .[0].value)" = 1 ]'
}

@test "tau_metric_proxy_run -s tells times of system calls too, and leaves them out when told" {
    need_root # for boards of our own
    own_boards
    proxy
    SONDE_CALLS=count inside ./tau_metric_proxy_run -u "$TAU" -s -- "$TOOLS/caller" now 50 </dev/null
    wait_for './tau_metric_client -u "$TAU" -v -f txt | grep -q "^strace_hits_total{scall=\"writev\"} .* 50"'
    run -0 ./tau_metric_client -u "$TAU" -v -f txt
    [[ $output != *strace_time_total* ]]
    inside ./tau_metric_proxy_run -u "$TAU" -s -- "$TOOLS/caller" now 50 </dev/null
    wait_for './tau_metric_client -u "$TAU" -v -f txt | grep -q "^strace_hits_total{scall=\"writev\"} .* 100"'
    for name in 'strace_time_total{scall=writev}' 'strace_total{desc=time}' 'strace_total{desc=read_time}' 'strace_total{desc=write_time}'; do
        run -0 ./tau_metric_client -u "$TAU" -g "$name" -f json
        jq -e '.[0].value > 0' <<<"$output"
    done
}

@test "tau_metric_proxy_run -S counts a process that runs already, lets go of it, and tells the gateway while it does" {
    need_root # for boards of our own
    own_boards
    proxy
    /usr/bin/python3 -c '
import os, time
while True:
    os.getppid()
    time.sleep(0.01)' 3>&- &
    watched=$!
    nsenter --mount --target "$SPACE" -- "$T/tau_metric_proxy_run" -u "$TAU" -S "$watched" >"$T/table" 2>&1 3>&- &
    runner=$!
    wait_for './tau_metric_client -u "$TAU" -v -f txt | grep -q "^strace_hits_total{scall=\"getppid\"} .* [1-9]"'
    wait_for './tau_metric_client -u "$TAU" -v -f txt | grep -q "^strace_time_total{scall=\"clock_nanosleep\"} "'
    [ "$(./tau_metric_client -u "$TAU" -g 'tau_metric_proxy_run_total{operation=attach}' -f json | jq .[0].value)" = 1 ]
    kill -TERM "$runner"
    wait "$runner"
    grep -q '^getppid ' "$T/table"
    kill -0 "$watched"
    grep -q '^TracerPid:[[:space:]]*0$' "/proc/$watched/status"
    kill "$watched"
    wait "$watched" || :
    # What the table says is what the gateway has; a process that is not there was not attached to.
    calls=$(awk '$1 == "getppid" { gsub(",", "", $2); print $2 }' "$T/table")
    wait_for '[ "$(./tau_metric_client -u "$TAU" -g "strace_hits_total{scall=getppid}" -f json | jq .[0].value)" = "$calls" ]'
    run -1 ./tau_metric_proxy_run -u "$TAU" -S "$watched"
    run -2 ./tau_metric_proxy_run -u "$TAU" -S me
    [ "$(./tau_metric_client -u "$TAU" -g 'tau_metric_proxy_run_total{operation=attach}' -f json | jq .[0].value)" = 1 ]
}

@test "what is not there, or makes no sense, is told with what to do" {
    gateway
    program counter x_total 3 doc
    run -1 --separate-stderr "$SONDE" get -f json -j nojob
    [ "$output" = '[]' ]
    [[ $stderr == *"nothing from programs of job nojob"* ]]
    run -1 --separate-stderr "$SONDE" list-metrics -f json -U nosuch
    [[ $stderr == *"nothing from programs of user nosuch"* ]]
    run -1 --separate-stderr "$SONDE" list-metrics -f json x_total y_total
    [ "$(jq -r '.[].name' <<<"$output")" = x_total ]
    [[ $stderr == *"there is no metric y_total"* ]]
    run -1 "$SONDE" get --tau-socket "$T/nobody"
    [[ $output == *"nobody listens at $T/nobody"*--tau-socket* ]]
    for command in get list-metrics track; do
        run -2 "$SONDE" "$command" --tau-socket "$TAU" -j 1 # tau's messages know of no job: not the sums of all in its place
        run -2 "$SONDE" "$command" -f xml
    done
    run -2 "$SONDE" track -o "$T"
    [[ $output == *"$T is a folder"* ]]
    run -1 "$SONDE" track -o "$T/no/such"
    [[ $output == *"there is no such folder"* ]]
    run -2 "$SONDE" track -F 1001
}

@test "signals reach the command of tau_metric_proxy_run" {
    proxy
    ./tau_metric_proxy_run -u "$TAU" -- sh -c 'trap "exit 7" TERM; echo ready >'"$T/ready"'; while :; do sleep 0.05; done' 3>&- &
    runner=$!
    wait_for '[ -e "$T/ready" ]'
    kill -TERM "$runner"
    status=0
    wait "$runner" || status=$?
    [ "$status" -eq 7 ]
}

@test "tau_metric_proxy_run hears its command's end where SIGCHLD is ignored, and leaves it ignored for the command" {
    for status in 0 3; do
        run "-$status" timeout -k 1 60 env --ignore-signal=CHLD ./tau_metric_proxy_run -u "$T/nobody" -- sh -c "exit $status"
    done
    run -0 env --ignore-signal=CHLD ./tau_metric_proxy_run -u "$T/nobody" -- grep '^SigIgn:' /proc/self/status
    expected=$(env --ignore-signal=CHLD grep '^SigIgn:' /proc/self/status)
    [ "$output" = "$expected" ]
    env --ignore-signal=CHLD ./tau_metric_proxy_run -u "$T/nobody" -- sh -c 'echo ready >"$0"; exec sleep 600' "$T/ready" 3>&- &
    runner=$!
    wait_for '[ -e "$T/ready" ]'
    kill -TERM "$runner"
    status=0
    wait "$runner" || status=$?
    [ "$status" -eq 143 ]
}

# Fields of a profile, read by an independent reader.
profile() {
    /usr/bin/python3 - "$1" <<'PY'
import struct
import sys
data = open(sys.argv[1], "rb").read()
count = struct.unpack_from("<i", data)[0]
assert len(data) == 1120 + 632 * count + 4 and struct.unpack_from("<i", data, len(data) - 4)[0] == 0x77
job, command = data[8:72].split(b"\0")[0].decode(), data[72:584].split(b"\0")[0].decode()
size, start, end = struct.unpack_from("<i", data, 584)[0], *struct.unpack_from("<QQ", data, 8 + 1096)
assert start <= end
print("job", job, "size", size, "command", command)
for i in range(count):
    at = 1120 + 632 * i
    assert struct.unpack_from("<i", data, at + 624)[0] == 0x1337
    print(data[at + 304:at + 604].split(b"\0")[0].decode(), struct.unpack_from("<d", data, at + 608)[0])
PY
}

@test "what a launcher does not know of a job is taken from its programs" {
    proxy
    /usr/bin/python3 "$SOURCE/tests/tools/tau_program.py" "$TAU" job=78 command=./launcher seconds=600 counter x_total 1 doc \
        >"$T/first" 3>&- &
    first=$!
    wait_for 'grep -q told "$T/first"'
    program job=78 size=8 command=./second counter x_total 2 doc
    kill "$first"
    stop "$AGENT"
    run -0 profile "$T/profiles-of-tau/profiles/7/78.profile"
    [[ $output == "job 78 size 8 command ./launcher"* ]]
    [[ $output == *"x_total 3.0"* ]]
}

@test "a job's profile is written when its last program has gone, and nodes are merged" {
    proxy -i
    program job=77-0 size=4 "command=tau_metric_proxy_run -m -- ./real 1" counter x_total 5 doc gauge heat 10 hot
    wait_for 'ls "$T"/profiles-of-tau/77-0-*.taumetric'
    stop "$AGENT"
    [ ! -e "$T/profiles-of-tau/profiles" ]
    proxy
    program job=77-0 size=4 command=./real counter x_total 6 doc gauge heat 30 hot
    program job=../evil counter x_total 6 doc
    stop "$AGENT"
    run -0 profile "$T/profiles-of-tau/profiles/7/77-0.profile"
    [[ $output == "job 77-0 size 4 command ./real 1 : ./real"* || $output == "job 77-0 size 4 command ./real : ./real 1"* ]]
    [[ $output == *"x_total 11.0"* && $output == *"heat 20.0"* ]]
    [ -e "$T/profiles-of-tau/profiles/%/%2E.%2Fevil.profile" ]
    [ -z "$(find "$T/profiles-of-tau" -name '*.taumetric')" ]
    [ ! -e "$T/evil.profile" ]
}

# The time at which a job ended, as its profile has it.
end_of() {
    /usr/bin/python3 -c 'import struct, sys; print(struct.unpack_from("<Q", open(sys.argv[1], "rb").read(), 8 + 1104)[0])' "$1"
}

@test "of two jobs at a time each has its own end" {
    proxy
    for job in 81 92; do
        /usr/bin/python3 "$SOURCE/tests/tools/tau_program.py" "$TAU" "job=$job" seconds=600 counter x_total 1 doc >"$T/$job.told" 3>&- &
        declare "job_$job=$!"
        wait_for 'grep -q told "$T/$job.told"'
    done
    first=$T/profiles-of-tau/profiles/8/81.profile second=$T/profiles-of-tau/profiles/9/92.profile
    kill "$job_81"
    wait_for '[ -e "$first" ]'
    between=$(date +%s)
    [ ! -e "$second" ]
    wait_for '[ "$(date +%s)" -gt $((between + 1)) ]'
    kill "$job_92"
    wait_for '[ -e "$second" ]'
    stop "$AGENT"
    [ "$(end_of "$first")" -le "$between" ]
    [ "$(end_of "$second")" -gt "$between" ]
    [ "$(end_of "$second")" -le "$(date +%s)" ]
}

@test "profiles of several sizes become lines for Extra-P, and a crashed job is left out aloud" {
    proxy
    for size in 2 4 8; do
        program job="$size" size="$size" counter 'strace_hits_total{scall="read"}' "$((size * 10))" doc \
            counter "only_$size" 1 doc
    done
    SLURM_JOBID=666 SLURM_NTASKS=3 ./tau_metric_proxy_run -u "$TAU" -- false || :
    stop "$AGENT"
    run -0 --separate-stderr "$SONDE" export -f extrap "$T/profiles-of-tau"
    [[ $stderr == *"666.profile is left out: a command in it failed"* ]]
    [ "$(jq -c 'select(.metric == "strace_hits_total{scall=\"read\"}") | [.params.ranks, .value]' <<<"$output" | xargs)" = "[2,20] [4,40] [8,80]" ]
    [ "$(jq -c 'select(.metric == "only_4") | .value' <<<"$output" | xargs)" = "0 1 0" ]
    "$SONDE" export -f extrap -c "$T/profiles-of-tau" | grep -qF '{"params":{"Processes":8},"callpath":"strace_hits_total->scall->\"read\"","metric":"Hits","value":80.0}'
    run -1 "$SONDE" export -f extrap "$T/nothing-here/x"
}

@test "under mpirun, -m and -s count calls under tau's names, and the job's profile has them" {
    command -v mpicc >/dev/null && command -v mpirun >/dev/null || skip "no MPI here"
    [ -e "$BUILD/src/probe/mpi/libsonde-mpi.so" ] || skip "this sonde has no probe for MPI"
    need_root
    cat >ring.c <<'C'
#include <mpi.h>
int main(int argc, char **argv)
{
    int rank, value = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 100; i++)
        if (rank == 0)
            MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        else
            MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return MPI_Finalize();
}
C
    mpicc -o ring ring.c
    own_boards
    proxy
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 inside \
        mpirun --oversubscribe -n 2 ./tau_metric_proxy_run -u "$TAU" -m -s -- ./ring
    wait_for '[ "$(./tau_metric_client -u "$TAU" -g "tau_hits_total{function=mpi_send}" -f json | jq ".[0].value")" = 100 ]'
    [ "$(./tau_metric_client -u "$TAU" -g 'tau_size_out_total{function=mpi_send}' -f json | jq '.[0].value')" = 400 ]
    jq -e '.[0].value > 0' <<<"$(./tau_metric_client -u "$TAU" -g 'strace_hits_total{scall=read}' -f json)"
    curl -s "http://127.0.0.1:$PORT/metrics" | grep -q '^tau_hits_total{function="mpi_recv".*} 100'
    stop "$AGENT"
    run -0 profile "$(find "$T/profiles-of-tau/profiles" -name '*.profile')" # its name is that of PMIx
    [[ $output == "job "*" size 2 command ./ring"* ]]
    [[ $output == *'tau_hits_total{function="mpi_send"} 100.0'* && $output == *'tau_hits_total{function="mpi_recv"} 100.0'* ]]
    [[ $output != *mpi_calls_total* ]]
}
