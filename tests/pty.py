#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pty - a terminal with a person at it, for tests: a program at a pseudo terminal, what it shows, what is typed.

    t = pty.Terminal(["ag-box", "attach", "demo"], rows=40, cols=100)
    t.type("echo $((6 * 7))\r"); t.sees("42"); t.resize(30, 80); t.type(pty.DETACH); assert t.wait() == 0
"""
import fcntl
import os
import re
import select
import signal
import struct
import termios
import time

LIMIT = 40  # seconds for anything that is waited for
DETACH = "\x02d"
CONTROL = re.compile(rb"\x1b(\[[0-9;?<>=!]*[a-zA-Z]|\][^\x07\x1b]*(\x07|\x1b\\)|[()][A-Z0-9]|[=>78A-Z])")


class Terminal:
    def __init__(self, argv, rows=40, cols=100, env=None):
        self.master, self.slave = os.openpty()
        self.shown, self.status = b"", None
        self.resize(rows, cols)
        self.before = termios.tcgetattr(self.slave)
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)
            for fd in (0, 1, 2):
                os.dup2(self.slave, fd)
            os.closerange(3, 1024)
            try:
                os.execvpe(argv[0], argv, {**os.environ, "TERM": "xterm-256color", **(env or {})})
            finally:
                os._exit(127)

    def resize(self, rows, cols):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    def type(self, text):
        os.write(self.master, text.encode())

    def read(self, limit):
        """What comes within the limit; False: nothing."""
        if not select.select([self.master], [], [], limit)[0]:
            return False
        try:
            self.shown += os.read(self.master, 65536)
        except OSError:
            return False
        return True

    def text(self):
        """What was shown, without what moves the cursor."""
        return CONTROL.sub(b"", self.shown).decode(errors="replace")

    def forget(self):
        while self.read(0):
            pass
        self.shown = b""

    def sees(self, what):
        """Until the text shows it: a string, or a regular expression's match, which is returned."""
        end = time.monotonic() + LIMIT
        while True:
            found = re.search(what, self.text())
            if found:
                return found
            assert time.monotonic() < end, "never seen: %r in %r" % (what, self.text()[-2000:])
            self.read(0.2)

    def wait(self):
        """The exit code, or minus the signal, once it has ended."""
        end = time.monotonic() + LIMIT
        while self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
                break
            assert time.monotonic() < end, "it does not end; it shows %r" % self.text()[-2000:]
            self.read(0.05)
        while self.read(0):
            pass
        return self.status

    def kill(self, number):
        os.kill(self.pid, number)

    def is_restored(self):
        """The mode it had before, all of it."""
        return termios.tcgetattr(self.slave) == self.before

    def is_raw(self):
        return not termios.tcgetattr(self.slave)[3] & (termios.ICANON | termios.ECHO | termios.ISIG)

    def close(self):
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.master)
        os.close(self.slave)
