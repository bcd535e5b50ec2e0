#!/usr/bin/env python3
"""Decodes streams by docs/wire.md alone and compares the result with our decoder: read.py STREAM_TOOL FILE….

Each file has records, preceded by their sizes in two bytes; "made" instead of a file: the tool generates one."""
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

M = (1 << 64) - 1
UNITS = [1, 512, 1024, 4096, 1000, 10000, 1000000, 10000000]
UNIT_ORDER = [7, 6, 5, 3, 4, 2, 1]


def unzigzag(n):
    return (n >> 1) ^ -(n & 1)


def signed(n):
    n &= M
    return n - (1 << 64) if n >> 63 else n


def divided(n, by):  # towards 0
    return -(-n // by) if n < 0 else n // by


class Bytes:
    def __init__(self, data):
        self.data, self.at = data, 0

    def varint(self):
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            shift += 7
            if not byte & 128:
                return value & M

    def take(self, size):
        assert self.at + size <= len(self.data)
        self.at += size
        return self.data[self.at - size:self.at].decode()

    def text(self):
        return self.take(self.varint())

    def text_or_none(self):
        size = self.varint()
        return self.take(size - 1) if size else None


class Bits:
    def __init__(self, data, at):
        self.data, self.at = data, at * 8

    def bit(self):
        self.at += 1
        return self.data[(self.at - 1) // 8] >> (self.at - 1) % 8 & 1

    def number(self, size):
        return sum(self.bit() << i for i in range(size))

    def golomb(self, k):
        zeros = 0
        while not self.bit():
            zeros += 1
        return (self.number(k + zeros) | 1 << (k + zeros)) - (1 << k)

    def rank(self):
        if not self.bit():
            return self.bit()
        if not self.bit():
            return 2 + self.bit()
        return 4 + self.golomb(1)

    def end(self):
        return (self.at + 7) // 8


def sizes_in_order(last):
    order = [last]
    for distance in range(1, 70):
        if last - distance > 0:
            order.append(last - distance)
        order.append(last + distance)
    order.insert(1 if last <= 2 else 2 if last <= 4 else 4, 0)
    return order


def whole_of(real, scale):
    product = real * scale
    if not -4e15 < product < 4e15:
        return None
    whole = round(product)
    return whole if struct.pack("<d", whole / scale) == struct.pack("<d", real) else None


def real_of(bits):
    return struct.unpack("<d", struct.pack("<Q", bits))[0]


def bits_of(real):
    return struct.unpack("<Q", struct.pack("<d", real))[0]


class Value:
    def __init__(self, kind, sort):
        self.is_counter, self.is_real = kind == 0, sort == 2
        self.value = self.unit = self.size = self.delta = 0
        self.known, self.link = False, None


class Track:
    def __init__(self, number, described, instance, job):
        self.number, self.set, self.instance, self.job = number, described, instance, job
        self.values = [Value(kind, sort) for kind, sort, _ in described[1]]
        self.time = self.time_size = 0
        self.record = None


class Sizes:
    """Coded differences: runs of quiet values, sizes of the others."""
    def __init__(self, bits):
        self.bits, self.run = bits, None

    def residual(self, last):
        """coded difference, new last size, escaped"""
        if last == 0:
            if self.run is None:
                self.run = self.bits.golomb(3)
            if self.run:
                self.run -= 1
                return 0, 0, False
            self.run = None
            size = self.bits.golomb(0) + 1
        else:
            size = sizes_in_order(last)[self.bits.rank()]
        escapes = size == 65
        if escapes:
            size = self.bits.golomb(0) + 1
        residual = self.bits.number(size - 1) | 1 << (size - 1) if size else 0
        return residual, min(size, 31), escapes


class Stream:
    def __init__(self):
        self.sets, self.tracks, self.jobs = {}, {}, {}
        self.time = self.step = self.records = 0

    def read_set(self, b):
        number, name = b.varint(), b.text()
        b.text_or_none()
        metrics = []
        for _ in range(b.varint()):
            sort = b.varint()
            metrics.append((sort & 1, sort >> 1, b.text()))
            for _ in range(3):
                b.text_or_none()
        self.sets[number] = (name, metrics)

    def read_track(self, b):
        number, of = b.varint(), b.varint()
        self.tracks[number] = Track(number, self.sets[of], b.text(), b.text_or_none())

    def read_job(self, b):
        number, texts = b.varint(), [b.text() for _ in range(4)]
        uid = b.varint() - 1
        for _ in range(4):
            b.varint()
        self.jobs[number] = (texts[0], texts[3], uid & 0xffffffff)

    def prediction(self, track, i):
        link = track.values[i].link
        if link is None:
            return 0
        other = self.tracks.get(track.number - (link >> 12))
        of = link & 0xfff
        if not other or other.record != self.records or of >= len(other.values) or other.values[of].is_real \
                or (other is track and of >= i):
            return 0
        return divided(signed(other.values[of].delta), UNITS[other.values[of].unit]) * UNITS[track.values[i].unit]

    def read_whole(self, sizes, track, i):
        v = track.values[i]
        is_linked = v.link is not None
        r, v.size, escapes = sizes.residual(v.size)
        rest = unzigzag(r) if escapes or is_linked or not v.is_counter else signed(r)
        if not escapes:
            rest *= UNITS[v.unit]
        v.delta = (rest + self.prediction(track, i)) & M
        last, v.value = v.value, (v.value + v.delta) & M
        if v.delta and (escapes or (last == 0 and v.unit == 0)):
            v.unit = next((u for u in UNIT_ORDER if signed(v.value) % UNITS[u] == 0 and signed(v.delta) % UNITS[u] == 0), 0)

    def read_real(self, sizes, v):
        r, v.size, escapes = sizes.residual(v.size)
        if r == 0:
            return
        if v.unit == 0 or escapes:
            v.value ^= r
            now = real_of(v.value)
            v.unit = 1 if whole_of(now, 100) is not None else 2 if whole_of(now, 1000000) is not None else 0
        else:
            scale = 100 if v.unit == 1 else 1000000
            v.value = bits_of((whole_of(real_of(v.value), scale) + unzigzag(r)) / scale)

    def read_values(self, sizes, track):
        changes, _, _ = sizes.residual(0)
        for v in track.values if changes else []:
            v.known = bool(sizes.bits.bit())
        for v in track.values:
            v.delta = 0
        track.record = self.records
        for i, v in enumerate(track.values):
            if v.known and v.is_real:
                self.read_real(sizes, v)
            elif v.known:
                self.read_whole(sizes, track, i)

    def read_samples(self, b, lines):
        count, tracks, behind = b.varint(), [], 0
        while len(tracks) < count:
            first = behind + unzigzag(b.varint())
            behind = first + b.varint()
            tracks += [self.tracks[n] for n in range(first, behind)]
        sizes = Sizes(Bits(b.data, b.at))
        before = before_last = None
        for track in tracks:
            expected = before.time + track.time - before_last if before \
                else self.time + (self.step + 500000) // 1000000 * 1000000
            r, track.time_size, _ = sizes.residual(track.time_size)
            last, track.time = track.time, (expected + unzigzag(r)) & M
            if not before:
                self.step, self.time = (track.time - self.time) & M if self.time else 0, track.time
            before, before_last = track, last
            self.read_values(sizes, track)
            known = "".join(f" {m[2]}={v.value:x}" for m, v in zip(track.set[1], track.values) if v.known)
            lines.append(f"sample {track.set[0]}|{track.instance}|{track.job or '-'}|{track.time}{known}")
        assert not sizes.run, "the last run goes beyond the record"
        b.at = sizes.bits.end()

    def read_changes(self, b):
        gone = []
        for table in (self.tracks, self.sets, self.jobs):
            for _ in range(b.varint()):
                number = b.varint()
                if table is self.jobs:
                    gone.append(table[number])
                del table[number]
        for _ in range(b.varint()):
            track, value, link = self.tracks.get(b.varint()), b.varint(), b.varint()
            if track:
                track.values[value].link = link - 1 if link else None
        return gone

    def read(self, record):
        b, samples, events, gaps, gone = Bytes(record), [], [], [], []
        self.records += 1
        sections = b.varint()
        for bit, reader in ((1, self.read_set), (2, self.read_track), (4, self.read_job)):
            for _ in range(b.varint() if sections & bit else 0):
                reader(b)
        for _ in range(b.varint() if sections & 8 else 0):
            event = b.varint()
            events.append((event & 3, self.jobs[event >> 2]))
        for _ in range(b.varint() if sections & 16 else 0):
            start = b.varint()
            gaps.append(f"gap {start} {start + unzigzag(b.varint())} {b.varint()} {b.text()}")
        if sections & 32:
            self.read_samples(b, samples)
        if sections & 64:
            gone = self.read_changes(b)
        assert b.at == len(record), "bytes are left"
        jobs = list(self.jobs.values()) + [j for j in gone if any(j is e[1] for e in events)]
        return samples + ["job %s|%s|%d" % j for j in jobs] + [f"event {e} {j[0]}" for e, j in events] + gaps


def read_file(path):
    data, at, stream, lines = Path(path).read_bytes(), 0, Stream(), []
    while at < len(data):
        size = struct.unpack_from("<H", data, at)[0]
        lines += stream.read(data[at + 2:at + 2 + size])
        at += 2 + size
    return lines, stream


def main():
    tool, files = sys.argv[1], sys.argv[2:]
    failed = False
    print(f"1..{len(files)}")
    for number, file in enumerate(files, 1):
        with tempfile.TemporaryDirectory() as folder:
            path = file
            if file == "made":
                path = folder + "/stream"
                subprocess.run([tool, "make", path], check=True)
            ours = subprocess.run([tool, "dump", path], check=True, capture_output=True, text=True).stdout.splitlines()
            lines, stream = read_file(path)
        links = sum(v.link is not None for t in stream.tracks.values() for v in t.values)
        wrong = next((i for i, pair in enumerate(zip(ours, lines)) if pair[0] != pair[1]), None)
        good = wrong is None and len(ours) == len(lines) and len(ours) > 0 and (links > 0 or file != "made")
        failed |= not good
        print(f"{'' if good else 'not '}ok {number} - {Path(file).name}: {len(ours)} lines and {links} links, read by the page")
        if not good:
            print(f"# {len(ours)} lines of ours, {len(lines)} of the page's")
            if wrong is not None:
                print(f"# line {wrong}\n# ours: {ours[wrong]}\n# page: {lines[wrong]}")
    sys.exit(failed)


main()
