#!/usr/bin/env bats
# sonde top: the jobs on a node, as text and full screen.
load scene
load live

# A job of one busy process, and one that sleeps.
start_jobs() {
    "$TOOLS/burn" 60000 3>&- &
    BUSY=$!
    sleep 60 3>&- &
    IDLE=$!
    "$SONDE" job begin 4711 --pid "$BUSY" --user nobody --cores 2 --memory 8G
    "$SONDE" job begin 4712 --pid "$IDLE" --user root
}

teardown() {
    [ -z "${BUSY:-}" ] || kill "$BUSY" "$IDLE" 2>/dev/null || :
    live_teardown
}

@test "a page as text: user, cores of those allocated, memory of the limit" {
    need_root
    start_agent --sensors taskstats,process,stat,meminfo
    start_jobs
    wait_for '"$SONDE" top -b -n 1 -d 500ms | grep -qE "^4711 +nobody +[0-9.]*[1-9][0-9]*/2 .* 8.0G "'
    run -0 "$SONDE" top -b -n 2 -d 1200ms
    [ "$(grep -c '^JOB' <<<"$output")" -eq 2 ]
    [[ "${lines[0]}" == *"cpu "*" mem "* ]]
    [[ "${lines[1]}" =~ ^[0-9]+\ jobs,\ by\ cpu$ ]] # this machine may have other jobs
    [[ "$output" == *$'\n'4711*$'\n'4712* ]]
}

@test "a user's own agent has the CPU time of a job that is a process" {
    need_root
    chmod 777 "$T"
    # not as_nobody: its shell would get the signal
    setpriv --reuid=65534 --regid=65534 --clear-groups "$SONDE" agent --listen none --jobs none --sensors process >"$T/log" 2>&1 3>&- &
    AGENT=$!
    wait_for '[ "$(as_nobody "$SONDE" ctl --json 2>/dev/null | jq .ticks)" -ge 1 ] 2>/dev/null'
    setpriv --reuid=65534 --regid=65534 --clear-groups "$TOOLS/burn" 60000 3>&- &
    BUSY=$! IDLE=$!
    as_nobody "$SONDE" job begin mine --pid "$BUSY"
    wait_for 'as_nobody "$SONDE" top -b -n 1 -d 500ms | grep -qE "^mine +nobody +[0-9]*\.?[0-9]*[1-9]"'
}

@test "a user without a socket directory can run an agent, too" {
    need_root
    chmod 777 "$T"
    # an unknown uid: no other test uses its directory
    local uid=$((400000 + BASHPID % 100000))
    plain() { setpriv --reuid=$uid --regid=$uid --clear-groups env -u XDG_RUNTIME_DIR -u SONDE_SOCKET_DIR "$@"; }
    [ ! -S /run/sonde/agent.sock ] || skip "root's agent is running"
    rm -rf /tmp/sonde-$uid
    # not plain: its shell would get the signal
    setpriv --reuid=$uid --regid=$uid --clear-groups env -u XDG_RUNTIME_DIR -u SONDE_SOCKET_DIR \
        "$SONDE" agent --listen none --jobs none --sensors loadavg >"$T/log" 2>&1 3>&- &
    AGENT=$!
    wait_for 'plain "$SONDE" ctl 2>/dev/null | grep -q "^loadavg"'
    [ "$(plain "$SONDE" job)" = "No jobs on this node." ]
    plain "$SONDE" doctor --no-trial | grep -q "listening on /tmp/sonde-$uid/agent.sock"
    kill "$AGENT"
    wait "$AGENT"
    AGENT=
    # a directory that others can write to is rejected
    chmod 777 /tmp/sonde-$uid
    run plain "$SONDE" ctl
    [ "$status" -eq 1 ]
    run plain "$SONDE" doctor --no-trial
    rm -rf /tmp/sonde-$uid
    [[ $output == *"no safe directory for the socket"* ]]
}

@test "sort order" {
    need_root
    start_agent --sensors taskstats,process,loadavg
    start_jobs
    run -0 "$SONDE" top -b -n 1 -s time -r
    [[ "$output" == *"by time"*4712*4711* ]]
    run -0 "$SONDE" top -b -n 1 -s time
    [[ "$output" == *"by time"*4711*4712* ]]
}

@test "users see their own jobs and the number of others" {
    need_root
    start_agent --sensors taskstats,process,loadavg
    start_jobs
    run -0 as_nobody env SONDE_SOCKET_DIR="$T/run" "$SONDE" top -b -n 1
    [[ "$output" =~ \ and\ [0-9]+\ of\ other\ users ]]
    [[ "$output" == *4711* ]]
    [[ "$output" != *4712* ]]
}

@test "a job that ends disappears" {
    need_root
    start_agent --sensors taskstats,process,loadavg
    start_jobs
    "$SONDE" job end 4711
    "$SONDE" job end 4712
    wait_for '! "$SONDE" top -b -n 1 -d 100ms | grep -q "^471[12] "'
}

@test "full screen: keys sort, the size may change, q restores the screen" {
    need_root
    start_agent --sensors taskstats,process,stat,meminfo
    start_jobs
    TERM=xterm LC_ALL=C.UTF-8 NO_COLOR='' python3 "$SOURCE/tests/tools/terminal.py" \
        'send:stty cols 100 rows 10\r' 'await:> ' "send:$SONDE top -d 300ms\r" 'await:\x1b[?1049h' 'await:by cpu' \
        'send:m' 'await:by memory' 'send:t' 'await:by time' 'send:\x1b[B' 'send:p' 'await:by power' \
        'send:q' 'await:\x1b[?1049l' 'send:echo $((6 * 7))\r' 'await:42' >screen
    grep -q $'\x1b\\[1mJOB' screen
    grep -q 'q quit' screen
    grep -qF $'\x1b[?7l' screen # line wrapping is disabled, and enabled again at the end
    grep -qF $'\x1b[?7h' screen
}

@test "Ctrl-C, SIGTERM and Ctrl-Z restore the terminal" {
    start_agent --sensors loadavg
    TERM=xterm python3 "$SOURCE/tests/tools/terminal.py" 'await:> ' "send:$SONDE top; stty -a >$T/first; echo \$((6 * 7))\r" \
        'await: by cpu' 'send:\x03' 'await:\x1b[?1049l' 'await:42' >screen
    grep -q ' icanon' first
    grep -q ' echo ' first
    TERM=xterm python3 "$SOURCE/tests/tools/terminal.py" 'await:> ' \
        "send:sh -c 'echo \$\$ >$T/pid; exec $SONDE top'; stty -a >$T/second; echo \$((6 * 7))\r" 'await: by cpu' \
        "send:\x1a" 'await:\x1b[?1049l' 'await:Stopped' 'await:42' 'send:fg\r' 'await:\x1b[?1049h' 'await: by cpu' 'send:q' \
        'await:\x1b[?1049l' >screen
    grep -q ' icanon' second
    rm "$T/pid"
    TERM=xterm python3 "$SOURCE/tests/tools/terminal.py" 'await:> ' \
        "send:sh -c 'echo \$\$ >$T/pid; exec $SONDE top'; stty -a >$T/third; echo \$((6 * 7))\r" 'await: by cpu' \
        'do:kill $(cat "$T/pid")' 'await:\x1b[?1049l' 'await:42' >screen
    grep -q ' icanon' third
}

@test "a lost agent is reported, and it continues when the agent is back" {
    start_agent --sensors meminfo
    TERM=xterm python3 "$SOURCE/tests/tools/terminal.py" 'await:> ' "send:$SONDE top -d 200ms\r" 'await: by cpu' \
        "do:kill $AGENT" 'await:no agent is running' \
        'do:"$SONDE" agent --listen none --jobs none --sensors meminfo >/dev/null 2>&1 </dev/null & echo $! >"$T/pid"' \
        'await: by cpu' 'send:q' 'await:\x1b[?1049l' >screen 3>&-
    AGENT=$(cat "$T/pid")
}
