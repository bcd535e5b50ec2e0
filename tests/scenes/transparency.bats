#!/usr/bin/env bats
# Programs behave exactly as without sonde run: everything that a program can query about itself is the same.
load scene

# Runs a shell script twice, without and with sonde run, and compares its output and status.
same() {
    local bare=0 monitored=0
    bash -c "$1" bash >"$T/bare.out" 2>"$T/bare.err" <"$T/in" || bare=$?
    "$SONDE" run -- bash -c "$1" bash >"$T/monitored.out" 2>"$T/monitored.err" <"$T/in" || monitored=$?
    echo "status $bare bare, $monitored monitored"
    diff "$T/bare.out" "$T/monitored.out" && diff "$T/bare.err" "$T/monitored.err" && [ "$bare" -eq "$monitored" ]
}

# Compares the state of a command without and with sonde run. before: what the shell does first.
same_state() {
    local before=${1:-:}
    # The same files in both cases, so that descriptors have the same inodes.
    bash -c "$before; exec \"\$1\"" bash "$TOOLS/state" >"$T/out" 2>"$T/err" <"$T/in"
    cp "$T/out" "$T/bare"
    bash -c "$before; exec \"\$1\" run -- \"\$2\"" bash "$SONDE" "$TOOLS/state" >"$T/out" 2>"$T/err" <"$T/in"
    # The command of sonde run has another parent, in the same group and session: those lines are the same, too.
    diff "$T/bare" "$T/out" && [ ! -s "$T/err" ]
}

setup() {
    scene_setup
    echo "some input" >"$T/in"
}

@test "state: signals, mask, descriptors, limits, session, environment, errno, umask" { same_state; }
@test "state with SIGPIPE ignored" { same_state 'trap "" PIPE'; }
@test "state with SIGINT, SIGQUIT, SIGHUP and SIGCHLD ignored" { same_state 'trap "" INT QUIT HUP CHLD'; }
@test "state with another umask" { same_state 'umask 027'; }
@test "state with open descriptors" { same_state 'exec 7</dev/null 9>/dev/null 200</dev/zero'; }
@test "state with standard input closed" { same_state 'exec 0<&-'; }
@test "state with standard output of a closed descriptor 2" { same_state 'exec 2>&-'; }
@test "state with a limit of open files" { same_state 'ulimit -Sn 64'; }
@test "state with a nice value" { same_state 'renice -n 5 $$ >/dev/null'; }
@test "state with a limit of file sizes" { same_state 'ulimit -Sf 8'; }
@test "state with no core files and a small stack" { same_state 'ulimit -c 0; ulimit -Ss 4096'; }

@test "a stack limit that is too small for sonde does not affect the command" {
    if grep -q __asan_init "$SONDE"; then skip "sanitizers need more stack, and do not support an alternate one"; fi
    for kb in 64 96 128 256; do
        run bash -c 'ulimit -s "$2"; "$1" run -- sh -c "ulimit -s; exit 4"' bash "$SONDE" "$kb"
        echo "$kb: $status $output"
        [ "$status" -eq 4 ]
        [ "$output" -eq "$kb" ]
    done
    [ "$(sql "select count(*) from jobs")" -eq 4 ]
}

@test "state with blocked signals" {
    blocked='import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGTERM, signal.SIGINT, signal.SIGCHLD])
os.execv(sys.argv[1], sys.argv[1:])'
    python3 -c "$blocked" "$TOOLS/state" >"$T/out" <"$T/in"
    cp "$T/out" "$T/bare"
    grep -q '^signal 10 default blocked' "$T/bare"
    python3 -c "$blocked" "$SONDE" run -- "$TOOLS/state" >"$T/out" <"$T/in"
    diff "$T/bare" "$T/out"
}

@test "all descendants have the same descriptors, too" {
    same 'ls /proc/self/fd; sh -c "ls /proc/self/fd"; (ls /proc/self/fd)'
}

@test "standard input, output and error are passed through" {
    same 'cat; echo out; echo err >&2; cat'
    grep -q 'some input' "$T/monitored.out"
}

@test "a gigabyte through a pipe is unchanged" {
    run bash -c 'head -c 1000000000 /dev/zero | "$0" run -- cat | cksum' "$SONDE"
    [ "$output" = "$(head -c 1000000000 /dev/zero | cksum)" ]
}

@test "SIGPIPE ends a writer as usual" {
    run bash -c '"$0" run -- yes | head -n 1; echo "${PIPESTATUS[0]}"' "$SONDE"
    [ "$output" = "y"$'\n'141 ]
}

@test "exit status: 0, 1, 42, 255, without any output" {
    for code in 0 1 42 255; do
        run "$SONDE" run -- "$TOOLS/ends" exit $code
        [ "$status" -eq $code ]
        [ -z "$output" ]
    done
}

# The exit status as the parent process sees it: the number of a signal, not 128 + it.
raw_status() {
    python3 -c 'import subprocess, sys; print(subprocess.call(sys.argv[1:]))' "$@"
}

@test "a command that a signal ended: sonde run ends by the same signal" {
    ulimit -c 0
    for signal in 1 2 6 9 11 13 15 31; do
        [ "$(raw_status "$SONDE" run -- "$TOOLS/ends" signal $signal)" = "-$signal" ]
    done
}

@test "no core file is left by sonde run itself" {
    [ "$(cat /proc/sys/kernel/core_pattern)" = core ] || skip "core files are not written to the current directory"
    mkdir cores && cd cores
    ulimit -c unlimited
    [ "$(raw_status "$SONDE" run -- sh -c 'ulimit -c 0; exec "$0" signal 11' "$TOOLS/ends")" = -11 ]
    [ -z "$(ls)" ]
}

@test "the command is a direct child of sonde run in the same group and session" {
    run bash -c '"$0" run -- sh -c "ps -o ppid=,pgid=,sid= -p \$\$; ps -o pgid=,sid= -p \$PPID; ps -o comm= -p \$PPID"' "$SONDE"
    read -r _ pgid sid <<<"${lines[0]}"
    [ "${lines[1]// /}" = "$pgid$sid" ]
    [ "${lines[2]}" = sonde ]
}

@test "a signal to the group ends it, even before the command has started" {
    set -m
    for ms in 0 1 2 3 4 5 6 7 8 10 12; do
        "$SONDE" run -q -- sleep 300 3>&- &
        job=$!
        sleep "0.0$(printf '%02d' $ms)"
        kill -TERM -- "-$job"
        status=0
        SECONDS=0
        wait "$job" || status=$?
        [ "$status" -eq 143 ]
        [ "$SECONDS" -lt 100 ]
    done
    set +m
}

@test "terminal: job control, stop and continue work as without sonde" {
    run timeout 300 python3 "$BATS_TEST_DIRNAME/terminal.py" "$SONDE run --"
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *"all as it should be"* ]]
}

# Leads a session with a terminal whose other end is then closed; prints its status, and the signals that it received within half a
# second.
closed_terminal() {
    rm -f ready signals
    python3 - "$@" <<'END'
import os, pty, sys, time
program = """
import os, signal, time
for name in "SIGHUP", "SIGCONT":
    signal.signal(getattr(signal, name), lambda number, frame: open("signals", "a").write(signal.Signals(number).name + chr(10)))
open("ready", "w")
until = time.time() + 60
while not os.path.exists("signals") and time.time() < until:
    time.sleep(0.01)
until = time.time() + 0.5
while time.time() < until:
    time.sleep(0.01)
os._exit(5)
"""
pid, fd = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:] + ["python3", "-c", program])
while not os.path.exists("ready"):
    time.sleep(0.01)
os.close(fd)
print("status", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
END
    sort signals
}

@test "a closed terminal: the session leader gets one SIGHUP" {
    closed_terminal env >bare
    closed_terminal "$SONDE" run -q -- >monitored
    diff bare monitored
    grep -qx SIGHUP bare
}

# Runs a command with a pending alarm.
with_alarm() {
    perl -e 'alarm shift; exec @ARGV' "$@"
}

@test "an alarm set before belongs to the command: it expires in time, and can be changed" {
    run with_alarm 1 sleep 30
    bare=$status
    SECONDS=0
    run with_alarm 1 "$SONDE" run -q -- sleep 30
    [ "$status" -eq "$bare" ]
    [ "$SECONDS" -lt 25 ]
    run with_alarm 1000 "$SONDE" run -q -- perl -e 'print alarm 0'
    [ "$output" -gt 900 ]
}

@test "a CPU timer set before belongs to the command, too" {
    run timeout 60 perl -MTime::HiRes=setitimer,ITIMER_VIRTUAL -e 'setitimer ITIMER_VIRTUAL, 0.2; exec @ARGV' \
        "$SONDE" run -q -- sh -c 'while :; do :; done'
    [ "$status" -eq $((128 + $(kill -l VTALRM))) ]
}

@test "programs with the probe print nothing more and run under adverse conditions" {
    same 'LC_ALL=C ls -d /; sh -c "exit 3"'
    # A spool that is not writable, and one that does not exist.
    run env "LD_PRELOAD=$PROBE" SONDE_SPOOL=/does/not/exist sh -c 'ls -d /; exit 7'
    [ "$status" -eq 7 ]
    [ "$output" = / ]
    run env "LD_PRELOAD=$PROBE" SONDE_SPOOL=/proc/version sh -c 'ls -d /; exit 7'
    [ "$status" -eq 7 ]
    [ "$output" = / ]
    run env "LD_PRELOAD=$PROBE" SONDE_SPOOL= SONDE_PROBE=%%% SONDE_EVENTS=nonsense SONDE_SOCKET=x sh -c 'ls -d /; exit 7'
    [ "$status" -eq 7 ]
    [ "$output" = / ]
}

# --- other C libraries -----------------------------------------------------------------------------------------------

@test "a musl program runs as without sonde, and is monitored from outside" {
    command -v musl-gcc >/dev/null || skip "no musl"
    musl-gcc -o "$T/other" "$SOURCE/tests/tools/other_libc.c"
    export OTHER=$T/other
    same 'exec "$OTHER"'
    same '"$OTHER"; "$OTHER"'
    grep -qx "pclose 6" "$T/monitored.out"
    [ "$(sql "select count(*) from process where exe = 'other' and exit_code = 4")" -eq 3 ]
    LD_PRELOAD=${PROBE%/*}/libsonde-calls.so "$OTHER" >"$T/counted" || [ $? -eq 4 ]
    "$OTHER" | diff - "$T/counted"
}

# An older glibc, in a container, would refuse to start programs because of a missing symbol version.
@test "the probe requires no symbol versions, and libc by name" {
    [ -z "$(readelf -W --version-info "$PROBE" | grep GLIBC)" ]
    [ "$(readelf -W -d "$PROBE" | grep -c NEEDED)" -eq 1 ]
    readelf -W -d "$PROBE" | grep -q 'NEEDED.*libc.so.6'
    # Symbols that not every glibc has may be missing, also with immediate binding.
    run bash -c 'LD_BIND_NOW=1 LD_PRELOAD=$1 SONDE_SPOOL=/dev/null bash -c "sh -c true; exit 3"' bash "$PROBE"
    [ "$status$output" = 3 ]
}

# Without 32-bit start files and headers: calls to libc are enough.
make_32_bit() {
    if [ ! -e /lib/ld-linux.so.2 ] || [ ! -e /lib32/libc.so.6 ]; then skip "no 32-bit C library"; fi
    cat >"$T/small.c" <<'END'
int write(int fd, const void *data, unsigned size);
int system(const char *line);
void _exit(int status);
void _start(void)
{
    write(1, "ran\n", 4);
    write(2, "said\n", 5);
    _exit(system("true; exit 7") == 7 << 8 ? 4 : 5);
}
END
    cc -m32 -O1 -fno-pie -no-pie -fno-stack-protector -mstackrealign -nostdlib -Wl,--dynamic-linker=/lib/ld-linux.so.2 \
        -o "$T/small" "$T/small.c" /lib32/libc.so.6
}

@test "a 32-bit program runs as without sonde except for a loader warning, and its children have the probe" {
    make_32_bit
    run -4 --separate-stderr "$SONDE" run -- "$T/small"
    echo "$stderr"
    [ "$output" = ran ]
    [ "$(grep -c 'libsonde-process.so.*wrong ELF class.*ignored' <<<"$stderr")" -eq 1 ]
    [ "$(grep -v 'wrong ELF class' <<<"$stderr")" = said ]
    [ "$(sql "select count(*) from process where exe = 'small' and exit_code = 4 and not sources & 1")" -eq 1 ]
    [ "$(sql "select count(*) from process where exe in ('sh', 'dash', 'bash') and exit_code = 7 and sources & 1")" -eq 1 ]
    run -4 --separate-stderr "$SONDE" run --no-probe -- "$T/small"
    [ "$output$stderr" = ransaid ]
}
