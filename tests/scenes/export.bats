#!/usr/bin/env bats
# sonde export, read back with Python's own readers.
load scene

a_job() {
    "$TOOLS/fake_job" "$SONDE_DB" job=build-1 processes=50 threads=3 events=2 samples=20
}

@test "processes as CSV match the JSON" {
    a_job
    "$SONDE" export -o p.csv
    "$SONDE" export -f json -o p.json
    "$SONDE" export -f jsonl -o p.jsonl
    python3 - <<'PY'
import csv, json, shlex
rows = list(csv.DictReader(open("p.csv", newline="", encoding="utf-8")))
objects = json.load(open("p.json"))
assert objects == [json.loads(line) for line in open("p.jsonl")]
assert len(rows) == len(objects) == 50
for row, o in zip(rows, objects):
    for key, value in row.items():
        if key == "args":
            assert shlex.split(value) == o["args"], row
        else:
            assert value == str(o.get(key, "")), (key, value, o.get(key))
assert rows[0]["parent"] == "" and rows[1]["parent"] == "0"
assert rows[0]["usertime"] != "" and rows[0]["guest_time"] == ""  # unknown in this job
PY
}

@test "all threads are exported, also of single-threaded processes" {
    a_job
    "$SONDE" export --what threads -o t.csv
    python3 - <<'PY'
import csv
rows = list(csv.DictReader(open("t.csv", newline="")))
assert len({r["process"] for r in rows}) == 50
assert len(rows) == 45 + 5 * 3, len(rows)
assert [r["name"] for r in rows if r["process"] == "3"] == ["main/0", "worker/1", "worker/2"]
PY
}

@test "series: one row per value, or one column per metric" {
    a_job
    "$SONDE" export --what series -o long.csv
    "$SONDE" export --what series --set tree -o wide.csv
    "$SONDE" export --what series -f json -o s.json
    python3 - <<'PY'
import csv, json
long = list(csv.DictReader(open("long.csv", newline="")))
wide = list(csv.DictReader(open("wide.csv", newline="")))
samples = json.load(open("s.json"))
assert len(wide) == 20 and len(samples) == 40
assert {r["set"] for r in long} == {"tree", "node"}
assert len(long) == 20 * 5 - 2  # one value of each set is unknown
for row, sample in zip(wide, [s for s in samples if s["set"] == "tree"]):
    assert row["time_ns"] == str(sample["time_ns"]) and row["host"] == "node01"
    for name in ("cpu", "rss", "threads"):
        assert row[name] == str(sample["values"].get(name, ""))
    assert row["rss"] == next((r["value"] for r in long if r["time_ns"] == row["time_ns"] and r["metric"] == "rss"), "")
load = [r["value"] for r in long if r["metric"] == "load1"]
assert all(float(v) >= 0 for v in load) and len(load) == 20
PY
    run -1 "$SONDE" export --what series --set no-such
    [[ $output == *"has no set no-such"* ]]
    run -2 "$SONDE" export --set tree
}

@test "perf events of processes and threads" {
    a_job
    "$SONDE" export --what events -f json | python3 -c '
import json, sys
events = json.load(sys.stdin)
assert {e["event"] for e in events} == {"task-clock", "page-faults"}
assert sum("tid" not in e for e in events) == 50 * 2
assert sum("tid" in e for e in events) == 5 * 3 * 2'
}

@test "jobs: all, or the given one" {
    a_job
    "$TOOLS/fake_job" "$SONDE_DB" job=build-2 name='a, "b"'$'\n''c'
    [ "$("$SONDE" export --what jobs -f json | python3 -c 'import json, sys; print(len(json.load(sys.stdin)))')" -eq 2 ]
    "$SONDE" export --what jobs -o jobs.csv
    python3 - <<'PY'
import csv
rows = {r["job"]: r for r in csv.DictReader(open("jobs.csv", newline=""))}
assert rows["build-2"]["name"] == 'a, "b"\nc', rows
assert rows["build-1"]["processes"] == "50" and rows["build-1"]["exit_code"] == "2"
PY
    [ "$("$SONDE" export --what jobs -f jsonl build-1 | wc -l)" -eq 1 ]
}

@test "write errors are reported, a closed pipe is no error" {
    a_job
    run -1 "$SONDE" export -o "$T/no/such/file"
    [[ $output == *"cannot write to $T/no/such/file"* ]]
    run -1 sh -c '"$SONDE" export >/dev/full'
    [[ $output == *"no space left"* ]]
    run -1 sh -c '"$SONDE" export --what series >/dev/full'
    [[ $output == *"no space left"* ]]
    "$TOOLS/fake_job" "$SONDE_DB" job=large processes=20000
    "$SONDE" export | head -n 1 >/dev/null
    sh -c 'trap "" PIPE; "$SONDE" export 2>"$T/err"; echo $? >"$T/status"' | true
    [ "$(cat "$T/status")" -eq 0 ]
    [ ! -s "$T/err" ]
    run -2 "$SONDE" export --format xml
    run -1 "$SONDE" export no-such
}

@test "arguments of any bytes are preserved" {
    long=$(head -c 100000 /dev/zero | tr '\0' x)
    "$SONDE" run -- /bin/echo $'two\nlines' $'\xff\xfe' "it's, \"so\"" '' "$long" >/dev/null
    "$SONDE" export -o p.csv
    "$SONDE" export -f json -o p.json
    "$SONDE" ps --json >ps.json
    python3 - <<'PY'
import base64, csv, json, shlex
csv.field_size_limit(1 << 30)
words = [b"/bin/echo", b"two\nlines", b"\xff\xfe", b"it's, \"so\"", b"", b"x" * 100000]
for file in ("p.json", "ps.json"):
    (process,) = json.load(open(file))
    assert base64.b64decode(process["args_base64"]) == b"".join(w + b"\0" for w in words)
    assert process["args"][1] == "two\nlines" and process["args"][2] == "\ufffd\ufffd", process["args"][:4]
(row,) = csv.DictReader(open("p.csv", newline="", encoding="utf-8"))
assert shlex.split(row["args"]) == ["/bin/echo", "two\nlines", "\\xff\\xfe", "it's, \"so\"", "", "x" * 100000]
PY
    run -0 env LC_ALL=C "$SONDE" ps
    [ "${#lines[@]}" -eq 2 ]
    [ -z "$(awk 'length($0) > 80' <<<"$output")" ]
}

@test "host and user are columns after the original ones" {
    "$TOOLS/fake_job" "$SONDE_DB" job=multi run=a host=node-a user=anna processes=3
    "$TOOLS/fake_job" "$SONDE_DB" job=multi run=b host=node-b user=bert processes=2
    "$SONDE" export -o p.csv
    "$SONDE" export -w threads -o t.csv
    "$SONDE" export -f json -o p.json
    "$SONDE" ps --json >ps.json
    python3 - <<'PY'
import csv, json
where = [("node-a", "anna")] * 3 + [("node-b", "bert")] * 2
for name in "p.csv", "t.csv":
    rows = list(csv.DictReader(open(name, newline="")))
    assert [(r["host"], r["user"]) for r in rows] == where, rows
    columns = list(rows[0])
    assert columns[0] == "job" and columns.index("host") == columns.index("timeslices") + 1
assert all("probe" in r["sources"] for r in rows)
for name in "p.json", "ps.json":
    assert [(o["host"], o["user"]) for o in json.load(open(name))] == where
PY
    sqlite3 "$SONDE_DB" "UPDATE processes SET uid = uid + 1 WHERE number = 4"
    "$SONDE" ps --json | python3 -c 'import json, sys; assert "user" not in json.load(sys.stdin)[4]' # another user's process
}

@test "conflicting options are rejected" {
    a_job
    run -2 "$SONDE" export -c
    [[ $output == *"--callpath requires --format extrap"* ]]
    run -2 "$SONDE" export -w series -f extrap
    [[ $output == *"--format extrap exports program metrics"* ]]
    run -2 "$SONDE" export --set tree -f extrap
    run -2 "$SONDE" export --set tree
    [[ $output == *"--set requires --what series"* ]]
}
