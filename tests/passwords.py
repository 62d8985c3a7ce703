#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""passwords.py - a person at a terminal types new passwords: nothing of them is shown, and each is typed twice."""
import signal

import pty


def add():
    t = pty.Terminal(["ag-box", "key", "add", "--label", "typed"])
    t.sees("new password: ")
    return t


def ends(t, code):
    assert t.wait() == code, (t.status, t.text())
    assert t.is_restored(), "the terminal is not as it was"
    assert "secret" not in t.text(), t.text()
    t.close()


t = add()
t.type("my secret\r")
t.sees("once more: ")
t.type("my secret\r")
ends(t, 0)

t = add()
t.type("my secret\r")
t.sees("once more: ")
t.type("no secret\r")
t.sees("the two passwords differ")
ends(t, 2)

t = add()
t.type("secret so f\x1c\x1ar")  # Ctrl-\ and Ctrl-Z end and stop nothing
t.type("\x03")
ends(t, 130)

t = add()
t.type("secret")
t.kill(signal.SIGTERM)
ends(t, 130)
