#!/usr/bin/env bats
# shellcheck disable=SC2016 # conditions that are looked at later
# System calls counted in the kernel: by sonde run -s as root, and by the agent for users and on request for jobs; and the messages
# if that is impossible.
load scene
load live

setup() {
    need_root
    [ -e "$BUILD/src/modules/sample-bpf.so" ] || skip "sample-bpf.so was not built"
    live_setup
    "$SONDE" run -s --no-probe -- true 2>"$T/trial"
    [ ! -s "$T/trial" ] || skip "no eBPF: $(cat "$T/trial")"
    rm -rf "$T/db/"*
}

# The last counts of each call in the database: "read 12 0 345", sorted by name.
counted() {
    "$SONDE" export -w series --set syscall --format csv | awk -F, 'NR > 1 { last[$4] = $5 " " $6 " " $7 }
        END { for (name in last) print name, last[name] }' | sort
}

# One of them: counted_of NAME COLUMN (1 calls, 2 errors, 3 bytes).
counted_of() {
    counted | awk -v name="$1" -v column="$2" '$1 == name { print $(column + 1) }'
}

# The counts of strace for a command. It does not count calls that never return.
straced() {
    strace -f -c -U name,calls,errors -o "$T/strace" "$@" >/dev/null 2>&1
    awk 'NR > 2 && $2 ~ /^[0-9]+$/ && $1 != "total" { print $1, $2, $3 + 0 }' "$T/strace" | sort
}

@test "calls, errors and bytes of a command and its children are in the database" {
    "$SONDE" run -q -s --no-probe -- sh -c 'dd if=/dev/zero of=/dev/null bs=7 count=1000 2>/dev/null; cat /dev/null /nowhere; true' || :
    [ "$(counted_of read/device 1)" -ge 1000 ]
    [ "$(counted_of read/device 3)" -eq 7000 ]
    [ "$(counted_of write/device 3)" -ge 7000 ]
    [ "$(counted_of execve 1)" -eq 3 ]
    [ "$(counted_of exit_group 1)" -eq 3 ]
    [ "$(counted_of openat 2)" -ge 1 ]
}

@test "the counts equal those of strace -c -f" {
    command -v strace >/dev/null || skip "no strace"
    set -- bash -c 'for i in 1 2 3; do /bin/true; done; x=$(echo hello); trap : USR1; for i in {1..20}; do kill -USR1 $$; done
        exec 3<>"$0"; for i in {1..50}; do echo line >&3; done; ! cat /nowhere' "$T/file"
    straced "$@" >"$T/theirs"
    "$SONDE" run -q -s --no-probe -- "$@" 2>/dev/null
    counted | grep -v / | grep -v '^exit' | cut -d' ' -f1-3 >"$T/ours"
    diff "$T/theirs" "$T/ours"
}

@test "time is measured on request" {
    "$SONDE" run -q --syscall-time --no-probe -- sleep 0.2
    "$SONDE" export -w series --set syscall --format csv | tr -d '\r' | grep -q ',exit_group,1,0,,$' # which never returns
    slept=$("$SONDE" export -w series --set syscall --format csv | tr -d '\r' | awk -F, '$4 == "clock_nanosleep" { last = $8 } END { print last }')
    [ "$slept" -ge 200000000 ]
    [ "$slept" -lt 20000000000 ]
    "$SONDE" export -w series --set syscall_time --format csv | grep -q clock_nanosleep
}

@test "processes that outlive the command are counted to their end" {
    "$SONDE" run -q -s --no-probe -- sh -c '(sleep 0.5; dd if=/dev/zero of=/dev/null bs=1 count=321) >/dev/null 2>&1 </dev/null &'
    wait_for '[ "$(counted_of read/device 3)" = 321 ]'
}

@test "the agent counts a job on request, also a running one, and no other" {
    # Ignores other programs of this machine, which would be in the node's totals, too.
    start_agent -c /dev/null -p 100ms --sensors syscalls --sink "csv:dir=$T/csv" --set programs.boards=none
    run ! grep -q prog_id /proc/"$AGENT"/fdinfo/*
    mkfifo "$T/one" "$T/two" "$T/three"
    reads() { bash -c "read -r x <'$T/$1'; dd if=/dev/zero of=/dev/null bs=1 count=\$x 2>/dev/null" 3>&-; }
    reads one & one=$!
    reads two & two=$!
    reads three & three=$!
    "$SONDE" job begin one --pid "$one" -s
    "$SONDE" job begin two --pid "$two"
    "$SONDE" job begin three --pid "$three"
    "$SONDE" ctl syscalls two time
    grep -q prog_id /proc/"$AGENT"/fdinfo/*
    echo 111 >"$T/one"; echo 222 >"$T/two"; echo 333 >"$T/three"
    wait "$one" "$two" "$three"
    wait_for '[ "$("$SONDE" job --json | jq ".jobs | length")" = 0 ]'
    wait_for '! grep -q prog_id /proc/"$AGENT"/fdinfo/*'
    # Under tau's names, summed over the node. bash also reads its number, and dd prints its statistics.
    value() { "$SONDE" get -f json "$1" | jq '.[0].value | floor'; }
    [ "$(value 'strace_hits_total{scall="read"}')" -ge 333 ]
    [ "$(value 'strace_hits_total{scall="read"}')" -lt 600 ]
    [ "$(value 'strace_size_total{scall="write"}')" -ge 333 ]
    [ "$(value 'strace_total{desc="write_size"}')" -lt 900 ]
    kill "$AGENT"; wait "$AGENT" || :
    last() { awk -F, -v call="$2" '$8 == call { calls = $9 } END { print calls }' "$T"/csv/*/"$1"/*/syscall.csv; }
    [ "$(last one read/device)" = 111 ]
    [ "$(last two read/device)" = 222 ]
    [ ! -e "$(echo "$T"/csv/*/three/*/syscall.csv)" ]
    [ "$(echo "$T"/csv/*/two/*/syscall_time.csv)" ]
    ls "$T"/csv/*/two/*/syscall_time.csv
    run ! ls "$T"/csv/*/one/*/syscall_time.csv
}

@test "kernel counts of a job are served like program metrics, also under tau's names, without duplicates" {
    export SONDE_BOARDS=$T/segments SLURM_JOB_ID=one
    mkdir -m 1777 "$T/segments"
    printf '[programs]\nboards = %s\ntau = %s\ntau_names = yes\n' "$T/segments" "$T/tau.sock" >"$T/conf"
    start_agent -c "$T/conf" -p 100ms --sensors syscalls --sink "csv:dir=$T/csv"
    "$SONDE" ctl set syscalls.period=100ms
    mkfifo "$T/one"
    told="'$BUILD/tests/segment_program' calls counter syscall_calls_total 'call=\"read\"' 1000000 counter syscall_bytes_total 'call=\"write\"' 1000000"
    bash -c "exec 7<>'$T/one'; read -r x <&7; dd if=/dev/zero of=/dev/null bs=1 count=777 status=none; $told; read -r x <&7; $told; read -r x <&7" 3>&- &
    one=$!
    "$SONDE" job begin one --pid "$one" -s
    "$SONDE" ctl syscalls one time
    value() { "$SONDE" get -j one -f json "$1" 2>/dev/null | jq '.[0].value'; }
    on_page() { curl -s "http://127.0.0.1:$PORT/metrics" | awk -v name="$1" -v with="$2" 'index($0, name "{") == 1 && /job="one"/ && index($0, with) { print $2 }'; }
    counted_in_kernel() { on_page sonde_syscall_calls_total 'call="read"}'; }
    echo go >"$T/one"
    wait_for '[ "$(value strace_write_size_total)" = 777 ] && [ -z "$(ls "$T/segments" | grep -v sonde-agent)" ]'
    wait_for '[ "$(value "strace_hits_total{scall=\"read\"}")" = "$(counted_in_kernel)" ]'
    [ "$(value 'syscall_calls_total{call="read"}')" = "$(counted_in_kernel)" ]
    [ "$(value 'strace_size_total{scall="write"}')" = 777 ]
    [ "$(value 'strace_total{desc="write_size"}')" = 777 ]
    [ "$(value strace_read_size_total)" = "$(value 'strace_total{desc="read_size"}')" ]
    value 'strace_time_total{scall="write"}' | awk '{ exit !($1 > 0) }'
    [ "$(on_page job_strace_write_size_total)" = 777 ]
    [ "$(on_page job_syscall_bytes_total 'call="write"')" = 777 ]
    "$SONDE" list-metrics 'strace_*' | grep -q strace_total
    [ "$(tail -n +2 "$T"/csv/*/one/*/syscall.csv | awk -F, '$8 == "write" { last = $11 } END { print last }')" = 777 ]
    # The programs' own counts are used again when the kernel does not count.
    "$SONDE" ctl syscalls one no
    wait_for '! grep -q prog_id /proc/"$AGENT"/fdinfo/*'
    echo go >"$T/one"
    wait_for '[ "$(value strace_write_size_total)" = 1000777 ]'
    echo end >"$T/one"
    wait "$one"
}

@test "calls are not duplicated when kernel counting starts and stops" {
    export SONDE_BOARDS=$T/segments
    mkdir -m 1777 "$T/segments"
    printf '[programs]\nboards = %s\ntau = none\n' "$T/segments" >"$T/conf"
    start_agent -c "$T/conf" -p 100ms --sensors syscalls --sink "store:path=$SONDE_DB,every=100ms"
    "$SONDE" ctl set syscalls.period=100ms
    value() { "$SONDE" get "$@" -f json 'syscall_calls_total{call="write"}' 2>/dev/null | jq '.[0].value'; }
    settles() { wait_for "[ \"\$(value)\" = $1 ]" && sleep 1.5 && [ "$(value)" = "$1" ]; } # and does not grow further
    mkfifo "$T/go"
    # Writes 300 times for each line that it reads.
    LD_PRELOAD=$BUILD/src/probe/libsonde-calls.so python3 -S -c 'import os
while os.read(0, 1): [os.write(1, b"x") for i in range(300)]' <"$T/go" >/dev/null 3>&- & worker=$!
    exec 7>"$T/go"
    echo >&7; settles 300
    "$SONDE" job begin night --pid "$worker"
    echo >&7; settles 600
    [ "$(value -j night)" = 300 ]
    "$SONDE" ctl syscalls night count
    echo >&7; settles 900
    [ "$(value -j night)" = 600 ]
    "$SONDE" ctl syscalls night no
    echo >&7; settles 1200
    "$SONDE" ctl syscalls night count
    echo >&7; settles 1500
    "$SONDE" ctl syscalls night no
    echo >&7; settles 1800
    "$SONDE" job end night
    exec 7>&-
    wait "$worker"
    kill "$AGENT"; wait "$AGENT" || :
    "$SONDE" report --json night >"$T/report"
    jq -e '.system_calls.by_call[] | select(.call == "write") | .calls == 1500' "$T/report"
}

@test "a job is counted by its cgroup, with processes that join later" {
    top=$(findmnt -n -o TARGET -t cgroup2 | head -1)
    [ -n "$top" ] || skip "no cgroup v2"
    mkdir "$top/sonde-calls-$$" || skip "cgroup v2 is not writable"
    start_agent -c /dev/null -p 100ms --sensors syscalls --sink "csv:dir=$T/csv"
    "$SONDE" ctl set syscalls.period=100ms
    "$SONDE" job begin grouped --cgroup "/sonde-calls-$$" -s
    bash -c "echo \$\$ >$top/sonde-calls-$$/cgroup.procs; for i in 1 2 3 4 5; do /bin/true; done; dd if=/dev/zero of=/dev/null bs=1 count=444 2>/dev/null"
    "$SONDE" job end grouped
    kill "$AGENT"; wait "$AGENT" || :
    rmdir "$top/sonde-calls-$$"
    awk -F, '$8 == "read/device" { calls = $9 } END { exit calls != 444 }' "$T"/csv/*/grouped/*/syscall.csv
    awk -F, '$8 == "execve" { calls = $9 } END { exit calls != 6 }' "$T"/csv/*/grouped/*/syscall.csv
}

@test "a job that the agent and sonde run both count is counted once in its report" {
    export SONDE_BOARDS=$T/segments SLURM_JOB_ID=4711
    mkdir -m 1777 "$T/segments"
    printf '[programs]\nboards = %s\ntau = none\n' "$T/segments" >"$T/conf"
    start_agent -c "$T/conf" -p 100ms --sensors syscalls --sink "store:path=$SONDE_DB,every=200ms"
    "$SONDE" ctl set syscalls.period=100ms
    mkfifo "$T/one"
    bash -c "exec 7<>'$T/one'; read -r x <&7; '$SONDE' run -q -s -- bash -c \"dd if=/dev/zero of=/dev/null bs=1 count=1000 status=none
        '$BUILD/tests/segment_program' sonde counter cells_total - 60; sleep 2\"; dd if=/dev/zero of=/dev/null bs=1 count=234 status=none; read -r x <&7" 3>&- &
    one=$!
    "$SONDE" job begin 4711 --pid "$one" -s
    echo go >"$T/one"
    sees() { "$SONDE" export -w series --set syscall 4711 2>/dev/null | grep -c ",$1,$2,0,$2,"; }
    wait_for '[ "$(sees write/device 1000)" -ge 1 ] && [ "$(sees write/device 1234)" -ge 1 ]'
    echo end >"$T/one"
    wait "$one"
    "$SONDE" job end 4711 || :
    kill "$AGENT"; wait "$AGENT" || :
    "$SONDE" report --json 4711 >"$T/report"
    # sonde run itself, which the agent counts, too, has written a little to its database.
    jq -e '.system_calls.by_call[] | select(.call == "write") | .calls >= 1234 and .calls < 2000' "$T/report"
    jq -e '.program.counters == [{ "name": "cells_total", "total": 60 }]' "$T/report"
}

@test "counting continues after an agent restart or a new request, and the report is complete" {
    start_agent -c /dev/null -p 100ms --sensors syscalls --sink "store:path=$SONDE_DB,every=100ms"
    "$SONDE" ctl set syscalls.period=100ms
    mkfifo "$T/go"
    bash -c "exec 7<>'$T/go'; while read -r x <&7; do dd if=/dev/zero of=/dev/null bs=1 count=\$x status=none; done" 3>&- &
    program=$!
    "$SONDE" job begin kept --pid "$program" -s
    "$SONDE" ctl syscalls kept time
    sees() { "$SONDE" export -w series --set syscall kept 2>/dev/null | grep -c ",write/device,$1,0,$1,"; }
    works() { echo "$1" >"$T/go" && wait_for "[ \$(sees $1) -ge 1 ]"; }
    served() { "$SONDE" get -j kept -f json 'syscall_bytes_total{call="write"}' 2>/dev/null | jq '.[0].value'; }
    works 100
    wait_for 'grep -q "\"syscalls\": \"time\"" "$T/run/agent.sock.jobs"' # once a second
    kill -9 "$AGENT"; wait "$AGENT" || :
    start_agent -c /dev/null -p 100ms --sensors syscalls --sink "store:path=$SONDE_DB,every=100ms"
    works 3000 # more than before, immediately
    "$SONDE" ctl syscalls kept no
    wait_for '! grep -q prog_id /proc/"$AGENT"/fdinfo/*'
    "$SONDE" ctl syscalls kept time
    works 50000
    wait_for '[ "$(served)" = 53000 ]' # by this agent
    "$SONDE" job end kept
    kill "$program"; wait "$program" || :
    kill "$AGENT"; wait "$AGENT" || :
    "$SONDE" report --json kept >"$T/report"
    jq -e '.system_calls.by_call[] | select(.call == "write") | .bytes == 53100 and .calls == 53100' "$T/report"
    jq -e '.system_calls.by_call[] | select(.call == "write") | ([.calls_below_ns[][1]] | add) == 53100' "$T/report"
}

@test "counts are kept when requests stop, the agent ends or the sensor is disabled, for any period" {
    start_agent -c /dev/null -p 100ms --sensors syscalls --sink "store:path=$SONDE_DB,every=100ms"
    "$SONDE" ctl set syscalls.period=1h
    mkfifo "$T/go" "$T/done"
    bash -c "exec 7<>'$T/go' 8<>'$T/done'
        while read -r x <&7; do dd if=/dev/zero of=/dev/null bs=1 count=\$x status=none; echo done >&8; done" 3>&- &
    program=$!
    works() { echo "$1" >"$T/go" && read -r <"$T/done"; }
    "$SONDE" job begin again --pid "$program" -s
    works 700
    "$SONDE" ctl syscalls again no
    works 50
    "$SONDE" ctl syscalls again count
    works 300
    kill "$AGENT"; wait "$AGENT"
    start_agent -c /dev/null -p 100ms --sensors syscalls --sink "store:path=$SONDE_DB,every=100ms"
    "$SONDE" ctl set syscalls.period=1h
    wait_for 'grep -q prog_id /proc/"$AGENT"/fdinfo/*'
    works 2000
    "$SONDE" ctl sensors -syscalls
    "$SONDE" job end again
    kill "$program"; wait "$program" || :
    kill "$AGENT"; wait "$AGENT" || :
    "$SONDE" report --json again >"$T/report"
    jq -e '.system_calls.by_call[] | select(.call == "write") | .bytes >= 3000 and .bytes < 3050' "$T/report" # bash writes, too
}

@test "the agent counts a user's run, and no one may request counts of another user's job" {
    start_agent -c /dev/null -p 100ms --sensors syscalls
    as_nobody "$SONDE" run -s --no-probe -- dd if=/dev/zero of=/dev/null bs=1 count=555 2>"$T/user.log"
    run ! grep -q sonde: "$T/user.log"
    [ "$(counted_of read/device 3)" = 555 ]
    "$SONDE" job begin mine --pid $$ --user root
    run -1 as_nobody "$SONDE" ctl syscalls mine
    [[ $output == *"other users' jobs"* ]]
    wait_for '! grep -q prog_id /proc/"$AGENT"/fdinfo/*'
    as_nobody "$SONDE" run -v --libc -- dd if=/dev/zero of=/dev/null bs=1 count=444 2>"$T/user.log"
    grep -q 'through libc: requested with --libc$' "$T/user.log"
    [ "$(counted_of read 3)" = 444 ]
}

@test "the agent counts a run in its own pid namespace, and only that" {
    unshare -pf --mount-proc true || skip "no pid namespaces"
    start_agent -c /dev/null -p 100ms --sensors syscalls
    unshare -pf --mount-proc "$SONDE" run -s -- sh -c "echo here >'$T/here'; while [ ! -e '$T/go' ]; do sleep 0.1; done
        exec dd if=/dev/zero of=/dev/null bs=1 count=77 status=none" 3>&- &
    run=$!
    wait_for '[ -e "$T/here" ]'
    [ "$("$SONDE" job --json | jq '.jobs[0].pid')" -gt 1 ]
    dd if=/dev/zero of=/dev/null bs=1 count=5432 status=none # not part of the run
    touch "$T/go"
    wait "$run"
    [ "$(counted_of read/device 3)" = 77 ]
}

@test "an agent that cannot count says so and how to fix it; once it can, the job is counted" {
    start_agent -c /dev/null -p 100ms --sensors loadavg
    "$SONDE" job begin mine --pid $$
    run -1 "$SONDE" ctl syscalls mine time
    [[ $output == *"system calls of job mine are not counted"*"sonde ctl sensors +syscalls"*"sonde doctor"* ]]
    run -0 "$SONDE" ctl syscalls mine no
    run -1 "$SONDE" ctl syscalls mine
    "$SONDE" ctl sensors +syscalls
    run -0 "$SONDE" ctl syscalls mine
    grep -q prog_id /proc/"$AGENT"/fdinfo/*
}

@test "a user's run keeps the counts of a stopped agent, continues with the next, and reports the gap" {
    start_agent -c /dev/null -p 100ms --sensors syscalls
    mkfifo "$T/go" && chmod 666 "$T/go"
    as_nobody "$SONDE" run -s --no-probe -p 100ms -- bash -c "exec 7<>'$T/go'; dd if=/dev/zero of=/dev/null bs=1 count=1000 status=none
        read -r x <&7; dd if=/dev/zero of=/dev/null bs=1 count=20000 status=none; read -r x <&7" 2>"$T/user.log" 3>&- &
    run_pid=$!
    sleep 3 # longer than two requests take
    kill -9 "$AGENT"; wait "$AGENT" || :
    start_agent -c /dev/null -p 100ms --sensors syscalls
    wait_for 'grep -q prog_id /proc/"$AGENT"/fdinfo/*' # the new one knows the run from its saved state or a request
    echo go >"$T/go" # it may be queried first when it has counted more than the previous one
    sleep 2
    echo end >"$T/go"
    wait "$run_pid"
    [ "$(counted_of write/device 3)" = 21000 ]
    "$SONDE" report | tr -s ' \n' ' ' >"$T/report"
    grep -qE 'system calls during [0-9.]+ m?s, from [0-9.]+ s after the start: no agent counted them' "$T/report"
    grep -q "agent that counts system calls was restarted" "$T/user.log"
}

@test "a user's run keeps the counts of an agent that does not return" {
    start_agent -c /dev/null -p 100ms --sensors syscalls
    mkfifo "$T/go" && chmod 666 "$T/go"
    as_nobody "$SONDE" run -q -s --no-probe -p 100ms -- bash -c "exec 7<>'$T/go'; dd if=/dev/zero of=/dev/null bs=1 count=1000 status=none
        read -r x <&7" 3>&- &
    run_pid=$!
    sleep 3
    kill "$AGENT"; wait "$AGENT" || :
    echo end >"$T/go"
    wait "$run_pid"
    [ "$(counted_of write/device 3)" = 1000 ]
    "$SONDE" report | tr -s ' \n' ' ' >"$T/report"
    grep -qE 'system calls from [0-9.]+ s after the start: no agent counted them' "$T/report"
}

@test "a user's run does not wait for a suspended agent, with a warning" {
    start_agent -c /dev/null -p 100ms --sensors syscalls
    kill -STOP "$AGENT"
    least=10000
    for i in 1 2 3; do
        begin=$(date +%s%N)
        as_nobody "$SONDE" run -s -- date +%s%N >"$T/when" 2>"$T/user.log"
        took=$((($(cat "$T/when") - begin) / 1000000))
        [ "$took" -ge "$least" ] || least=$took
    done
    kill -CONT "$AGENT"
    [ "$least" -lt 1000 ]
    grep -q 'through libc: .*the agent of this node.*does not respond' "$T/user.log"
}

@test "if counting is impossible, the reason and a fix are printed, and the command runs" {
    mkdir "$T/none"
    run -7 env SONDE_MODULES="$T/none" "$SONDE" run -s --no-probe -- sh -c 'exit 7'
    [[ $output == *"cannot count system calls"*"sample-bpf.so"* ]]
    run -7 setpriv --bounding-set -bpf,-perfmon,-sys_admin "$SONDE" run -s --no-probe -- sh -c 'exit 7'
    [[ $output == *"cannot count system calls"*"CAP_BPF"* ]]
    run -7 unshare --pid --fork "$SONDE" run -s --no-probe -- sh -c 'exit 7'
    [[ $output == *"cannot count system calls"*"namespace"* ]]
}

@test "doctor reports what counts, what is in use and why" {
    "$SONDE" doctor --json >"$T/doctor" || :
    in_use() { jq -r '.. | objects | select(.name? == "in use") | .detail // .reason' "$T/doctor"; }
    [[ $(in_use) == *eBPF* ]]
    as_nobody "$SONDE" doctor --json >"$T/doctor" || :
    [[ $(in_use) == *libsonde-calls.so*"run as root"* ]]
    unshare -pf --mount-proc "$SONDE" doctor --json >"$T/doctor" || :
    [[ $(in_use) == *libsonde-calls.so*"pid namespace"* ]]
    jq -e '.. | objects | select(.name? == "syscalls") | .detail // .reason | contains("pid namespace")' "$T/doctor"
    start_agent -c /dev/null -p 100ms --sensors syscalls
    as_nobody "$SONDE" doctor --json >"$T/doctor" || :
    [[ $(in_use) == *agent* ]]
}

@test "programs that also count in libc add nothing to the kernel's counts" {
    LD_PRELOAD=$BUILD/src/probe/libsonde-calls.so "$SONDE" run -s -- dd if=/dev/zero of=/dev/null bs=1 count=500 status=none
    calls_of() { "$SONDE" export -w series --set syscall | awk -F , -v call="$1" '$4 == call { print $5 }'; }
    [ "$(calls_of write | wc -l)" -eq 1 ]
    [ "$(calls_of write/device)" -eq 500 ]
    [ "$(calls_of write)" -gt 500 ] # including those of the probe
}
