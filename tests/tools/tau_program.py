#!/usr/bin/env python3
"""A program with the protocol of tau's client library, written from its description: tau_program.py SOCKET [job=ID] [command=TEXT]
[size=N] [seconds=N] [counter NAME VALUE DOC]... [gauge NAME VALUE DOC]..."""
import socket
import struct
import sys
import time


def message(kind, payload):
    return struct.pack("<i4x608sB7x", kind, payload, 7)


def job(values):
    return struct.pack("<64s512si128s64s64s256s4xQQ", values.get("job", "").encode(),
                       values.get("command", "./prog").encode(), int(values.get("size", -1)), b"n[1-2]", b"debug", b"cluster",
                       b"/home", int(time.time()), int(time.time()))


def main():
    path, words = sys.argv[1], sys.argv[2:]
    values = {}
    while words and "=" in words[0] and words[0] not in ("counter", "gauge"):
        key, _, value = words.pop(0).partition("=")
        values[key] = value
    link = socket.socket(socket.AF_UNIX)
    link.connect(path)
    link.sendall(message(5, b"") + job(values))
    while words:
        kind, name, value, doc = words[:4]
        words = words[4:]
        link.sendall(message(0, struct.pack("<300s300si", name.encode(), doc.encode(), 1 if kind == "counter" else 2)))
        link.sendall(message(1, struct.pack("<300s4xdd", name.encode(), float(value), 0.0)))
    link.sendall(message(4, b""))  # a response: everything before it was processed
    left = 320
    while left:
        piece = link.recv(left)
        assert piece, "the proxy closed the connection"
        left -= len(piece)
    print("sent", flush=True)
    time.sleep(float(values.get("seconds", 0)))


main()
