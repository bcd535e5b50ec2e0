"""Job control of a command under sonde run, in an interactive shell on a terminal. terminal.py "SONDE run [OPTIONS] --" prints
"all as it should be" on success."""
import os, pty, select, signal, sys, time
# Types into an interactive shell on a terminal and waits for the expected output.
pid, fd = pty.fork()
if pid == 0:
    os.environ["PS1"] = "ready> "
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):  # background processes may ignore them
        signal.signal(number, signal.SIG_DFL)
    os.environ["ENV"] = ""
    os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
seen = b""
def until(text, limit=60):
    global seen
    end = time.time() + limit
    while text not in seen:
        if time.time() > end:
            sys.exit("no %r in %r" % (text, seen))
        if select.select([fd], [], [], 0.5)[0]:
            seen += os.read(fd, 4096)
    seen = seen[seen.index(text) + len(text):]
def type(text):
    os.write(fd, text)
run = sys.argv[1].encode()
until(b"ready> ")
type(run + b" sh -c 'echo start''ed; exec cat'\n")
until(b"started\r\n")
type(b"hello\n")                            # it can read from the terminal, so it is in the foreground
until(b"hello\r\n"); until(b"hello\r\n")
type(b"\x1a")                              # Ctrl-Z
until(b"Stopped"); until(b"ready> ")
type(b"jobs\n"); until(b"Stopped"); until(b"ready> ")
type(b"fg\n"); until(b"cat")
type(b"again\n"); until(b"again\r\n"); until(b"again\r\n")
type(b"\x04"); until(b"ready> ")           # Ctrl-D: the end of the input
type(b"echo status $?\n"); until(b"status 0"); until(b"ready> ")
type(run + b" sh -c 'echo sleep''ing; exec sleep 100'\n"); until(b"sleeping")
type(b"\x03"); until(b"ready> ")           # Ctrl-C
type(b"echo status $?\n"); until(b"status 130")
type(run + b" sleep 100 &\n"); until(b"ready> ")
type(b"kill %1; wait %1; echo ended $?\n"); until(b"ended 143")
print("all as it should be")
