#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""boxinit.py BOXINIT WORK [TEST...] - boxinit as PID 1 of a small sandbox, without a keeper: what it promises in
sandbox/boxinit.h and sandbox/command.h. The client here speaks the frames by itself. Each test is a function test_*.
"""
import contextlib
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

BOXINIT, WORK = sys.argv[1], sys.argv[2]
START_PART, START, IN, IN_END, SIGNAL, SIZE = 1, 2, 3, 4, 5, 6
STARTED, REFUSED, OUT, ERR, MORE, EXIT = 17, 18, 19, 20, 21, 22
EXITED, KILLED, DETACHED = 0, 1, 2
WINDOW = 4 * 65536
LIMIT = 60  # seconds for anything that is waited for
with open(BOXINIT, "rb") as program:  # a sanitizer's own memory is not counted
    MEMORY_KB = 100000 if b"__asan_init" in program.read() else 6000


def frame(kind, payload=b""):
    return struct.pack("<BI", kind, len(payload)) + payload


def varint(n):
    out = b""
    while n >= 0x80:
        out += bytes([n & 0x7f | 0x80])
        n >>= 7
    return out + bytes([n])


def string(s):
    s = os.fsencode(s)
    return varint(len(s)) + s


def start(argv, tty=False, detach=False, size=(0, 0), cwd="", env=()):
    body = struct.pack("<BII", tty | detach << 1, *size) + string(cwd)
    body += b"".join(varint(len(x)) + b"".join(map(string, x)) for x in (argv, env))
    parts = [body[i:i + 65536] for i in range(0, len(body), 65536)]
    return b"".join(frame(START_PART, p) for p in parts[:-1]) + frame(START, parts[-1])


class Client:
    def __init__(self, box, *argv, **options):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(LIMIT)
        self.socket.connect(box.path)
        self.buffer, self.out, self.err = b"", b"", b""
        self.pid = self.refused = self.exit = None
        self.granted = WINDOW
        if argv:
            self.socket.sendall(start(argv, **options))

    def send(self, kind, payload=b""):
        self.socket.sendall(frame(kind, payload))

    def take(self):
        """One frame; None at the connection's end."""
        while len(self.buffer) < 5 or len(self.buffer) < 5 + struct.unpack_from("<I", self.buffer, 1)[0]:
            try:
                more = self.socket.recv(1 << 20)
            except ConnectionResetError:
                more = b""
            if not more:
                assert not self.buffer, "half a frame at the end"
                return None
            self.buffer += more
        kind, length = struct.unpack_from("<BI", self.buffer)
        payload, self.buffer = self.buffer[5:5 + length], self.buffer[5 + length:]
        if kind == STARTED:
            self.pid = struct.unpack("<I", payload)[0]
        elif kind == REFUSED:
            self.refused = struct.unpack("<BI", payload)
        elif kind == OUT:
            self.out += payload
        elif kind == ERR:
            self.err += payload
        elif kind == MORE:
            self.granted += struct.unpack("<I", payload)[0]
        elif kind == EXIT:
            self.exit = tuple(payload)
        else:
            raise AssertionError("frame of type %d" % kind)
        return kind

    def until(self, done):
        while not done(self):
            assert self.take() is not None, "the connection ended: %r %r" % (self.out[-200:], self.err[-200:])
        return self

    def started(self):
        return self.until(lambda c: c.pid)

    def says(self, text):
        return self.until(lambda c: text in c.out)

    def wait(self):
        """Until the connection ends."""
        while self.take() is not None:
            pass
        self.socket.close()
        return self


class Box:
    """boxinit in bwrap, as the keeper would start it, with the host's files and a private /run."""

    def __init__(self, name, wait=True, extra=(), cwd="/tmp", group=None):
        self.path = "%s/%s.exec" % (WORK, name)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(self.path)
        listener.listen(128)
        info_read, info_write = os.pipe()
        self.ready, ready_write = os.pipe()
        fds = [listener.fileno(), ready_write, info_write]
        self.log = open("%s/%s.log" % (WORK, name), "wb")
        run = "/run/box/" + name
        self.bwrap = subprocess.Popen(
            ["bwrap", "--bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/run", "--tmpfs", "/tmp",
             "--dir", run, "--ro-bind", BOXINIT, "/run/boxinit", "--unshare-pid", "--die-with-parent", "--as-pid-1",
             "--cap-drop", "ALL", "--cap-add", "CAP_KILL",
             "--info-fd", str(info_write), "--setenv", "HOME", "/tmp", "--unsetenv", "TMUX", *extra, "--",
             "/run/boxinit", "--listen", str(fds[0]), "--ready", str(fds[1]), "--name", name, "--cwd", cwd],
            pass_fds=fds, stderr=self.log, stdin=subprocess.DEVNULL, preexec_fn=group and group.enter)
        listener.close()
        os.close(ready_write)
        os.close(info_write)
        with open(info_read, "rb") as f:
            self.pid = json.loads(f.read())["child-pid"]
        self.tmux = ["tmux", "-S", run + "/tmux.sock"]
        if wait:
            said = self.wait_ready()
            assert said == b"\0", said

    def wait_ready(self):
        with open(self.ready, "rb") as f:
            assert select.select([f], [], [], LIMIT)[0], "not ready in time"
            return f.read()

    def run(self, *argv, **options):
        return Client(self, *argv, **options).wait()

    def shell(self, script, **options):
        c = self.run("sh", "-c", script, **options)
        assert c.exit == (EXITED, 0), (script, c.exit, c.refused, c.out, c.err)
        return c.out.decode()

    def status(self, key, pid=None):
        with open("/proc/%d/status" % (pid or self.pid)) as f:
            return next(line.split(":")[1].split()[0] for line in f if line.startswith(key + ":"))

    def end(self):
        if self.bwrap.poll() is None:
            self.bwrap.kill()
        self.bwrap.wait()
        self.log.close()


@contextlib.contextmanager
def a_box(name, **options):
    box = Box(name, **options)
    try:
        yield box
    finally:
        box.end()


class Group:
    """A cgroup of little memory, in either version's hierarchy; None of them: is_there is False."""

    def __init__(self, limit):
        self.is_there = False
        for top, file in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
            self.path = "%s/boxinit-test-%d" % (top, time.time_ns())
            try:
                os.mkdir(self.path)
            except OSError:
                continue
            try:
                with open(os.path.join(self.path, file), "w") as f:
                    f.write(str(limit))
                self.is_there = True
                return
            except OSError:
                os.rmdir(self.path)

    def enter(self):
        with open(self.path + "/cgroup.procs", "w") as f:
            f.write("0")


def eventually(condition, what):
    end = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < end, "never: " + what
        time.sleep(0.02)  # of processes in the box nobody else tells


def is_gone(box, pid):
    return box.run("kill", "-0", str(pid)).exit != (EXITED, 0)


def no_zombies(box):
    """Each is one for a moment; none stays."""
    eventually(lambda: not box.shell("grep -l '^State:.Z' /proc/[0-9]*/status 2>/dev/null || true"), "no zombies")


# --- exec

def test_exit_codes(box):
    for code in range(256):
        c = box.run("sh", "-c", "exit %d" % code)
        assert c.exit == (EXITED, code), (code, c.exit)


def test_signals_end_it(box):
    for number in (1, 2, 9, 11, 15, 34, 64):
        c = box.run("sh", "-c", "kill -%d $$" % number)
        assert c.exit == (KILLED, number), (number, c.exit)


def test_signals_are_sent_to_the_group(box):
    c = Client(box, "sh", "-c", "trap 'echo got; exit 7' USR1; echo up; sleep 100 & wait").says(b"up")
    c.send(SIGNAL, struct.pack("<I", signal.SIGUSR1))
    c.wait()
    assert (c.out, c.exit) == (b"up\ngot\n", (EXITED, 7)), (c.out, c.exit)


def test_environment_and_directory(box):
    assert box.shell("echo $A $B; pwd; umask", env=["A=1", "B=2", "A=3"],
                     cwd="/usr") == "3 2\n/usr\n0022\n"
    assert box.shell("pwd") == "/tmp\n"


def test_nothing_is_inherited(box):
    assert box.shell("ls /proc/self/fd | wc -l") == "4\n"  # three, and what ls reads
    assert "SigBlk:\t0000000000000000" in box.shell("cat /proc/self/status")
    assert "SigIgn:\t0000000000000000" in box.shell("cat /proc/self/status")


def test_not_dumpable(box):
    for path in ("fd/3", "fd/9", "root", "cwd", "exe"):
        assert box.run("readlink", "/proc/1/" + path).exit != (EXITED, 0), path
    assert box.run("cat", "/proc/1/environ").exit != (EXITED, 0)
    c = box.run("python3", "-c", "import ctypes, os\n"
                "p = os.pidfd_open(1)\n"
                "for fd in range(20): assert ctypes.CDLL(None).syscall(438, p, fd, 0) < 0, fd")  # pidfd_getfd
    assert c.exit == (EXITED, 0), c.err


def test_refusals(box):
    assert box.run("no-such-program").refused == (2, 2)
    assert box.run("/etc/passwd").refused == (2, 13)
    assert box.run("true", cwd="/no/such").refused == (1, 2)


def test_long_command_line(box):
    word = "x" * 100000
    c = box.run("sh", "-c", 'echo "$*" | wc -c', "sh", *[word] * 8)
    assert c.out == b"800008\n", c.out


def test_stdin_and_its_end(box):
    data, c = os.urandom(5 << 20), Client(box, "cat")
    at = 0
    while at < len(data):
        if c.granted == 0:
            c.take()
            continue
        n = min(c.granted, 65536, len(data) - at)
        c.send(IN, data[at:at + n])
        at, c.granted = at + n, c.granted - n
        while select.select([c.socket], [], [], 0)[0]:
            c.take()
    c.send(IN_END)
    c.wait()
    assert c.out == data and c.exit == (EXITED, 0)


def test_stdin_that_nobody_reads(box):
    c = Client(box, "sh", "-c", "exec <&-; echo up; sleep 0.2").says(b"up")
    for _ in range(4):
        c.send(IN, bytes(65536))
    c.until(lambda c: c.granted > WINDOW)  # dropped, and granted again
    assert c.wait().exit == (EXITED, 0)


def test_signal_overtakes_input(box):
    c = Client(box, "sleep", "100").started()
    for _ in range(4):
        c.send(IN, bytes(65536))
    c.send(SIGNAL, struct.pack("<I", signal.SIGTERM))
    assert c.wait().exit == (KILLED, 15)


def test_both_streams(box):
    c = box.run("sh", "-c", "for i in 1 2 3; do echo o$i; echo e$i >&2; done")
    assert (c.out, c.err) == (b"o1\no2\no3\n", b"e1\ne2\ne3\n")


def test_slow_reader(box):
    size, took, c = 100 << 20, 0, Client(box, "head", "-c", str(100 << 20), "/dev/zero")
    c.started()
    while c.take() is not None:
        took, c.out = took + len(c.out), b""
        if took % (10 << 20) < 65536:
            time.sleep(0.02)  # the slow reader
    assert took == size and c.exit == (EXITED, 0), (took, c.exit)
    high = int(box.status("VmHWM"))
    assert high < MEMORY_KB, "boxinit grew to %d kB" % high


def test_stuck_reader(box):
    c = Client(box, "sh", "-c", "cat /dev/zero").started()
    time.sleep(0.3)
    assert box.shell("echo others go on") == "others go on\n"
    assert int(box.status("VmHWM")) < MEMORY_KB
    c.socket.close()
    eventually(lambda: is_gone(box, c.pid), "the end of cat")


def test_output_held_open(box):
    for tty in (False, True):
        begin = time.monotonic()
        c = box.run("sh", "-c", "trap '' HUP; sleep 30 & echo done; exit 3", tty=tty)
        assert c.out.split() == [b"done"] and c.exit == (EXITED, 3), (c.out, c.exit)
        assert time.monotonic() - begin < 10


def test_last_output_of_a_terminal(box):
    for _ in range(20):
        c = box.run("sh", "-c", "seq 3000", tty=True)
        assert c.out.split()[-1:] == [b"3000"] and len(c.out.split()) == 3000, len(c.out.split())


def test_lost_connection(box):
    for tty in (False, True):
        c = Client(box, "sh", "-c", "echo up; sleep 1000", tty=tty).says(b"up")
        c.socket.close()
        eventually(lambda: is_gone(box, c.pid), "the end of a lost command")
    no_zombies(box)


def test_connections(box):
    held = [Client(box, "cat").started() for _ in range(64)]
    c = Client(box)
    c.wait()
    assert c.refused == (0, 87), c.refused  # EUSERS
    held.pop().send(IN_END)
    eventually(lambda: box.run("true").exit == (EXITED, 0), "a place for another")
    for c in held:
        c.send(IN_END)
        assert c.wait().exit == (EXITED, 0)


# --- detached

def test_detached(box):
    begin = time.monotonic()
    c = box.run("sh", "-c", "echo up; while sleep 0.05; do echo on; done", detach=True)
    assert c.exit == (DETACHED, 0) and 1.8 < time.monotonic() - begin < 15 and c.out.startswith(b"up\n")
    time.sleep(0.5)
    assert not is_gone(box, c.pid), "it ended with its client"
    box.shell("kill %d" % c.pid)
    eventually(lambda: is_gone(box, c.pid), "the end of a detached command")
    assert box.run("sh", "-c", "echo bad >&2; exit 5", detach=True).exit == (EXITED, 5)
    c = Client(box, "sleep", "1000", detach=True).started()
    c.socket.close()
    time.sleep(0.2)
    assert not is_gone(box, c.pid), "it ended with the probe's client"
    box.shell("kill %d" % c.pid)
    no_zombies(box)


# --- terminals

def test_terminal(box):
    c = Client(box, "sh", "-c", "stty size; trap 'stty size' WINCH; tty; echo up; while :; do sleep 0.05; done",
               tty=True, size=(50, 132)).says(b"up")
    assert b"50 132" in c.out and b"/dev/pts/" in c.out, c.out
    c.send(SIZE, struct.pack("<II", 33, 99))
    c.says(b"33 99")
    c.send(IN, b"\x03")
    assert c.wait().exit == (KILLED, 2), c.exit


def test_job_control(box):
    c = Client(box, "bash", "--norc", "-i", tty=True).started()
    c.send(IN, b"sleep 1000 & jobs; kill %1; wait %1; echo s$?\n")
    c.says(b"s143")
    assert b"Running" in c.out and b"no job control" not in c.out and b"process group" not in c.out, c.out
    c.send(IN, b"cat\n")
    time.sleep(0.2)
    c.send(IN, b"\x1a")
    c.says(b"Stopped")
    c.socket.close()


def test_terminal_input_ends(box):
    c = Client(box, "sh", "-c", "cat >/dev/null; echo end", tty=True).started()
    c.send(IN, b"a line\n")
    c.send(IN_END)
    assert b"end" in c.wait().out and c.exit == (EXITED, 0)


def test_terminal_names(box):
    for name, known in (("xterm-256color", "xterm-256color"), ("no-such-terminal", "xterm-256color"),
                        ("../x/xterm", "xterm-256color")):
        c = box.run("sh", "-c", "echo $TERM", tty=True, env=["TERM=" + name])
        assert c.out.strip().decode() == known, (name, c.out)


# --- hostile clients

def test_hostile_clients(box):
    good = start(["cat"])
    bad = [frame(0), frame(7), frame(255, b"x"), struct.pack("<BI", IN, 65537), struct.pack("<BI", START, 1 << 31),
           frame(START), frame(START, b"\3" + bytes(10)), frame(IN, b"x"), frame(SIGNAL, struct.pack("<I", 9)),
           frame(START, struct.pack("<BII", 0, 0, 0) + string("") + varint(0) + varint(0)),
           frame(START, struct.pack("<BII", 0, 0, 0) + string("") + varint(1 << 40) + varint(0)),
           frame(START, struct.pack("<BII", 0, 0, 0) + string("") + varint(1) + string("a\0b") + varint(0)),
           frame(START, struct.pack("<BII", 0, 0, 0) + string("") + varint(1) + string("true") + varint(1) + string("=x")),
           frame(START_PART, bytes(65536)) * 17, good + good, good + frame(STARTED, b"\1\0\0\0"), good + frame(OUT, b"x"),
           good + frame(IN_END) * 2, good + frame(SIGNAL, struct.pack("<I", 65)), good + frame(SIGNAL, b""),
           good + frame(SIZE, struct.pack("<II", 70000, 1)), good + frame(IN, bytes(65536)) * 64]
    for i, bytes_ in enumerate(bad):
        c = Client(box)
        try:
            c.socket.sendall(bytes_)
            while c.take() is not None:
                assert c.exit is None, "case %d ran to its end" % i
        except (BrokenPipeError, ConnectionResetError):
            pass
        c.socket.close()
    eventually(lambda: box.shell("pgrep -x cat || true") == "", "no command of theirs is left")
    half = [Client(box) for _ in range(8)]
    for c in half:
        c.socket.sendall(good[:7])
    assert box.shell("echo still here") == "still here\n"
    assert int(box.status("VmHWM")) < MEMORY_KB


# --- PID 1

def test_orphans(box):
    box.shell("i=0; while [ $i -lt 5000 ]; do (true & ) ; i=$((i + 1)); done")
    no_zombies(box)


def test_killed_child(box):
    c = Client(box, "sleep", "1000").started()
    box.shell("kill -9 %d" % c.pid)
    assert c.wait().exit == (KILLED, 9)


def test_out_of_memory(_):
    group = Group(64 << 20)
    if not group.is_there:
        print("no memory controller here: what the kernel ends then is ended by KILL (test_killed_child)")
        return
    try:
        with a_box("little", group=group) as box:
            first = server(box)
            c = box.run("python3", "-c", "x = bytearray(200 << 20); print(len(x))")
            assert c.exit == (KILLED, 9), (c.exit, c.out, c.err)
            assert server(box) == first
            no_zombies(box)
    finally:
        eventually(lambda: not open(group.path + "/cgroup.procs").read(), "an empty group")
        os.rmdir(group.path)


def test_no_signal_from_inside(box):
    for number in (1, 2, 3, 9, 11, 15, 19):
        box.run("kill", "-%d" % number, "1")
    # rt_sigqueueinfo(2) lets the sender say who it is: nobody that has a number in here.
    c = box.run("python3", "-c", "import ctypes, struct\n"
                "info = struct.pack('iiiiii', 15, 0, -1, 0, 0, 0).ljust(128, b'\\0')\n"
                "assert ctypes.CDLL(None).syscall(129, 1, 15, info) == 0")
    assert c.exit == (EXITED, 0), c.err
    assert box.shell("echo alive") == "alive\n"


def server(box):
    return int(box.shell(" ".join(box.tmux) + " display-message -p '#{pid}' 2>/dev/null || echo 0"))


def test_tmux_comes_back(box):
    first = server(box)
    assert first > 1
    for _ in range(2):
        box.shell("kill -9 %d" % first)
        eventually(lambda: server(box) not in (0, first), "another tmux server")
        first = server(box)
    no_zombies(box)


def test_term_ends_all(_):
    with a_box("ends") as box:
        c = Client(box, "sh", "-c", "trap 'echo last; exit 4' TERM; echo up; while :; do sleep 0.05; done").says(b"up")
        t = Client(box, "bash", "-i", tty=True).started()
        begin = time.monotonic()
        os.kill(box.pid, signal.SIGTERM)
        c.wait()
        t.wait()
        assert c.out == b"up\nlast\n" and c.exit == (EXITED, 4), (c.out, c.exit)
        assert t.exit[0] == KILLED or t.exit[1] > 128, t.exit
        assert box.bwrap.wait(LIMIT) == 0 and time.monotonic() - begin < 7, time.monotonic() - begin


def test_a_lost_hangup_is_sent_again(_):
    with a_box("deaf") as box:
        t = Client(box, "sh", "-c", "trap 'echo term' TERM; trap 'echo hup; trap \"echo again; exit 5\" HUP' HUP; echo up; "
                   "while :; do sleep 0.05; done", tty=True).says(b"up")
        begin = time.monotonic()
        os.kill(box.pid, signal.SIGTERM)
        t.wait()
        said = t.out.split()
        assert t.exit == (EXITED, 5) and said.count(b"hup") == said.count(b"term") == 1, (t.exit, t.out)
        assert box.bwrap.wait(LIMIT) == 0 and time.monotonic() - begin < 7, time.monotonic() - begin


def test_term_kills_what_stays(_):
    with a_box("stays") as box:
        c = Client(box, "sh", "-c", "trap '' TERM HUP; echo up; while :; do sleep 0.05; done").says(b"up")
        begin = time.monotonic()
        os.kill(box.pid, signal.SIGTERM)
        assert c.wait().exit == (KILLED, 9)
        assert box.bwrap.wait(LIMIT) == 0 and 7.5 < time.monotonic() - begin < 20


def test_no_tmux(_):
    with a_box("without", wait=False, extra=["--setenv", "PATH", "/nowhere"]) as box:
        said = box.wait_ready()
        assert said.startswith(b"tmux: ") and b"No such file" in said, said
        assert box.bwrap.wait(LIMIT) == 1


def test_bad_arguments(_):
    for arguments in ([], ["--listen", "3"], ["--listen", "0", "--ready", "1", "--name", "a", "--cwd", "/"],
                      ["--listen", "99", "--ready", "98", "--name", "a", "--cwd", "/"]):
        assert subprocess.run([BOXINIT, *arguments], stderr=subprocess.DEVNULL).returncode == 2, arguments


def main():
    chosen = sys.argv[3:]
    tests = [(n, f) for n, f in globals().items() if n.startswith("test_") and (not chosen or n in chosen)]
    with a_box("box") as box:
        for name, test in tests:
            begin = time.monotonic()
            timer = threading.Timer(3 * LIMIT, lambda: os._exit(3))
            timer.daemon = True
            timer.start()
            test(box)
            timer.cancel()
            print("%-40s %6.2f s" % (name, time.monotonic() - begin), flush=True)
        assert box.bwrap.poll() is None, "boxinit is gone"


main()
