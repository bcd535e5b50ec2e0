#!/usr/bin/env bats
# One user attacks another, the node or the collector: every test is an attack that must fail. docs/security.md is the model.
load scene
load strangers

@test "a spool that is named like a node does not erase the node's series" {
    start_collector
    start_agent
    wait_for '[ "$(node_rows)" -ge 5 ]'
    local before
    before=$(node_rows)
    forge erase "node/$(hostname)" x "$ATTACKER" "$ATTACKER_UID" "$(hostname)"
    post erase | grep -q '"ok": true'
    forge erase2 "agent/$(hostname)/4711" 4711 "$ATTACKER" "$ATTACKER_UID" "$(hostname)"
    post erase2 | grep -q '"ok": true'
    settled 1
    [ "$(node_rows)" -ge "$before" ]
    [ "$(rows "SELECT count(*) FROM runs WHERE run_id = 'node/$(hostname)'")" = 1 ]
    [ "$(rows "SELECT count(*) FROM jobs WHERE job_id IN ('x', '4711')")" = 0 ]
    grep -q "rejected a run sent by user $ATTACKER_UID" "$T/collector.log"
}

@test "a run that claims another user's job does not change it, and is not theirs" {
    start_collector
    start_agent
    as_victim "$SONDE" --db agent: run -q -j 4711 -n simulate -- /bin/sh -c /bin/true
    wait_for "[ \"\$(rows \"SELECT processes FROM jobs WHERE job_id = '4711'\")\" = 2 ]"
    forge claim claimed 4711 "$VICTIM" "$ATTACKER_UID" elsewhere 1
    post claim | grep -q '"ok": true'
    settled 2
    [ "$(rows "SELECT user, uid, name, processes FROM jobs WHERE job_id = '4711' AND uid = $VICTIM_UID")" = "$VICTIM|$VICTIM_UID|simulate|2" ]
    # The claim is a job of its sender, on the host that sent it.
    [ "$(rows "SELECT user, hosts FROM jobs WHERE job_id = '4711' AND uid = $ATTACKER_UID")" = "$ATTACKER|$(hostname)" ]
    [ "$(rows "SELECT count(*) FROM hosts WHERE name = 'elsewhere'")" = 0 ]
    "$SONDE" report "4711@$VICTIM" | grep -q simulate
    run -1 "$SONDE" report 4711
    [[ $output == *"several users have a job 4711"* ]]
}

@test "a job that the node has seen stays its owner's, whoever claims its id first" {
    start_collector
    start_agent
    as_attacker "$SONDE" --db agent: run -q -j 4712 -n forged -- /bin/true
    wait_for "[ \"\$(rows \"SELECT count(*) FROM jobs WHERE job_id = '4712'\")\" = 1 ]"
    "$SONDE" job begin 4712 --user "$VICTIM"
    wait_for "[ \"\$(rows \"SELECT count(*) FROM jobs WHERE job_id = '4712'\")\" = 2 ]"
    as_victim "$SONDE" --db agent: run -q -j 4712 -n simulate -- /bin/true
    wait_for "[ \"\$(rows \"SELECT name FROM jobs WHERE job_id = '4712' AND uid = $VICTIM_UID\")\" = simulate ]"
    "$SONDE" job end 4712
    [ "$(rows "SELECT user, name, processes FROM jobs WHERE job_id = '4712' AND uid = $ATTACKER_UID")" = "$ATTACKER|forged|1" ]
    [ "$(rows "SELECT user, name, processes FROM jobs WHERE job_id = '4712' AND uid = $VICTIM_UID")" = "$VICTIM|simulate|1" ]
    "$SONDE" report 4712 | grep -q simulate # the one that the node has seen
    "$SONDE" report "4712@$ATTACKER" | grep -q forged
}

@test "a spool in another user's name, or with the id of another user's run, replaces nothing" {
    start_collector
    start_agent
    as_victim "$SONDE" --db agent: run -q -j mine -- /bin/true
    wait_for "[ \"\$(rows \"SELECT count(*) FROM jobs WHERE job_id = 'mine'\")\" = 1 ]"
    local id
    id=$(rows "SELECT run_id FROM runs WHERE job = (SELECT id FROM jobs WHERE job_id = 'mine')")
    forge name r1 mine "$VICTIM" "$VICTIM_UID" "$(hostname)"
    post name | grep -q '"ok": true'
    forge "${id##*/}" "${id##*/}" mine "$ATTACKER" "$ATTACKER_UID" "$(hostname)"
    post "${id##*/}" | grep -q '"ok": true'
    forge whole "$id" mine "$ATTACKER" "$ATTACKER_UID" "$(hostname)"
    post whole | grep -q '"ok": true'
    settled 3
    grep -q 'it belongs to another user' "$T/collector.log"
    [ "$(rows "SELECT user, processes FROM runs WHERE run_id = '$id'")" = "$VICTIM|1" ]
    [ "$(rows "SELECT group_concat(user) FROM runs WHERE uid = $VICTIM_UID")" = "$VICTIM" ]
}

@test "root who saves spools of users believes only their owners" {
    "$BUILD/tests/forge_spool" r1 4711 "$VICTIM" "$VICTIM_UID" host >"$T/open/forged.spool"
    chown "$ATTACKER_UID" "$T/open/forged.spool"
    run -1 "$SONDE" submit "$T/open/forged.spool"
    [[ $output == *"another user's than the owner of the file"* ]]
    chown "$VICTIM_UID" "$T/open/forged.spool"
    "$SONDE" submit "$T/open/forged.spool"
    [ "$(rows "SELECT uid FROM jobs")" = "$VICTIM_UID" ]
    "$BUILD/tests/forge_spool" r1 4711 "$ATTACKER" "$ATTACKER_UID" host >"$T/open/forged.spool"
    chown "$ATTACKER_UID" "$T/open/forged.spool"
    run -1 "$SONDE" submit "$T/open/forged.spool"
    [[ $output == *"another user has saved a run with the same id"* ]]
    [ "$(rows "SELECT uid FROM jobs")" = "$VICTIM_UID" ]
}

@test "posts of one user fill neither the journal nor the queue of others" {
    start_agent --spool-size 16MB
    # The collector is away. Each post has its own name; all fit into the size of one run.
    local i refused=0
    for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
        forge "fill$i" "fill$i" fill "$ATTACKER" "$ATTACKER_UID" "$(hostname)" 1 2000000
        post "fill$i" | grep -q '"ok": true' || refused=$((refused + 1))
    done
    [ "$refused" -ge 3 ]
    as_victim "$SONDE" --db agent: run -q -j victims -- /bin/true
    "$SONDE" --db agent: run -q -j roots -- /bin/true
    start_collector
    wait_for "[ \"\$(rows \"SELECT count(*) FROM jobs WHERE job_id IN ('victims', 'roots')\")\" = 2 ]"
    [ "$(rows "SELECT count(*) FROM gaps")" = 0 ] # no sample was removed for them
}

@test "another user's finished run cannot be declared again, and no process of others" {
    start_agent
    as_victim "$SONDE" --db agent: run -q -- /bin/sleep 1 &
    PIDS+=($!)
    wait_for '"$SONDE" job | grep -q "run *'"$VICTIM"'\|'"$VICTIM"'"'
    local id pid
    id=$("$SONDE" job --json | jq -r '.jobs[0].id')
    pid=$("$SONDE" job --json | jq -r '.jobs[0].pid')
    wait_for "! '$SONDE' job --json | grep -q '$id'"
    # The pid that the agent compares with the id is not the one in the message.
    post_job "{\"begin\": {\"id\": \"$id\", \"source\": \"run\", \"pid\": ${pid}, \"start_ns\": 1}}" | grep -q '"ok": *false'
    run ! grep -q "$id" <("$SONDE" job --json)
    # Not even by a process that has this pid in a namespace of its own.
    if as_attacker unshare -Ur -p -f true 2>/dev/null; then
        as_attacker unshare -Ur -p -f curl -s --unix-socket "$T/run/agent.sock" \
            -d '{"begin": {"id": "20200101-000000-1-aaaa", "source": "run", "pid": 1}}' http://agent/job | grep -q '"ok": *false'
    fi
}

@test "users who open connections without end do not keep root from declaring jobs" {
    start_agent
    cat >"$T/flood.py" <<'END'
import os, socket, sys, time
held, end = [], time.time() + 60
while time.time() < end:
    s = socket.socket(socket.AF_UNIX)
    try:
        s.connect(sys.argv[1])
        s.send(b"POST /job HTTP/1.1\r\n")
        held.append(s)
    except OSError:
        s.close()
    if len(held) > 300:
        held.pop(0).close()
END
    local i
    for i in 1 2; do
        as_attacker /usr/bin/python3 "$T/flood.py" "$T/run/agent.sock" 3>&- &
        PIDS+=($!)
    done
    wait_for "[ \$(ls /proc/$AGENT/fd | wc -l) -ge 90 ]"
    for i in $(seq 30); do
        "$SONDE" job begin "flood$i" >"$T/begin.log" 2>&1 || { cat "$T/begin.log"; return 1; }
        "$SONDE" job end "flood$i"
    done
}

@test "a web page cannot make a browser on the node read the agent" {
    local port
    port=$(free_port)
    start_agent --listen "127.0.0.1:$port"
    curl -sf "http://127.0.0.1:$port/metrics" | grep -q sonde
    curl -sf "http://localhost:$port/jobs" | grep -q jobs
    [ "$(curl -s -o /dev/null -w '%{http_code}' -H 'Host: evil.example' "http://127.0.0.1:$port/metrics")" = 421 ]
}

@test "a list of keys that others can write is not believed" {
    "$SONDE" keygen --collector "$T/collector.key" >/dev/null
    "$SONDE" keygen "$T/host.key" >"$T/allowed.keys"
    chmod 666 "$T/allowed.keys"
    # shellcheck disable=SC2153 # set by strangers.bash
    run -1 "$SONDE" collect --key "$T/collector.key" --allow "$T/allowed.keys" --listen "tcp://127.0.0.1:$PORT" \
        --journal "$T/journal" --http none --socket none --sink "csv:path=$T/out.csv"
    [[ $output == *"can be changed by others"* ]]
}
