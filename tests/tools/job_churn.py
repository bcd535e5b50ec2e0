#!/usr/bin/env python3
"""job_churn.py NAME BURN TURNS [FIRST]: short jobs in cgroups, to compare what was stored with the kernel's own count.

In each turn 24 jobs run at the same time, in the cgroups slurm_NAME/uid_0/job_N of three hierarchies of v1 and of v2. Each runs
BURN for some milliseconds, reads the CPU time from cpuacct.usage when the process has exited, and removes its directories in one
of the 24 possible orders. In even turns the agent has time to read the final values, in odd turns the directories are removed at
once. Prints a line "JOB CPU_US EXIT_NS" for each, with the time after which the CPU time no longer changed.
"""
import itertools
import os
import subprocess
import sys
import threading
import time

HIERARCHIES = [f"/sys/fs/cgroup/{name}" for name in ("cpuacct", "memory", "freezer", "unified")]
JOIN = 'burn=$0 ms=$1; shift; for group; do echo 0 >"$group/cgroup.procs" || exit; done; exec "$burn" "$ms"'
LATE_S = 0.4  # several ticks


def run_job(job, directories, order, burn, is_late):
    for directory in directories:
        os.mkdir(directory)
    subprocess.run(["sh", "-c", JOIN, burn, str(5 + job % 7 * 5), *directories], check=True)
    with open(directories[0] + "/cpuacct.usage") as usage:
        print(job, int(usage.read()) // 1000, time.time_ns(), flush=True)
    time.sleep(LATE_S if is_late else 0)
    for i in order:
        os.rmdir(directories[i])
        time.sleep(job % 3 * 0.02)


def run_turn(parents, first, burn, is_late):
    threads = []
    for at, order in enumerate(itertools.permutations(range(len(parents)))):
        directories = [f"{parent}/job_{first + at}" for parent in parents]
        threads.append(threading.Thread(target=run_job, args=(first + at, directories, order, burn, is_late)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return first + len(threads)


def main():
    name, burn, turns = sys.argv[1], sys.argv[2], int(sys.argv[3])
    job = int(sys.argv[4]) if len(sys.argv) > 4 else 1000
    parents = [f"{hierarchy}/slurm_{name}/uid_0" for hierarchy in HIERARCHIES]
    for parent in parents:
        os.makedirs(parent, exist_ok=True)
    for turn in range(turns):
        job = run_turn(parents, job, burn, turn % 2 == 0)


main()
