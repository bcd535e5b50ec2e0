#!/usr/bin/env bats
# A collector with agents, its sinks and its status.
load scene
load collecting

@test "samples of an agent reach every sink, are shown, and survive a restart of both" {
    start_collector --sink "csv:path=$T/out.csv" --sink "json:path=$T/out.json"
    start_agent
    wait_for '[ "$(status_of ".hosts[0].records")" -ge 10 ]'
    wait_for '[ "$(status_of "[.sinks[].samples] | min")" -ge 20 ]'
    run "$SONDE" ls "$T/run/c.sock"
    [[ $output == *"$(uname -n)/meminfo"* && $output == *"/collector_host/$(uname -n)"* ]]
    "$SONDE" ls -l "$HTTP" | grep -q load1
    curl -sf "http://$HTTP/metrics" | grep -q "^sonde_loadavg_load1{host=\"$(uname -n)\"} "
    curl -sf "http://$HTTP/metrics" | grep -q "^sonde_collector_host_up{host=\"$(uname -n)\",node=\"$(uname -n)\"} 1"
    curl -sf "http://$HTTP/metrics?host=nobody" >metrics
    [ -z "$(grep ^sonde_loadavg metrics)" ]
    stop "$AGENT"
    [ "$status" -eq 0 ]
    wait_for '[ "$(status_of "[.sinks[].waiting_bytes] | max")" -eq 0 ]'
    stop "$COLLECTOR"
    [ "$status" -eq 0 ]
    [ "$(rows_of out.csv)" -ge 10 ]
    [ "$(rows_of out.csv)" -eq "$(times_of out.csv)" ]
    [ "$(jq -s '[.[] | select(.set == "loadavg")] | length' out.json)" -eq "$(rows_of out.csv)" ]
}

@test "--status shows which hosts send and which sink lags; --json is JSON" {
    start_collector --sink null
    run "$SONDE" collect --status
    [ "$status" -eq 1 ] # not the default socket
    run "$SONDE" collect --status "$T/run/c.sock"
    [[ $output == *"No host has sent anything yet"* && $output == *"NOT encrypted"* ]]
    start_agent
    wait_for '[ "$(status_of ".hosts[0].records")" -ge 3 ]'
    run "$SONDE" collect --status "$HTTP"
    [[ $output == *HOST*STATE*LAG* && $output == *"$(uname -n)"*up* && $output == *SINK*null*writing* ]]
    run "$SONDE" collect --status nobody:1
    [ "$status" -eq 1 ]
    run "$SONDE" collect "$HTTP"
    [ "$status" -eq 2 ]
}

@test "a silent agent is shown as such, without its values" {
    start_collector --sink null
    start_agent
    wait_for 'curl -sf "http://$HTTP/metrics" | grep -q ^sonde_loadavg'
    kill -STOP "$AGENT"
    wait_for '[ "$(status_of ".hosts[0].state")" = silent ]'
    curl -sf "http://$HTTP/metrics" >metrics
    [ -z "$(grep ^sonde_loadavg metrics)" ]
    grep -q "^sonde_collector_host_up.*} 0" metrics
    run "$SONDE" ls "$T/run/c.sock"
    [[ $output != *loadavg* ]]
    run "$SONDE" collect --status "$T/run/c.sock"
    [[ $output == *silent* && $output == *"1 of 1 hosts are silent"* ]]
    kill -CONT "$AGENT"
    wait_for '[ "$(status_of ".hosts[0].state")" = up ]'
    stop "$COLLECTOR" # still known after a restart
    kill -9 "$AGENT"
    start_collector --sink null
    [ "$(status_of ".hosts[0].host")" = "$(uname -n)" ]
}

@test "two agents with one host name: the second is refused, the first continues" {
    start_collector --sink null
    start_agent
    wait_for '[ "$(status_of ".hosts[0].records")" -ge 3 ]'
    first=$AGENT
    NAME=second start_agent
    wait_for 'grep -q "another agent with the host name $(uname -n)" log'
    [ "$(status_of ".refused | length")" -ge 1 ]
    before=$(status_of ".hosts[0].records")
    wait_for '[ "$(status_of ".hosts[0].records")" -gt $((before + 5)) ]'
    stop "$first"
    # now the host name is free
    wait_for '[ "$(status_of "[.hosts[0].records, '"$before"' + 20] | .[0] > .[1]")" = true ]'
}

@test "a killed agent can reconnect at once" {
    start_collector --sink "csv:path=$T/out.csv"
    start_agent
    wait_for '[ "$(status_of ".hosts[0].records")" -ge 3 ]'
    stop "$AGENT" -9
    start_agent
    before=$(status_of ".hosts[0].records")
    wait_for '[ "$(status_of ".hosts[0].records")" -gt $((before + 3)) ]'
}

@test "the collector is killed repeatedly: every sample is stored once" {
    start_collector --sink "csv:path=$T/out.csv"
    start_agent --sink "csv:path=$T/truth.csv"
    for round in 1 2 3 4; do
        wait_for '[ "$(status_of ".hosts[0].records // 0")" -ge 5 ]'
        kill -9 "$COLLECTOR"
        wait "$COLLECTOR" || :
        start_collector --sink "csv:path=$T/out.csv"
    done
    wait_for '[ "$(status_of ".hosts[0].records // 0")" -ge 5 ]'
    stop "$AGENT"
    send_rest
    wait_for is_complete
    stop "$COLLECTOR"
    is_complete
}

@test "a failing sink delays neither agents nor other sinks, and catches up later" {
    mkdir nowhere
    start_collector --sink "csv:path=$T/nowhere/deep/out.csv" --sink "csv:path=$T/good.csv"
    start_agent
    wait_for '[ "$(status_of ".sinks[1].batches")" -ge 10 ]'
    wait_for '[ "$(status_of ".sinks[0].state")" = fails ]'
    wait_for '[ "$(status_of ".sinks[0].waiting_bytes")" -gt 0 ]'
    [ "$(grep -o "cannot open the sink" log | wc -l)" -eq 1 ]
    stop "$AGENT"
    mkdir nowhere/deep
    wait_for '[ "$(status_of "[.sinks[].waiting_bytes] | max")" -eq 0 ]'
    stop "$COLLECTOR"
    cmp <(sort good.csv) <(sort nowhere/deep/out.csv)
}

@test "passwords of sinks are never shown, and settings only to operators" {
    local as_operator as_user=() sink
    [ "$(id -u)" -ne 0 ] || as_user=(as_nobody)
    start_collector --sink "store:path=postgresql://ada:hush@127.0.0.1:1/db?password=hush" \
        --sink "influx:url=http://ada:hush@127.0.0.1:1/x?p=hush,db=d" \
        --sink "kafka:brokers=127.0.0.1:1,options=sasl.username=ada;sasl.password=hush"
    start_agent
    wait_for '[ "$(status_of "[.sinks[] | select(.state == \"fails\")] | length")" -ge 2 ]'
    "$SONDE" collect --status --json "$T/run/c.sock" >operator
    curl -s "http://$HTTP/status" >operator.tcp
    "${as_user[@]}" curl -s "http://$HTTP/status" >user
    for as_operator in operator operator.tcp; do
        [ "$(jq -r '.sinks[0].sink' "$as_operator")" = "store:path=postgresql://ada:***@127.0.0.1:1/db?password=***" ]
        [ "$(jq -r '.sinks[1].sink' "$as_operator")" = "influx:url=http://ada:***@127.0.0.1:1/x?p=***,db=d" ]
        [ "$(jq -r '.sinks[2].sink' "$as_operator")" = "kafka:brokers=127.0.0.1:1,options=sasl.username=ada;sasl.password=***" ]
    done
    [ "$(id -u)" -ne 0 ] || [ "$(jq -r '[.sinks[].sink] | join(" ")' user)" = "store influx kafka" ]
    grep -q 'store:path=postgresql://ada:\*\*\*@' log
    run ! grep hush operator operator.tcp user log
}

# within SECONDS COMMAND...: fails if it takes longer.
within() {
    local begin=$EPOCHREALTIME
    "${@:2}"
    awk "BEGIN { exit !($EPOCHREALTIME - $begin < $1) }" || { echo "took $begin to $EPOCHREALTIME: $*"; return 1; }
}

# A server that accepts connections and never answers.
start_silent_server() {
    SILENT=$(free_port)
    start python3 -c 'import socket, sys, time
server = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=64)
time.sleep(1000)' "$SILENT"
    wait_for 'timeout 1 bash -c "exec 4<>/dev/tcp/127.0.0.1/$SILENT"'
}

@test "reload and stop do not wait for servers that are down or silent" {
    start_silent_server
    printf 'sink = "kafka:brokers=127.0.0.1:1"\nsink = "kafka:brokers=127.0.0.1:1,topic=t,exactly_once=no"\nsink = "influx:url=http://127.0.0.1:%s,db=d"\n' \
        "$SILENT" >collect.conf
    start_collector -c collect.conf -v
    start_agent
    wait_for '[ "$(status_of "[.sinks[] | select(.batches > 0)] | length")" -eq 3 ]'
    sleep 1 # all of them are sending now
    sed -i 's/topic=t/topic=u/' collect.conf
    kill -HUP "$COLLECTOR"
    sleep 0.05
    within 4 status_of .host # a request waits while the collector reloads
    grep -q 'configuration reloaded' log
    wait_for '[ "$(status_of "[.sinks[] | select(.waiting_bytes > 0)] | length")" -eq 3 ]'
    sleep 1
    within 5 stop "$COLLECTOR"
    [ "$status" -eq 0 ]
}

@test "a message about Kafka names the broker and the reason" {
    start_collector --sink "kafka:brokers=127.0.0.1:1"
    start_agent
    wait_for 'grep -q "cannot write to the sink kafka:brokers=127.0.0.1:1: 127.0.0.1:1/.*Connection refused" log'
}

@test "SIGHUP reloads the configuration; if it has an error nothing changes" {
    printf 'sink = csv:path=%s/one.csv\n' "$T" >collect.conf
    start_collector -c collect.conf
    start_agent
    wait_for '[ -s one.csv ]'
    mv one.csv old.csv
    kill -HUP "$COLLECTOR"
    wait_for '[ -s one.csv ]'
    printf 'sink = csv:path=%s/one.csv\nsink = csv:path=%s/two.csv\n' "$T" "$T" >collect.conf
    kill -HUP "$COLLECTOR"
    wait_for '[ -s two.csv ]'
    printf 'sink = csv:path=%s/one.csv\nsink = csv:path=%s/two.csv\njournal-size = 1MiB\n' "$T" "$T" >collect.conf
    kill -HUP "$COLLECTOR"
    wait_for '[ "$(status_of ".journal.bytes_max")" -eq 1048576 ]'
    echo 'sink = nothing' >collect.conf
    kill -HUP "$COLLECTOR"
    wait_for 'grep -q "collect.conf:1: unknown sink" log'
    before=$(status_of ".sinks[1].batches")
    wait_for '[ "$(status_of ".sinks[1].batches")" -gt "$before" ]'
    stop "$COLLECTOR"
    [ "$status" -eq 0 ]
}

@test "invalid options are rejected before anything starts" {
    run "$SONDE" collect --plain --check
    [ "$status" -eq 1 ]
    [[ $output == *"neither encrypted"* ]]
    "$SONDE" collect --plain --plain-network --check -q
    run "$SONDE" collect --plain --listen tcp://127.0.0.1:1 --sink kafkaesque --check
    [[ $status -eq 2 && $output == *"unknown sink 'kafkaesque'"* ]]
    run "$SONDE" collect --plain --listen tcp://127.0.0.1:1 --journal-size much --check
    [[ $status -eq 2 && $output == *"a size such as 512M"* ]]
    run "$SONDE" collect --plain --listen tcp://127.0.0.1:1 --rollup 60s --check
    [[ $status -eq 2 && $output == *"rollup requires upstream"* ]]
    "$SONDE" collect --plain --listen tcp://127.0.0.1:1 --journal "$T/j" --sink null --check -v >written.conf
    "$SONDE" collect -c written.conf --check -q
    run "$SONDE" collect --key "$T/none" --journal "$T/j" --listen tcp://127.0.0.1:1 --http none --socket none
    [[ $status -eq 1 && $output == *"sonde keygen"* ]]
    start_collector --sink null
    run "$SONDE" collect --plain --listen "tcp://127.0.0.1:$(free_port)" --journal "$T/c.journal" --http none --socket none
    [[ $status -eq 1 && $output == *"is in use by another process"* ]]
}

# refuse STATUS SINK TEXT: --check fails with STATUS and a message that contains TEXT
refuse() {
    run "$SONDE" collect --plain --listen tcp://127.0.0.1:1 --journal "$T/j" --sink "$2" --check
    [[ $status -eq $1 && $output == *"the sink ${2%%:*}: "*"$3"* ]] || { echo "$2: $status: $output" && return 1; }
}

@test "--check checks the sinks and leaves no files" {
    mkdir none
    : >file
    ls -A >before
    refuse 2 stdout:format=xml "invalid format 'xml' (expected readable or json)"
    refuse 2 csv:dir=d,layout=ldsm "invalid layout 'ldsm' (expected jobs or ldms)"
    refuse 2 csv:dir=d,path=f "dir excludes path and set"
    refuse 2 csv:path=f,rotate_size=1M "need dir=DIRECTORY"
    refuse 2 "csv:dir=d,template=%{user}/%{hots}.csv" "hots"
    refuse 2 colmet:address=login1 "invalid address 'login1' (expected tcp://HOST:PORT"
    refuse 2 colmet:queue=99999999 "invalid queue 99999999 (expected 0 to 1000000)"
    refuse 1 csv:path=absent/f.csv "directory absent does not exist: create it"
    refuse 1 csv:dir=file/d "file"
    refuse 1 json:path=none "none is a directory (expected a file)"
    refuse 1 store:path=none "is a directory"
    refuse 1 colmet-stdout:path=absent/x "directory absent does not exist"
    run "$SONDE" agent --check --sink json:path=absent/f
    [[ $status -eq 1 && $output == *"the sink json: directory absent does not exist"* ]]
    # with the line of the configuration file, and also at startup
    printf 'plain = yes\nlisten = tcp://127.0.0.1:1\nsink = stdout:format=xml\n' >"$T/bad.conf"
    run "$SONDE" collect -c "$T/bad.conf" --journal "$T/j"
    [[ $status -eq 1 && $output == *"bad.conf:3: the sink stdout: invalid format"* ]]
    rm bad.conf
    "$SONDE" collect --plain --listen tcp://127.0.0.1:1 --check -q --journal "$T/j" --sink csv:path=f.csv \
        --sink csv:dir=a/b,layout=ldms,rotate_size=1M --sink json:path=/dev/null --sink store:path=a/b/c.db --sink stdout
    diff before <(ls -A) # no file was created
}

@test "--check checks the sinks of modules" {
    if [ -e "$SONDE_MODULES/sink-hdf5.so" ]; then
        refuse 2 hdf5 "path is missing: hdf5:path="
        refuse 2 hdf5:path=x,level=12 "invalid level 12 (expected 0 to 9)"
        refuse 2 hdf5:path=x,involved=1 "invalid involved 1 (expected 16 to"
        refuse 1 hdf5:path=/proc/1/x/f.hdf5 "/proc/1"
    fi
    if [ -e "$SONDE_MODULES/sink-http.so" ]; then
        refuse 2 elasticsearch "url=http://HOST:PORT"
        refuse 2 elasticsearch:url=http:// "url has no host"
        refuse 2 elasticsearch:url=http://h,layout=kibana "invalid layout 'kibana' (expected sonde or colmet)"
        refuse 2 elasticsearch:url=http://h,password=x "password is set, but user is not"
        refuse 2 elasticsearch:url=http://h,user=u,api_key=k "exclude each other"
        refuse 1 elasticsearch:url=http://h,credentials=absent "cannot read the credentials in absent"
        refuse 1 prometheus:url=https://h/w,ca=absent.pem "cannot read the certificates in absent.pem"
        refuse 2 prometheus:url=http://h/w,labels=nothing "invalid label 'nothing' (expected NAME:VALUE"
        refuse 2 prometheus:url=http://h/w,timeout=0 "timeout"
        refuse 2 influx:url=http://h,path=x "either path or url"
        refuse 2 influx:bucket=b "need url="
        refuse 1 influx:path=absent/x "directory absent does not exist"
    fi
    if [ -e "$SONDE_MODULES/sink-kafka.so" ]; then
        refuse 2 kafka:format=xml "invalid format 'xml'"
        refuse 2 kafka:compression=rar "rar"
        refuse 2 kafka:options=no.such.thing=1 "no.such.thing"
        refuse 2 kafka:queue=0 "queue and timeout must not be 0"
        refuse 1 kafka:config=absent "absent"
    fi
    run "$SONDE" collect --plain --listen tcp://127.0.0.1:1 --sink null:limits=1 --check
    [[ $status -eq 2 && $output == *"unknown setting 'limits' of null; did you mean 'limit'?"* ]]
}

@test "invalid messages cost only their sender the connection" {
    start_collector --sink null
    start_agent
    wait_for '[ "$(status_of ".hosts[0].records")" -ge 3 ]'
    # not ZeroMQ at all
    head -c 100000 /dev/urandom | timeout 2 nc -q 1 127.0.0.1 "$PORT" >/dev/null || :
    printf 'GET / HTTP/1.1\r\n\r\n' | timeout 2 nc -q 1 127.0.0.1 "$PORT" >/dev/null || :
    before=$(status_of ".hosts[0].records")
    wait_for '[ "$(status_of ".hosts[0].records")" -gt $((before + 5)) ]'
    [ "$(status_of ".hosts[0].doubles")" -eq 0 ]
}

@test "10,000 idle connections: agents continue, and connections without HELLO are closed" {
    [ "$(ulimit -Hn)" -ge 20000 ] || skip "needs 20,000 descriptors"
    start_collector --sink null
    start_agent
    wait_for '[ "$(status_of ".hosts[0].records")" -ge 3 ]'
    cat >crowd.py <<'P'
import resource, socket, sys, time
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
# From ten addresses, since each may have only 4096 silent connections.
held = [socket.create_connection(("127.0.0.1", int(sys.argv[1])), source_address=("127.0.0.%d" % (2 + i % 10), 0))
        for i in range(10000)]
print("all of them", flush=True)
time.sleep(300)
P
    start python3 crowd.py "$PORT"
    wait_for 'grep -q "all of them" log'
    wait_for '[ "$(ls "/proc/$COLLECTOR/fd" | wc -l)" -ge 9000 ]'
    before=$(status_of ".hosts[0].records")
    wait_for '[ "$(status_of ".hosts[0].records")" -gt $((before + 10)) ]'
    wait_for '[ "$(status_of ".hosts[0].lag_ns")" -lt 5000000000 ]'
    wait_for '[ "$(find "/proc/$COLLECTOR/fd" -mindepth 1 | wc -l)" -lt 1000 ]'
}

@test "many agents: everything sent is stored, counted at both ends" {
    [ -x "$BUILD/bench/bench-swarm" ] || skip "needs libzmq"
    start_collector --sink "json:path=$T/out.json"
    run "$BUILD/bench/bench-swarm" url="tcp://127.0.0.1:$PORT" agents=200 period=0 records=50 sets=4 values=5 name=s
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *"sent 10000 records"*"acknowledged 10000"* ]]
    wait_for '[ "$(status_of ".sinks[0].samples")" -eq 40000 ]'
    stop "$COLLECTOR"
    [ "$(wc -l <out.json)" -eq 40000 ]
    [ "$(jq -r '[.host, .set, .time_ns] | @text' out.json | sort -u | wc -l)" -eq 40000 ]
    [ "$(jq -r .host out.json | sort | uniq -c | awk '$1 == 200' | wc -l)" -eq 200 ]
}

@test "the disk of the journal is full: agents keep their samples and send them when there is space" {
    need_root
    mkdir small
    mount -t tmpfs -o size=1m tmpfs small || skip "cannot mount"
    head -c 980k /dev/zero >small/filled
    start "$SONDE" collect --plain --listen "tcp://127.0.0.1:$PORT" --journal "$T/small/journal" --http none \
        --socket "$T/run.sock" --sink "csv:path=$T/later/out.csv" # which holds back the journal until the directory exists
    COLLECTOR=$STARTED
    start_agent --sink "csv:path=$T/truth.csv" -p 20ms
    wait_for 'grep -q "cannot write the journal" log' || { umount -l small; false; }
    "$SONDE" collect --status "$T/run.sock" | grep -q "the disk is full"
    rm small/filled
    mkdir later
    wait_for '[ "$("$SONDE" collect --status --json "$T/run.sock" | jq .journal.is_full)" = false ]'
    stop "$AGENT"
    send_rest
    wait_for 'is_complete later/out.csv'
    stop "$COLLECTOR"
    umount small
}

# An agent with another host name and its own socket in $T/NAME.run.
start_named_agent() {
    mkdir -p "$T/$1.run"
    SONDE_SOCKET_DIR=$T/$1.run start unshare --uts -- sh -c 'hostname "$0" && exec "$@"' "$1" "$SONDE" agent --listen none --jobs none --plain \
        --collector "tcp://127.0.0.1:$PORT" --spool "$T/$1.spool" -p 200ms --sensors taskstats,process,stat,meminfo
    wait_for '[ -S "$T/'"$1"'.run/agent.sock" ]'
}

@test "sonde top of a collector: the jobs on all nodes, each once, with totals" {
    need_root
    start_collector --sink null
    start_named_agent n1
    start_named_agent n2
    sleep 600 3>&- &
    PIDS+=($!)
    for node in n1 n2; do SONDE_SOCKET_DIR=$T/$node.run "$SONDE" job begin 4711 --pid $! --user nobody --cores 2; done
    SONDE_SOCKET_DIR=$T/n2.run "$SONDE" job begin 4712 --pid $$ --user root
    wait_for '[ "$(curl -s "http://$HTTP/jobs" | jq -c "[.nodes, (.jobs | map(select(.id == \"4711\" or .id == \"4712\")) | sort_by(.id)[] | .nodes)]")" = "[2,2,1]" ]'
    curl -s "http://$HTTP/jobs" | jq -e '.jobs[] | select(.id == "4711") | .cores_milli == 4000 and .user == "nobody"'
    [ "$(curl -s "http://$HTTP/jobs?host=n1" | jq -c '[.jobs[] | select(.id == "4711" or .id == "4712") | .id, .nodes]')" = '["4711",1]' ]
    run -0 "$SONDE" top -b -n 1 "$HTTP"
    [[ "${lines[0]}" == *" 2 nodes "* ]]
    grep -E '^JOB +.*USER +NODES +CORES' <<<"$output"
    grep -E '^4711 +nobody +2 +' <<<"$output"
    # other users see only the number of jobs
    as_nobody "$SONDE" top -b -n 1 "$T/run/c.sock" | grep -E '^1 job and [0-9]+ of other users'
}
