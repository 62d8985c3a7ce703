#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""attach.py NAME - a person at a terminal attaches to the box NAME, which is up here and stopped. Each test_* in order."""
import itertools
import os
import re
import signal
import subprocess
import sys
import time

import pty

NAME = sys.argv[1]
ATTACH = ["ag-box", "attach", NAME]
questions = itertools.count(100)


def inside(script):
    return subprocess.run(["ag-box", "exec", NAME, "--", "sh", "-c", script], capture_output=True, text=True, check=True).stdout


def clients():
    return len(inside("cd /run/box/%s && ./tmux -S tmux.sock list-clients 2>/dev/null || true" % NAME).splitlines())


def attach(**options):
    t = pty.Terminal(options.pop("argv", ATTACH), **options)
    t.sees(r"\[box:%s@" % NAME)
    return t


def detach(t):
    time.sleep(0.1)  # keys that come within a millisecond are a paste to tmux (assume-paste-time)
    t.type(pty.DETACH)
    assert t.wait() == 0, (t.status, t.text()[-500:])
    assert t.is_restored(), "the terminal is not as it was"
    t.close()


def shell_of(t):
    """The pid of the shell at this terminal, which may still show earlier answers."""
    question = next(questions)
    t.type("echo $((%d + 1)) $$\r" % question)
    return t.sees(r"%d (\d+)\s" % (question + 1)).group(1)


def still_has(shell):
    t = attach()
    assert shell_of(t) == shell, "another shell: what was in the box has ended"
    detach(t)


def eventually(condition, what):
    end = time.monotonic() + pty.LIMIT
    while not condition():
        assert time.monotonic() < end, "never: " + what
        time.sleep(0.05)


def test_starts_and_detaches():
    t = attach()
    assert t.is_raw()
    t.type("echo $((6 * 7)) $TERM $HOME\r")
    t.sees(r"42 (tmux|screen)\S* /root")
    t.type("echo has=${PATH%%:*}\r")
    t.sees(r"has=/root/\.local/bin")
    t.type("MARK=kept; stty -echo\r")
    detach(t)
    t = attach()
    t.type("echo is $MARK\r")
    t.sees("is kept")
    t.type("stty echo\r")
    detach(t)
    assert clients() == 0


def test_size():
    t = attach(rows=40, cols=100)
    t.type("stty size\r")
    t.sees("39 100")  # one line is the status bar's
    t.type("sh -c 'trap \"stty size\" WINCH; echo rea\\dy; while :; do sleep 0.05; done'\r")
    t.sees("ready")
    t.resize(30, 77)
    t.sees("29 77")
    t.type("\x03")
    detach(t)


def test_job_control():
    t = attach()
    t.type("sleep 1000\r")
    eventually(lambda: inside("pgrep -x sleep || true"), "sleep runs")
    t.type("\x1a")
    t.sees("Stopped")
    t.type("bg; jobs; kill %1; wait %1; echo ended-$?\r")
    t.sees("Running")
    t.sees("ended-143")
    detach(t)


def test_terminal_unknown_in_the_box():
    t = attach(env={"TERM": "no-such-terminal"})
    detach(t)


def test_inside_another_tmux():
    socket = os.environ["WORK"] + "/outer.sock"
    outer = pty.Terminal(["tmux", "-f", "/dev/null", "-S", socket, "new-session", "sh"])
    outer.type(" ".join(ATTACH) + "\r")
    outer.sees(r"\[box:%s@" % NAME)
    outer.type("echo $((6 * 7))-inside\r")
    outer.sees("42-inside")
    time.sleep(0.1)
    outer.type("\x02")
    time.sleep(0.1)
    outer.type("\x02d")  # the inner tmux gets the prefix through the outer one
    eventually(lambda: clients() == 0, "detached through two")
    outer.forget()
    outer.type("echo out''side\r")
    outer.sees("outside")
    outer.type("exit\r")
    assert outer.wait() == 0
    outer.close()


def test_signals_to_attach():
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        t = attach()
        t.kill(number)
        assert t.wait() == 130, t.status
        assert t.is_restored(), number
        t.close()
        eventually(lambda: clients() == 0, "no client of tmux is left")
    t = attach()
    t.kill(signal.SIGTSTP)  # it is not stopped with a raw terminal
    t.type("echo $((40 + 2))-goes-on\r")
    t.sees("42-goes-on")
    t.kill(signal.SIGSTOP)
    t.kill(signal.SIGCONT)
    detach(t)


def test_kill_of_attach():
    t = attach()
    shell = shell_of(t)
    t.kill(signal.SIGKILL)
    assert t.wait() == -signal.SIGKILL
    t.close()
    eventually(lambda: clients() == 0, "tmux sees that the terminal is gone")
    still_has(shell)


def test_kill_of_the_relay():
    """What speaks with tmux in the box is killed: attach ends, the terminal is as it was, tmux goes on."""
    t = attach()
    shell = shell_of(t)
    inside("kill -9 $(cd /run/box/%s && ./tmux -S tmux.sock list-clients -F '#{client_pid}')" % NAME)
    assert t.wait() == 1 and t.is_restored(), (t.status, t.text()[-300:])
    t.close()
    still_has(shell)


def test_terminal_gone():
    """Its window is closed: nothing is typed into the box by that."""
    t = attach()
    shell = shell_of(t)
    os.close(t.slave)
    os.close(t.master)
    assert os.waitstatus_to_exitcode(os.waitpid(t.pid, 0)[1]) in (130, -signal.SIGHUP)
    eventually(lambda: clients() == 0, "tmux sees that the terminal is gone")
    still_has(shell)


def test_kill_of_tmux():
    t = attach()
    inside("kill -9 $(tmux -S /run/box/%s/tmux.sock display-message -p '#{pid}')" % NAME)
    code = t.wait()
    assert code == 1 and t.is_restored(), (code, t.text()[-300:])
    t.close()
    detach(attach())  # it is there again


def test_last_shell_ends():
    t = attach()
    t.type("exit\r")
    assert t.wait() == 0 and t.is_restored()
    t.close()
    detach(attach())


def test_not_the_hosts_terminal():
    """No process in the box has a descriptor of a terminal of the host, and TIOCSTI does not go."""
    t = attach()
    host = os.stat(t.slave)
    own = set(inside("stat -c '%d:%r' /dev/pts/* | sort -u").split())
    assert "%d:%d" % (host.st_dev, host.st_rdev) not in own
    pids = [p for p in os.listdir("/proc") if p.isdigit()]
    here = os.readlink("/proc/self/ns/pid")
    looked = 0
    for pid in pids:
        try:
            if os.readlink("/proc/%s/ns/pid" % pid) == here:
                continue
            for fd in os.listdir("/proc/%s/fd" % pid):
                s = os.stat("/proc/%s/fd/%s" % (pid, fd))
                looked += 1
                assert (s.st_dev, s.st_rdev) != (host.st_dev, host.st_rdev), (pid, fd)
        except (FileNotFoundError, ProcessLookupError):
            continue
    assert looked > 10, "nothing was looked at"
    said = inside("python3 -c 'import fcntl, os, termios\nm, s = os.openpty()\n"
                  "try: fcntl.ioctl(s, termios.TIOCSTI, b\"x\"); print(\"pushed\")\n"
                  "except OSError as e: print(e.errno)'")
    assert said.strip() in ("1", "5", "25"), said
    detach(t)


def test_no_terminal():
    for redirect in ("</dev/null", ">/dev/null", "| cat"):
        p = pty.Terminal(["bash", "-c", "set -o pipefail; ag-box attach %s %s" % (NAME, redirect)])
        code = p.wait()
        assert code == 2 and re.search("wants a terminal", p.text()), (redirect, code, p.text())
        p.close()


def test_exec_at_a_terminal():
    t = pty.Terminal(["ag-box", "exec", NAME, "--tty", "--", "sh", "-c", "stty size; echo $TERM; read x; echo got $x; exit 5"],
                     rows=33, cols=44)
    t.sees("33 44")
    t.sees("xterm-256color")
    t.type("hello\r")
    t.sees("got hello")
    assert t.wait() == 5 and t.is_restored()
    t.close()
    t = pty.Terminal(["ag-box", "exec", NAME, "--tty", "--", "sleep", "1000"])
    eventually(t.is_raw, "a raw terminal")
    eventually(lambda: inside("pgrep -x sleep || true"), "sleep runs")
    t.type("\x03")
    assert t.wait() == 130 and t.is_restored()
    t.close()
    t = pty.Terminal(["ag-box", "exec", NAME, "--", "sh", "-c", "trap 'echo caught; exit 3' INT; echo up; while :; do sleep 0.1; done"])
    t.sees("up")
    t.type("\x03")
    assert t.wait() == 3 and "caught" in t.text()
    t.close()


def test_stop_while_attached():
    t = attach()
    keeper = int(subprocess.run(["pgrep", "-f", "^ag-box boxrun %s$" % NAME], capture_output=True, text=True,
                                check=True).stdout.split()[0])
    os.kill(keeper, signal.SIGTERM)
    code = t.wait()
    assert code == 1 and t.is_restored(), (code, t.text()[-500:])
    t.close()
    detach(attach())  # started again


def test_park_while_attached():
    t = attach()
    subprocess.run(["ag-box", "park", NAME], check=True, stdin=subprocess.DEVNULL)
    assert t.wait() == 1 and t.is_restored(), (t.status, t.text()[-500:])
    assert re.search("the box (was|is being) stopped", t.text()) and "kill-server" not in t.text(), t.text()[-500:]
    t.close()


def main():
    for name, test in list(globals().items()):
        if name.startswith("test_") and (len(sys.argv) < 3 or name in sys.argv[2:]):
            begin = time.monotonic()
            test()
            print("%-40s %6.2f s" % (name, time.monotonic() - begin), flush=True)


main()
