#!/usr/bin/env bats
# End to end: an agent, a collector, and what ends up in the job database and in files.
load scene

setup() {
    scene_setup
    need_root
    export SONDE_SOCKET_DIR=$T/run XDG_STATE_HOME=$T/state
    AGENT='' COLLECTOR='' GROUP=''
    PORT=$(free_port)
}

teardown() {
    [ -z "$AGENT" ] || kill -9 "$AGENT" 2>/dev/null || :
    [ -z "$COLLECTOR" ] || kill -9 "$COLLECTOR" 2>/dev/null || :
    [ -z "$GROUP" ] || find "$GROUP" -depth -type d -exec rmdir {} + || :
    [ ! -d "$T/pg" ] || "$SOURCE"/tests/tools/postgres-down "$T/pg"
    scene_teardown
}

start_collector() {
    "$SONDE" collect --plain --listen "tcp://127.0.0.1:$PORT" --journal "$T/journal" --http none "$@" \
        >"$T/collector.log" 2>&1 3>&- &
    COLLECTOR=$!
}

# Without job discovery, which would find the jobs of other scenes, unless JOBS is set.
start_agent() {
    "$SONDE" agent --listen none --jobs "${JOBS:-none}" --collector "tcp://127.0.0.1:$PORT" --plain --spool "$T/spool" \
        --sensors cgroup,meminfo,loadavg --period 200ms "$@" >"$T/agent.log" 2>&1 3>&- &
    AGENT=$!
    wait_for "[ -S '$T/run/agent.sock' ]"
}

stop() {
    kill "$1"
    wait "$1"
}

# A job in a Slurm cgroup that uses this many seconds of CPU time and runs for at least 2 s.
run_job() {
    GROUP=/sys/fs/cgroup/cpuacct/slurm_$$_scene
    local group=$GROUP/uid_0/job_$1
    mkdir -p "$group"
    wait_for "\"\$SONDE\" job | grep -q '^ *$1 '"
    bash -c "echo \$\$ >'$group/cgroup.procs'; timeout $2 sh -c 'while :; do :; done'; sleep 2"
    CPU_NS=$(cat "$group/cpuacct.usage")
    rmdir "$group"
    wait_for "! \"\$SONDE\" job | grep -q '^ *$1 '"
}

@test "a job monitored by an agent is in the database with user, time and CPU time, and in its own files" {
    [ -d /sys/fs/cgroup/cpuacct ] || skip "no cpuacct hierarchy of cgroup v1"
    start_collector --sink "store:path=$SONDE_DB,every=500ms" --sink "csv:dir=$T/csv"
    JOBS=slurm start_agent
    run_job 4711 2
    wait_for "[ \"\$(sql \"SELECT ended FROM jobs WHERE job_id = '4711'\" 2>/dev/null)\" = 1 ]"
    stop "$AGENT"
    stop "$COLLECTOR"
    AGENT='' COLLECTOR=''
    [ "$(sql "SELECT user, host_count FROM jobs WHERE job_id = '4711'")" = "root|1" ]
    local stored_us
    stored_us=$(sql "SELECT total_usertime + total_systemtime FROM jobs WHERE job_id = '4711'")
    echo "stored $stored_us us, the kernel counted $CPU_NS ns"
    ((stored_us * 1000 > CPU_NS * 97 / 100 - 20000000 && stored_us * 1000 < CPU_NS * 103 / 100 + 20000000))
    "$SONDE" list | grep -q '^4711 .*root'
    "$SONDE" report 4711 | grep -q 'Timeline'
    local host rows
    host=$(hostname)
    head -1 "$T/csv/root/4711/$host/cgroup.csv" | grep -q '^#Time,Time_usec,ProducerName,component_id,job_id,app_id,.*usage_usec'
    # The files have the same rows as the database.
    rows=$("$SONDE" export -w series --set cgroup 4711 | tail -n +2 | wc -l)
    [ "$rows" -ge 10 ]
    [ "$(tail -n +2 "$T/csv/root/4711/$host/cgroup.csv" | wc -l)" -eq "$rows" ]
    [ "$(tail -n +2 "$T/csv/node/$host/loadavg.csv" | wc -l)" -eq "$("$SONDE" export -w series --node "$host" --set loadavg | tail -n +2 | wc -l)" ]
    [ -s "$T/csv/root/4711/$host/meminfo.csv" ] # the node's samples while the job ran
}

@test "the collector is killed repeatedly: database and files have every sample once" {
    local round
    start_collector --sink "store:path=$SONDE_DB,every=300ms" --sink "csv:dir=$T/csv,commit=300ms"
    start_agent --period 20ms --sink "csv:path=$T/own.csv"
    for round in 1 2 3 4 5 6; do
        sleep 1.$round
        kill -9 "$COLLECTOR"
        wait "$COLLECTOR" || :
        start_collector --sink "store:path=$SONDE_DB,every=300ms" --sink "csv:dir=$T/csv,commit=300ms"
    done
    kill "$AGENT"
    wait "$AGENT"
    # What the agent left in its journal is sent when it is started again, with no sensor that ticks soon.
    start_agent --period 1h --sink "csv:path=$T/own.csv"
    wait_for "[ \"\$(\"\$SONDE\" ctl --json | jq '.uplink | .records_acked > 0 and .lag_bytes == 0')\" = true ]"
    stop "$AGENT"
    stop "$COLLECTOR"
    AGENT='' COLLECTOR=''
    local host
    host=$(hostname)
    "$SONDE" export -w series --node "$host" --set loadavg | tail -n +2 | cut -d, -f1 >"$T/store.times"
    tail -qn +2 "$T/csv/node/$host/loadavg.csv" | cut -d, -f1 >"$T/csv.times"
    [ "$(wc -l <"$T/store.times")" -ge 100 ]
    [ -z "$(sort "$T/store.times" | uniq -d)" ]
    [ -z "$(sort "$T/csv.times" | uniq -d)" ]
    [ "$(wc -l <"$T/store.times")" -eq "$(wc -l <"$T/csv.times")" ]
    # No gap: everything that the agent wrote to its own file is there.
    awk -F, '$4 == "loadavg" { print $1 }' "$T/own.csv" | sort -u | diff - <(grep -v '[^0-9]' "$T/store.times" | sort)
}

@test "a collector stores the same in PostgreSQL as in SQLite" {
    ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || skip "PostgreSQL is not installed"
    local url host
    url=$("$SOURCE"/tests/tools/postgres-up "$T/pg")
    start_collector --sink "store:path=$SONDE_DB,every=500ms" --sink "store:path=$url,every=700ms"
    start_agent
    wait_for '[ "$("$SONDE" export -w series --node "$(hostname)" 2>/dev/null | wc -l)" -ge 500 ]'
    stop "$AGENT"
    sleep 1
    stop "$COLLECTOR"
    AGENT='' COLLECTOR=''
    host=$(hostname)
    "$SONDE" export -w series --node "$host" | sort >"$T/sqlite.csv"
    "$SONDE" --db "$url" export -w series --node "$host" | sort >"$T/postgres.csv"
    [ "$(wc -l <"$T/sqlite.csv")" -ge 500 ]
    cmp "$T/sqlite.csv" "$T/postgres.csv"
}

@test "a run is sent through the agent to the collector's database: every process once" {
    start_collector --sink "store:path=$SONDE_DB,every=500ms"
    start_agent
    "$SONDE" --db agent: run -q -j over -t way=agent -- sh -c 'for i in 1 2 3; do /bin/true; done; exit 4' || [ $? -eq 4 ]
    wait_for "[ \"\$(sql \"SELECT processes, exit_code FROM jobs WHERE job_id = 'over'\" 2>/dev/null)\" = '4|4' ]"
    [ "$(sql "SELECT count(*) FROM process WHERE job_id = 'over' AND exe = 'true'")" = 3 ]
    # A large run, sent in several chunks while the collector is killed.
    "$SONDE" --db agent: run -q -j large -- sh -c 'i=0; while [ $i -lt 4000 ]; do /bin/true; i=$((i + 1)); done'
    kill -9 "$COLLECTOR"
    wait "$COLLECTOR" || :
    start_collector --sink "store:path=$SONDE_DB,every=500ms"
    wait_for "[ \"\$(sql \"SELECT processes FROM jobs WHERE job_id = 'large'\" 2>/dev/null)\" = 4001 ]"
    [ -z "$(find "$TMPDIR" -name '*.spool')" ]
    # Users can submit their own runs, and not in another user's name.
    as_nobody env XDG_DATA_HOME="$T/data" "$SONDE" --db agent: run -q -j nobodys -- /bin/true
    wait_for "[ \"\$(sql \"SELECT uid FROM jobs WHERE job_id = 'nobodys'\" 2>/dev/null)\" = 65534 ]"
    "$SONDE" run -q --db /proc/none/db -o "$T/theirs" -j forged -- /bin/true 2>/dev/null || :
    chown -R 65534 "$T/theirs"
    as_nobody curl -s --unix-socket "$T/run/agent.sock" -d "{\"spool\": \"$(echo "$T"/theirs/*.spool)\"}" http://agent/run | grep -q '"ok": true'
    wait_for "grep -q 'belongs to another user' '$T/collector.log'"
    as_nobody curl -s --unix-socket "$T/run/agent.sock" -d '{"spool": "/etc/shadow.spool"}' http://agent/run | grep -q '"ok": false'
    as_nobody curl -s --unix-socket "$T/run/agent.sock" -d "{\"spool\": \"$(echo "$T"/spool/*.journal | cut -d' ' -f1)\"}" http://agent/run | grep -q '"ok": false'
    [ "$(sql "SELECT count(*) FROM process WHERE job_id = 'forged'")" = 0 ] # the job itself ran on the node, so the agent recorded it
}

# The agent commits what it knows about the job before the run's own record arrives.
@test "a job sent through the agent keeps name and command, is listed as running, then with its status; also in PostgreSQL" {
    local url='' sinks=(--sink "store:path=$SONDE_DB,every=200ms")
    if ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1; then
        url=$("$SOURCE"/tests/tools/postgres-up "$T/pg")
        sinks+=(--sink "store:path=$url,every=200ms")
    fi
    start_collector "${sinks[@]}"
    start_agent
    mkfifo "$T/held"
    "$SONDE" --db agent: run -q -j named -n ocean -- sh -c 'cat "$0"; exit 3' "$T/held" 3>&- &
    local run=$! start db
    wait_for '[ "$("$SONDE" list --json | jq -r ".[] | select(.job == \"named\").running")" = true ]'
    "$SONDE" list | grep '^named .*running'
    start=$("$SONDE" list --json | jq '.[0].duration_s')
    sleep 0.3
    [ "$("$SONDE" list --json | jq ".[0].duration_s > $start")" = true ]
    [ "$("$SONDE" list --json | jq -c '.[0] | [has("end"), has("processes")]')" = "[false,false]" ]
    : >"$T/held"
    wait "$run" || [ $? -eq 3 ]
    for db in "$SONDE_DB" $url; do
        wait_for '[ "$("$SONDE" --db "$db" list -n ocean --json | jq ".[0] | .ended and .processes == 2")" = true ]'
    done
    stop "$AGENT"
    stop "$COLLECTOR"
    AGENT='' COLLECTOR=''
    for db in "$SONDE_DB" $url; do
        COLUMNS=160 "$SONDE" --db "$db" list -n 'oc*' | grep '^named .*ocean.*exit 3.*sh -c'
    done
}

@test "a run in its own mount namespace, as in a container or service, is sent too" {
    unshare -m true 2>/dev/null || skip "no mount namespaces"
    start_collector --sink "store:path=$SONDE_DB,every=500ms"
    start_agent
    mkdir -m 1777 "$T/private"
    # invisible outside of the namespace
    unshare -m sh -c 'mount -t tmpfs none "$T/private" && chmod 1777 "$T/private" && exec env TMPDIR="$T/private" "$@"' sh \
        "$SONDE" --db agent: run -q -o "$T/private/spools" -j hidden -- /bin/true >hidden.log 2>&1
    wait_for "[ \"\$(sql \"SELECT processes FROM jobs WHERE job_id = 'hidden'\" 2>/dev/null)\" = 1 ]"
    [ ! -s hidden.log ]
    unshare -m sh -c 'mount -t tmpfs none "$T/private" && chmod 1777 "$T/private" && exec "$@"' sh \
        setpriv --reuid=65534 --regid=65534 --clear-groups env XDG_DATA_HOME="$T/data" TMPDIR="$T/private" \
        "$SONDE" --db agent: run -q -o "$T/private/spools" -j hiddens -- /bin/true
    wait_for "[ \"\$(sql \"SELECT uid, processes FROM jobs WHERE job_id = 'hiddens'\" 2>/dev/null)\" = '65534|1' ]"
    [ -z "$(ls -A "$T/private")" ]
}

@test "without an agent, or if the agent has no collector, the spool of a run is kept and that is reported" {
    run "$SONDE" --db agent: run -o "$T/kept" -- /bin/true
    [ "$status" -eq 0 ]
    [[ $output == *"agent of this node rejected the job"*"sonde submit"* ]]
    "$SONDE" submit "$T/kept"
    [ "$(sql "SELECT count(*) FROM jobs")" = 1 ]
    "$SONDE" agent --listen none --jobs none --sensors loadavg >"$T/agent.log" 2>&1 3>&- &
    AGENT=$!
    wait_for "[ -S '$T/run/agent.sock' ]"
    run "$SONDE" --db agent: run -o "$T/kept" -- /bin/true
    [ "$status" -eq 0 ]
    [[ $output == *"no collector"* ]]
    run "$SONDE" --db agent: list
    [ "$status" -ne 0 ]
    [[ $output == *"cannot be read"* ]]
}
