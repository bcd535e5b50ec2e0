#!/usr/bin/env python3
"""Writes the system calls that the C library's headers know as lists of C: syscall_list.py COMPILER… > syscall_list.h.

SYSCALL_LIST(X) has X(number, name) for each call of this machine, SYSCALL_LIST_I386(X) those of 32-bit programs on x86."""
import re
import subprocess
import sys


def numbers(compiler, header, prefix):
    """Name and number of each macro with the prefix; nothing where there is no such header."""
    asked = f"#if __has_include(<{header}>)\n#include <{header}>\n#endif\n"
    text = subprocess.run([*compiler, "-E", "-dM", "-x", "c", "-"], input=asked, capture_output=True, text=True, check=True)
    macros = dict(re.findall(rf"^#define {prefix}(\w+) (\w+)$", text.stdout, re.M))
    for name in macros:
        value = macros[name]
        while value.startswith(prefix):  # SYS_read is __NR_read where both are there
            value = macros.get(value[len(prefix):], "")
        if value.isdigit():
            yield int(value), name


def write(macro, calls):
    rows = "".join(f" \\\n    X({number}, {name})" for number, name in sorted(calls))
    print(f"#define {macro}(X){rows}\n")


def main():
    compiler = sys.argv[1:]
    print("/* Made by syscall_list.py. */")
    write("SYSCALL_LIST", numbers(compiler, "asm/unistd.h", "__NR_"))
    write("SYSCALL_LIST_I386", numbers(compiler, "asm/unistd_32.h", "__NR_"))


main()
