#!/usr/bin/env python3
"""Counts samples at both ends: lossless.py AGENT.json KILLS ROWS...

AGENT.json is what the agent wrote itself, a line for each sample; KILLS has the last line of it for each time that the agent
was killed. ROWS are files of sinks: lines of JSON, or CSV with a line for each value. Every sample must be in each of them,
once, and nothing else. Of a folder (the tree of the sink csv), a store (.db) and influx lines (.lp) the samples of each set
are counted. What an agent was writing when it was killed may be at one end only: one sample for each kill."""
import csv
import json
import sqlite3
import sys
from collections import Counter
from pathlib import Path


def parsed(line):
    try:
        return json.loads(line)
    except ValueError:
        return None


def key(sample):
    return int(sample["time_ns"]), sample["set"], sample.get("instance", "")


def keys_of_json(path):
    found = []
    for line in open(path, errors="replace"):
        sample = parsed(line)
        found.append(key(sample) if sample else None)
    return found


def keys_of_csv(path):
    """Each sample is represented by its first value; all of its values must occur equally often."""
    values = {}
    for row in csv.DictReader(open(path, newline="")):
        one = key(row), row["metric"]
        values[one] = values.get(one, 0) + 1
    found, seen = [], set()
    for (sample, _), count in values.items():
        if sample not in seen:
            seen.add(sample)
            found += [sample] * count
        elif count > 1 and count != found.count(sample):
            found.append(sample)
    return found


def counts_of_tree(path):
    """The number of rows of each set, and how many of them are duplicates."""
    rows, doubles = Counter(), 0
    for file in Path(path).rglob("*.csv"):
        lines = [line for line in file.read_text().split("\n") if line and line[0] != "#"]
        rows[file.stem] += len(lines)
        doubles += len(lines) - len(set(lines))
    return rows, doubles


def counts_of_store(path):
    query = "SELECT sets.name, sum(count) FROM series JOIN sets ON sets.id = set_id WHERE job = 0 GROUP BY 1"
    return Counter(dict(sqlite3.connect(path).execute(query))), 0


def counts_of_lines(path):
    lines = Path(path).read_text().split("\n")
    rows = Counter(line.split(",")[0] for line in lines if line)
    return rows, len(lines) - len(set(lines))


def compare_counts(path, truth, slack):
    count = counts_of_store if path.endswith(".db") else counts_of_lines if path.endswith(".lp") else counts_of_tree
    rows, doubles = count(path)
    expected = Counter(k[1] for k in truth)
    print(f"{path}: {dict(rows)} of {dict(expected)}, {doubles} duplicates")
    if doubles:
        yield f"{path}: {doubles} lines twice"
    for name in expected | rows:
        if abs(rows[name] - expected[name]) > slack * 2:
            yield f"{path}: {rows[name]} samples of {name}, and not {expected[name]}"


def at_and_after(moments, times):
    """The times of the last samples before each kill, and of the samples after them."""
    times = sorted(times)
    return {time for before, time in zip([None] + times, times) if time in moments or before in moments}


def main():
    agent_path, kills_path, *row_paths = sys.argv[1:]
    truth = keys_of_json(agent_path)
    kills = [parsed(line) for line in open(kills_path)]
    torn = truth.count(None)
    truth = [k for k in truth if k]
    each = len({k[1:] for k in truth})
    moments = {key(kill)[0] for kill in kills if kill}
    faults = []
    if torn > len(kills):
        faults.append(f"{torn} broken lines of the agent, which was killed {len(kills)} times")
    if len(truth) != len(set(truth)):
        faults.append("the agent's own file has doubles")
    for path in row_paths:
        if Path(path).is_dir() or path.endswith((".db", ".lp")):
            faults += compare_counts(path, truth, len(kills))
            continue
        rows = (keys_of_csv if path.endswith(".csv") else keys_of_json)(path)
        if None in rows:
            faults.append(f"{path}: {rows.count(None)} broken lines")
        rows = [k for k in rows if k]
        doubles = len(rows) - len(set(rows))
        missing, more = set(truth) - set(rows), set(rows) - set(truth)
        near = at_and_after(moments, {k[0] for k in truth} | {k[0] for k in rows})
        excused = {k for k in missing | more if torn or k[0] in near}
        print(f"{path}: {len(rows)} samples of {len(truth)}, {doubles} duplicates, {len(missing)} missing, {len(more)} more, "
              f"{len(kills)} kills")
        if doubles:
            faults.append(f"{path}: {doubles} samples twice")
        if (missing | more) - excused:
            far = sorted((missing | more) - excused)
            faults.append(f"{path}: {len(far)} missing or too many, far from any kill: {far[:3]}")
        if len(excused) > each * (len(kills) + torn):
            faults.append(f"{path}: {len(excused)} missing or too many, at most {each} for each kill")
        if not rows:
            faults.append(f"{path}: nothing")
    for fault in faults:
        print("FAULT", fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
