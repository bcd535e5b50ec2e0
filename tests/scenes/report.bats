# sonde report on generated jobs (fake_job), so that nothing depends on this machine.
load scene

fake() {
    "$TOOLS/fake_job" "$SONDE_DB" "$@"
}

# The width of the longest line, without colours.
widest() {
    python3 -c '
import re, sys, unicodedata
text = sys.stdin.buffer.read().decode()
wide = lambda c: 0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
print(max(sum(map(wide, re.sub("\x1b\\[[0-9;]*m", "", line))) for line in text.split("\n")))'
}

@test "the last job by default, another by its id or a prefix of it" {
    fake job=alpha-1 name=first start=1700000000
    fake job=beta-2 name=second start=1700000100
    run "$SONDE" report
    [ "$status" -eq 0 ]
    [ "${lines[0]}" = "second, job beta-2" ]
    run "$SONDE" report alpha-1
    [ "${lines[0]}" = "first, job alpha-1" ]
    run "$SONDE" report al
    [ "${lines[0]}" = "first, job alpha-1" ]
}

@test "no database, unknown job, ambiguous id: each error says what to do" {
    run "$SONDE" report
    [ "$status" -eq 1 ]
    [[ "$output" == *"sonde run"* ]]
    fake job=alpha-1
    fake job=alpha-2
    run "$SONDE" report gamma
    [ "$status" -eq 1 ]
    [[ "$output" == *"no job gamma"* && "$output" == *"sonde list"* ]]
    run "$SONDE" report alpha
    [ "$status" -eq 1 ]
    [[ "$output" == *"ambiguous"* ]]
    run "$SONDE" report one two
    [ "$status" -eq 2 ]
}

@test "it fits 80 columns, in UTF-8 and in ASCII, on any terminal" {
    fake job=wide processes=3000 threads=4 events=2 samples=200 name=名前がとても長い名前がとても長い名前がとても長い user=größe
    for columns in 80 200; do
        [ "$(COLUMNS=$columns LC_ALL=C.UTF-8 "$SONDE" report | widest)" -le 80 ]
        [ "$(COLUMNS=$columns LC_ALL=C "$SONDE" report | widest)" -le 80 ]
    done
    [ "$(COLUMNS=50 LC_ALL=C.UTF-8 "$SONDE" report | widest)" -le 50 ]
}

@test "plain ASCII if the locale is not UTF-8" {
    fake job=ascii samples=100 user=größe
    LC_ALL=C "$SONDE" report >"$T/ascii"
    run grep -nP '[^\x20-\x7e]' "$T/ascii"
    [ "$status" -eq 1 ]
    LC_ALL=C.UTF-8 "$SONDE" report >"$T/utf8"
    grep -q '█' "$T/utf8"
}

@test "colour only on a terminal and without NO_COLOR" {
    fake job=colour samples=100
    unset NO_COLOR
    export TERM=xterm LC_ALL=C.UTF-8
    "$SONDE" report >"$T/piped"
    run grep -c $'\033' "$T/piped"
    [ "$output" = 0 ]
    script -qec "$SONDE report" /dev/null >"$T/terminal" </dev/null
    grep -q $'\033\\[' "$T/terminal"
    NO_COLOR=1 script -qec "$SONDE report" /dev/null >"$T/plain" </dev/null
    run grep -c $'\033' "$T/plain"
    [ "$output" = 0 ]
}

@test "--json is one object with the numbers of the page, without unknown ones" {
    fake job=json processes=500 threads=3 events=2 samples=100
    "$SONDE" report --json >"$T/json"
    python3 - "$T/json" <<'END'
import json, sys
r = json.load(open(sys.argv[1]))
assert r["job"]["id"] == "json" and r["made"]["processes"] == 500
assert abs(r["use"]["cores_used"] - r["use"]["cpu_s"] / r["job"]["duration_s"]) < 1e-9
assert sum(e["count"] for e in r["executables"]) == r["made"]["images"]
assert len(r["processes"]) == 10 and len(r["events"]) == 2
assert len(r["over_time"]["cpu_cores"]) == 48
assert "delayacct_blkio_time_us" not in r["use"]["sum"]
assert all({"rule", "severity", "sentence", "remedy"} <= set(a) for a in r["advice"])
assert any("disk" in text for text in r["not_known"])
END
}

@test "a closed pipe is no error" {
    fake job=pipe processes=100 samples=100
    run bash -c "set -o pipefail; '$SONDE' report | head -n 1"
    [ "$status" -eq 0 ] || [ "$status" -eq 141 ]
    [[ "$output" != *"cannot write"* ]]
}

@test "a full disk is an error" {
    fake job=full
    run bash -c "'$SONDE' report >/dev/full"
    [ "$status" -eq 1 ]
    [[ "$output" == *"cannot write"* ]]
}

@test "several runs with one job id: commands and exit statuses" {
    run -3 "$SONDE" run -j dup -- sh -c 'exit 3'
    "$SONDE" run -j dup -- sleep 0.01
    run -0 "$SONDE" report dup
    [[ $output == *"runs       exit 3  sh -c 'exit 3'"$'\n'"             ok      sleep 0.01"$'\n'* ]]
    [[ $output == *"status     failed: 1 of 2 runs failed"* ]]
    [[ $output != *"command  "* && $output != *"status     completed"* ]]
    [[ $output == *"1 of 2 runs failed: sh -c 'exit 3' exited with status 3."* ]]
    "$SONDE" report --json dup | python3 -c '
import json, sys
runs = json.load(sys.stdin)["runs"]
assert [(r["command"][0], r["exit_code"]) for r in runs] == [("sh", 3), ("sleep", 0)]'
    for _ in 1 2; do "$SONDE" run -j same -- sleep 0.01; done
    run -0 "$SONDE" report same
    [[ $output == *"command    sleep 0.01"* && $output == *"status     completed, all 2 runs with exit status 0"* ]]
}

@test "several runs without enough samples have no timeline" {
    for _ in 1 2 3; do "$SONDE" run -j twins -- sleep 0.01; done
    run -0 "$SONDE" report twins
    [[ $output != *"Timeline"* ]]
    [[ $output == *"timeline: every run had fewer than 4 samples (interval 1.0 s)"* ]]
}

@test "the memory of a small program does not include sonde's" {
    need_root # from the kernel's exit record
    "$SONDE" run -j small -- true
    [ "$(sql "SELECT total_rssmax = (SELECT rssmax FROM process) FROM jobs")" -eq 1 ]
    [ "$("$SONDE" list --json | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["memory_max_bytes"])')" -eq \
        "$(sql "SELECT rssmax * 1024 FROM process")" ]
}

# The I/O of a killed process is known only from samples without root.
check_killed_io() {
    "$@" "$SONDE" run -q -- sh -c 'timeout -s KILL 1 dd if=/dev/zero of=/dev/null bs=1M; true' 2>/dev/null
    run -0 "$@" "$SONDE" report
    [[ $output =~ read\ [^$'\n']*\ GiB\ .*written\ [^$'\n']*\ GiB\  ]]
    [[ ! $output =~ (read|written)\ [^$'\n']*call ]]
}

@test "I/O of a killed program is in the total, as nobody" {
    need_root
    check_killed_io as_nobody
    [[ $output == *"GiB read and "*"GiB written could not be attributed to a process"* ]]
    [[ $output != *" CPU wait   "* ]] # unknown for dd, which used nearly all of the CPU time
    row=$(grep '^  dd ' <<<"$output") # up to the memory column, with blanks for unknown values instead of 0
    [[ $row =~ [0-9.]+[KM]$ ]]
    as_nobody "$SONDE" report --json | jq -e '.executables[] | select(.name == "dd") |
        [.rchar_bytes, .wchar_bytes, .read_bytes, .write_bytes, .waiting_ns] == [null, null, null, null, null]'
}

@test "I/O of a killed program is in the total, as root, without the number of calls" {
    need_root
    check_killed_io env
}
