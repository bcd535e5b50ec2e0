#!/usr/bin/env bats
# sonde ls and ldms_ls: the metric sets of an agent, in the layout of LDMS.
load scene
load live

@test "names of sets, of this node and over TCP" {
    start_agent --sensors meminfo,stat,netdev
    host=$("$SONDE" ls --json | jq -r .host)
    "$SONDE" ls >names
    grep -qx "$host/meminfo" names
    grep -qx "$host/stat_cpu/cpu0" names
    grep -qx "$host/netdev/lo" names
    "$SONDE" ls "127.0.0.1:$PORT" | cmp - names
    "$SONDE" ls "$T/run/agent.sock" | cmp - names
}

@test "values match the kernel's" {
    start_agent --sensors meminfo
    run -0 "$SONDE" ls -l
    [[ "${lines[0]}" =~ /meminfo:\ consistent,\ last\ update:\ .*us\] ]]
    total=$(($(awk '/^MemTotal:/ { print $2 }' /proc/meminfo) * 1024))
    grep -qE "^D u64          mem_total +$total B$" <<<"$output"
    "$SONDE" ls --json | jq -e --argjson total "$total" \
        '.sets[0].values[.schemas[0].metrics | map(.name) | index("mem_total")] == $total'
}

@test "a table with sizes, times and totals" {
    start_agent --sensors meminfo,loadavg
    run -0 "$SONDE" ls -v
    [[ "${lines[0]}" =~ ^Schema\ +Instance\ +Flags\ +Msize\ +Dsize\ +Hsize\ +UID\ +GID\ +Perm\ +Update\ +Duration\ +Info$ ]]
    [[ "$output" == *"Total Sets: 2, Meta Data (kB): "* ]]
    grep -qE "^meminfo +[^ ]+/meminfo +CR +[0-9]+ +[0-9]+ +0 .* -r--r--r-- [0-9]{10}\.[0-9]{6} " <<<"$output"
}

@test "selection by name, regular expression and metric set" {
    start_agent --sensors meminfo,stat,loadavg
    [ "$("$SONDE" ls -n '*/loadavg' | wc -l)" -eq 1 ]
    [ "$("$SONDE" ls -E -n 'stat_cpu/cpu[0-9]+$' | wc -l)" -eq "$(nproc --all)" ]
    [ "$("$SONDE" ls -S -n meminfo -n loadavg | wc -l)" -eq 2 ]
    run -1 "$SONDE" ls -n nothing
    [[ "$output" == *"none of the"* ]]
    run -2 "$SONDE" ls -E -n '('
    [[ "$output" == *"invalid regular expression"* ]]
}

@test "the sets of a job are visible to its owner" {
    need_root
    sleep 60 3>&- &
    start_agent --sensors meminfo,process
    "$SONDE" job begin 4711 --pid $! --user nobody
    wait_for '"$SONDE" ls -j 4711 2>/dev/null | grep -q "/4711/process$"'
    as_nobody env SONDE_SOCKET_DIR="$T/run" "$SONDE" ls >theirs
    grep -q /4711/process theirs
    "$SONDE" job begin 4712 --pid $! --user root
    wait_for '"$SONDE" ls -j 4712 2>/dev/null | grep -q /4712/'
    as_nobody env SONDE_SOCKET_DIR="$T/run" "$SONDE" ls >theirs
    run ! grep 4712 theirs
    run -0 as_nobody curl -s --unix-socket "$T/run/agent.sock" http://x/metrics
    [[ ! "$output" =~ 4712 ]]
    run -0 as_nobody curl -s --unix-socket "$T/run/agent.sock" -d '{"set":{"period":"2s"}}' http://x/ctl
    [[ "$output" == *"only root"* ]]
    kill %1
}

# Over TCP users see the same as through the socket, and /metrics is complete: Prometheus has its own user.
@test "over TCP, too, local users do not see jobs of others" {
    need_root
    sleep 60 3>&- &
    start_agent --sensors meminfo,process
    "$SONDE" job begin 4711 --pid $! --user nobody
    "$SONDE" job begin 4712 --pid $! --user root
    wait_for '"$SONDE" ls "127.0.0.1:$PORT" | grep -q /4711/process && "$SONDE" ls "127.0.0.1:$PORT" | grep -q /4712/process'
    as_nobody "$SONDE" ls "127.0.0.1:$PORT" >theirs
    grep -q /meminfo theirs
    grep -q /4711/process theirs
    run ! grep 4712 theirs
    as_nobody curl -s "http://127.0.0.1:$PORT/jobs" >theirs
    [ "$(jq -c '[[.jobs[].id], .others]' theirs)" = '[["4711"],1]' ]
    [ "$(curl -s "http://127.0.0.1:$PORT/jobs" | jq -c '[([.jobs[].id] | sort), .others]')" = '[["4711","4712"],0]' ]
    as_nobody "$SONDE" top -b -n 1 "127.0.0.1:$PORT" >theirs
    grep -q ^4711 theirs
    run ! grep 4712 theirs
    as_nobody curl -s "http://127.0.0.1:$PORT/metrics" | grep -q 'job="4712"'
    kill %1
}

@test "ldms_ls -v names producers after users and fills LDMS's columns" {
    need_root
    sleep 60 3>&- &
    start_agent --sensors meminfo,self --producer '%{user}-%{host}'
    ln -s "$SONDE" ldms_ls
    host=$(./ldms_ls -f json | jq -r .host)
    ./ldms_ls | grep -qx "$host/meminfo"
    "$SONDE" job begin 4711 --pid $! --user nobody
    "$SONDE" job begin 4712 --pid $! --user root
    wait_for './ldms_ls | grep -qx "nobody-$host/meminfo" && ./ldms_ls | grep -qx "root-$host/meminfo"'
    run -0 ./ldms_ls -v -S meminfo
    grep -qE "^meminfo +nobody-$host/meminfo +CR +[0-9]+ +[0-9]+ +0 +0 +0 -r--r--r-- [0-9]{10}\.[0-9]{6} +0\.[0-9]{6} \
\"updt_hint_us\"=\"[0-9]+:0\"$" <<<"$output"
    ./ldms_ls -l "nobody-$host/meminfo" | grep -qE '^D u64          job_id +4711$'
    ./ldms_ls -l "root-$host/dstat" | grep -qE '^D u64          cminflt +[0-9]+$'
    run -2 "$SONDE" agent --check --producer '%{usr}'
    [[ "$output" == *"unknown placeholder %{usr} in producer"* ]]
    kill %1
}

# Two network namespaces are two nodes to the agent: the kernel does not know the user of a connection.
@test "from another node, ldms_ls -a munge shows the jobs of its user" {
    need_root
    command -v munged >/dev/null && unshare -n true 2>/dev/null || skip "needs munge and namespaces"
    mkdir -m 755 munge
    head -c 1024 /dev/urandom >munge/key
    chmod 400 munge/key
    ln -s "$SONDE" ldms_ls
    cat >nodes.sh <<'SH'
set -eu
pids=
trap 'kill $pids 2>/dev/null || :' EXIT
munged -F --key-file="$T/munge/key" --socket="$T/munge/sock" --pid-file="$T/munge/pid" --log-file="$T/munge/log" \
    --seed-file="$T/munge/seed" --force 3>&- &
pids="$pids $!"
export SONDE_MUNGE_SOCKET=$T/munge/sock
unshare -n sleep 100 3>&- &
other=$!
pids="$pids $other"
sleep 100 3>&- &
job=$!
pids="$pids $job"
until [ "$(readlink /proc/$other/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.05; done
ip link set lo up
ip link add here type veth peer name there netns "$other"
ip addr add 10.98.76.1/24 dev here
ip link set here up
nsenter --net="/proc/$other/ns/net" sh -c 'ip addr add 10.98.76.2/24 dev there && ip link set there up'
"$SONDE" agent -p 100ms --sensors meminfo,process --listen 10.98.76.1:1337 --http-munge >agent.log 2>&1 3>&- &
pids="$pids $!"
until [ -S munge/sock ] && "$SONDE" job begin 4711 --pid $job --user nobody 2>/dev/null; do sleep 0.1; done
"$SONDE" job begin 4712 --pid $job --user root
until "$SONDE" ls | grep -q /4712/process && "$SONDE" ls | grep -q /4711/process; do sleep 0.1; done
remote() { nsenter --net="/proc/$other/ns/net" "$@"; }
remote ./ldms_ls -h 10.98.76.1 >none 2>&1 && exit 1
remote curl -s -o /dev/null -w '%{http_code}' http://10.98.76.1:1337/jobs >status
remote curl -s -o /dev/null -w '%{http_code}' http://10.98.76.1:1337/metrics >metrics
remote ./ldms_ls -h 10.98.76.1 -a munge >root
remote setpriv --reuid 65534 --regid 65534 --clear-groups ./ldms_ls -h 10.98.76.1 -a munge >nobody
SONDE_MUNGE_SOCKET=$T/nowhere remote ./ldms_ls -h 10.98.76.1 -a munge >broken 2>&1 && exit 1
remote curl -s -H 'Authorization: Munge MUNGE:nonsense:' http://10.98.76.1:1337/jobs >forged
SH
    chmod 755 "$T" ldms_ls 2>/dev/null || :
    run timeout 60 unshare -n bash nodes.sh
    echo "$output"
    [ "$status" -eq 0 ] || [ "$status" -eq 143 ]
    grep -q "munge authentication is required: sonde ls --auth munge, ldms_ls -a munge" none
    [ "$(cat status)" = 401 ]
    [ "$(cat metrics)" = 200 ]
    grep -q /4711/ root
    grep -q /4712/ root
    grep -q /4711/ nobody
    run ! grep /4712/ nobody
    grep -q "cannot create a munge credential" broken
    grep -q "munge credential was rejected" forged
    run -2 ./ldms_ls -a ovis
    [[ "$output" == *"unsupported authentication 'ovis'"* ]]
}

@test "ldms_ls has LDMS's options and names" {
    start_agent --sensors meminfo,interrupts,loadavg,stat,diskstats
    ln -s "$SONDE" ldms_ls
    host=$(./ldms_ls -f json | jq -r .host)
    ./ldms_ls -h localhost -p "$PORT" -x sock | grep -qx "$host/procinterrupts/cpu0"
    run -0 ./ldms_ls -h localhost -p "$PORT" -x sock -l -a none "$host/meminfo"
    grep -qE "^M u64          component_id +[0-9]+$" <<<"$output"
    grep -qE "^D u64          MemTotal +$(awk '/^MemTotal:/ { print $2 }' /proc/meminfo) kB$" <<<"$output"
    [ "$(./ldms_ls -E -S 'mem.*')" = "$host/meminfo" ]
    [ "$(./ldms_ls -f json -S meminfo loadavg | jq -c '[.schemas[].name] | sort')" = '["loadavg","meminfo"]' ]
    ./ldms_ls -l -S loadavg | grep -q "^D d64          load15min "
    [ -z "$(./ldms_ls -l -S procstat2 | awk '/^D/ { print $3 }' | sort | uniq -d)" ]
    disk=$(./ldms_ls -S procdiskstats 2>/dev/null | sed -n '1s,.*/,,p')
    [ -z "$disk" ] || [ "$(./ldms_ls -l "$host/procdiskstats/$disk" | awk '$3 == "sect_read" { print $4 }')" -le \
        "$(awk -v disk="$disk" '$3 == disk { print $6 }' /proc/diskstats)" ]
    [[ "$(./ldms_ls -V)" =~ ^sonde ]]
    run -2 ./ldms_ls -Z
    [[ "$output" == *"unknown option -Z"* ]]
    run -0 ./ldms_ls --help
    [[ "$output" == *"ldms_ls [-h HOST]"* ]]
}

@test "a missing agent is reported" {
    run -1 "$SONDE" ls
    [[ "$output" == *"no agent is running on this node"* ]]
    run -1 "$SONDE" ls 127.0.0.1:1
    [[ "$output" == *"no agent or collector is reachable at 127.0.0.1:1"* ]]
}
