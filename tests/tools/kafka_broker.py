#!/usr/bin/env python3
"""kafka_broker.py DIR PORT [SLOW_MS]: a single-node Kafka broker with transactions, which the other brokers of the scenes do not have
(Kafka has them since 0.11): idempotent and transactional producers, fencing, commit and abort markers, read_committed consumers,
group offsets inside of transactions. No consumer group membership.

Every request is in DIR/log before the response, so that it can be killed and restarted at any time. DIR/ready exists when it listens.
SLOW_MS: delays responses to writes by about this time, so that a kill hits the middle of a transaction."""
import asyncio
import os
import pickle
import random
import struct
import sys
import time

NODE, HOST, NONE = 0, "127.0.0.1", -1
UNSUPPORTED_VERSION, OUT_OF_ORDER, INVALID_EPOCH, INVALID_TXN_STATE, INVALID_MAPPING, FENCED = 35, 45, 47, 48, 49, 90
UNKNOWN_TOPIC = 3
HEAD = struct.Struct(">qiibIhiqqqhii")  # of a record batch
TRANSACTIONAL, CONTROL = 0x10, 0x20
PARTITIONS = 2


def crc32c_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


TABLE = crc32c_table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def marker(pid, epoch, committed):
    """A batch of one control record: the commit or abort of a transaction."""
    record = b"\x00\x00\x00" + b"\x08" + struct.pack(">hh", 0, 1 if committed else 0) + b"\x0c" + struct.pack(">hi", 0, 0) + b"\x00"
    record = bytes([len(record) * 2]) + record
    now = int(time.time() * 1000)
    behind = struct.pack(">hiqqqhii", TRANSACTIONAL | CONTROL, 0, now, now, pid, epoch, -1, 1) + record
    return struct.pack(">qiibI", 0, 9 + len(behind), 0, 2, crc32c(behind)) + behind


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, form):
        value = struct.unpack_from(">" + form, self.data, self.at)[0]
        self.at += struct.calcsize(">" + form)
        return value

    def bytes(self, size):
        if size < 0:
            return None
        self.at += size
        return self.data[self.at - size : self.at]

    def text(self):
        data = self.bytes(self.take("h"))
        return data if data is None else data.decode()

    def list(self, one):
        return [one() for _ in range(max(self.take("i"), 0))]


def text(value):
    return struct.pack(">h", NONE) if value is None else struct.pack(">h", len(value.encode())) + value.encode()


def array(items):
    items = list(items)
    return struct.pack(">i", len(items)) + b"".join(items)


class Partition:
    def __init__(self):
        self.batches, self.next, self.sequences = [], 0, {}
        self.open, self.aborted = {}, []  # producer: first offset; (producer, first, last)

    def stable(self):
        return min(self.open.values(), default=self.next)

    def append(self, data):
        fields = HEAD.unpack_from(data)
        attributes, count, pid, epoch, sequence = fields[5], fields[6] + 1, fields[9], fields[10], fields[11]
        base, self.next = self.next, self.next + count
        self.batches.append((base, self.next - 1, struct.pack(">q", base) + data[8:]))
        if attributes & TRANSACTIONAL and not attributes & CONTROL:
            self.open.setdefault(pid, base)
        if sequence >= 0:
            self.sequences.setdefault((pid, epoch), []).append((sequence, count, base))
        return base

    def end(self, pid, epoch, committed):
        first, last = self.open.pop(pid, None), self.next - 1
        self.append(marker(pid, epoch, committed))
        if first is not None and not committed:
            self.aborted.append((pid, first, last))

    def check(self, data):
        """(error, offset); for a duplicate the offset of the first one."""
        fields = HEAD.unpack_from(data)
        pid, epoch, sequence = fields[9], fields[10], fields[11]
        known = self.sequences.get((pid, epoch), [])
        for begin, _, base in known[-5:]:
            if begin == sequence:
                return 0, base
        expected = known[-1][0] + known[-1][1] if known else 0
        return (OUT_OF_ORDER if pid >= 0 and sequence != expected else 0), None


class Broker:
    def __init__(self, folder, port, slow_ms):
        self.port, self.partitions, self.slow_s = port, PARTITIONS, slow_ms / 1000
        self.topics, self.offsets, self.senders, self.pids = {}, {}, {}, {}
        self.last_pid = 1000
        path = os.path.join(folder, "log")
        self.load(path)
        self.log = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def load(self, path):
        data, at = open(path, "rb").read() if os.path.exists(path) else b"", 0
        while at + 4 <= len(data):
            size = struct.unpack_from(">I", data, at)[0]
            if at + 4 + size > len(data):
                break
            self.apply(*pickle.loads(data[at + 4 : at + 4 + size]))
            at += 4 + size
        if at < len(data):
            os.truncate(path, at)

    def do(self, *step):
        frame = pickle.dumps(step)
        os.write(self.log, struct.pack(">I", len(frame)) + frame)
        return self.apply(*step)

    def apply(self, verb, *facts):
        return getattr(self, "apply_" + verb)(*facts)

    def apply_topic(self, name):
        self.topics[name] = [Partition() for _ in range(self.partitions)]

    def apply_sender(self, name, pid, epoch, timeout_ms):
        self.last_pid = max(self.last_pid, pid)
        self.pids[pid] = epoch
        if name is not None:
            self.senders[name] = {"pid": pid, "epoch": epoch, "parts": [], "offsets": [], "open": False, "ended": None,
                                  "timeout": timeout_ms, "began": time.monotonic()}

    def apply_add(self, name, parts):
        sender = self.senders[name]
        if not sender["open"]:
            sender["began"] = time.monotonic()
        sender["open"] = True
        sender["parts"] += [part for part in parts if part not in sender["parts"]]

    def apply_append(self, topic, partition, data):
        return self.topics[topic][partition].append(data)

    def apply_offsets(self, name, group, marks):
        self.senders[name]["offsets"] += [(group, *mark) for mark in marks]

    def apply_end(self, name, committed):
        sender = self.senders[name]
        for topic, partition in sender["parts"]:
            self.topics[topic][partition].end(sender["pid"], sender["epoch"], committed)
        for group, topic, partition, offset, metadata in sender["offsets"] if committed else []:
            self.offsets[group, topic, partition] = offset, metadata
        sender.update(parts=[], offsets=[], open=False, ended=committed)

    def topic(self, name):
        if name not in self.topics:
            self.do("topic", name)
        return self.topics[name]

    def end_late(self):
        """Aborts transactions that have timed out."""
        for name, sender in list(self.senders.items()):
            if sender["open"] and time.monotonic() - sender["began"] > sender["timeout"] / 1000:
                self.do("end", name, False)
                self.do("sender", name, sender["pid"], sender["epoch"] + 1, sender["timeout"])

    def fault(self, name, pid, epoch):
        sender = self.senders.get(name)
        if not sender or sender["pid"] != pid:
            return INVALID_MAPPING
        return 0 if sender["epoch"] == epoch else INVALID_EPOCH

    # each takes a request and returns the response without its header

    def produce(self, r):
        name = r.text()
        r.take("h"), r.take("i")
        topics = r.list(lambda: (r.text(), r.list(lambda: (r.take("i"), r.bytes(r.take("i"))))))
        return array(text(topic) + array(struct.pack(">ihqq", part, *self.produce_one(name, topic, part, data), NONE)
                                         for part, data in parts) for topic, parts in topics) + struct.pack(">i", 0)

    def produce_one(self, name, topic, partition, data):
        if topic not in self.topics or partition >= self.partitions:
            return UNKNOWN_TOPIC, NONE
        pid, epoch = HEAD.unpack_from(data)[9:11]
        if pid >= 0 and self.pids.get(pid) != epoch:
            return INVALID_EPOCH, NONE
        if name is not None:
            sender = self.senders[name]
            if not sender["open"] or (topic, partition) not in sender["parts"]:
                return INVALID_TXN_STATE, NONE
        error, base = self.topics[topic][partition].check(data)
        if error or base is not None:
            return error, NONE if error else base
        return 0, self.do("append", topic, partition, data)

    async def fetch(self, r):
        r.take("i")
        wait_ms, _, most, committed = r.take("i"), r.take("i"), r.take("i"), r.take("b")
        topics = r.list(lambda: (r.text(), r.list(lambda: (r.take("i"), r.take("q"), r.take("i")))))
        for _ in range(max(wait_ms // 20, 1)):
            found = [(topic, [self.fetch_one(topic, *part, min(most, 1 << 20), committed) for part in parts])
                     for topic, parts in topics]
            if any(one[1] for _, parts in found for one in parts):
                break
            await asyncio.sleep(0.02)
        return struct.pack(">i", 0) + array(text(topic) + array(one[0] for one in parts) for topic, parts in found)

    def fetch_one(self, topic, partition, offset, size, most, committed):
        if topic not in self.topics:
            return struct.pack(">ihqqii", partition, UNKNOWN_TOPIC, NONE, NONE, 0, 0), True
        part, data, until = self.topics[topic][partition], b"", offset
        limit = part.stable() if committed else part.next
        for base, last, batch in part.batches:
            if last < offset or base >= limit:
                continue
            if data and len(data) + len(batch) > min(size, most):
                break
            data, until = data + batch, last
        aborted = [struct.pack(">qq", pid, first) for pid, first, last in part.aborted
                   if committed and last >= offset and first <= until]
        return (struct.pack(">ihqq", partition, 0, part.next, part.stable()) + array(aborted)
                + struct.pack(">i", len(data)) + data), bool(data)

    def list_offsets(self, r):
        r.take("i")
        topics = r.list(lambda: (r.text(), r.list(lambda: (r.take("i"), r.take("q")))))
        return array(text(topic) + array(struct.pack(">ihqq", part, 0, NONE, 0 if when == -2 else self.topic(topic)[part].next)
                                         for part, when in parts) for topic, parts in topics)

    def metadata(self, r):
        count = r.take("i")
        names = [r.text() for _ in range(count)] if count >= 0 else list(self.topics)
        node = struct.pack(">i", NODE)
        part = lambda i: struct.pack(">hii", 0, i, NODE) + array([node]) + array([node])
        for name in names:
            self.topic(name)
        return (array([node + text(HOST) + struct.pack(">i", self.port) + text(None)]) + node
                + array(struct.pack(">h", 0) + text(name) + b"\x00" + array(map(part, range(self.partitions))) for name in names))

    def find_coordinator(self, r):
        return struct.pack(">ih", 0, 0) + text(None) + struct.pack(">i", NODE) + text(HOST) + struct.pack(">i", self.port)

    def init_producer(self, r):
        name, timeout_ms = r.text(), r.take("i")
        sender = self.senders.get(name) if name is not None else None
        if sender and sender["open"]:
            self.do("end", name, False)
        pid, epoch = (sender["pid"], sender["epoch"] + 1) if sender else (self.last_pid + 1, 0)
        self.do("sender", name, pid, epoch, timeout_ms)
        return struct.pack(">ihqh", 0, 0, pid, epoch)

    def add_partitions(self, r):
        name, pid, epoch = r.text(), r.take("q"), r.take("h")
        topics = r.list(lambda: (r.text(), r.list(lambda: r.take("i"))))
        error = self.fault(name, pid, epoch)
        if not error:
            self.do("add", name, [(topic, part) for topic, parts in topics for part in parts])
        return struct.pack(">i", 0) + array(text(topic) + array(struct.pack(">ih", part, error) for part in parts)
                                            for topic, parts in topics)

    def add_offsets(self, r):
        name, pid, epoch, _ = r.text(), r.take("q"), r.take("h"), r.text()
        error = self.fault(name, pid, epoch)
        if not error:
            self.do("add", name, [])
        return struct.pack(">ih", 0, error)

    def commit_offsets(self, r):
        name, group, pid, epoch = r.text(), r.text(), r.take("q"), r.take("h")
        topics = r.list(lambda: (r.text(), r.list(lambda: (r.take("i"), r.take("q"), r.text()))))
        error = self.fault(name, pid, epoch) or (0 if self.senders[name]["open"] else INVALID_TXN_STATE)
        error = error or (0 if all(topic in self.topics for topic, _ in topics) else UNKNOWN_TOPIC)
        if not error:
            self.do("offsets", name, group, [(topic, *part) for topic, parts in topics for part in parts])
        return struct.pack(">i", 0) + array(text(topic) + array(struct.pack(">ih", part[0], error) for part in parts)
                                            for topic, parts in topics)

    def end_transaction(self, r):
        name, pid, epoch, committed = r.text(), r.take("q"), r.take("h"), bool(r.take("b"))
        error = self.fault(name, pid, epoch)
        if not error and self.senders[name]["open"]:
            self.do("end", name, committed)
        elif not error and self.senders[name]["ended"] is not committed:
            error = INVALID_TXN_STATE
        return struct.pack(">ih", 0, error)

    def fetch_offsets(self, r):
        group = r.text()
        topics = r.list(lambda: (r.text(), r.list(lambda: r.take("i"))))

        def one(topic, part):
            offset, metadata = self.offsets.get((group, topic, part), (NONE, ""))
            return struct.pack(">iq", part, offset) + text(metadata) + struct.pack(">h", 0)

        return array(text(topic) + array(one(topic, part) for part in parts) for topic, parts in topics)

    requests = {0: (3, produce), 1: (4, fetch), 2: (1, list_offsets), 3: (1, metadata), 9: (1, fetch_offsets),
                10: (1, find_coordinator), 22: (0, init_producer), 24: (0, add_partitions), 25: (0, add_offsets),
                26: (0, end_transaction), 28: (0, commit_offsets)}

    def versions(self, asked):
        error = UNSUPPORTED_VERSION if asked else 0
        known = [(key, 0 if key == 10 else version, version) for key, (version, _) in self.requests.items()] + [(18, 0, 0)]
        return struct.pack(">h", error) + array(struct.pack(">hhh", *one) for one in known)

    async def answer(self, data):
        r = Reader(data)
        key, version, correlation = r.take("h"), r.take("h"), r.take("i")
        r.text()
        self.end_late()
        if key == 18:
            body = self.versions(version)
        else:
            known, handler = self.requests[key]
            assert version == known, (key, version)
            body = handler(self, r)
            body = await body if asyncio.iscoroutine(body) else body
            if self.slow_s and key in (0, 24, 25, 26, 28):
                await asyncio.sleep(random.uniform(0, 2 * self.slow_s))
        return struct.pack(">ii", 4 + len(body), correlation) + body

    async def serve(self, reader, writer):
        try:
            while True:
                size = struct.unpack(">i", await reader.readexactly(4))[0]
                writer.write(await self.answer(await reader.readexactly(size)))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


async def main():
    folder, port = sys.argv[1], int(sys.argv[2])
    os.makedirs(folder, exist_ok=True)
    broker = Broker(folder, port, int(sys.argv[3]) if len(sys.argv) > 3 else 0)
    server = await asyncio.start_server(broker.serve, HOST, port, limit=64 << 20)
    open(os.path.join(folder, "ready"), "w").close()
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
