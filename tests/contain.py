#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""contain.py DIR COMMAND... - the first process of a test's own pid and mount namespace (tests/run makes them).

Runs COMMAND, then looks for what it left: processes, mounts, loop devices on files below DIR. Each is a line in
DIR/left and is taken away. When this process ends, the kernel ends whatever else is in the namespace.
"""
import json
import os
import signal
import subprocess
import sys
import time

GRACE_SECONDS = 3  # for processes that were told to end and are at it


def mounts():
    with open("/proc/self/mountinfo", errors="surrogateescape") as f:
        fields = [line.split(" ") for line in f]
    return {f[0]: (f[4], f[f.index("-") + 1]) for f in fields}


def loops(below):
    try:
        listed = subprocess.run(["losetup", "--json", "--list", "--output", "NAME,BACK-FILE"], capture_output=True, text=True)
        devices = json.loads(listed.stdout or '{"loopdevices":[]}')["loopdevices"]
    except (FileNotFoundError, ValueError):
        return []
    return [(d["name"], d["back-file"]) for d in devices if (d["back-file"] or "").startswith(below)]


def processes():
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            with open("/proc/%s/stat" % name, errors="replace") as f:
                state = f.read().rpartition(")")[2].split()
            with open("/proc/%s/cmdline" % name, "rb") as f:
                command = f.read().replace(b"\0", b" ").decode("utf-8", "replace").strip()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if state[0] != "Z" and state[1] != "0":  # 0: not of this namespace
            found[int(name)] = command
    return found


def reap():
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                return
        except ChildProcessError:
            return


def run(command):
    child = os.fork()
    if child == 0:
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        try:
            os.execvp(command[0], command)
        finally:
            os._exit(127)
    while True:
        pid, status = os.wait()
        if pid == child:
            return os.waitstatus_to_exitcode(status)


def take_away(directory, mounts_before):
    left = []
    end = time.monotonic() + GRACE_SECONDS
    while processes() and time.monotonic() < end:
        reap()
        time.sleep(0.02)
    for pid, command in processes().items():
        left.append("process %d: %s" % (pid, command))
        os.kill(pid, signal.SIGKILL)
    for number, (path, kind) in sorted(mounts().items(), key=lambda m: -int(m[0])):
        if number not in mounts_before:
            left.append("mount %s (%s)" % (path, kind))
            subprocess.run(["umount", "--lazy", path.encode().decode("unicode_escape")], capture_output=True)
    for device, path in loops(directory):
        left.append("loop device %s on %s" % (device, path))
        subprocess.run(["losetup", "--detach", device], capture_output=True)
    return left


def main():
    directory, command = sys.argv[1], sys.argv[2:]
    before = mounts()
    code = run(command)
    left = take_away(directory, before)
    if left:
        with open(os.path.join(directory, "left"), "w") as f:
            f.write("".join(line + "\n" for line in left))
    sys.exit(code if code >= 0 else 128 - code)


main()
