#!/usr/bin/env bats
# sonde list, on generated jobs.
load scene

three_jobs() {
    "$TOOLS/fake_job" "$SONDE_DB" job=ocean-1 name=ocean user=alice host=n1 tags="exp:a;fast" processes=10 start=1700000000
    "$TOOLS/fake_job" "$SONDE_DB" job=ocean-2 name=ocean_long user=bob host=n2 tags="exp:b" processes=500 start=1700100000
    "$TOOLS/fake_job" "$SONDE_DB" job=ice-1 name=ice user=alice host=n2 tags="exp:a" processes=100 start=1700200000
}

# The listed ids, on one line.
ids() {
    "$SONDE" list --ids "$@" | tr '\n' ' '
}

@test "without a database the error says what to do, exit status 1" {
    run -1 "$SONDE" list
    [[ $output == *"no jobs recorded yet in "*"; record one with 'sonde run -- COMMAND'"* ]]
    [ "${#lines[@]}" -eq 1 ]
    [ ! -e "$SONDE_DB" ]
    run -1 "$SONDE" list --db "$T/elsewhere.db"
    [[ $output == *"$T/elsewhere.db"* ]]
}

@test "a database that is damaged, newer or unreadable is reported, exit status 1" {
    head -c 10000 /dev/urandom >"$T/bad.db"
    run -1 "$SONDE" --db "$T/bad.db" list
    [[ $output == *"$T/bad.db"* ]]
    [ "${#lines[@]}" -eq 1 ]
    three_jobs
    sqlite3 "$SONDE_DB" 'PRAGMA user_version = 999'
    run -1 "$SONDE" list
    [[ $output == *newer* ]]
    need_root
    mkdir -m 700 "$T/private"
    "$TOOLS/fake_job" "$T/private/sonde.db" job=secret
    run -1 as_nobody "$SONDE" --db "$T/private/sonde.db" list
    [[ $output == *"may not read the job database $T/private/sonde.db"* ]]
}

@test "the newest job comes first, with its usage and status" {
    three_jobs
    COLUMNS=120 run -0 "$SONDE" list
    [[ ${lines[0]} == JOB*NAME*USER*START*TIME*CPU*CORES*MEM*PROCS*STATUS* ]]
    [[ ${lines[1]} == ice-1*ice*alice*2023-11-17*100*"exit 2"*n2*exp:a*./build.sh* ]]
    [[ ${lines[3]} == ocean-1* ]]
}

@test "every line fits 80 columns, or \$COLUMNS" {
    three_jobs
    "$TOOLS/fake_job" "$SONDE_DB" job=20261115-201354-4127013-k7qd name="a name that is much too long for a table" \
        user=somebody_with_a_long_name processes=50000
    for width in 80 100 60 40; do
        run -0 env COLUMNS=$width LC_ALL=C "$SONDE" list
        [ -z "$(awk -v w=$width 'length($0) > w' <<<"$output")" ]
    done
    run -0 env LC_ALL=C "$SONDE" list
    [[ $output == *20261115-201354-4127013-k7qd* ]]
}

@test "filters" {
    three_jobs
    [ "$(ids)" = "ice-1 ocean-2 ocean-1 " ]
    [ "$(ids --user alice)" = "ice-1 ocean-1 " ]
    [ "$(ids --name 'ocean*')" = "ocean-2 ocean-1 " ]
    [ "$(ids --name ocean)" = "ocean-1 " ]
    [ "$(ids --host n2)" = "ice-1 ocean-2 " ]
    [ "$(ids --tag exp=a)" = "ice-1 ocean-1 " ]
    [ "$(ids --tag exp:a --tag fast)" = "ocean-1 " ]
    [ "$(ids --since 2023-11-16)" = "ice-1 ocean-2 " ]
    [ "$(ids --since @1700050000 --until @1700150000)" = "ocean-2 " ]
    [ "$(ids --since '1 hour ago')" = "" ]
    run -2 "$SONDE" list --since 2023 # ambiguous: neither a year nor 2023 seconds ago
    [ "$(ids --limit 1)" = "ice-1 " ]
    [ "$(ids --user nobody-at-all)" = "" ]
    run -0 "$SONDE" list --user nobody-at-all
    [ "$output" = "No matching jobs." ]
}

@test "sort order and --reverse" {
    three_jobs
    [ "$(ids --reverse)" = "ocean-1 ocean-2 ice-1 " ]
    [ "$(ids --sort cpu)" = "ocean-2 ice-1 ocean-1 " ]
    [ "$(ids --sort processes -r)" = "ocean-1 ice-1 ocean-2 " ]
    [ "$(ids --sort name)" = "ice-1 ocean-1 ocean-2 " ]
}

@test "valid JSON, without unknown values" {
    three_jobs
    "$SONDE" list --json | python3 -m json.tool >/dev/null
    "$SONDE" list --json | python3 -c '
import json, sys
jobs = json.load(sys.stdin)
assert [j["job"] for j in jobs] == ["ice-1", "ocean-2", "ocean-1"], jobs
assert jobs[0]["processes"] == 100 and jobs[0]["exit_code"] == 2 and jobs[0]["cores_allowed"] == 4
assert jobs[0]["command"] == ["./build.sh", "--all"]
assert abs(jobs[0]["duration_s"] - (jobs[0]["end_ns"] - jobs[0]["start_ns"]) / 1e9) < 1e-9'
    run -0 "$SONDE" list --json --user nobody-at-all
    [ "$output" = "[]" ]
}

@test "names with line feeds and escapes stay on their line" {
    "$TOOLS/fake_job" "$SONDE_DB" job=1 name=$'two\nlines\033[31m' user=$'\xff'
    run -0 "$SONDE" list
    [ "${#lines[@]}" -eq 2 ]
    [[ $output != *$'\033'* ]]
    "$SONDE" list --json | python3 -c '
import base64, json, sys
job = json.load(sys.stdin)[0]
assert job["name"] == "two\nlines\033[31m", job
assert base64.b64decode(job["user_base64"]) == b"\xff", job'
}

@test "a closed pipe is no error, a full disk is" {
    three_jobs
    "$SONDE" list | head -n 1 >/dev/null
    sh -c 'trap "" PIPE; "$SONDE" list 2>"$T/err"; echo $? >"$T/status"' | true
    [ "$(cat "$T/status")" -eq 0 ]
    [ ! -s "$T/err" ]
    run -1 sh -c '"$SONDE" list >/dev/full'
    [[ $output == *"no space left"* ]]
}

@test "colour on a terminal, unless NO_COLOR or TERM=dumb" {
    command -v script >/dev/null || skip "no script(1)"
    three_jobs
    unset NO_COLOR
    TERM=xterm script -qec "$SONDE list" /dev/null | grep -q $'\033\[31m'
    [ -z "$(NO_COLOR=1 TERM=xterm script -qec "$SONDE list" /dev/null | grep $'\033')" ]
    [ -z "$(TERM=dumb script -qec "$SONDE list" /dev/null | grep $'\033')" ]
    [ -z "$("$SONDE" list | grep $'\033')" ]
}

@test "on a terminal fifty jobs are shown, with a note if there are more" {
    command -v script >/dev/null || skip "no script(1)"
    "$TOOLS/fake_job" "$SONDE_DB" job=many jobs=60 processes=1
    run -0 script -qec "$SONDE list" /dev/null
    [ "${#lines[@]}" -eq 52 ]
    [[ ${lines[51]} == "More jobs match: use --all to show them"* ]]
    [[ ${lines[1]} == many-59* ]]
    run -0 script -qec "$SONDE list --all" /dev/null
    [ "${#lines[@]}" -eq 61 ]
    run -0 script -qec "$SONDE list --limit 55" /dev/null
    [ "${#lines[@]}" -eq 56 ]
    [ "$("$SONDE" list | wc -l)" -eq 61 ]
    [ "$("$SONDE" list --limit 3 | wc -l)" -eq 4 ]
}

@test "a label is a tag with the value 1" {
    "$SONDE" run -j labelled -t lab -t case=7 -- true
    [ "$(sql "SELECT key, value FROM job_tags ORDER BY key")" = $'case|7\nlab|1' ]
    [ "$(ids -t lab)" = "labelled " ]
    [ "$(ids -t lab=1)" = "labelled " ]
}

@test "concurrent runs: list and report show the same memory" {
    for _ in 1 2; do
        "$SONDE" run -p 50ms -j both -- python3 -c 'x = bytearray(100 << 20); import time; time.sleep(1)' &
    done
    wait
    list=$("$SONDE" list --json | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["memory_max_bytes"])')
    report=$("$SONDE" report --json both | python3 -c 'import json, sys; print(json.load(sys.stdin)["use"]["memory_peak_bytes"])')
    [ "$list" -eq "$report" ]
    [ "$list" -gt $((200 << 20)) ]
}
