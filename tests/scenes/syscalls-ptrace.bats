#!/usr/bin/env bats
# sonde run -s --ptrace: a tracer counts the system calls of programs without the probe from their start, as a user, and the programs
# are unaffected. The program caller reports its calls, and whether anything went wrong.
load scene

setup() {
    scene_setup
    user=()
    [ "$(id -u)" -ne 0 ] || user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
    caller=$TOOLS/caller_static
    [ -x "$caller" ] || caller=$TOOLS/caller
    program='' sonde_pid=''
    touch "$T/out" "$T/log"
    chmod 666 "$T/out" "$T/log"
}

teardown() {
    [ -z "$program" ] || kill -9 "$program" 2>/dev/null || true
    [ -z "$sonde_pid" ] || kill -9 "$sonde_pid" 2>/dev/null || true
    scene_teardown
}

# traced [OPTIONS] -- COMMAND…: its output is in $T/out, sonde's messages are in $T/log.
traced() {
    "${user[@]}" "$SONDE" run -s --ptrace "$@" </dev/null >"$T/out" 2>"$T/log"
}

# count CALL [METRIC]: the last sample.
count() {
    "${user[@]}" "$SONDE" export -w series --set syscall |
        tr -d '\r' | awk -F, -v call="$1" -v metric="${2:-calls}" '
            NR == 1 { for (i = 1; i <= NF; i++) place[$i] = i }
            $(place["instance"]) == call { last = $(place[metric]) }
            END { print last }'
}

printed() {
    grep -q "$1" "$T/out"
}

# "!" does not fail a test.
not() {
    ! "$@"
}

# Whether the method was ptrace.
is_by_ptrace() {
    "${user[@]}" "$SONDE" export -w series --set syscall_way | tr -d '\r' | grep -q ',3$'
}

state_is() {
    grep -q "^State:.[$2]" "/proc/$1/status"
}

is_gone() {
    [ ! -e "/proc/$1" ]
}

# Finds the command of a sonde run, and its tracer.
find_command() {
    program=$(pgrep -P "$sonde_pid" -x "$1")
}

tracer_of() {
    sed -n 's/^TracerPid:\t//p' "/proc/$1/status"
}

@test "calls, errors, bytes and time of a static program are exact, and the method is shown" {
    traced --syscall-time -- "$caller" now 300
    printed 'done wrong=0'
    grep -q 'ptrace is slow: each counted system call takes about' "$T/log"
    [ "$(count writev)" -eq 300 ]
    [ "$(count writev bytes)" -eq 1800 ]
    [ "$(count pread64 bytes)" -eq 1500 ]
    [ "$(count getppid)" -eq 300 ]
    [ "$(count close errors)" -eq 300 ]
    [ "$(count execve)" -eq 1 ]
    [ -n "$(count read time)" ]
    is_by_ptrace
}

@test "busybox has the same counts as with strace" {
    command -v busybox >/dev/null || skip "no busybox"
    command -v strace >/dev/null || skip "no strace"
    work='i=0; while [ $i -lt 20 ]; do echo $i | cat >/dev/null; i=$((i + 1)); done; ls / >/dev/null; cat /etc/passwd >/dev/null'
    strace -f -c -o "$T/counts" busybox sh -c "$work" </dev/null
    traced --no-probe -- busybox sh -c "$work"
    # Not wait4 and rt_sigreturn: whether a child exits before its parent waits depends on timing.
    for call in execve pipe2 dup2 read write openat vfork fork clone fstat close; do
        [ "$(count $call)" = "$(awk -v call=$call '$NF == call { print $4 }' "$T/counts")" ] || { echo "$call"; false; }
    done
    [ "$(count write)" -ge 20 ]
}

@test "a 32-bit program is counted with its own system call names, with both methods" {
    cat >"$T/old.c" <<'END'
static long call(long number, long a, long b, long c)
{
    long result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(a), "c"(b), "d"(c) : "memory");
    return result;
}

void _start(void)
{
    static char text[8];
    long from = call(5, (long)"/dev/zero", 0, 0), to = call(5, (long)"/dev/null", 1, 0); /* open */
    for (int i = 0; i < 1000; i++)
        call(3, from, (long)text, 7); /* read */
    for (int i = 0; i < 300; i++)
        call(4, to, (long)text, 5); /* write */
    call(3, 77, (long)text, 1);
    call(20, 0, 0, 0); /* getpid */
    call(1, 5, 0, 0);  /* exit */
}
END
    gcc -m32 -O1 -fno-pic -no-pie -nostdlib -static -ffreestanding -fno-stack-protector -o "$T/old" "$T/old.c" ||
        skip "no 32-bit programs from this compiler"
    "$T/old" || [ $? -eq 5 ] || skip "no 32-bit programs on this kernel"
    for way in ptrace kernel; do
        if [ $way = ptrace ]; then
            traced -- "$T/old" || [ $? -eq 5 ]
        else
            { [ "$(id -u)" -eq 0 ] && [ -e "$BUILD/src/modules/sample-bpf.so" ]; } || continue
            user=()
            export SONDE_DB=$T/kernel
            "$SONDE" run -s -- "$T/old" || [ $? -eq 5 ]
            not is_by_ptrace
        fi
        [ "$(count read)" -eq 1001 ]
        [ "$(count read bytes)" -eq 7000 ]
        [ "$(count read errors)" -eq 1 ]
        [ "$(count write)" -eq 300 ]
        [ "$(count write bytes)" -eq 1500 ]
        [ "$(count open)" -eq 2 ]
        [ "$(count getpid)" -eq 1 ]
        [ -z "$(count waitpid)" ]
    done
}

@test "a Go program is counted, with its threads" {
    command -v go >/dev/null || skip "no Go"
    cat >"$T/writes.go" <<'END'
package main

import (
	"fmt"
	"os"
	"sync"
)

func main() {
	file, _ := os.OpenFile("/dev/null", os.O_WRONLY, 0)
	var all sync.WaitGroup
	for i := 0; i < 4; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for j := 0; j < 250; j++ {
				file.WriteAt([]byte("1234567"), 0) // nothing in Go's own runtime calls pwrite64
			}
		}()
	}
	all.Wait()
	fmt.Println("done")
}
END
    HOME=$T GOCACHE=$T/cache GOFLAGS=-modcacherw CGO_ENABLED=0 go build -o "$T/writes" "$T/writes.go" || skip "Go cannot build here"
    traced -- "$T/writes"
    printed '^done'
    [ "$(count pwrite64)" -eq 1000 ]
    [ "$(count pwrite64 bytes)" -eq 7000 ]
    [ -z "$(count futex)" ]
}

@test "threads, children, execs and killed programs are counted" {
    traced -- "$caller" threads 50
    printed 'done wrong=0'
    [ "$(count writev)" -eq 1000 ]
    traced -- "$caller" children 50
    printed 'done wrong=0'
    [ "$(count writev)" -eq 250 ]
    traced -- "$caller" exec 100
    printed 'done wrong=0'
    [ "$(count writev)" -eq 100 ]
    status=0
    traced -- "$caller" killed 100 || status=$?
    [ "$status" -eq 137 ]
    [ "$(count writev)" -eq 100 ]
}

@test "signals are neither lost nor added, and waits and cancellation are unaffected" {
    traced -- "$caller" signals 1000
    printed 'done wrong=0 received=1000'
    traced -- "$caller" handlers 300
    printed 'done wrong=0'
    traced -- "$caller" events 20
    printed 'done wrong=0'
    [ "$(count epoll_wait)" -eq 20 ]
    traced -- "$caller" cancel 20
    printed 'done wrong=0'
}

@test "interrupted calls are counted with their time, even if handlers make the same calls" {
    traced --syscall-time -- "$caller" broken 10
    printed 'done wrong=0'
    read -r _ failed again < <(grep '^waited' "$T/out")
    [ "$failed" -ge 50 ]
    [ "$again" -ge 100 ]
    [ "$(count writev errors)" -eq 10 ]
    received=$(sed -n 's/^done.*received=//p' "$T/out")
    [ "$(count writev)" -eq $((received + 10)) ] # one in each handler
    [ "$(count readv)" -eq 1 ]
    [ "$(count readv errors)" -eq 0 ]
    [ "$(count writev time)" -ge $((failed * 500000)) ]
    [ "$(count readv time)" -ge $((again * 900000)) ]
}

@test "the exit status is the command's, also after a signal or if the command does not exist" {
    for expected in 0 7 255; do
        status=0
        traced -- sh -c "exit $expected" || status=$?
        [ "$status" -eq "$expected" ]
    done
    status=0
    traced -- sh -c 'ulimit -c 0; kill -SEGV $$' || status=$?
    [ "$status" -eq 139 ]
    status=0
    traced -- "$T/nothing" || status=$?
    [ "$status" -eq 127 ]
    status=0
    "${user[@]}" "$SONDE" run -s --ptrace -- sleep 100 </dev/null >"$T/out" 2>"$T/log" 3>&- &
    sonde_pid=$!
    until_true find_command sleep
    kill -TERM "$sonde_pid"
    wait "$sonde_pid" || status=$?
    [ "$status" -eq 143 ]
}

@test "a stopped program stays stopped until it is continued" {
    mkfifo -m 666 "$T/in"
    "${user[@]}" "$SONDE" run -s --ptrace -- "$caller" work 200 <"$T/in" >"$T/out" 2>"$T/log" 3>&- &
    sonde_pid=$!
    exec 7>"$T/in"
    until_true printed ready
    find_command "$(basename "$caller")"
    kill -STOP "$program"
    until_true state_is "$program" tT
    echo >&7
    sleep 0.3
    not printed 'done'
    kill -CONT "$program"
    until_true printed 'done'
    exec 7>&-
    wait "$sonde_pid"
    [ "$(count writev)" -eq 200 ]
}

@test "terminal: job control, stop and continue work as without sonde" {
    run timeout 300 python3 "$BATS_TEST_DIRNAME/terminal.py" "${user[*]} $SONDE run -q -s --ptrace --"
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *"all as it should be"* ]]
}

@test "survivors of the command are traced to their end, and sonde run may be killed" {
    traced -- sh -c "'$caller' events 100 </dev/null >'$T/out' 2>&1 & sleep 0.1"
    until_true printed 'done wrong=0'

    : >"$T/out" # or output of the first would be taken for its own
    "${user[@]}" "$SONDE" run -q -s --ptrace -- "$caller" events 100 </dev/null >"$T/out" 2>"$T/log" 3>&- &
    sonde_pid=$!
    until_true printed ready
    find_command "$(basename "$caller")"
    tracer=$(tracer_of "$program")
    [ "$tracer" -ne 0 ]
    kill -9 "$sonde_pid"
    wait "$sonde_pid" || true
    until_true printed 'done wrong=0'
    until_true is_gone "$tracer"
}

@test "killing the tracer kills the program, and sonde run ends with that status" {
    "${user[@]}" "$SONDE" run -q -s --ptrace -- "$caller" events 3000 </dev/null >"$T/out" 2>"$T/log" 3>&- &
    sonde_pid=$!
    until_true printed ready
    find_command "$(basename "$caller")"
    kill -9 "$(tracer_of "$program")"
    status=0
    wait "$sonde_pid" || status=$?
    [ "$status" -eq 137 ]
    [ "$(count epoll_wait)" -ge 0 ]
}

@test "the tracer is not part of the job" {
    traced -- "$caller" now 2000
    "${user[@]}" "$SONDE" ps >"$T/listed"
    [ "$(grep -c '^ *[0-9]' "$T/listed")" -eq 1 ]
    # As root the kernel reports every process.
    need_root
    user=() SONDE_DB=$T/db/root.db
    traced -- "$caller" children 20
    "$SONDE" ps >"$T/listed"
    [ "$(grep -c '^ *[0-9]' "$T/listed")" -eq 3 ] # itself, one line for five folded children, true
    grep -q '× 5$' "$T/listed"
}

@test "a program that loses its set-uid privileges is named in a warning" {
    need_root
    cp "$(command -v id)" "$T/id"
    chmod 4755 "$T/id"
    "${user[@]}" "$T/id" | grep -q 'euid=0' || skip "no set-uid programs on this file system"
    traced -- "$T/id"
    not printed 'euid=0'
    grep -q "$T/id ran without its privileges" "$T/log"
    # As root it keeps them, without a warning.
    "$SONDE" run -s --ptrace -- "${user[@]}" "$T/id" </dev/null >"$T/out" 2>"$T/log"
    printed 'euid=0'
    not grep -q 'without' "$T/log"
}

# System call numbers of ptrace and seccomp.
case $(uname -m) in
    aarch64) ptrace=117 seccomp=277 ;;
    *) ptrace=101 seccomp=317 ;;
esac

@test "if ptrace is denied there is a warning, and the program runs" {
    # The leak sanitizer needs ptrace itself.
    export ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0
    "${user[@]}" "$TOOLS/refuses" $ptrace "$SONDE" run -s --ptrace -- "$caller" now 10 </dev/null >"$T/out" 2>"$T/log"
    printed 'done wrong=0'
    grep -q 'cannot count with ptrace' "$T/log"
    not is_by_ptrace
}

@test "if seccomp is denied programs stop at every call, and are counted" {
    "${user[@]}" "$TOOLS/refuses" $seccomp "$SONDE" run -v -s --ptrace -- "$caller" now 30 </dev/null >"$T/out" 2>"$T/log"
    printed 'done wrong=0'
    grep -q 'accepts no seccomp filter' "$T/log"
    [ "$(count writev)" -eq 30 ]
    is_by_ptrace
}
