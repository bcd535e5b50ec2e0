#!/usr/bin/env python3
"""http_server.py DIR PORT [CERTIFICATE KEY]: an HTTP server on 127.0.0.1 that injects faults.

DIR/mode selects the fault and may be changed at any time: "good", or one of the functions bad_… below, optionally followed by a
number ("busy 3": for three requests, then good). DIR/authorization, if it exists, is the header that requests must have. Every
request is appended to DIR/log; accepted documents are in DIR/documents, one per line.

In mode "good" it is a strict Elasticsearch 8: no types, no duplicate keys, no unterminated lines."""
import json
import re
import ssl
import sys
import threading
import time
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

FOLDER = Path(sys.argv[1])
LOCK = threading.Lock()
indexes, documents = {}, {}


class Refusal(Exception):
    pass


def unique(pairs):
    keys = [key for key, _ in pairs]
    if len(keys) != len(set(keys)):
        raise Refusal(f"a key twice: {keys}")
    return dict(pairs)


def parse(text):
    return json.loads(text, object_pairs_hook=unique, parse_constant=lambda name: refuse(f"{name} is no number of JSON"))


def refuse(why):
    raise Refusal(why)


def check_action(action):
    if list(action) != ["create"]:
        refuse(f"not create: {action}")
    head = action["create"]
    if not set(head) <= {"_index", "_id"}:
        refuse(f"Action/metadata line contains an unknown parameter: {head}")
    if not re.fullmatch(r"[a-z0-9][a-z0-9_.-]*", head["_index"]) or len(head.get("_id", "x").encode()) > 512:
        refuse(f"names: {head}")
    if head["_index"] not in indexes:
        refuse(f"no such index [{head['_index']}]: it was not made before")
    return head["_index"], head["_id"]


def check_types(index, document):
    """The first value determines the type of a field; Elasticsearch would silently truncate a fraction in an integer field."""
    for name, value in flat(document):
        kind = "list" if isinstance(value, list) else type(value).__name__
        seen = indexes[index].setdefault(name, kind)
        if seen != kind:
            return {"type": "mapper_parsing_exception", "reason": f"failed to parse field [{name}] of type [{seen}]: {value}"}
    return None


def flat(document, prefix=""):
    for name, value in document.items():
        if isinstance(value, dict):
            yield from flat(value, prefix + name + ".")
        else:
            yield prefix + name, value


def take(index, name, document, refused):
    if (index, name) in documents:
        return {"status": 409, "error": {"type": "version_conflict_engine_exception", "reason": "document already exists"}}
    error = check_types(index, document) or refused(index, name)
    if error:
        return {"status": error.pop("status", 400), "error": error}
    documents[index, name] = document
    with open(FOLDER / "documents", "a", encoding="utf-8") as out:
        out.write(json.dumps({"index": index, "id": name, "document": document}) + "\n")
    return {"status": 201}


def bulk(body, refused):
    text = body.decode("utf-8")
    if not text.endswith("\n"):
        refuse("The bulk request must be terminated by a newline [\\n]")
    lines = text[:-1].split("\n")
    if len(lines) % 2:
        refuse("a document is missing")
    items = []
    for action, document in zip(lines[::2], lines[1::2]):
        index, name = check_action(parse(action))
        items.append({"create": take(index, name, parse(document), refused)})
    return {"errors": any(item["create"]["status"] >= 300 for item in items), "items": items}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, text, kind="application/json", headers=()):
        data = text.encode() if isinstance(text, str) else json.dumps(text).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_request(self, *_):
        pass

    def note(self, body):
        with LOCK, open(FOLDER / "log", "ab") as log:
            log.write(f"\n=== {self.command} {self.path}\n{self.headers}".encode() + body)

    def mode(self):
        """The mode of this request; a number after the mode is counted down."""
        with LOCK:
            file = FOLDER / "mode"
            words = file.read_text().split() if file.exists() else []
            if len(words) == 2:
                file.write_text(f"{words[0]} {int(words[1]) - 1}" if int(words[1]) > 1 else "good")
            return words[0] if words else "good"

    def handle_any(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.note(body)
        wanted = FOLDER / "authorization"
        if wanted.exists() and self.headers.get("Authorization") != wanted.read_text().strip():
            self.answer(401, {"error": {"type": "security_exception", "reason": "unable to authenticate"}, "status": 401})
            return
        mode = self.mode()
        if mode == "good" or mode.startswith("documents_"):
            self.good(body, mode)
        else:
            getattr(self, "bad_" + mode)(body)

    do_GET = do_PUT = do_POST = do_HEAD = handle_any

    # without faults

    def good(self, body, mode="good"):
        path = self.path.split("?")[0]
        try:
            with LOCK:
                status, text = self.elasticsearch(path, body, getattr(self, mode) if mode != "good" else lambda *_: None)
        except (Refusal, ValueError, KeyError) as error:
            print("rejected:", error, file=sys.stderr, flush=True)
            status, text = 400, {"error": {"type": "illegal_argument_exception", "reason": str(error)}, "status": 400}
        self.answer(status, text)

    def elasticsearch(self, path, body, refused):
        if self.command == "GET" and path == "/":
            return 200, {"name": "x", "version": {"number": "8.11.0", "build_flavor": "default"}, "tagline": "You Know, for Search"}
        if self.command == "POST" and path in ("/_bulk", "/_bulk/"):
            if self.headers["Content-Type"] not in ("application/x-ndjson", "application/json"):
                return 406, {"error": "Content-Type header is not supported"}
            return 200, bulk(body, refused)
        if self.command == "POST" and path in ("/api/v1/write", "/write"):
            return 204, ""
        name = path.strip("/")
        if self.command == "HEAD":
            return (200 if name in indexes else 404), ""
        if self.command == "PUT" and set(parse(body)) <= {"settings", "mappings"} and set(parse(body)["mappings"]) == {"properties"}:
            if name in indexes:
                return 400, {"error": {"type": "resource_already_exists_exception"}, "status": 400}
            indexes[name] = {}
            return 200, {"acknowledged": True, "index": name}
        return 400, {"error": f"no handler found for {self.command} {path}"}

    # faults of single documents

    def documents_busy(self, index, name):
        return {"status": 429, "type": "es_rejected_execution_exception", "reason": "full"} if zlib.crc32(name.encode()) % 3 == 0 else None

    def documents_wrong(self, index, name):
        wrong = "loadavg" in index
        return {"type": "mapper_parsing_exception", "reason": "failed to parse field [x]"} if wrong else None

    # faults of whole requests

    def bad_html(self, _):
        self.answer(200, "<html><head><title>Welcome to the portal</title></head><body>Log in</body></html>", "text/html")

    def bad_gateway(self, _):
        self.answer(502, "<html><head><title>502 Bad Gateway</title></head></html>", "text/html")

    def bad_busy(self, _):
        self.answer(429, {"error": "too many requests"}, headers=[("Retry-After", "1")])

    def bad_away(self, _):
        self.answer(503, {"error": "no master", "status": 503})

    def bad_denied(self, _):
        self.answer(401, {"error": "unable to authenticate user [sonde]", "status": 401})

    def bad_large(self, body):
        if len(body) > 3000:
            self.answer(413, "too large")
        else:
            self.good(body)

    def bad_silent(self, _):
        time.sleep(600)

    def bad_closes(self, _):
        self.close_connection = True

    def bad_cut(self, body):
        if self.command == "POST":
            self.answer(200, '{"errors":false,"items":[{"cre')
        else:
            self.good(body)

    def bad_deaf(self, body):
        """Stores everything without a response: the documents will be sent again."""
        with LOCK:
            self.elasticsearch(self.path.split("?")[0], body, lambda *_: None)
        self.close_connection = True


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        print("connection failed:", sys.exc_info()[1], file=sys.stderr, flush=True)


def main():
    server = Server(("127.0.0.1", int(sys.argv[2])), Handler)
    if len(sys.argv) > 3:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[3], sys.argv[4])
        server.socket = context.wrap_socket(server.socket, server_side=True)
    server.serve_forever()


main()
