#!/usr/bin/env python3
"""Writes the bytes of a file as a constant of C: embed.py NAME FILE > HEADER."""
import sys
from pathlib import Path


def main():
    name, file = sys.argv[1:]
    data = Path(file).read_bytes()
    rows = (", ".join(str(byte) for byte in data[at:at + 24]) for at in range(0, len(data), 24))
    print(f"/* Made by embed.py of {Path(file).name}. */")
    print(f"static const unsigned char {name}[] __attribute__((aligned(8))) = {{\n    " + ",\n    ".join(rows) + "\n};")


main()
