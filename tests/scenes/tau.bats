#!/usr/bin/env bats
# The drop-in names of tau_metric_proxy: tau_metric_client, tau_metric_proxy and tau_metric_proxy_run as scripts call them.
load scene
load live
load tau

# Root's agent reads the metrics of all programs on the node: selects ours.
OURS='map(select(.name | test("^(x|z|null)_total")) | .value)'

# A command that waits for a file, at most until the end of its test.
UNTIL_GO='until [ -e go ] || [ ! -d "$T" ]; do sleep 0.02; done'

# logs OPTION… FILE: runs tau_metric_client with these options (FILE is only passed on if it belongs to -o) until FILE is not empty,
# then sends Ctrl-C, which background processes would ignore.
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
    start_proxy -- --set programs.boards=none
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
    [[ $output == *"cannot connect to $T/nobody"* ]]
    logs -t -F 20 log.js
    [[ $(cat logged) == "Logging in ./log.js interrupt with CTRL + C when done... "* ]]
    [ "$(jq -c ".[0] | $OURS" log.js)" = '[5,1]' ]
    logs -T 'x_total{a=b}' -o list.json
    [ "$(jq -c '.[0] | map(.name)' list.json)" = '["x_total{a=\"b\"}"]' ]
}

@test "tau_metric_client without -u finds the agent of the node" {
    local uid asks=()
    uid=$(id -u)
    if [ "$uid" -eq 0 ]; then # other scenes may use root's default socket
        uid=$((65000 + RANDOM % 500))
        asks=(setpriv "--reuid=$uid" --regid=65534 --clear-groups)
    fi
    ! ss -xlH | grep -q "/tmp/tau_metric_proxy.$uid.unix" || skip "tau's default socket is in use"
    start_agent --sensors loadavg --set programs.tau="$TAU"
    program counter x_total 3 doc
    wait_for '"${asks[@]}" ./tau_metric_client -v -f txt | grep -q "^x_total"'
}

@test "tau_metric_proxy serves on 127.0.0.1, exits with 0 on SIGTERM, and replaces no socket in use" {
    start_proxy
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
        [[ $output == "$name: unknown option -x"*"See '$name --help'." ]]
        run -2 "./$name" --nonsense
        [[ $output == "$name: unknown argument '--nonsense'"* ]]
        run -2 "./$name" --help=no
    done
}

@test "tau_metric_proxy prints tau's lines at its start, and leaves nothing in /dev/shm" {
    need_root # for a private /dev/shm
    use_private_shm
    start_proxy
    grep -x 'INFO ([a-z_]*:[0-9]*): now listening on 127.0.0.1:'"$PORT" "$T/log"
    grep -x "INFO ([a-z_]*:[0-9]*): UNIX push gateway running on $TAU" "$T/log"
    inside env TAU_METRIC_PROXY="$TAU" "$BUILD/tests/segment_program" sonde counter x_total - 1
    [ "$(./tau_metric_client -u "$TAU" -g x_total -f json | jq '.[0].value')" = 1 ]
    stop "$AGENT"
    [ "$(inside find /dev/shm -type f -printf '%f\n')" = own ]
}

@test "a query has what programs have counted until now, also of one that has just exited" {
    need_root # for a private /dev/shm
    use_private_shm
    start_proxy
    for i in {1..20}; do
        inside env TAU_METRIC_PROXY="$TAU" "$BUILD/tests/segment_program" sonde counter x_total - 1
        [ "$(./tau_metric_client -u "$TAU" -g x_total -f json | jq '.[0].value')" = "$i" ]
        [ "$(./tau_metric_client -u "$TAU" -v -f json | jq '.[] | select(.name == "x_total").value')" = "$i" ]
    done
    for i in {1..200}; do
        inside env TAU_METRIC_PROXY="$TAU" "$BUILD/tests/segment_program" sonde counter fast_total - 1
        sleep 0.02
    done 3>&- &
    many=$!
    timeout -s INT 3 ./tau_metric_client -u "$TAU" -T fast_total -F 10 -o log.js >/dev/null || :
    kill "$many"
    wait "$many" || :
    [ "$(jq '[flatten[].value] | unique | length' log.js)" -ge 15 ]
}

@test "tau_metric_proxy has one series per metric while a job runs, and lists nothing twice" {
    need_root # for a private /dev/shm
    use_private_shm
    start_proxy
    mkfifo "$T/stay"
    chmod 666 "$T/stay"
    for i in 1 2; do
        SONDE_JOB=77 inside env TAU_METRIC_PROXY="$TAU" "$BUILD/tests/segment_program" calls counter syscall_calls_total 'call="read"' 5 \
            gauge level - $((i * 4)) wait <>"$T/stay" 3>&- &
    done
    wait_for '[ "$(./tau_metric_client -u "$TAU" -g "strace_hits_total{scall=read}" -f json | jq ".[0].value")" = 10 ]'
    curl -sf "http://127.0.0.1:$PORT/metrics" >page
    [ "$(grep -c 'strace_hits_total{' page)" -eq 1 ]
    grep -q '^strace_hits_total{.*} 10$' page
    run ! grep 'syscall_calls_total' page
    # the mean, as for clients
    grep -q '^level{.*} 6$' page
    [ "$(./tau_metric_client -u "$TAU" -g level -f json | jq '.[0].value')" = 6 ]
    ./tau_metric_client -u "$TAU" -l -f json | jq -r '.[].name' >names
    [ -z "$(sort names | uniq -d)" ]
    run ! grep syscall_calls_total names
    echo >"$T/stay"
    echo >"$T/stay"
}

@test "a deleted socket is created again, and connected clients stay" {
    start_proxy
    coproc STAY { exec env TAU_METRIC_PROXY="$TAU" "$SOURCE/tests/tools/tau_client.py" counter x_total add x_total 1 stay; }
    read -r _ <&"${STAY[0]}"
    rm "$TAU"
    wait_for '[ -S "$TAU" ]'
    grep -q "$TAU, was deleted: it is created again" "$T/log"
    wait_for '[ "$(./tau_metric_client -u "$TAU" -g x_total -f json | jq ".[0].value")" = 1 ]'
    [ "$(curl -s "http://127.0.0.1:$PORT/metrics" | sed -n 's/^sonde_programs_connections{.*} //p')" -ge 1 ]
    kill "$STAY_PID"
    stop "$AGENT"
    [ ! -e "$TAU" ]
}

@test "sonde agent serves /metrics and no similar paths, unless it is configured to" {
    start_tau_agent
    code() { curl -s -o /dev/null -w '%{http_code}' "http://127.0.0.1:$PORT$1"; }
    [ "$(code /metrics)" = 200 ]
    [ "$(code /metrics/)" = 404 ]
    "$SONDE" ctl set programs.tau_paths=yes
    [ "$(code /metrics/)" = 200 ]
    [ "$(code /foo)" = 404 ]
}

@test "messages start with the name of the drop-in" {
    run -2 ./tau_metric_proxy_run
    [[ $output == "tau_metric_proxy_run: missing COMMAND"*"See 'tau_metric_proxy_run --help'." ]]
    run -127 ./tau_metric_proxy_run -u "$T/nobody" -- "$T/no-such-command"
    [[ $output == "tau_metric_proxy_run: cannot run $T/no-such-command"* ]]
    run -1 ./tau_metric_client -u "$T/nobody" -l
    [[ $output == "tau_metric_client: cannot connect"* ]]
    run -0 ./tau_metric_proxy_run -v -u "$T/nobody" -- true
    [[ $output == "tau_metric_proxy_run: no agent at $T/nobody: "* ]]
    sleep 0 &
    gone=$!
    wait "$gone"
    run -1 ./tau_metric_proxy_run -u "$T/nobody" -S "$gone"
    [[ $output == "tau_metric_proxy_run: "* ]]
    run -2 ./tau_metric_proxy -p 65536
    [[ $output == "tau_metric_proxy: invalid port"* ]]
    touch "$T/file"
    run -1 ./tau_metric_proxy -u "$T/file" -p "$PORT" -P "$T/profiles-of-tau"
    [[ $output == "tau_metric_proxy: "* && $output != *"sonde: "* ]]
    run -2 "$SONDE" tau-run
    [[ $output == "sonde tau-run: "* ]]
}

# As a user whose default socket is not in use.
@test "a second tau_metric_proxy at another path does not affect the default socket and its users" {
    need_root
    local uid=$((60000 + RANDOM % 5000)) default
    default=/tmp/tau_metric_proxy.$uid.unix
    [ ! -e "$default" ] || skip "$default is in use"
    install -d -o "$uid" "$T/home"
    setpriv "--reuid=$uid" --regid=65534 --clear-groups env "HOME=$T/home" "$T/tau_metric_proxy" -p "$PORT" -P "$T/home/p" >"$T/log" 2>&1 3>&- &
    AGENT=$!
    wait_for '[ -S "$default" ]'
    inode=$(stat -c %i "$default")
    setpriv "--reuid=$uid" --regid=65534 --clear-groups env "HOME=$T/home" "$T/tau_metric_proxy" -u "$T/home/other" -p 0 -P "$T/home/q" >"$T/second.log" 2>&1 3>&- &
    other=$!
    wait_for '[ -S "$T/home/other" ]'
    TAU=$T/home/other program counter second_total 1 doc
    TAU=$default program counter first_total 1 doc
    kill "$other"
    wait "$other"
    other=
    [ ! -e "$T/home/other" ]
    [ "$(stat -c %i "$default")" = "$inode" ]
    TAU=$default program counter first_total 1 doc
    run -0 ./tau_metric_client -u "$default" -v -f txt
    [[ $output == *first_total*2.0* && $output != *second_total* ]]
    stop "$AGENT"
    [ ! -e "$default" ]
}

@test "tau_metric_proxy can be restarted on its port at once, after SIGTERM and SIGKILL, with a scrape still connected" {
    start_proxy
    for signal in TERM KILL; do
        exec 7<>"/dev/tcp/127.0.0.1/$PORT"
        printf 'GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n' >&7
        read -r _ <&7
        kill "-$signal" "$AGENT"
        wait "$AGENT" || :
        start_proxy
        program counter x_total 3 doc
        curl -s "http://127.0.0.1:$PORT/metrics" | grep -q '^x_total{.*} 3'
        exec 7>&-
    done
    stop "$AGENT"
}

@test "tau_metric_proxy_run exits with the status of its command, and counts it" {
    start_proxy
    run -3 ./tau_metric_proxy_run -u "$TAU" -- sh -c 'exit 3'
    run -139 ./tau_metric_proxy_run -u "$TAU" -- sh -c 'kill -SEGV $$'
    run -127 ./tau_metric_proxy_run -u "$TAU" -- /no/such
    run -0 ./tau_metric_proxy_run -u "$TAU" -F 0.5 -v -- sh -c 'echo $TAU_METRIC_PROXY $TAU_METRIC_FREQ $TAU_METRIC_PROXY_VERBOSE'
    [ "${lines[-1]}" = "$TAU 0.5 1" ]
    long=$(printf 'x%.0s' $(seq 5000))
    run -0 ./tau_metric_proxy_run -u "$TAU" -- echo "$long"
    [ "$output" = "$long" ]
    run -0 --separate-stderr ./tau_metric_proxy_run -u "$TAU" -- sh -c 'yes | head -1' # SIGPIPE is unchanged
    [ -z "$stderr" ]
    wait_for '[ "$(./tau_metric_client -u "$TAU" -g "tau_metric_proxy_run_total{operation=exec}" -f json | jq .[0].value)" = 6 ]'
    [ "$(./tau_metric_client -u "$TAU" -g 'tau_metric_proxy_run_total{operation=badreturn}' -f json | jq .[0].value)" = 3 ]
    jq -e '.[0].value > 0' <<<"$(./tau_metric_client -u "$TAU" -g 'tau_metric_proxy_run_total{metric=time}' -f json)"
    run -0 ./tau_metric_proxy_run -u "$T/nobody" -- echo still
    [ "$output" = still ]
    run -2 ./tau_metric_proxy_run
}

@test "tau_metric_proxy_run reports the exit of its command if the proxy was restarted meanwhile, or started late" {
    value() { ./tau_metric_client -u "$TAU" -g "tau_metric_proxy_run_total{$1}" -f json | jq '.[0].value'; }
    ./tau_metric_proxy_run -u "$TAU" -- sh -c "touch begun; $UNTIL_GO" 3>&- & # before there is a proxy
    early=$!
    wait_for '[ -e begun ]'
    start_proxy
    ./tau_metric_proxy_run -u "$TAU" -- sh -c "$UNTIL_GO; exit 3" 3>&- &
    late=$!
    wait_for '[ "$(value operation=exec)" = 1 ]'
    kill -9 "$AGENT"
    wait "$AGENT" || :
    start_proxy
    touch go
    wait "$early"
    local bad=0
    wait "$late" || bad=$?
    [ "$bad" -eq 3 ]
    wait_for '[ "$(value operation=badreturn)" = 1 ]'
    [ "$(value operation=exec)" = 1 ] # the one that no proxy had received
    jq -e '. > 0' <<<"$(value metric=time)"
    stop "$AGENT"
}

@test "tau_metric_proxy_run with an inhibited client runs its command, and neither counts nor reports" {
    start_proxy
    run -3 env TAU_METRIC_PROXY_INIHIBIT_CLIENT=1 ./tau_metric_proxy_run -u "$TAU" -s -m -- sh -c 'echo "<$LD_PRELOAD>"; exit 3'
    [ "$output" = "<${LD_PRELOAD:-}>" ]
    run -1 env TAU_METRIC_PROXY_INIHIBIT_CLIENT=1 ./tau_metric_proxy_run -u "$TAU" -S 999999999
    run -0 ./tau_metric_client -u "$TAU" -f json -g 'tau_metric_proxy_run_total{operation=exec}'
    [ "$(jq -c . <<<"$output")" = '[]' ]
    run -0 env TAU_METRIC_PROXY_INIHIBIT_CLIENT=0 ./tau_metric_proxy_run -u "$TAU" -- true
    wait_for '[ "$(./tau_metric_client -u "$TAU" -g "tau_metric_proxy_run_total{operation=exec}" -f json | jq .[0].value)" = 1 ]'
}

@test "tau_metric_proxy_run -s also reports times of system calls, unless disabled" {
    need_root # for a private /dev/shm
    use_private_shm
    start_proxy
    SONDE_CALLS=count inside ./tau_metric_proxy_run -u "$TAU" -s -- "$TOOLS/caller" now 50 </dev/null
    wait_for './tau_metric_client -u "$TAU" -v -f txt | grep -q "^strace_hits_total{scall=\"writev\"} .* 50"'
    run -0 ./tau_metric_client -u "$TAU" -v -f txt
    [[ $output != *strace_time_total* ]]
    # with its children and grandchildren
    inside ./tau_metric_proxy_run -u "$TAU" -s -- sh -c '"$0" now 50; sh -c "\"$0\" now 50; :"; :' "$TOOLS/caller" </dev/null
    wait_for './tau_metric_client -u "$TAU" -v -f txt | grep -q "^strace_hits_total{scall=\"writev\"} .* 150"'
    for name in 'strace_time_total{scall=writev}' 'strace_total{desc=time}' 'strace_total{desc=read_time}' 'strace_total{desc=write_time}'; do
        run -0 ./tau_metric_client -u "$TAU" -g "$name" -f json
        jq -e '.[0].value > 0' <<<"$output"
    done
}

# total_hits: system calls of all names that the proxy has.
total_hits() { ./tau_metric_client -u "$TAU" -g 'strace_total{desc=hits}' -f json | jq '.[0].value // 0'; }

@test "tau_metric_proxy_run -s counts all system calls, as strace does, for root and for users" {
    need_root # for a private /dev/shm
    use_private_shm
    start_proxy
    strace -f -c -o truth ls -R "$SOURCE/docs" >/dev/null
    truth=$(awk '$NF == "total" { print $4 }' truth)
    inside ./tau_metric_proxy_run -u "$TAU" -s -- ls -R "$SOURCE/docs" >/dev/null
    echo "$(total_hits) calls, $truth according to strace"
    [ "$(total_hits)" -ge "$truth" ]
    [ "$(total_hits)" -le $((truth + 2)) ] # waits until it is counted
    [ "$(./tau_metric_client -u "$TAU" -g 'strace_hits_total{scall=getdents64}' -f json | jq '.[0].value')" = 2 ]
    stop "$AGENT"
    # a user has ptrace; children are counted, too
    chmod 711 "$T"
    start_proxy
    chmod 777 "$TAU"
    inside setpriv --reuid=65534 --regid=65534 --clear-groups ./tau_metric_proxy_run -u "$TAU" -s -- sh -c 'ls /; ls /' >/dev/null 2>"$T/messages"
    grep -q 'ptrace is slow' "$T/messages"
    [ "$(./tau_metric_client -u "$TAU" -g 'strace_hits_total{scall=getdents64}' -f json | jq '.[0].value')" = 4 ]
}

# start_other_proxy PATH: starts a second proxy with its socket there.
start_other_proxy() {
    local socket=$1
    nsenter --mount --target "$SPACE" -- "$T/tau_metric_proxy" -u "$socket" -p 0 -P "$T/profiles-beside" >"$T/beside.log" 2>&1 3>&- &
    other=$!
    wait_for '[ -S "$socket" ]'
}

# The number of writev calls that the proxy at a socket has.
writev_calls() { ./tau_metric_client -u "$1" -g 'strace_hits_total{scall=writev}' -f json | jq '.[0].value // 0'; }

@test "each of two proxies of a user has the counts of the programs that name its socket" {
    need_root # for a private /dev/shm
    use_private_shm
    nsenter --mount --target "$SPACE" -- "$SONDE" agent -c /dev/null --sensors none --socket none --listen none \
        --set "programs.tau=$T/first" >"$T/log" 2>&1 3>&- &
    AGENT=$!
    wait_for '[ -S first ]'
    mkdir "$T/real"
    ln -s real "$T/folder"
    start_other_proxy "$T/folder/../real/second"
    inside ./tau_metric_proxy_run -u folder/second -s -- "$TOOLS/caller" now 50 </dev/null
    inside env TAU_METRIC_PROXY=real/second ./tau_metric_proxy_run -s -- sh -c 'cd / && "$0" now 7; :' "$TOOLS/caller" </dev/null
    inside ./tau_metric_proxy_run -u "$T/first" -s -- "$TOOLS/caller" now 20 </dev/null
    wait_for '[ "$(writev_calls real/second)" = 57 ]'
    wait_for '[ "$(writev_calls first)" = 20 ]'
    # a program that runs while its proxy is down is read by the next proxy at that path, and by no other
    inside ./tau_metric_proxy_run -u real/second -s -- sh -c '"$1" now 100; touch counted; until [ -e go ]; do sleep 0.02; done; exec "$1" now 100' sh "$TOOLS/caller" </dev/null 3>&- &
    runner=$!
    wait_for '[ -e counted ] && [ "$(writev_calls real/second)" = 157 ]'
    kill -9 "$other"
    wait "$other" || :
    touch go
    wait "$runner"
    start_other_proxy "$T/real/second"
    wait_for '[ "$(writev_calls real/second)" = 200 ]'
    [ "$(writev_calls first)" = 20 ]
    kill "$other"
    wait "$other"
    other=
    stop "$AGENT"
    [ -z "$(inside sh -c 'ls /dev/shm | grep "^sonde\\."')" ]
}

@test "root's agent also has what programs count for one of two proxies of a user" {
    need_root
    use_private_shm
    local uid=$((60000 + RANDOM % 5000))
    install -d -o "$uid" "$T/home"
    as=(nsenter --mount --target "$SPACE" -- setpriv "--reuid=$uid" --regid=65534 --clear-groups env "HOME=$T/home")
    nsenter --mount --target "$SPACE" -- "$SONDE" agent -c /dev/null --sensors none --socket none --listen none \
        --set "programs.tau=$T/of-root" >"$T/log" 2>&1 3>&- &
    AGENT=$!
    "${as[@]}" "$SONDE" agent -c /dev/null --sensors none --socket none --listen none --set "programs.tau=$T/home/first" >"$T/first.log" 2>&1 3>&- &
    first=$!
    "${as[@]}" "$T/tau_metric_proxy" -u "$T/home/second" -p 0 -P "$T/home/p" >"$T/second.log" 2>&1 3>&- &
    other=$!
    wait_for '[ -S of-root ] && [ -S home/first ] && [ -S home/second ]'
    "${as[@]}" "$T/tau_metric_proxy_run" -u "$T/home/second" -s -- "$TOOLS/caller" now 50 </dev/null
    "${as[@]}" "$T/tau_metric_proxy_run" -u "$T/home/first" -s -- "$TOOLS/caller" now 7 </dev/null
    wait_for '[ "$(writev_calls home/second)" = 50 ]'
    wait_for '[ "$(writev_calls of-root)" = 57 ]'
    wait_for '[ "$(writev_calls home/first)" = 7 ]'
    wait_for '! inside sh -c "ls /dev/shm | grep ^sonde\\\\."' # all have read everything
    [ "$(writev_calls home/first)" = 7 ]
    kill "$first" "$other"
    wait "$first" "$other"
    other=
    stop "$AGENT"
}

@test "tau_metric_proxy_run -S counts a running process, publishes the counts meanwhile, and detaches" {
    need_root # for a private /dev/shm
    use_private_shm
    start_proxy
    /usr/bin/python3 -c '
import os, time
while True:
    os.getppid()
    time.sleep(0.01)' 3>&- &
    other=$!
    nsenter --mount --target "$SPACE" -- "$T/tau_metric_proxy_run" -u "$TAU" -S "$other" >"$T/table" 2>&1 3>&- &
    runner=$!
    wait_for './tau_metric_client -u "$TAU" -v -f txt | grep -q "^strace_hits_total{scall=\"getppid\"} .* [1-9]"'
    wait_for './tau_metric_client -u "$TAU" -v -f txt | grep -q "^strace_time_total{scall=\"clock_nanosleep\"} "'
    [ "$(./tau_metric_client -u "$TAU" -g 'tau_metric_proxy_run_total{operation=attach}' -f json | jq .[0].value)" = 1 ]
    kill -TERM "$runner"
    wait "$runner"
    grep -q '^getppid ' "$T/table"
    kill -0 "$other"
    grep -q '^TracerPid:[[:space:]]*0$' "/proc/$other/status"
    kill "$other"
    wait "$other" || :
    # The table matches what the proxy has; a process that does not exist is not attached to.
    calls=$(awk '$1 == "getppid" { gsub(",", "", $2); print $2 }' "$T/table")
    wait_for '[ "$(./tau_metric_client -u "$TAU" -g "strace_hits_total{scall=getppid}" -f json | jq .[0].value)" = "$calls" ]'
    run -1 ./tau_metric_proxy_run -u "$TAU" -S "$other"
    run -2 ./tau_metric_proxy_run -u "$TAU" -S me
    [ "$(./tau_metric_client -u "$TAU" -g 'tau_metric_proxy_run_total{operation=attach}' -f json | jq .[0].value)" = 1 ]
}

@test "signals reach the command of tau_metric_proxy_run" {
    start_proxy
    ./tau_metric_proxy_run -u "$TAU" -- sh -c 'trap "exit 7" TERM; echo ready >'"$T/ready"'; while :; do sleep 0.05; done' 3>&- &
    runner=$!
    wait_for '[ -e "$T/ready" ]'
    kill -TERM "$runner"
    status=0
    wait "$runner" || status=$?
    [ "$status" -eq 7 ]
}

@test "tau_metric_proxy_run notices its command's exit if SIGCHLD is ignored, and leaves it ignored for the command" {
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
