#!/usr/bin/python3
"""hdf5_layout.py FILE: prints the layout of an HDF5 file as lines, for comparisons. Row counts and items that only Sonde writes are
omitted."""
import sys

import h5py

OWN = {"sonde_table", "NROWS"}


def attributes(thing):
    lines = []
    for name in sorted(thing.attrs):
        if name in OWN:
            continue
        attribute = thing.attrs.get_id(name)
        kind = attribute.get_type()
        text = isinstance(kind, h5py.h5t.TypeStringID)
        how = f"text {kind.get_size()} {kind.get_strpad()} {kind.get_cset()}" if text else str(attribute.dtype)
        lines.append(f"  @{name} {how} {attribute.get_space().get_simple_extent_type()} {thing.attrs[name]!r}")
    return lines


def show(name, thing):
    if "_p_sonde" in name or name == "mapping":
        return
    print(f"{name} {type(thing).__name__}")
    if isinstance(thing, h5py.Dataset):
        print(f"  chunk {thing.chunks} most {thing.maxshape} filter {thing.compression} shuffle {thing.shuffle}")
        for column in thing.dtype.names:
            print(f"  .{column} {thing.dtype[column]} at {thing.dtype.fields[column][1]} fill {thing.fillvalue[column]!r}")
    print("\n".join(attributes(thing)))


with h5py.File(sys.argv[1], "r") as file:
    print("/")
    print("\n".join(attributes(file)))
    file.visititems(show)
