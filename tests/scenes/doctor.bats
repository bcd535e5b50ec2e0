#!/usr/bin/env bats
# sonde doctor: what works, what does not and why; a short test run.
load scene

export LC_ALL=C # marks are +, - and X

# The lines of one finding in $output, with its continuation lines.
finding() {
    awk -v name="$1" '/^  [-+X] / { on = index($0, name " ") == 5 } /^$/ { on = 0 } on' <<<"$output"
}

@test "on a good node everything essential works, and nothing is left behind" {
    run "$SONDE" doctor
    [ "$status" -eq 0 ]
    [[ $output == *"Everything essential works." ]]
    [[ $(finding "probe loads") == *"loaded into 2 of 2 processes"* ]]
    [[ $output == *"2 processes and "*" samples were saved and read back"* ]]
    [ ! -e "$SONDE_DB" ]
    [ -z "$(find "$TMPDIR" -name 'sonde-doctor*' -o -name '*.spool')" ]
}

@test "no line exceeds 80 columns, and plain ASCII if the locale is not UTF-8" {
    run "$SONDE" doctor
    [ "$status" -eq 0 ]
    [ -z "$(grep -vE "^.{0,80}$" <<<"$output" | grep -v libsonde-process)" ]
    [ -z "$(LC_ALL=C grep -P '[^\x00-\x7f]' <<<"$output")" ]
    [ -n "$(finding "schedstat")" ]
}

@test "an unprivileged user is told what needs root" {
    need_root
    run as_nobody "$SONDE" doctor
    [ "$status" -eq 0 ]
    [[ $(finding taskstats) == *"Only root may listen"*"Fix: Run as root"* ]]
    [[ $(finding "probe loads") == *"loaded into 2 of 2 processes"* ]]
    [[ $(tr -s ' \n' ' ' <<<"$(finding process)") == *"context switches, and I/O of other users' processes only as root"* ]]
    # perf events of a cgroup are per-CPU events: not for users unless the kernel is configured so
    [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -lt 1 ] || [[ $(finding perf) == *"Fix: Run the agent as root"* ]]
}

@test "a missing probe library is reported, and it fails" {
    mkdir "$T/alone"
    cp "$SONDE" "$T/alone/sonde"
    run "$T/alone/sonde" doctor
    [ "$status" -eq 1 ]
    [[ $(finding "probe library") == *"Fix: "* ]]
    [[ $output == *"Something essential does not work." ]]
}

@test "a file that is no database is reported with a fix" {
    head -c 8192 /dev/urandom > "$T/garbage.db"
    run env SONDE_DB="$T/garbage.db" "$SONDE" doctor
    [ "$status" -eq 1 ]
    [[ $output == *"$T/garbage.db"* ]]
    [[ $output == *"SONDE_DB to another location"* ]]
}

@test "a database that is no file, newer, or the agent: each with its own fix" {
    run -1 env SONDE_DB=/dev/null "$SONDE" doctor
    [[ $output == *"the name of a file"* && $output != *newer* ]]
    "$SONDE" run -- true
    sqlite3 "$SONDE_DB" 'pragma user_version = 999'
    run -1 "$SONDE" doctor
    [[ $output == *"Use the newer Sonde"* ]]
    run -1 env SONDE_DB=agent: SONDE_SOCKET_DIR="$T/none" "$SONDE" doctor
    echo "$output"
    [[ $(finding store) == *"X store"*"agent:"*"none is running"* && $output != *newer* ]]
}

@test "a read-only database fails" {
    need_root
    mkdir -m 755 "$T/root-only"
    run as_nobody env SONDE_DB="$T/root-only/sonde.db" "$SONDE" doctor
    [ "$status" -eq 1 ]
    [[ $(finding store) == *"Cannot write to"* ]]
}

@test "a missing spool directory fails" {
    run env TMPDIR="$T/nowhere" "$SONDE" doctor
    [ "$status" -eq 1 ]
    [[ $(finding spool) == *"$T/nowhere"* ]]
}

@test "unsaved runs are listed until they are saved" {
    "$SONDE" run -- sleep 30 &
    pid=$!
    until [ -n "$(find "$TMPDIR" -name '*.spool' -size +0)" ]; do sleep 0.05; done
    run "$SONDE" doctor --no-trial
    [[ $(finding "left-over runs") == *none* ]] # it is still running
    sleep_pid=$(pgrep -P $pid sleep)
    kill -9 $pid
    wait $pid || true
    kill "$sleep_pid"
    sleep 0.2
    run "$SONDE" doctor --no-trial
    [ "$status" -eq 0 ]
    [[ $(finding "left-over runs") == *"1 run is not saved yet"*"sonde submit"* ]]
    "$SONDE" submit "$TMPDIR/sonde-$(id -u)/spool"
    run "$SONDE" doctor --no-trial
    [[ $(finding "left-over runs") == *none* ]]
}

@test "--json is one object with every finding" {
    "$SONDE" doctor --json > doctor.json
    [ "$(sqlite3 :memory: "select json_valid(readfile('doctor.json'))")" = 1 ]
    [ "$(sqlite3 :memory: "select json_extract(readfile('doctor.json'), '\$.well')")" = 1 ]
    [ "$(sqlite3 :memory: "select count(*) from json_each(readfile('doctor.json'), '\$.findings')")" -ge 20 ]
    # every missing item has a reason
    [ "$(sqlite3 :memory: "select count(*) from json_each(readfile('doctor.json'), '\$.findings') where not value->>'there' and coalesce(value->>'reason', '') = ''")" = 0 ]
}

@test "a captured node is checked with --root" {
    run "$SONDE" doctor --no-trial --root "$SOURCE/tests/nodes/big"
    [[ $output == *"node0128.cluster.example, Linux 5.14.0-427.el9.x86_64"* ]]
    [[ $output == *"16.5 of 128 cores, 64.0 GiB of"* ]]
    [[ $(finding "child lists") == *"CONFIG_PROC_CHILDREN"* ]]
    [[ $(finding "I/O accounting") == *"unavailable"* ]]
}
