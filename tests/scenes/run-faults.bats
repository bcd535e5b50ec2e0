#!/usr/bin/env bats
# sonde run under adverse conditions: the program is unaffected, what was recorded is saved, and what is missing is reported.
load scene

setup() {
    scene_setup
    PATH=$TOOLS:$PATH
}

# tiny SIZE SCRIPT [ARGUMENTS]: runs a bash script in a mount namespace in which $T/tiny is a file system of SIZE.
tiny() {
    need_root
    local size=$1
    shift
    mkdir -p "$T/tiny"
    unshare -m --propagation private bash -c 'mount -t tmpfs -o "size=$1,mode=1777" tmpfs "$T/tiny" || exit 99
        shift; script=$1; shift; eval "$script"' bash "$size" "$@"
}

has_exited() { [[ ! -e /proc/$1 || $(ps -o stat= -p "$1") == Z* ]]; }

images() {
    sql "select count(*) from process where exe = '$1'"
}

# --- disk and database -----------------------------------------------------------------------------------------------

@test "disk full under the spool: the program runs, lost records are counted and reported" {
    run tiny 100k '"$SONDE" run -n full -o "$T/tiny" -- spawn fork 1000 4 true; echo "status $?"'
    echo "$output"
    [[ $output == *"status 0"* ]]
    [[ $output == *"sonde: "* ]]
    [ "$(sql "select count(*) from jobs where name = 'full'")" -eq 1 ]
    [ "$(sql "select records_lost + bytes_damaged from jobs where name = 'full'")" -gt 0 ]
    run "$SONDE" report
    [ "$status" -eq 0 ]
    echo "$output"
    grep -q 'could not be written' <<<"$output"
}

@test "no space for the spool at all: the program runs" {
    run tiny 4k 'head -c 100000 /dev/zero >"$T/tiny/filler" 2>/dev/null; "$SONDE" run -o "$T/tiny" -- sh -c "echo ran; exit 5"; echo "status $?"'
    echo "$output"
    [[ $output == *ran* && $output == *"status 5"* && $output == *"sonde: "* ]]
}

@test "a spool directory that is a file, or no descriptor for it: the reason is reported" {
    touch file
    run "$SONDE" run -o file -- echo ran
    echo "$output"
    [[ $output == *"file: "*"not a directory"*"-o DIR"*ran* ]]
    for limit in 6 10; do
        run bash -c 'ulimit -n "$1"; "$0" run -- echo ran' "$SONDE" "$limit"
        echo "$output"
        [[ $output == *"oo many open files"*"ulimit -n"*ran* && $output != *"space left"* ]]
    done
}

@test "the spool directory is created with its parents" {
    SONDE_DB=/dev/null/none "$SONDE" run -q -o a/b/c -- true || :
    ls a/b/c/*.spool
}

@test "disk full under the database: the spool is kept and reported, and can be submitted later" {
    run tiny 64k 'SONDE_DB=$T/tiny/sonde.db "$SONDE" run -n full -- spawn fork 300 4 true; echo "status $?"'
    echo "$output"
    [[ $output == *"status 0"* && $output == *"sonde: "* && $output == *submit* ]]
    "$SONDE" submit "$TMPDIR"
    [ "$(images true)" -eq 300 ]
    [ -z "$(find "$TMPDIR" -name '*.spool')" ]
}

@test "a file size limit applies to the program; the database may be larger" {
    run --separate-stderr bash -c 'ulimit -Sf 1; exec "$0" run -q -- sh -c "for i in 1 2 3 4 5 6 7 8 9; do /bin/true; done; ulimit -f"' "$SONDE"
    echo "$stderr"
    [ "$status" -eq 0 ]
    [ "$output" = "$(bash -c 'ulimit -Sf 1; exec sh -c "ulimit -f"')" ]
    [ "$(sql 'SELECT processes FROM jobs')" -eq 10 ]
}

@test "a hard file size limit: the spool is kept, and run and submit report the reason" {
    need_root
    as_nobody bash -c 'ulimit -f 32; exec "$0" run -q -- sh -c "exit 3"' "$SONDE" 2>"$T/log" && return 1
    [ $? -eq 3 ]
    grep -q "ulimit -f" "$T/log"
    run -1 as_nobody bash -c 'ulimit -f 32; exec "$0" submit' "$SONDE"
    [[ $output == *"ulimit -f"* ]]
    run -0 as_nobody bash -c 'ulimit -Sf 32; exec "$0" submit' "$SONDE"
    [ "$(sql 'SELECT exit_code FROM jobs')" -eq 3 ]
}

@test "database missing: readers say so and how to fill it; sonde run creates it" {
    for command in list report ps; do
        run "$SONDE" $command
        echo "$command: $output"
        [ "$status" -ne 0 ]
        [[ $output == sonde*"sonde run"* ]]
    done
    [ ! -e "$SONDE_DB" ]
    "$SONDE" run -- true
    "$SONDE" list
}

@test "a database that cannot be created: named, and the spool is kept" {
    run env SONDE_DB=/dev/null/sonde.db "$SONDE" run -o "$T/o" -- sh -c 'exit 3'
    [ "$status" -eq 3 ]
    [[ $output == *"cannot create the job database /dev/null/sonde.db"* ]]
    [[ $output == *"sonde submit"* ]]
    ls "$T"/o/*.spool
}

@test "a database in an inaccessible directory: the fix is reported" {
    need_root
    mkdir -m 700 "$T/closed"
    run as_nobody env SONDE_DB="$T/closed/sonde.db" "$SONDE" run -- sh -c 'exit 3'
    [ "$status" -eq 3 ]
    [[ $output == *"cannot open the job database $T/closed/sonde.db: Permission denied. Choose a writable path with SONDE_DB"* ]]
}

@test "a kept spool: the submit command can be pasted into a shell, whatever its directory is called" {
    odd="$T/sp dir'x; touch ran"
    run env SONDE_DB=/dev/null/sonde.db "$SONDE" run -n odd -o "$odd" -- true
    echo "$output"
    paste=${lines[1]#*later with: }
    [[ $paste == "sonde submit "* ]]
    PATH=${SONDE%/*}:$PATH sh -c "$paste"
    [ "$(sql "select count(*) from jobs where name = 'odd'")" -eq 1 ]
    [ ! -e ran ]
}

@test "input that is echoed in messages cannot control the terminal" {
    for wrong in "-e x"$'\e[31m'" -- true" "-- x"$'\e[31m' "-o /dev/null/x"$'\e[31m'" -- true"; do
        # shellcheck disable=SC2086
        output=$("$SONDE" run $wrong 2>&1) || :
        echo "${output@Q}"
        [[ $output == *'x\x1b[31m'* && $output != *$'\e'* ]]
    done
}

@test "database read-only: the program runs, its spool is kept and can be submitted elsewhere" {
    need_root
    as_nobody "$SONDE" run -n first -- true
    as_nobody find "$T/db" -type f -exec chmod 444 {} \;
    chmod 555 "$T/db"
    run as_nobody "$SONDE" run -n second -- sh -c 'echo ran; exit 6'
    echo "$output"
    [ "$status" -eq 6 ]
    [[ $output == *ran* && $output == *"sonde: "* && $output == *submit* ]]
    run as_nobody "$SONDE" list
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *first* && $output != *second* ]]
    run as_nobody env "SONDE_DB=$T/data/other.db" "$SONDE" submit "$TMPDIR"
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(SONDE_DB=$T/data/other.db sql "select name from jobs")" = second ]
}

@test "database corrupt: named, left alone, and the spool is kept" {
    head -c 100000 /dev/urandom >"$SONDE_DB"
    before=$(cksum <"$SONDE_DB")
    run "$SONDE" run -n lost -- sh -c 'exit 6'
    echo "$output"
    [ "$status" -eq 6 ]
    [[ $output == *"$SONDE_DB"* && $output == *submit* ]]
    run "$SONDE" list
    [ "$status" -ne 0 ]
    [[ $output == *"$SONDE_DB"* ]]
    [ "$(cksum <"$SONDE_DB")" = "$before" ]
    rm "$SONDE_DB"
    "$SONDE" submit "$TMPDIR"
    [ "$(sql "select name from jobs")" = lost ]
}

@test "database damaged in the middle: no command crashes" {
    "$SONDE" run -- spawn fork 200 4 true
    sqlite3 "$SONDE_DB" 'pragma journal_mode = delete' >/dev/null
    size=$(stat -c %s "$SONDE_DB")
    for page in 2 3 5 8 13 20; do
        [ $((page * 4096)) -lt "$size" ] || continue
        cp "$SONDE_DB" "$T/broken.db"
        head -c 4096 /dev/urandom | dd of="$T/broken.db" bs=4096 seek=$page conv=notrunc status=none
        for command in list report ps "export --format json" "run -- true"; do
            # shellcheck disable=SC2086
            SONDE_DB=$T/broken.db run "$SONDE" $command
            [ "$status" -lt 100 ] || { echo "page $page, $command: $status: $output"; return 1; }
        done
    done
}

@test "database of a newer version: refused, left alone, and the spool is kept" {
    "$SONDE" run -n old -- true
    sqlite3 "$SONDE_DB" "pragma user_version = 999; update meta set value = '999' where key like '%version%'" >/dev/null
    run "$SONDE" list
    echo "$output"
    [ "$status" -ne 0 ]
    [[ $output == *newer* ]]
    run "$SONDE" run -n new -- sh -c 'exit 6'
    echo "$output"
    [ "$status" -eq 6 ]
    [[ $output == *newer* && $output == *submit* ]]
    [ "$(sqlite3 "$SONDE_DB" 'select group_concat(name) from jobs')" = old ]
}

# --- probe and kernel ------------------------------------------------------------------------------------------------

@test "probe library missing: one warning, the program runs, kernel data is recorded" {
    mkdir alone
    cp "$SONDE" alone/sonde
    run alone/sonde run -n alone -- sh -c 'burn 50; burn 50; exit 3'
    echo "$output"
    [ "$status" -eq 3 ]
    [ "$(grep -c 'libsonde-process.so' <<<"$output")" -eq 1 ]
    [ "$(images burn)" -eq 2 ]
}

@test "LD_PRELOAD already in use: both libraries are in every process" {
    export OTHER_PRELOAD=$T/loaded
    LD_PRELOAD=$TOOLS/other_preload.so "$SONDE" run -- sh -c 'burn 1; burn 1; cat /proc/self/maps >maps'
    grep -q other_preload.so maps
    grep -q libsonde-process.so maps
    # The shell, two burns and a cat, and sonde itself.
    [ "$(sort -u "$T/loaded" | wc -l)" -eq 5 ]
    [ "$(sql "select count(*) from process where sources & 1")" -eq 4 ]
}

@test "LD_PRELOAD of a missing library: as without sonde" {
    # The loader warns for the shell and for true; then for sonde and for true, in which the probe is loaded nevertheless.
    run -0 env LD_PRELOAD=/does/not/exist.so sh -c 'exec true'
    bare=$output
    [ "$(grep -c 'does/not/exist.so' <<<"$bare")" -eq 2 ]
    run -0 env LD_PRELOAD=/does/not/exist.so "$SONDE" run -- true
    echo "$output"
    [ "$output" = "$bare" ]
    [ "$(sql "select count(*) from process where sources & 1")" -eq 1 ]
}

@test "/proc with hidepid: the user's own processes are complete" {
    need_root
    run unshare -m --propagation private bash -c 'mount -t proc -o hidepid=2 proc /proc && exec "$@"' bash \
        setpriv --reuid=65534 --regid=65534 --clear-groups "$SONDE" run -n hidden -- sh -c 'burn 200; burn 200; exit 4'
    echo "$output"
    [ "$status" -eq 4 ]
    [ "$(images burn)" -eq 2 ]
    [ "$(sql "select count(*) from process where exe = 'burn' and cpu_us between 199000 and 230000")" -eq 2 ]
}

@test "no /proc at all: the program runs" {
    need_root
    if grep -q __asan_init "$SONDE"; then skip "sanitizers need /proc"; fi
    run unshare -m --propagation private bash -c 'mount -t tmpfs none /proc && exec "$@"' bash \
        "$SONDE" run -n hidden -- sh -c 'echo ran; exit 4'
    echo "$output"
    [ "$status" -eq 4 ]
    [[ $output == *ran* ]]
}

@test "a system call that sonde needs is forbidden: a warning, and the program runs as without it" {
    forbidden=(289 291 233) # signalfd4, epoll_create1, epoll_ctl
    [ "$(uname -m)" = x86_64 ] || forbidden=(74 20 21)
    for call in "${forbidden[@]}"; do
        run -4 --separate-stderr refuses "$call" "$SONDE" run -- sh -c 'echo ran; exit 4'
        echo "$call: $output, $stderr"
        [ "$output" = ran ]
        [[ $stderr == *"cannot monitor: "*"The command is not monitored"* ]]
    done
    [ -z "$(ls "$TMPDIR"/sonde-*/spool)" ] # nothing was recorded, so nothing is left
    run -4 refuses "$([ "$(uname -m)" = x86_64 ] && echo 127 || echo 136)" "$SONDE" run -- sh -c 'exit 4' # rt_sigpending
    # A command that cannot be run is still reported as before.
    run -127 refuses "${forbidden[0]}" "$SONDE" run -- no-such-command
}

@test "no permission for perf: one warning with the event, the program runs" {
    perf_event_open=298
    [ "$(uname -m)" = x86_64 ] || perf_event_open=241
    run refuses $perf_event_open "$SONDE" run -e task-clock,page-faults -- sh -c 'burn 20; burn 20; exit 4'
    echo "$output"
    [ "$status" -eq 4 ]
    [ "$(grep -c task-clock <<<"$output")" -eq 1 ]
    [ "$(images burn)" -eq 2 ]
    [ "$(sql "select count(*) from process_events")" -eq 0 ]
}

@test "an event that this node lacks is named once; the others are counted" {
    [ "$(id -u)" -eq 0 ] || [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ] || skip "perf events are not available to users"
    run "$SONDE" run -e no-such-event,page-faults -- sh -c 'burn 20; burn 20; true'
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(grep -c no-such-event <<<"$output")" -eq 1 ]
    # The shell and two burns; the kernel's own count includes what ran before the probe was loaded.
    run sql "select count(*) from process_events e join events v on v.id = e.event
        join process p on p.job = e.job and p.number = e.process
        where v.name in ('page-faults', 'page-faults:u') and e.value between 1 and p.minflt + p.majflt"
    [ "$output" -eq 3 ] || { sql "select * from process_events"; return 1; }
    [ "$(sql "select count(*) from process_events")" -eq 3 ]
}

# --- commands --------------------------------------------------------------------------------------------------------

@test "a command that does not exist: 127" {
    run -127 "$SONDE" run -- no-such-command
    echo "$output"
    [[ $output == *"sonde: "*no-such-command* ]]
    run -127 "$SONDE" run -- /no/such/command
}

@test "an unreadable directory in PATH does not change how commands are found" {
    need_root
    mkdir -m 700 "$T/closed"
    run -127 as_nobody env PATH="$T/closed:$PATH" "$SONDE" run -q -- no-such-command
    [[ $output == *"no-such-command: command not found"* ]]
    run -0 as_nobody env PATH="$T/closed:$PATH" "$SONDE" run -q -- true
    install -m 644 /bin/true "$T/tmp/not-mine"
    run -126 as_nobody env PATH="$T/tmp:$PATH" "$SONDE" run -q -- not-mine
}

@test "a command that is not executable: 126" {
    echo 'echo hello' >"$T/not-executable"
    run "$SONDE" run -- "$T/not-executable"
    echo "$output"
    [ "$status" -eq 126 ]
    [[ $output == *"sonde: "*not-executable* ]]
    run "$SONDE" run -- "$T"
    [ "$status" -eq 126 ]
}

@test "arguments with newlines, invalid UTF-8 and 100 kB are stored exactly" {
    long=$(head -c 100000 /dev/zero | tr '\0' x)
    odd=$'one\ntwo\xff\xfe\x80 "quoted" \\ \x01\x7f'
    "$SONDE" run -n odd -- true "$odd" '' "$long" 'last'
    printf '%s\0' true "$odd" '' "$long" last >expected
    # The database has them quoted for a shell.
    eval "set -- $(sql "select args from process where exe = 'true'")"
    printf '%s\0' "$@" | cmp - expected
    "$SONDE" export --format json >exported
    python3 -c 'import base64, json, sys
args = base64.b64decode(json.load(open("exported"))[0]["args_base64"])
sys.exit(args != open("expected", "rb").read())'
}

# --- concurrent runs, signals ----------------------------------------------------------------------------------------

@test "two runs with one job id, one after the other: one job with both" {
    "$SONDE" run -j 4711 -n both -- burn 30
    "$SONDE" run -j 4711 -n both -- burn 30
    [ "$(sql "select count(*), sum(processes) from jobs where job_id = '4711'")" = "1|2" ]
    [ "$(images burn)" -eq 2 ]
}

@test "two runs with one job id at the same moment: one job with both" {
    "$SONDE" run -j 4711 -- spawn fork 200 2 true &
    first=$!
    "$SONDE" run -j 4711 -- spawn fork 200 2 true
    wait $first
    [ "$(sql "select count(*), sum(processes) from jobs where job_id = '4711'")" = "1|402" ]
    [ "$(images true)" -eq 400 ]
}

@test "twenty runs at the same moment: none fails, all are recorded" {
    for i in $(seq 20); do
        "$SONDE" run -n "run$i" -- true 2>>errors &
    done
    wait
    [ ! -s errors ] || { cat errors; return 1; }
    [ "$(sql "select count(*) from jobs")" -eq 20 ]
}

# Starts sonde run with a program that writes its pid, and waits for that. $sonde_pid, $program: the pids.
start() {
    "$SONDE" run -n signals -- "$@" &
    sonde_pid=$!
    until_true test -s pid
    program=$(cat pid)
}

@test "SIGTERM to sonde run reaches the program, which may handle it; the job is saved" {
    start bash -c 'trap "echo tidy >trapped; exit 9" TERM; echo $$ >pid; while :; do sleep 0.1; done'
    kill -TERM "$sonde_pid"
    code=0
    wait "$sonde_pid" || code=$?
    [ "$code" -eq 9 ]
    [ "$(cat trapped)" = tidy ]
    [ "$(sql "select exit_code from jobs")" -eq 9 ]
}

@test "SIGTERM ends a program without a handler; sonde run ends the same way" {
    start sh -c 'echo $$ >pid; exec sleep 100'
    kill -TERM "$sonde_pid"
    code=0
    wait "$sonde_pid" || code=$?
    [ "$code" -eq 143 ]
    [ "$(sql "select exit_signal from jobs")" -eq 15 ]
    [ "$(sql "select exit_signal from process where exe = 'sleep'")" -eq 15 ]
}

@test "SIGSTOP and SIGCONT to sonde run: the program completes and all is recorded" {
    start bash -c 'echo $$ >pid; for i in 1 2 3 4 5; do burn 100; done; echo done >ended'
    kill -STOP "$sonde_pid"
    sleep 1.5
    kill -CONT "$sonde_pid"
    wait "$sonde_pid"
    [ "$(cat ended)" = "done" ]
    [ "$(images burn)" -eq 5 ]
    [ "$(sql "select count(*) from process where exe = 'burn' and cpu_us between 99000 and 130000")" -eq 5 ]
}

@test "Ctrl-C: the program decides, the job is saved" {
    cat >script <<'END'
import os, pty, signal, sys
pid, fd = pty.fork()
if pid == 0:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.execv(sys.argv[1], [sys.argv[1], "run", "-n", "ctrl-c", "--"] + sys.argv[2:])
seen = b""
while b"ready" not in seen:
    seen += os.read(fd, 1000)
os.write(fd, b"\x03")
try:
    while os.read(fd, 1000):
        pass
except OSError:
    pass
status = os.waitpid(pid, 0)[1]
print("signal %d" % os.WTERMSIG(status) if os.WIFSIGNALED(status) else "status %d" % os.WEXITSTATUS(status))
END
    run timeout 120 python3 script "$SONDE" sh -c 'echo ready; exec sleep 100'
    [ "$output" = "signal 2" ]
    run timeout 120 python3 script "$SONDE" bash -c 'trap "exit 8" INT; echo ready; while :; do sleep 0.1; done'
    [ "$output" = "status 8" ]
    [ "$(sql "select group_concat(exit_signal || '/' || exit_code) from jobs")" = "2/0,0/8" ]
}

@test "kill -9 of sonde run: the program continues, what was recorded until then can be submitted" {
    start bash -c 'echo $$ >pid; for i in 1 2 3; do burn 50; done; touch three; while [ ! -e go ]; do sleep 0.05; done
        for i in 1 2; do burn 50; done; echo done >ended'
    until_true test -e three
    kill -9 "$sonde_pid"
    wait "$sonde_pid" || true
    kill -0 "$program"
    run "$SONDE" submit "$TMPDIR"
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(images burn)" -ge 3 ]
    [ "$(sql "select count(*) from process where exe = 'burn' and cpu_us between 49000 and 70000")" -ge 3 ]
    [ "$(sql "select exit_code is null from jobs")" -eq 1 ]
    touch go
    until_true grep -qx "done" ended
}

@test "kill -9 of sonde run, submit while the program runs: a later submit saves the rest, without loss or duplicates" {
    start bash -c 'echo $$ >pid; for i in 1 2 3; do burn 50; done; touch three; while [ ! -e go ]; do sleep 0.05; done
        for i in 1 2; do burn 50; done; echo done >ended; sleep 600 & echo $! >left; exec burn 51'
    until_true test -e three
    kill -9 "$sonde_pid"
    wait "$sonde_pid" || true
    run "$SONDE" submit
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *"some processes are still running"*"kept $TMPDIR/"*.spool* ]]
    [ "$(images burn)" -eq 3 ]
    touch go
    until_true test -s left
    until_true has_exited "$program"
    run "$SONDE" submit # its last child is still running
    [[ $output == *"some processes are still running"* ]]
    kill "$(cat left)"
    until_true has_exited "$(cat left)"
    run "$SONDE" submit
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output != *"kept"* ]]
    [ "$(images burn)" -eq 6 ]
    [ -z "$(find "$TMPDIR" -name '*.spool*')" ]
}

killed_with_threads() {
    run -137 "$@" "$SONDE" run -q -- crowd threads 60 4 0 killed
    [ "$(sql "select thread_count from process where exe = 'crowd'")" -eq 61 ]
    [ "$(sql "select count(*) from threads")" -eq 61 ]
}
@test "a program killed after its threads have ended, as root: all are recorded" { killed_with_threads; }
@test "a program killed after its threads have ended, as nobody: all are recorded" { need_root; killed_with_threads as_nobody; }

@test "kill -9 of everything, as nobody: threads that had ended can be submitted" {
    need_root
    cd "$TMPDIR"
    # not as_nobody: a shell in between would be killed
    setpriv --reuid=65534 --regid=65534 --clear-groups "$SONDE" run -- bash -c 'echo $$ >pid; crowd threads 60 4 0 killed; touch killed; exec sleep 600' 3>&- &
    sonde_pid=$!
    until_true test -e killed
    kill -9 "$sonde_pid" "$(cat pid)"
    wait "$sonde_pid" || true
    run as_nobody "$SONDE" submit
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(sql "select count(*) from threads")" -eq 61 ]
}

# Starts a run that counts perf events, kills it and its program; $socket is the path of its socket.
kill_counting() {
    "$SONDE" run -e page-faults -- sleep 600 &
    sonde_pid=$!
    wait_for 'pgrep -P $sonde_pid -x sleep'
    program=$(pgrep -P "$sonde_pid" -x sleep)
    socket=$(readlink -f "$(find "$TMPDIR" -name 'perf.*')")
    [ -S "$socket" ]
    kill -9 "$sonde_pid" "$program"
    wait "$sonde_pid" || true
    until_true has_exited "$program"
}

@test "kill -9 of sonde run that counts perf events: submit leaves nothing behind" {
    kill_counting
    "$SONDE" submit
    [ -z "$(find "$TMPDIR"/sonde-*/spool -mindepth 1)" ]
}

@test "kill -9 of sonde run that counts perf events, with a long path: submit leaves nothing behind" {
    TMPDIR=$T/$(printf 'long%.0s' {1..30})
    mkdir "$TMPDIR"
    kill_counting
    [[ $socket == /tmp/sonde-perf-* ]]
    "$SONDE" submit
    [ -z "$(find "$TMPDIR"/sonde-*/spool -mindepth 1)" ]
    [ ! -e "${socket%/*}" ]
}

@test "a spool that cannot be locked, as on some network file systems, is left alone and reported" {
    flock=73
    [ "$(uname -m)" = x86_64 ] || flock=32
    SONDE_DB=/dev/null/none "$SONDE" run -q -o "$T/spool" -n locked -- true 2>"$T/log"
    run -1 refuses $flock "$SONDE" submit "$T/spool"
    echo "$output"
    [[ $output == *"skipped $T/spool/"*".spool: cannot find out whether it is still being written"* ]]
    [ -n "$(ls "$T"/spool/*.spool)" ]
    "$SONDE" submit "$T/spool"
    [ "$(sql "select count(*) from jobs where name = 'locked'")" -eq 1 ]
}

@test "kill -9 of everything: what was recorded until then can be submitted" {
    start bash -c 'echo $$ >pid; for i in 1 2 3; do burn 50; done; touch three; burn 100000'
    until_true test -e three
    sleep 0.3
    kill -9 "$sonde_pid" "$program"
    wait "$sonde_pid" || true
    run "$SONDE" submit "$TMPDIR"
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(sql "select count(*) from process where exe = 'burn' and cpu_us between 49000 and 70000")" -ge 3 ]
}

@test "kill -9 of everything: duration and usage are known from the samples" {
    "$SONDE" run -j 4711 -p 50ms -- bash -c 'echo $$ >pid; while :; do :; done' &
    sonde_pid=$!
    until_true test -s pid
    wait_for '[ "$(ps -o cputimes= -p "$(cat pid)")" -ge 1 ]'
    kill -9 "$sonde_pid" "$(cat pid)"
    wait "$sonde_pid" || true
    "$SONDE" submit "$TMPDIR"
    run "$SONDE" list --json
    echo "$output"
    [ "$(jq '.[0] | .duration_s > 0.8 and .cpu_s > 0.8 and .cores_used <= 1.2' <<<"$output")" = true ]
}
