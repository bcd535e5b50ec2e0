#!/usr/bin/env bats
# sonde ps, on generated jobs.
load scene

a_job() {
    "$TOOLS/fake_job" "$SONDE_DB" job=build-1 processes=402 threads=3
}

@test "no job, or an unknown one: error and exit status 1" {
    run -1 "$SONDE" ps
    [[ $output == *"no jobs recorded yet"* ]]
    a_job
    run -1 "$SONDE" ps no-such
    [[ $output == *"no job no-such; 'sonde list' shows all jobs"* ]]
    "$TOOLS/fake_job" "$SONDE_DB" job=build-2
    run -1 "$SONDE" ps build
    [[ $output == *"job id build is ambiguous"* ]]
    run -0 "$SONDE" ps build-2
    run -1 "$SONDE" ps ""
    [[ $output == *"the job id is empty; 'sonde list' shows"* ]]
}

@test "the last job by default, and a unique prefix is enough" {
    a_job
    [ "$("$SONDE" ps)" = "$("$SONDE" ps build-1)" ]
    [ "$("$SONDE" ps)" = "$("$SONDE" ps bui)" ]
}

@test "small similar processes are folded with their subtrees, --all shows each" {
    a_job
    LC_ALL=C.UTF-8 run -0 "$SONDE" ps
    [[ ${lines[1]} == *"/bin/bash build.sh --all" ]]
    [[ ${lines[2]} == *"└─ make -j4 all" ]]
    [[ $output == *"├─ sh × "* ]]
    [[ $output == *"│  └─ gcc × "* ]]
    [ "${#lines[@]}" -lt 60 ]
    run -0 "$SONDE" ps --all
    [ "${#lines[@]}" -eq 403 ]
    [[ $output != *" × "* ]]
}

@test "totals are the same with and without folding" {
    a_job
    LC_ALL=C.UTF-8 "$SONDE" ps | python3 -c '
import re, sys
rows = sys.stdin.read().split("\n")[1:-1]
assert sum(int(m.group(1)) if (m := re.search(r"× (\d+)$", r)) else 1 for r in rows) == 402'
}

@test "ASCII if the locale is not UTF-8, and 80 columns in both" {
    a_job
    run -0 env LC_ALL=C "$SONDE" ps --all --threads
    [[ $output == *'`- make -j4 all'* ]]
    [ -z "$(LC_ALL=C grep -P '[^\x00-\x7f]' <<<"$output")" ]
    [ -z "$(awk 'length($0) > 80' <<<"$output")" ]
    LC_ALL=C.UTF-8 "$SONDE" ps --all |
        python3 -c 'import sys; assert max(len(l.rstrip("\n")) for l in sys.stdin) <= 80'
}

@test "--depth, --min-cpu, --threads, --args and --sort" {
    a_job
    run -0 "$SONDE" ps --depth 2
    [ "${#lines[@]}" -eq 3 ]
    [[ ${lines[2]} == *"(+400 below)" ]]
    run -0 "$SONDE" ps --all --min-cpu 80ms
    [[ $output == *" more used less than 80.0 ms each, "* ]]
    [[ $output != *" as --64"* ]]
    run -0 "$SONDE" ps --all --threads
    [[ $output == *"{worker/2}"* ]]
    run -0 "$SONDE" ps --all --args
    [[ $output == *"gcc -O2 -g -Wall -c part399.c -o part399.o"* ]]
    run -0 "$SONDE" ps --all --sort cpu
    [ "$("$SONDE" ps --all --json | python3 -c '
import json, sys
top = max((p for p in json.load(sys.stdin) if p.get("parent") == 1), key=lambda p: p["inclusive_cpu_s"])
print(top["pid"])')" = "$(awk 'NR == 4 { print $1 }' <<<"$output")" ]
}

@test "JSON has every process, its parent and its threads" {
    a_job
    "$SONDE" ps --json --threads | python3 -m json.tool >/dev/null
    "$SONDE" ps --json --threads | python3 -c '
import json, sys
ps = json.load(sys.stdin)
assert len(ps) == 402
assert "parent" not in ps[0] and ps[1]["parent"] == ps[0]["number"]
assert len(ps[3]["threads"]) == 3 and "threads" not in ps[4]
own = sum(p["cpu_s"] for p in ps)
assert abs(own - ps[0]["inclusive_cpu_s"]) < 1e-6, (own, ps[0])
assert ps[2]["args"][0] == "/bin/sh" and ps[0]["counters"]["rssmax"] > 0'
}

@test "JSON honours --min-cpu and --depth, and rejects --sort" {
    a_job
    "$SONDE" ps --json --depth 2 | python3 -c '
import json, sys
ps = json.load(sys.stdin)
assert len(ps) == 2 and "parent" not in ps[0] and ps[1]["parent"] == ps[0]["number"], len(ps)'
    "$SONDE" ps --json --threads --min-cpu 80ms | python3 -c '
import json, sys
ps = json.load(sys.stdin)
assert 1 < len(ps) < 402 and all(p["inclusive_cpu_s"] >= 0.08 for p in ps), len(ps)
numbers = {p["number"] for p in ps}
assert all(p["parent"] in numbers for p in ps if "parent" in p)'
    [ "$("$SONDE" ps --json --sort start)" = "$("$SONDE" ps --json)" ]
    run -2 "$SONDE" ps --json --sort cpu
    [[ $output == *"--sort cannot be combined with --json"* ]]
}

@test "a job of 200,000 processes is readable" {
    "$TOOLS/fake_job" "$SONDE_DB" job=huge processes=200000
    run -0 "$SONDE" ps
    [ "${#lines[@]}" -lt 100 ]
    [ "$("$SONDE" ps --all | wc -l)" -eq 200001 ]
    "$SONDE" ps --all | head -n 1 >/dev/null
}

@test "a real job: children, an exec, and exit statuses" {
    "$SONDE" run -- sh -c 'for i in 1 2 3 4 5 6 7; do /bin/true; done; sh -c "kill -9 \$\$"; (exit 3); exec sleep 0.01'
    LC_ALL=C.UTF-8 run -0 "$SONDE" ps
    [[ $output == *" KILL "*"sh -c 'kill -9 "* ]]
    [[ $output =~ " 3 "[│├└].*"sh -c " ]]
    [[ $output == *"├─ true × 7"* ]]
    [[ ${lines[-1]} == *" ⇒ sleep 0.01" ]]
}

@test "CPU time that includes children is marked, in text and in JSON" {
    need_root
    as_nobody "$SONDE" run --no-probe -j mixed -- sh -c "'$TOOLS/burn' 20; '$TOOLS/burn' 25; :"
    [ "$(sql "SELECT count(*) FROM processes WHERE sources & 256")" -eq 1 ] # otherwise this kernel distinguishes them
    run -0 "$SONDE" ps
    [[ ${lines[1]} =~ ms\*.*" sh -c " ]]
    [[ ${lines[-1]} == "* includes children or earlier executables of the process"* ]]
    run -0 "$SONDE" report
    [[ $output == *"ms* "* && $output == *"  * includes children or earlier executables"* ]]
    "$SONDE" ps --json | python3 -c 'import json, sys; assert [p.get("with_others") for p in json.load(sys.stdin)] == [True, None, None]'
    "$SONDE" report --json | python3 -c '
import json, sys
report = json.load(sys.stdin)
assert [p.get("with_others") for p in report["processes"]] == [True, None, None]
assert [x.get("with_others") for x in report["executables"]] == [True, None]'
}

@test "a program run from memory has one name, with and without the probe" {
    "$SONDE" run -j with -- "$TOOLS/execs" memfd
    "$SONDE" run --no-probe -j without -- "$TOOLS/execs" memfd
    [ "$(sql "SELECT count(*) FROM process WHERE exe = 'memfd:nameless' AND path = '/memfd:nameless'")" -eq 2 ]
    [ "$(sql "SELECT count(*) FROM process WHERE exe LIKE '%deleted%'")" -eq 0 ]
    cp /bin/true "$T/x (deleted)" # an ordinary file name
    "$SONDE" run -j named -- "$T/x (deleted)"
    [ "$(sql "SELECT exe FROM process WHERE job_id = 'named'")" = "x (deleted)" ]
}
