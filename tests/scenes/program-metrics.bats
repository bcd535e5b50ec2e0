#!/usr/bin/env bats
# Programs that publish metrics to an agent: tau's clients through their socket, others through segments in shared memory. What is
# served, and to which job and user it belongs; faults and large numbers are in other files.
# shellcheck disable=SC2016,SC2034,SC2119,SC2120
load scene
load program-metrics

# --- what works ---

@test "a client of tau is counted, listed, answered and shown" {
    start </dev/null
    run -0 tau counter 'x_total{a="b"}' 'doc:my doc' add 'x_total{a="b"}' 3 gauge g set g 5 list all get 'x_total{a=b}' get nobody
    [[ $output == *$'1\tx_total{a="b"}\tmy doc'* ]]
    [[ $output == *$'x_total{a="b"}\t3.0\nunknown' ]]
    tau counter 'x_total{a="b"}' add 'x_total{a="b"}' 0.5
    wait_for 'is "x_total{a=\"b\",host=\"$(host)\"}" 3.5'
    ask '/programs?name=x_total%7Ba%3Db%7D' | python3 -c '
import json, sys
(m,) = json.load(sys.stdin)["metrics"]
assert m["value"] == 3.5 and m["type"] == "counter" and m["doc"] == "my doc" and m["job"] is None, m'
    ask /metrics >"$T/page"
    promtool check metrics <"$T/page"
    run ! grep '^g{' "$T/page" # no running program has set it
}

@test "a gauge is the sum over running programs, with minimum, maximum and mean; tau's clients get the mean" {
    start </dev/null
    coproc ONE { exec "$SOURCE/tests/tools/tau_client.py" gauge g set g 10 stay; }
    coproc TWO { exec "$SOURCE/tests/tools/tau_client.py" gauge g set g 2 stay; } 2>/dev/null
    wait_for 'is "g{host=\"$(host)\"}" 12'
    is "g_min{host=\"$(host)\"}" 2
    is "g_max{host=\"$(host)\"}" 10
    is "g_mean{host=\"$(host)\"}" 6
    [ "$(tau get g)" = $'g\t6.0' ]
    kill "$TWO_PID"
    wait_for 'is "g{host=\"$(host)\"}" 10'
    kill "$ONE_PID"
    wait_for '[ -z "$(value "g{host=\"$(host)\"}")" ]'
}

@test "an infinite gauge is infinite in every format except JSON, where it is null" {
    start </dev/null
    coproc ONE { exec "$SOURCE/tests/tools/tau_client.py" gauge g set g inf gauge below set below -inf stay; }
    wait_for 'is "g{host=\"$(host)\"}" +Inf && is "below{host=\"$(host)\"}" -Inf'
    [ "$(ask '/programs?name=g' | jq -c '.metrics[0] | [.value, .sum, .min, .max, .mean, .programs]')" = '["inf","inf","inf","inf","inf",1]' ]
    [[ $("$SONDE" get --positive -f txt) =~ $'\n'"g "[0-9.]+" inf "$ ]]
    [[ $("$SONDE" get below) == *"below = -inf @ "* ]]
    [[ $("$SONDE" get -f yaml below) == *"value: -.inf"* ]]
    [[ $("$SONDE" get -a -f txt g) == *" inf sum=inf min=inf max=inf mean=inf programs=1.0 "* ]]
    [[ $("$SONDE" track -n 1 -f txt g) =~ " inf "$ ]]
    "$SONDE" get -a -f json g | jq -e '.[0] | has("sum") and .value == null and .sum == null'
    kill "$ONE_PID"
}

@test "a sum that overflows is infinite, for tau's clients and for segments, and other jobs are unaffected" {
    start </dev/null
    tau -j 1 counter x_total add x_total 1.7e308
    coproc ONE { exec "$SOURCE/tests/tools/tau_client.py" -j 2 counter x_total add x_total 1.7e308 add x_total inf add x_total 1 stay; }
    wait_for 'is "x_total{host=\"$(host)\"}" +Inf'
    ask /metrics | grep -q "^job_x_total{host=\"$(host)\",job=\"2\".*} 1.7e+308$"
    "$TOOLS/instrumented_numbers" too-much
    wait_for 'is "phase_seconds_total{part=\"a\",host=\"$(host)\"}" +Inf'
    is "phase_sizes_sum{host=\"$(host)\"}" +Inf
    is "phase_sizes_count{host=\"$(host)\"}" 2
    is "sonde_programs_refused_total{host=\"$(host)\"}" 1 # the value that was infinite itself
    [ "$(ask '/programs?name=x_total' | jq -c '.metrics[0].value')" = '"inf"' ]
    [[ $("$SONDE" get -f txt x_total) =~ $'\n'"x_total "[0-9.]+" inf "$ ]]
    [[ $("$SONDE" get -a -f txt phase_sizes) == *" inf "*"sum=inf"*"count=2.0 "* ]]
    kill "$ONE_PID"
}

@test "a gauge that a program sets to NaN is missing until it is set again" {
    start </dev/null
    mkfifo "$T/next"
    "$BUILD/tests/segment_program" sonde gauge level - 7 wait gauge level - nan counter step_total - 1 wait gauge level - 9 wait \
        <>"$T/next" 3>&- & # not through a function, so that $! is the program's pid
    wait_for 'is "level{host=\"$(host)\"}" 7'
    echo >"$T/next"
    wait_for 'is "step_total{host=\"$(host)\"}" 1'
    [ -z "$(value "level{host=\"$(host)\"}")" ]
    run -1 --separate-stderr "$SONDE" get -f json level step_total
    [ "$(jq -c '[.[].name]' <<<"$output")" = '["step_total"]' ]
    [[ $stderr == *"no metric level with a value"* && $stderr != *step_total* ]]
    echo >"$T/next"
    wait_for 'is "level{host=\"$(host)\"}" 9'
}

@test "track writes changes that keep the value: a histogram that observes 0, a gauge that moves between programs" {
    start </dev/null
    mkfifo "$T/one" "$T/two"
    "$BUILD/tests/segment_program" sonde gauge g - 1 observe h - 0 wait gauge g - -5 observe h - 0 wait <>"$T/one" 3>&- &
    "$BUILD/tests/segment_program" sonde gauge g - 3 wait gauge g - 9 wait <>"$T/two" 3>&- &
    wait_for '[[ $("$SONDE" get -a -f txt g h) == *"min=1.0 max=3.0"*" count=1.0"* ]]'
    "$SONDE" track -a -F 50 -o "$T/log.json" g h >/dev/null 3>&- &
    tracker=$!
    wait_for '[ "$(jq "flatten | length" "$T/log.json")" = 2 ]'
    kill -STOP "$tracker" # it must not see one program without the other
    echo >"$T/one"
    echo >"$T/two"
    wait_for '[[ $("$SONDE" get -a -f txt g h) == *" 4.0 sum=4.0 min=-5.0 max=9.0"*" count=2.0"* ]]'
    kill -CONT "$tracker"
    wait_for '[ "$(jq "flatten | length" "$T/log.json")" = 4 ]'
    sleep 0.3
    kill "$tracker"
    wait "$tracker"
    [ "$(jq -c '[flatten[] | select(.name == "g") | .min]' "$T/log.json")" = '[1,-5]' ]
    [ "$(jq -c '[flatten[] | select(.name == "h") | [.value, .count]]' "$T/log.json")" = '[[0,1],[0,2]]' ]
}

@test "segments are read while a program runs and once after it was killed: no loss, and nothing is left behind" {
    start </dev/null
    program sonde counter cells_total 'phase="solve"' 41 observe wait_seconds - 0.5 ticks busy_seconds_total - 2 kill || :
    SONDE_JOB=4711 program sonde counter cells_total 'phase="solve"' 1 leave
    wait_for 'is "cells_total{phase=\"solve\",host=\"$(host)\"}" 42'
    is "job_cells_total{phase=\"solve\",host=\"$(host)\",job=\"4711\",user=\"$(id -un)\"}" 1 || [ "$(id -u)" -ne 0 ]
    is "wait_seconds_bucket{le=\"1\",host=\"$(host)\"}" 1
    is "wait_seconds_bucket{le=\"0.1\",host=\"$(host)\"}" 0
    value "busy_seconds_total{host=\"$(host)\"}" | awk '{ exit !($1 > 1.9 && $1 < 2.1) }'
    wait_for '[ "$(ls "$SONDE_BOARDS")" = sonde-agent ] || [ "$(ls "$SONDE_BOARDS")" = "sonde-agent.$(id -u)" ]'
    ask /metrics | promtool check metrics
}

@test "counts of the probes have tau's names, too, and are counted once" {
    start <<<'tau_names = yes'
    program mpi rank 0 1 counter mpi_calls_total 'function="MPI_Send"' 7 counter mpi_sent_bytes_total 'function="MPI_Send"' 70
    program calls counter syscall_calls_total 'call="read"' 3 counter syscall_bytes_total 'call="read"' 30
    tau counter 'tau_hits_total{function="mpi_send"}' add 'tau_hits_total{function="mpi_send"}' 1
    wait_for 'is "tau_hits_total{function=\"mpi_send\",host=\"$(host)\"}" 8'
    is "mpi_calls_total{function=\"MPI_Send\",host=\"$(host)\"}" 7
    run -0 tau get 'tau_mpi_total{metric="hits"}' get 'tau_mpi_total_size{metric="size_out"}' get 'strace_hits_total{scall="read"}' \
        get strace_read_size_total
    [ "$output" = $'tau_mpi_total{metric="hits"}\t7.0\ntau_mpi_total_size{metric="size_out"}\t70.0\nstrace_hits_total{scall="read"}\t3.0\nstrace_read_size_total\t30.0' ]
}

@test "sonde run saves the metrics of its programs, also after kill -9 of sonde run" {
    "$SONDE" run -q -- bash -c "'$BUILD/tests/segment_program' mpi rank 3 4 counter mpi_calls_total 'function=\"MPI_Send\"' 7 \
        counter mpi_peer_bytes_total 'to=\"1\"' 99 counter x_total - 2 kill; true"
    "$SONDE" export -w series >"$T/series"
    grep ',mpi,3/MPI_Send,calls,1,7' "$T/series"
    grep ',mpi,3/,calls,1,7' "$T/series"
    grep ',mpi_peer,3>1,bytes,B,99' "$T/series"
    grep ',program_counter,x_total,total,1,2' "$T/series"
    "$SONDE" run -q -- bash -c "'$BUILD/tests/segment_program' sonde counter y_total - 5 kill; echo \$SONDE_BOARDS >folder; kill -9 \$PPID; sleep 0.1" || :
    "$SONDE" submit
    "$SONDE" export -w series | grep ',program_counter,y_total,total,1,5'
    [[ $(cat folder) == /dev/shm/sonde-run.* ]]
    is_over "$(cat folder)"
}

# --- jobs and users ---

@test "users see the node and their own jobs, and cannot publish for another user's job" {
    need_root
    start </dev/null
    chmod 755 "$T/run"
    coproc ROOT { exec "$SOURCE/tests/tools/tau_client.py" -j 42 counter secret_total add secret_total 1 stay; }
    cp "$SOURCE/tests/tools/tau_client.py" "$T"
    setpriv --reuid=65534 --regid=65534 --clear-groups env TAU_METRIC_PROXY="$T/tau.sock" /usr/bin/python3 "$T/tau_client.py" -j 42 \
        counter secret_total add secret_total 10 wait 60 >/dev/null 2>&1 3>&- &
    wait_for 'is "secret_total{host=\"$(host)\"}" 11'
    wait_for 'is "job_secret_total{host=\"$(host)\",job=\"42\",user=\"root\"}" 1'
    wait_for 'is "job_secret_total{host=\"$(host)\",job=\"42\",user=\"nobody\"}" 10'
    as_nobody curl -sf --unix-socket "$T/run/agent.sock" 'http://agent/programs?all' | python3 -c '
import json, sys
values = {(m["job"], m["user"]): m["value"] for m in json.load(sys.stdin)["metrics"] if m["name"] == "secret_total"}
assert values[(None, None)] == 11 and ("42", "root") not in values and values[("42", "nobody")] == 10, values'
}

@test "a user without a name is identified by uid, and another user's job is not shown as theirs" {
    need_root
    local uid=$((200000 + BASHPID % 100000))
    start </dev/null
    setpriv --reuid="$uid" --regid=65534 --clear-groups "$BUILD/tests/segment_program" sonde counter cells_total - 3
    mkfifo "$T/stay"
    SONDE_JOB=12 setpriv --reuid="$uid" --regid=65534 --clear-groups "$BUILD/tests/segment_program" sonde counter cells_total - 5 wait \
        <>"$T/stay" 3>&- &
    SONDE_JOB=12 "$BUILD/tests/segment_program" sonde counter cells_total - 6 wait <>"$T/stay" 3>&- &
    wait_for 'is "cells_total{host=\"$(host)\"}" 14'
    values() { "$SONDE" get -f json "$@" cells_total | jq -c 'map(.value) | sort'; }
    [ "$(values -U "$uid")" = '[8]' ]
    [ "$(values -U root)" = '[6]' ]
    [ "$(values -j 12 -U "$uid")" = '[5]' ]
    [ "$(values -j 12 -U root)" = '[6]' ]
    [ "$(values -j 12)" = '[5,6]' ]
    [ "$("$SONDE" list-metrics -f json -U "$uid" | jq -c 'map(.name)')" = '["cells_total"]' ]
    [[ $("$SONDE" track -n 1 -f txt -U "$uid" cells_total) == *" 8.0 "* ]]
    run -1 "$SONDE" get -j 12 -U nobody cells_total
    run -1 "$SONDE" get -j 12 -U nobody
    [[ $output == *"no program metrics of job 12 of user nobody"* ]]
    [ "$(ask '/programs?all&name=cells_total' | jq -c '[.metrics[] | select(.user == null) | .value]')" = '[14]' ]
}

# Starts a program of root's job 4711 with a gauge, which exits when it reads a line.
start_level() {
    mkfifo "$T/stay"
    SONDE_JOB=4711 "$BUILD/tests/segment_program" sonde gauge level - 42 wait <>"$T/stay" 3>&- &
}

@test "a name that no running program uses may get another type" {
    need_root
    start </dev/null
    as_nobody "$BUILD/tests/segment_program" sonde counter level - 7
    wait_for 'is "user_level{host=\"$(host)\",user=\"nobody\"}" 7 && [ -z "$(find "$SONDE_BOARDS" -name "sonde.*")" ]'
    start_level
    wait_for 'is "job_level{host=\"$(host)\",job=\"4711\",user=\"root\"}" 42'
    [ -z "$(value "user_level{host=\"$(host)\",user=\"nobody\"}")" ]
    is "sonde_programs_refused_total{host=\"$(host)\"}" 0
    ask /metrics | promtool check metrics
}

@test "a name that another user's program uses with another type is rejected with a message, and accepted when that one has exited" {
    need_root
    start </dev/null
    mkfifo "$T/others"
    setpriv --reuid=65534 --regid=65534 --clear-groups "$BUILD/tests/segment_program" sonde counter level - 7 wait <>"$T/others" 3>&- &
    wait_for 'is "user_level{host=\"$(host)\",user=\"nobody\"}" 7'
    start_level
    wait_for 'grep "a program of user 0 .* level is a gauge in one program and a counter in another" "$T/log"'
    is "sonde_programs_refused_total{host=\"$(host)\"}" 1
    is "user_level{host=\"$(host)\",user=\"nobody\"}" 7
    echo >"$T/others"
    wait_for 'is "job_level{host=\"$(host)\",job=\"4711\",user=\"root\"}" 42'
    is "sonde_programs_refused_total{host=\"$(host)\"}" 1
    [ "$(grep -c "level is a gauge" "$T/log")" -eq 1 ]
}

@test "a segment with another user's pid counts for its owner, not for that process's job" {
    need_root
    GROUP=/sys/fs/cgroup/cpuacct/slurm_segment$$
    mkdir "$GROUP" 2>/dev/null || { GROUP=''; skip "no writable cpuacct hierarchy"; }
    mkdir -p "$GROUP/uid_1/job_4711/step_0" "$T/root"
    ln -s /proc /etc /sys "$T/root"
    start --jobs slurm </dev/null
    wait_for '"$SONDE" job --json | grep -q \"4711\"'
    mkfifo "$T/stay"
    sh -c 'echo 0 >"$1/uid_1/job_4711/step_0/cgroup.procs" && shift && exec setpriv --reuid=1 --regid=1 --clear-groups "$@"' \
        - "$GROUP" "$BUILD/tests/segment_program" sonde counter own_total - 3 wait <>"$T/stay" 3>&- &
    victim=$!
    wait_for 'is "job_own_total{host=\"$(host)\",job=\"4711\",user=\"daemon\"}" 3'
    setpriv --reuid=65534 --regid=65534 --clear-groups "$BUILD/tests/segment_program" sonde pid "$victim" counter own_total - 7 wait \
        <>"$T/stay" 3>&- &
    wait_for 'is "own_total{host=\"$(host)\"}" 10'
    is "job_own_total{host=\"$(host)\",job=\"4711\",user=\"daemon\"}" 3
    is "user_own_total{host=\"$(host)\",user=\"nobody\"}" 7
}

@test "a socket that another user created first is reported, and root's agent replaces it" {
    need_root
    mkdir -m 1777 "$T/place"
    export TAU_METRIC_PROXY=$T/place/tau.sock
    as_nobody /usr/bin/python3 -c "import socket; s = socket.socket(socket.AF_UNIX); s.bind('$TAU_METRIC_PROXY'); s.listen()"
    start </dev/null
    grep "had been created by user 65534" "$T/log"
    tau counter x_total add x_total 1
    stop
    as_nobody mkdir -p "$TAU_METRIC_PROXY/full"
    start </dev/null
    tau counter x_total add x_total 1
    stop
    touch "$TAU_METRIC_PROXY" # owned by root now
    printf '[programs]\ntau = %s\nboards = none\n' "$TAU_METRIC_PROXY" >"$T/conf"
    run -1 as_nobody env SONDE_SOCKET_DIR="$T/place" "$SONDE" agent --root "$T/root" -c "$T/conf" --sensors loadavg --listen none
    [[ $output == *"$TAU_METRIC_PROXY belongs to another user (0)"* ]]
}

@test "a user who creates the claim file first does not prevent root's agent from reading segments" {
    need_root
    for way in touch mkfifo mkdir 'ln -s /etc/passwd'; do
        : >"$T/log"
        # shellcheck disable=SC2086 # words of a command
        as_nobody $way "$SONDE_BOARDS/sonde-agent"
        start </dev/null
        grep "sonde-agent had been created by user 65534" "$T/log"
        program sonde counter x_total - 5
        wait_for 'is "x_total{host=\"$(host)\"}" 5'
        stop
        rm "$SONDE_BOARDS/sonde-agent"
    done
}

@test "a second agent takes nothing away; a stale socket is replaced; a path that is no socket is reported" {
    start </dev/null
    run -1 env SONDE_SOCKET_DIR="$T/other" "$SONDE" agent --root "$T/root" -c "$T/conf" --sensors loadavg --listen none
    [[ $output == *"another agent or proxy listens on $TAU_METRIC_PROXY"* ]]
    tau counter x_total add x_total 1 # still there
    stop KILL || :
    [ -S "$TAU_METRIC_PROXY" ]
    start </dev/null
    tau counter x_total add x_total 1
    stop
    [ ! -e "$TAU_METRIC_PROXY" ]
    echo precious >"$TAU_METRIC_PROXY"
    run -1 "$SONDE" agent --root "$T/root" -c "$T/conf" --sensors loadavg --listen none
    [[ $output == *"is not a socket"* ]]
    [ "$(cat "$TAU_METRIC_PROXY")" = precious ]
}

# As a user without other processes: the default socket has the uid in its name.
agent_of() {
    local uid=$1 name=$2
    install -d -o "$uid" "$T/$name"
    setpriv --reuid="$uid" --regid=65534 --clear-groups env SONDE_SOCKET_DIR="$T/$name" SONDE_DB="$T/$name/db" \
        "$SONDE" agent -v -c "$T/conf" --sensors loadavg --listen none >>"$T/log" 2>&1 </dev/null 3>&- &
}

@test "root's agent and the user's own agent both count all of the user's programs, however short, and leave nothing behind" {
    need_root
    local uid=$((200000 + BASHPID % 100000)) users
    start <<<'tau = none'
    printf '[programs]\nboards = %s\ntau = none\n' "$SONDE_BOARDS" >"$T/conf"
    agent_of "$uid" users
    users=$!
    wait_for '[ -S "$T/users/agent.sock" ] && [ -e "$SONDE_BOARDS/sonde-agent.$uid" ]'
    for ((i = 0; i < 40; i++)); do
        setpriv --reuid="$uid" --regid=65534 --clear-groups "$BUILD/tests/segment_program" sonde counter x_total - 1
        sleep 0.05
    done
    of_user() { curl -sf --unix-socket "$T/users/agent.sock" 'http://agent/programs?name=x_total' | jq '.metrics[0].value'; }
    wait_for 'is "x_total{host=\"$(host)\"}" 40 && [ "$(of_user)" = 40 ]'
    wait_for '[ -z "$(find "$SONDE_BOARDS" -name "sonde.*")" ]'
    # A segment that root's agent has read, and the user's suspended agent has not: it is kept, not read again, and removed with that agent, …
    kill -STOP "$users"
    setpriv --reuid="$uid" --regid=65534 --clear-groups "$BUILD/tests/segment_program" sonde counter x_total - 1
    wait_for 'is "x_total{host=\"$(host)\"}" 41'
    [ -n "$(find "$SONDE_BOARDS" -name "sonde.*")" ]
    stop
    start <<<'tau = none'
    program sonde counter y_total - 1
    wait_for 'is "y_total{host=\"$(host)\"}" 1'
    [ -n "$(find "$SONDE_BOARDS" -name "sonde.*")" ]
    [ -z "$(value "x_total{host=\"$(host)\"}")" ]
    stop
    # … or after a minute.
    printf '%-32s' 0 >"$T/shift"
    SHIFT_CLOCK=$T/shift LD_PRELOAD=$TOOLS/shift_clock.so start <<<'tau = none'
    program sonde counter y_total - 1
    wait_for 'is "y_total{host=\"$(host)\"}" 1'
    printf '%-32s' 120 >"$T/shift"
    wait_for '[ -z "$(find "$SONDE_BOARDS" -name "sonde.*")" ]'
    [ -z "$(value "x_total{host=\"$(host)\"}")" ]
    stop
    setpriv --reuid="$uid" --regid=65534 --clear-groups "$BUILD/tests/segment_program" sonde counter x_total - 1
    start <<<'tau = none'
    wait_for 'is "x_total{host=\"$(host)\"}" 1'
    [ -n "$(find "$SONDE_BOARDS" -name "sonde.*")" ]
    kill -9 "$users"
    wait "$users" || :
    stop
    start <<<'tau = none'
    wait_for '[ -z "$(find "$SONDE_BOARDS" -name "sonde.*")" ]'
    [ -z "$(value "x_total{host=\"$(host)\"}")" ]
}

@test "segments and tau's default socket of another agent are taken over when it has exited" {
    need_root
    local uid=$((200000 + BASHPID % 100000)) first
    TAU_METRIC_PROXY=/tmp/tau_metric_proxy.$uid.unix
    printf '[programs]\nboards = %s\n' "$SONDE_BOARDS" >"$T/conf"
    agent_of "$uid" first
    first=$!
    wait_for '[ -S "$TAU_METRIC_PROXY" ]'
    agent_of "$uid" run
    AGENT=$!
    wait_for 'ask / >/dev/null 2>&1'
    wait_for 'grep -q "while another agent reads them" "$T/log"'
    kill -9 "$first"
    setpriv --reuid="$uid" --regid=65534 --clear-groups env SONDE_BOARDS="$SONDE_BOARDS" \
        "$BUILD/tests/segment_program" sonde counter x_total - 3 leave
    wait_for 'is "x_total{host=\"$(host)\"}" 3'
    wait_for 'tau counter y_total add y_total 2 2>/dev/null'
    wait_for 'is "y_total{host=\"$(host)\"}" 2'
    stop
    [ ! -e "$TAU_METRIC_PROXY" ]
}

@test "a job that only its programs name has its user from the first scrape on" {
    start </dev/null
    tau -j 55 counter early_total add early_total 1 wait 4 3>&- & client=$!
    until_true ask_has 'job_early_total{.*job="55"'
    for i in {1..20}; do ask /metrics; sleep 0.1; done | grep '^job_early_total{.*job="55"' | sed 's/ .*//' | sort -u >"$T/series"
    [ "$(wc -l <"$T/series")" -eq 1 ]
    grep -q "user=\"$(id -un)\"" "$T/series"
    wait "$client"
}
