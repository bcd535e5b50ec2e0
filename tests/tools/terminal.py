#!/usr/bin/env python3
"""terminal.py STEP...: an interactive bash on a new terminal, driven by steps, to test what a user at a keyboard sees. Prints all
terminal output at the end; exit status 1 if an expected string did not appear.

  send:TEXT    types TEXT (\\r for the return key, \\x03 for Ctrl-C, \\x1a for Ctrl-Z, \\x1c for Ctrl-\\)
  await:TEXT   waits, up to a minute, until TEXT appears after what was awaited before
  sleep:S      waits S seconds
  do:COMMAND   runs a shell command outside of the terminal
"""
import os
import pty
import select
import signal
import subprocess
import sys
import time

WAIT_S = 60


def read_some(fd, seconds):
    ready, _, _ = select.select([fd], [], [], seconds)
    if not ready:
        return b""
    try:
        return os.read(fd, 65536)
    except OSError:
        return b""


def main():
    pid, fd = pty.fork()
    if pid == 0:
        os.environ["PS1"] = "> "
        for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):  # background processes may ignore them
            signal.signal(number, signal.SIG_DFL)
        os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
    seen, at, status = b"", 0, 0
    for step in sys.argv[1:]:
        kind, _, text = step.partition(":")
        what = text.encode().decode("unicode_escape").encode("latin-1")
        if kind == "send":
            os.write(fd, what)
        elif kind == "sleep":
            time.sleep(float(text))
        elif kind == "do":
            subprocess.run(["bash", "-c", text], check=True, stdout=subprocess.DEVNULL)
        elif kind == "await":
            until = time.monotonic() + WAIT_S
            while what not in seen[at:] and time.monotonic() < until:
                seen += read_some(fd, 0.1)
            if what not in seen[at:]:
                print(f"never saw: {text}", file=sys.stderr)
                status = 1
                break
            at = seen.index(what, at) + len(what)
    os.kill(pid, signal.SIGHUP)
    seen += read_some(fd, 0.2)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    sys.stdout.buffer.write(seen.replace(b"\r", b""))
    sys.exit(status)


main()
