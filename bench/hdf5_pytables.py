#!/usr/bin/python3
"""hdf5_pytables.py DIRECTORY: the counterpart of bench-hdf5. Writes rows of taskstats with PyTables as Colmet's collector does, with
one append and one flush each."""
import os
import sys
import time

import tables

NAMES = [f"counter_{i}" for i in range(30)]
COLUMNS = {name: tables.Int64Col(dflt=-1) for name in NAMES + ["job_id", "timestamp"]}
COLUMNS["hostname"] = tables.StringCol(255)
COLUMNS["metric_backend"] = tables.StringCol(255)


def measure(level, count):
    path = os.path.join(sys.argv[1], "bench-pytables.hdf5")
    with tables.open_file(path, "w") as file:
        filters = tables.Filters(complevel=level, complib="zlib") if level else None
        made = [file.create_table(f"/job_{i}", "taskstats_default", COLUMNS, filters=filters, createparents=True) for i in range(100)]
        begin, used = time.perf_counter(), time.process_time()
        for n in range(count):
            table = made[n % 100]
            row = table.row
            for i, name in enumerate(NAMES):
                row[name] = n * (i + 1) * 1009
            row["job_id"], row["timestamp"] = n % 100, 1794767178 + n
            row["hostname"], row["metric_backend"] = "n0", "taskstats_default"
            row.append()
            table.flush()
        wall, used = time.perf_counter() - begin, time.process_time() - used
    os.remove(path)
    print(f"level {level}: {count / wall:8.0f} rows/s, {count / used:8.0f} rows per second of CPU; PyTables as Colmet uses it")


measure(0, 10000)
measure(9, 1500)
