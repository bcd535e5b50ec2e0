#!/usr/bin/python3
"""hdf5_check.py FILE JOB_EVERY [BATCHES]: reads a file that sink_feed wrote through the hdf5 sink, with h5py (with and without SWMR)
and with PyTables. Every batch must be there exactly once: 1, 2, 3, ... up to BATCHES."""
import sys

import h5py
import numpy
import tables

path, job_every = sys.argv[1], int(sys.argv[2])
wanted = int(sys.argv[3]) if len(sys.argv) > 3 else None


def last_of(numbers, what):
    numbers = numpy.sort(numpy.array(numbers, dtype="i8"))
    if len(numbers) == 0:
        return 0
    assert numbers[0] == 1 and (numpy.diff(numbers) == 1).all(), (what, numbers[:5], numbers[-5:], len(numbers))
    return int(numbers[-1])


def with_h5py(swmr):
    tasks, loads = [], []
    with h5py.File(path, "r", libver="latest" if swmr else None, swmr=swmr) as file:
        for name in file:
            if name.startswith("job_") and name != "job_0":
                rows = file[name + "/taskstats_default"][:]
                assert (rows["job_id"] == int(name[4:])).all()
                assert (1 + rows["cpu_count"] // job_every == rows["job_id"]).all()
                assert (rows["metric_backend"] == b"taskstats_default").all()
                tasks += list(rows["cpu_count"])
        if "job_0" in file:
            loads = list(file["job_0/procstats_default"][:]["loadavg_runnable"])
    return last_of(tasks, "taskstats"), last_of(loads, "loadavg")


def with_pytables():
    tasks, loads = [], []
    with tables.open_file(path) as file:
        for table in file.walk_nodes("/", "Table"):
            assert table.nrows == len(table[:])
            if table.name == "taskstats_default":
                tasks += [row["cpu_count"] for row in table]
            elif table.name == "procstats_default":
                loads += [row["loadavg_runnable"] for row in table]
    return last_of(tasks, "taskstats"), last_of(loads, "loadavg")


found = [with_h5py(False), with_h5py(True), with_pytables()]
print(*found)
if wanted is not None:
    assert all(both == (wanted, wanted) for both in found), (wanted, found)
