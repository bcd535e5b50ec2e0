#!/usr/bin/env python3
"""An independent client of tau_metric_proxy's socket: written from the description of the protocol, without Sonde's code.

    tau_client.py [-u PATH] [-j JOB] WORD...   runs these commands in order:
      counter NAME [DOC]   gauge NAME [DOC]    declare a metric
      add NAME VALUE       set NAME VALUE      send a value
      list                 all                 print the metrics of the proxy, or their values
      get NAME                                 print one value, or "unknown"
      raw HEX              send bytes          desc TYPE NAME  declare with any type
      wait SECONDS         stay                keep the connection until a line is read from stdin
      expect-close                             fail unless the server closes the connection
"""
import os
import socket
import struct
import sys
import time

MESSAGE = 624
DESCRIPTOR = struct.Struct("<300s300si")
EVENT = struct.Struct("<300s4xdd")


def message(kind, payload=b"", canary=7):
    return struct.pack("<i4x", kind) + payload.ljust(608, b"\0") + bytes([canary]) + bytes(7)


def descriptor(name, doc="", kind=1):
    return DESCRIPTOR.pack(name.encode("utf-8", "surrogateescape")[:300], doc.encode("utf-8", "surrogateescape")[:300], kind)


def event(name, value):
    return EVENT.pack(name.encode("utf-8", "surrogateescape")[:300], value, 0.0)


def job(jobid, command="client"):
    data = bytearray(1112)
    data[0:64] = jobid.encode()[:63].ljust(64, b"\0")
    data[64:576] = command.encode()[:511].ljust(512, b"\0")
    struct.pack_into("<i", data, 576, -1)
    struct.pack_into("<QQ", data, 1096, int(time.time()), int(time.time()))
    return bytes(data)


def text(data):
    return data.split(b"\0", 1)[0].decode("utf-8", "replace")


class Client:
    def __init__(self, path=None, jobid=""):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(path or os.environ.get("TAU_METRIC_PROXY") or f"/tmp/tau_metric_proxy.{os.getuid()}.unix")
        self.socket.settimeout(60)
        self.send(message(5) + job(jobid))

    def send(self, data):
        self.socket.sendall(data)

    def read(self, size):
        data = b""
        while len(data) < size:
            piece = self.socket.recv(size - len(data))
            if not piece:
                raise EOFError("the proxy closed the connection")
            data += piece
        return data

    def describe(self, name, doc="", kind=1):
        self.send(message(0, descriptor(name, doc, kind)))

    def value(self, name, value):
        self.send(message(1, event(name, value)))

    def list(self):
        self.send(message(2))
        count = struct.unpack("<i", self.read(4))[0]
        return [(text(n), text(d), k) for n, d, k in
                (DESCRIPTOR.unpack(self.read(DESCRIPTOR.size)) for _ in range(count))]

    def values(self):
        self.send(message(3))
        count = struct.unpack("<i", self.read(4))[0]
        return [(text(n), v, ts) for n, v, ts in (EVENT.unpack(self.read(EVENT.size)) for _ in range(count))]

    def get(self, name):
        self.send(message(4, descriptor(name)))
        name, value, ts = EVENT.unpack(self.read(EVENT.size))
        return (text(name), value, ts) if text(name) else None

    def is_closed(self):
        """True if the server closes the connection; ignores what it still sends."""
        try:
            while self.socket.recv(65536):
                pass
            return True
        except ConnectionError:
            return True
        except TimeoutError:
            return False


def do(client, words):
    word = words.pop(0)
    if word in ("counter", "gauge"):
        name = words.pop(0)
        doc = words.pop(0) if words and words[0].startswith("doc:") else "doc:"
        client.describe(name, doc[4:], 1 if word == "counter" else 2)
    elif word == "desc":
        client.describe(words.pop(1), "", int(words.pop(0)))
    elif word in ("add", "set"):
        client.value(words.pop(0), float(words.pop(0)))
    elif word == "list":
        for name, doc, kind in client.list():
            print(kind, name, doc, sep="\t")
    elif word == "all":
        for name, value, _ in client.values():
            print(name, repr(value), sep="\t")
    elif word == "get":
        found = client.get(words.pop(0))
        print(f"{found[0]}\t{found[1]!r}" if found else "unknown")
    elif word == "raw":
        client.send(bytes.fromhex(words.pop(0)))
    elif word == "wait":
        time.sleep(float(words.pop(0)))
    elif word == "stay":
        print("here", flush=True)
        sys.stdin.readline()
    elif word == "expect-close":
        if not client.is_closed():
            sys.exit("the proxy did not close the connection")
    else:
        sys.exit(f"what is {word}?")
    sys.stdout.flush()


def main():
    words, path, jobid = sys.argv[1:], None, ""
    while words and words[0] in ("-u", "-j"):
        if words.pop(0) == "-u":
            path = words.pop(0)
        else:
            jobid = words.pop(0)
    client = Client(path, jobid)
    while words:
        do(client, words)
    if client.get("") is not None:  # everything before it was processed
        sys.exit("a metric without a name")


if __name__ == "__main__":
    try:
        main()
    except (EOFError, ConnectionError) as error:
        sys.exit(str(error))
