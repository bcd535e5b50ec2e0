#!/usr/bin/env bats
# A collector, agents, and what is seen of them.
load scene
load collecting

@test "what an agent reads comes to every sink, is shown, and survives the end of both" {
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

@test "the page of --status tells who sends and which sink is behind; --json is JSON" {
    start_collector --sink null
    run "$SONDE" collect --status
    [ "$status" -eq 1 ] # another socket than the usual one
    run "$SONDE" collect --status "$T/run/c.sock"
    [[ $output == *"Nobody was heard yet"* && $output == *"NOT encrypted"* ]]
    start_agent
    wait_for '[ "$(status_of ".hosts[0].records")" -ge 3 ]'
    run "$SONDE" collect --status "$HTTP"
    [[ $output == *HOST*STATE*LAG* && $output == *"$(uname -n)"*up* && $output == *SINK*null*writes* ]]
    run "$SONDE" collect --status nobody:1
    [ "$status" -eq 1 ]
    run "$SONDE" collect "$HTTP"
    [ "$status" -eq 2 ]
}

@test "an agent that is silent is shown as such, and its values not at all" {
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
    stop "$COLLECTOR" # and it is known after a restart
    kill -9 "$AGENT"
    start_collector --sink null
    [ "$(status_of ".hosts[0].host")" = "$(uname -n)" ]
}

@test "two agents under one name: the second is refused with a sentence, the first goes on" {
    start_collector --sink null
    start_agent
    wait_for '[ "$(status_of ".hosts[0].records")" -ge 3 ]'
    first=$AGENT
    NAME=second start_agent
    wait_for 'grep -q "another agent calls itself $(uname -n)" said'
    [ "$(status_of ".refused | length")" -ge 1 ]
    before=$(status_of ".hosts[0].records")
    wait_for '[ "$(status_of ".hosts[0].records")" -gt $((before + 5)) ]'
    stop "$first"
    # now its place is free
    wait_for '[ "$(status_of "[.hosts[0].records, '"$before"' + 20] | .[0] > .[1]")" = true ]'
}

@test "an agent that was killed comes back at once" {
    start_collector --sink "csv:path=$T/out.csv"
    start_agent
    wait_for '[ "$(status_of ".hosts[0].records")" -ge 3 ]'
    stop "$AGENT" -9
    start_agent
    before=$(status_of ".hosts[0].records")
    wait_for '[ "$(status_of ".hosts[0].records")" -gt $((before + 3)) ]'
}

@test "the collector dies again and again: every sample is there once" {
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
    bring_rest
    wait_for all_is_there
    stop "$COLLECTOR"
    all_is_there
}

@test "a sink that cannot be written holds up neither agents nor other sinks, and gets all of it later" {
    mkdir nowhere
    start_collector --sink "csv:path=$T/nowhere/deep/out.csv" --sink "csv:path=$T/good.csv"
    start_agent
    wait_for '[ "$(status_of ".sinks[1].batches")" -ge 10 ]'
    wait_for '[ "$(status_of ".sinks[0].state")" = fails ]'
    wait_for '[ "$(status_of ".sinks[0].waiting_bytes")" -gt 0 ]'
    [ "$(grep -o "cannot open the sink" said | wc -l)" -eq 1 ]
    stop "$AGENT"
    mkdir nowhere/deep
    wait_for '[ "$(status_of "[.sinks[].waiting_bytes] | max")" -eq 0 ]'
    stop "$COLLECTOR"
    cmp <(sort good.csv) <(sort nowhere/deep/out.csv)
}

@test "SIGHUP reads the configuration anew; with a mistake in it nothing changes" {
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
    wait_for 'grep -q "collect.conf:1: there is no sink" said'
    before=$(status_of ".sinks[1].batches")
    wait_for '[ "$(status_of ".sinks[1].batches")" -gt "$before" ]'
    stop "$COLLECTOR"
    [ "$status" -eq 0 ]
}

@test "what makes no sense is refused before anything starts" {
    run "$SONDE" collect --plain --check
    [ "$status" -eq 1 ]
    [[ $output == *"neither be encrypted"* ]]
    "$SONDE" collect --plain --plain-network --check -q
    run "$SONDE" collect --plain --listen tcp://127.0.0.1:1 --sink kafkaesque --check
    [[ $status -eq 2 && $output == *"there is no sink 'kafkaesque'"* ]]
    run "$SONDE" collect --plain --listen tcp://127.0.0.1:1 --journal-size much --check
    [[ $status -eq 2 && $output == *"a size, as 512M"* ]]
    run "$SONDE" collect --plain --listen tcp://127.0.0.1:1 --rollup 60s --check
    [[ $status -eq 2 && $output == *"say upstream too"* ]]
    "$SONDE" collect --plain --listen tcp://127.0.0.1:1 --journal "$T/j" --sink null --check -v >written.conf
    "$SONDE" collect -c written.conf --check -q
    run "$SONDE" collect --key "$T/none" --journal "$T/j" --listen tcp://127.0.0.1:1 --http none --socket none
    [[ $status -eq 1 && $output == *"sonde keygen"* ]]
    start_collector --sink null
    run "$SONDE" collect --plain --listen "tcp://127.0.0.1:$(free_port)" --journal "$T/c.journal" --http none --socket none
    [[ $status -eq 1 && $output == *"another process has the journal"* ]]
}

# refuse STATUS SINK TEXT: --check says TEXT of it, and nothing is written
refuse() {
    run "$SONDE" collect --plain --listen tcp://127.0.0.1:1 --journal "$T/j" --sink "$2" --check
    [[ $status -eq $1 && $output == *"the sink ${2%%:*}: "*"$3"* ]] || { echo "$2: $status: $output" && return 1; }
}

@test "--check looks at the sinks, and leaves nothing behind" {
    mkdir none
    : >file
    ls -A >before
    refuse 2 stdout:format=xml "format is readable or json, not xml"
    refuse 2 csv:dir=d,layout=ldsm "layout is jobs or ldms"
    refuse 2 csv:dir=d,path=f "do not go together"
    refuse 2 csv:path=f,rotate_size=1M "say dir=FOLDER"
    refuse 2 "csv:dir=d,template=%{user}/%{hots}.csv" "hots"
    refuse 2 colmet:address=login1 "address is as tcp://HOST:5556"
    refuse 2 colmet:queue=99999999 "queue is 0 to 1000000"
    refuse 1 csv:path=absent/f.csv "there is no folder absent: make it"
    refuse 1 csv:dir=file/d "file"
    refuse 1 json:path=none "none is a folder; name a file"
    refuse 1 store:path=none "is a folder"
    refuse 1 colmet-stdout:path=absent/x "no folder absent"
    run "$SONDE" agent --check --sink json:path=absent/f
    [[ $status -eq 1 && $output == *"the sink json: there is no folder absent"* ]]
    # in a file with the line, and at a start too
    printf 'plain = yes\nlisten = tcp://127.0.0.1:1\nsink = stdout:format=xml\n' >"$T/bad.conf"
    run "$SONDE" collect -c "$T/bad.conf" --journal "$T/j"
    [[ $status -eq 1 && $output == *"bad.conf:3: the sink stdout: format is"* ]]
    rm bad.conf
    "$SONDE" collect --plain --listen tcp://127.0.0.1:1 --check -q --journal "$T/j" --sink csv:path=f.csv \
        --sink csv:dir=a/b,layout=ldms,rotate_size=1M --sink json:path=/dev/null --sink store:path=a/b/c.db --sink stdout
    diff before <(ls -A) # nothing was made
}

@test "--check looks at the sinks of modules" {
    if [ -e "$SONDE_MODULES/sink-hdf5.so" ]; then
        refuse 2 hdf5 "it needs a file: hdf5:path="
        refuse 2 hdf5:path=x,level=12 "level is 0 to 9, not 12"
        refuse 2 hdf5:path=x,involved=1 "involved is 16 to"
        refuse 1 hdf5:path=/proc/1/x/f.hdf5 "/proc/1"
    fi
    if [ -e "$SONDE_MODULES/sink-http.so" ]; then
        refuse 2 elasticsearch "url=http://HOST:PORT"
        refuse 2 elasticsearch:url=http:// "no host"
        refuse 2 elasticsearch:url=http://h,layout=kibana "there is no layout kibana"
        refuse 2 elasticsearch:url=http://h,password=x "no user"
        refuse 2 elasticsearch:url=http://h,user=u,api_key=k "say one only"
        refuse 1 elasticsearch:url=http://h,credentials=absent "cannot read the credentials in absent"
        refuse 1 prometheus:url=https://h/w,ca=absent.pem "cannot read the certificates in absent.pem"
        refuse 2 prometheus:url=http://h/w,labels=nothing "labels are NAME:VALUE"
        refuse 2 prometheus:url=http://h/w,timeout=0 "timeout"
        refuse 2 influx:url=http://h,path=x "either path or url"
        refuse 2 influx:bucket=b "say url="
        refuse 1 influx:path=absent/x "no folder absent"
    fi
    if [ -e "$SONDE_MODULES/sink-kafka.so" ]; then
        refuse 2 kafka:format=xml "there is no format xml"
        refuse 2 kafka:compression=rar "rar"
        refuse 2 kafka:options=no.such.thing=1 "no.such.thing"
        refuse 2 kafka:queue=0 "neither is 0"
        refuse 1 kafka:config=absent "absent"
    fi
    run "$SONDE" collect --plain --listen tcp://127.0.0.1:1 --sink null:limits=1 --check
    [[ $status -eq 2 && $output == *"null has no setting 'limits'; did you mean 'limit'?"* ]]
}

@test "bad messages cost the sender its connection, and nobody else anything" {
    start_collector --sink null
    start_agent
    wait_for '[ "$(status_of ".hosts[0].records")" -ge 3 ]'
    # not even ZeroMQ
    head -c 100000 /dev/urandom | timeout 2 nc -q 1 127.0.0.1 "$PORT" >/dev/null || :
    printf 'GET / HTTP/1.1\r\n\r\n' | timeout 2 nc -q 1 127.0.0.1 "$PORT" >/dev/null || :
    before=$(status_of ".hosts[0].records")
    wait_for '[ "$(status_of ".hosts[0].records")" -gt $((before + 5)) ]'
    [ "$(status_of ".hosts[0].doubles")" -eq 0 ]
}

@test "10,000 connections and no data: agents go on, and those that never say who they are have to leave" {
    [ "$(ulimit -Hn)" -ge 20000 ] || skip "needs 20,000 descriptors"
    start_collector --sink null
    start_agent
    wait_for '[ "$(status_of ".hosts[0].records")" -ge 3 ]'
    cat >crowd.py <<'P'
import resource, socket, sys, time
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
held = [socket.create_connection(("127.0.0.1", int(sys.argv[1]))) for i in range(10000)]
print("all of them", flush=True)
time.sleep(300)
P
    start python3 crowd.py "$PORT"
    wait_for 'grep -q "all of them" said'
    wait_for '[ "$(ls "/proc/$COLLECTOR/fd" | wc -l)" -ge 9000 ]'
    before=$(status_of ".hosts[0].records")
    wait_for '[ "$(status_of ".hosts[0].records")" -gt $((before + 10)) ]'
    wait_for '[ "$(status_of ".hosts[0].lag_ns")" -lt 5000000000 ]'
    wait_for '[ "$(find "/proc/$COLLECTOR/fd" -mindepth 1 | wc -l)" -lt 1000 ]'
}

@test "a swarm of agents: what each sent is there, counted at both ends" {
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

@test "the disk of the journal is full: agents keep what they have, and it comes when there is room again" {
    need_root
    mkdir small
    mount -t tmpfs -o size=1m tmpfs small || skip "cannot mount"
    head -c 980k /dev/zero >small/filled
    start "$SONDE" collect --plain --listen "tcp://127.0.0.1:$PORT" --journal "$T/small/journal" --http none \
        --socket "$T/run.sock" --sink "csv:path=$T/later/out.csv" # which holds the journal until there is such a folder
    COLLECTOR=$STARTED
    start_agent --sink "csv:path=$T/truth.csv" -p 20ms
    wait_for 'grep -q "journal.*cannot be written" said' || { umount -l small; false; }
    "$SONDE" collect --status "$T/run.sock" | grep -q "its disk is full"
    rm small/filled
    mkdir later
    wait_for '[ "$("$SONDE" collect --status --json "$T/run.sock" | jq .journal.is_full)" = false ]'
    stop "$AGENT"
    bring_rest
    wait_for 'all_is_there later/out.csv'
    stop "$COLLECTOR"
    umount small
}

# An agent under another name, with a socket of its own in $T/NAME.run.
start_named_agent() {
    mkdir -p "$T/$1.run"
    SONDE_SOCKET_DIR=$T/$1.run start unshare --uts -- sh -c 'hostname "$0" && exec "$@"' "$1" "$SONDE" agent --listen none --jobs none --plain \
        --collector "tcp://127.0.0.1:$PORT" --spool "$T/$1.spool" -p 200ms --sensors taskstats,process,stat,meminfo
    wait_for '[ -S "$T/'"$1"'.run/agent.sock" ]'
}

@test "sonde top of a collector: the jobs on all nodes, each once, with the sums" {
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
    # whose jobs these are not sees how many there are
    as_nobody "$SONDE" top -b -n 1 "$T/run/c.sock" | grep -E '^1 job and [0-9]+ of others'
}
