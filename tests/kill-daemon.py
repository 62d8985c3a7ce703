#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""kill-daemon MOUNTED ORIGINAL KILLS SEED - SIGKILL for the process that serves MOUNTED, again and again, under load.

Each round has files of its own that nobody has read yet (ORIGINAL/round-N holds what they must hold). Eight readers
read them while the serving process is killed in the middle, and a mutator writes, renames and removes beside them. No
call may fail, every byte must be right, and the mutator's tree must be its model at the end.
"""
import os
import random
import signal
import sys
import threading
import time

mounted, original, kills, seed = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
chance = random.Random(seed)
READERS = 8
RESTART_LIMIT_S = 30
failures = []


def servers():
    """Of this mount namespace only: other tests have theirs."""
    space, found = os.readlink("/proc/self/ns/mnt"), []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % name, "rb") as f:
                if b"boxfs-serve" in f.read().split(b"\0") and os.readlink("/proc/%s/ns/mnt" % name) == space:
                    found.append(int(name))
        except OSError:
            continue
    return found


def guarded(work, *args):
    try:
        work(*args)
    except Exception as e:
        failures.append("%s%r: %r" % (work.__name__, args, e))


def read(directory, names):
    for name in names:
        with open("%s/%s/%s" % (mounted, directory, name), "rb") as f, open("%s/%s/%s" % (original, directory, name), "rb") as o:
            if f.read() != o.read():
                raise ValueError("%s/%s differs" % (directory, name))


def mutate(stop, model):
    top, count = mounted + "/mutated", 0
    os.mkdir(top)
    lower = sorted(os.listdir(mounted + "/lower"))
    while not stop.is_set():
        count += 1
        what = chance.randrange(5)
        if what == 0 or not model:
            model["f%d" % count] = data = os.urandom(chance.randrange(1, 50000))
            with open("%s/f%d" % (top, count), "wb") as f:
                f.write(data)
        elif what == 1:
            name = chance.choice(sorted(model))
            os.rename("%s/%s" % (top, name), "%s/r%d" % (top, count))
            model["r%d" % count] = model.pop(name)
        elif what == 2:
            name = chance.choice(sorted(model))
            os.unlink("%s/%s" % (top, name))
            del model[name]
        elif what == 3 and lower:  # a file of the lower comes up whole
            name = lower.pop()
            with open("%s/lower/%s" % (mounted, name), "ab") as f:
                f.write(b"more")
            with open("%s/lower/%s" % (original, name), "rb") as f:
                model["l%d" % count] = f.read() + b"more"
            os.rename("%s/lower/%s" % (mounted, name), "%s/l%d" % (top, count))
        else:
            os.listdir(mounted)
            time.sleep(0.001)


def start(work, *args):
    thread = threading.Thread(target=guarded, args=(work, *args), daemon=True)
    thread.start()
    return thread


def round_of(number):
    directory = "round-%d" % number
    names = sorted(os.listdir("%s/%s" % (original, directory)))
    readers = [start(read, directory, names[i::READERS]) for i in range(READERS)]
    time.sleep(chance.random() * 0.02)  # anywhere in the middle
    found = servers()
    for i in range(500):  # the one killed before may be on its way back: whoever waits for it is a reader
        if found:
            break
        time.sleep(0.01)
        found = servers()
    if not found:
        raise RuntimeError("round %d: nothing to kill" % number)
    for pid in found:
        os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + RESTART_LIMIT_S
    for thread in readers:
        thread.join(max(0, deadline - time.monotonic()))
        if thread.is_alive():
            raise TimeoutError("round %d: a read hangs" % number)


stop, model = threading.Event(), {}
mutator = start(mutate, stop, model)
for number in range(kills):
    guarded(round_of, number)
    if failures:
        break
stop.set()
mutator.join(RESTART_LIMIT_S)
for name in sorted(model):
    with open("%s/mutated/%s" % (mounted, name), "rb") as f:
        if f.read() != model[name]:
            failures.append("mutated/%s differs" % name)
if sorted(os.listdir(mounted + "/mutated")) != sorted(model):
    failures.append("mutated holds other names")
print("\n".join(failures) if failures else "%d kills, %d files changed" % (kills, len(model)))
sys.stdout.flush()
os._exit(1 if failures else 0)  # a thread that hangs in a read does not end
