# SPDX-License-Identifier: MIT
# What ordinary programs want of a box: complaints 1, 14, 16 to 23, 45, 46, 54 and 57 about other sandboxes (contrib/SPEC.md).
# lane: wait
# limit: 240
BOXES=yes
. "$TESTS/lib.sh"

store file
node a
node b
project="$WORK/project"
mkdir "$project"
echo text >"$project/file"
chmod 755 "$project" # whoever somebody is in the box: it can be read
on a ag-box track demo "$project"
on a ag-box park demo

# The node's own /etc and /run, with much to leave out, and with a docker that listens.
mkdir -p "$WORK/own" "$WORK/work"
on b mount -t overlay -o "lowerdir=/etc,upperdir=$WORK/own,workdir=$WORK/work" none /etc
on b mount -t tmpfs -o mode=755 none /run
on b sh -ec 'mkdir /etc/agbox-many; cd /etc/agbox-many; umask 077
    i=0; while [ $i -lt 5000 ]; do : >$i; i=$((i + 1)); done; chmod 755 .'
mkdir -p "$WORK/node/b/home/.docker/run"
sockets=(/run/docker.sock /run/user.sock "$WORK/node/b/home/.docker/run/docker.sock")
on b python3 -c 'import os, socket, sys, time
all = [socket.socket(socket.AF_UNIX) for _ in sys.argv[1:]]
for s, path in zip(all, sys.argv[1:]):
    s.bind(path)
    s.listen()
with open("/run/listening", "w") as f:
    print(os.getpid(), file=f)
time.sleep(600)' "${sockets[@]}" &
until on b test -s /run/listening; do sleep 0.01; done

on b env DOCKER_HOST=unix:///run/docker.sock ag-box up demo
inside() { on b ag-box exec demo -- "$@"; }
python() { inside /usr/bin/python3 -c "$@"; }
as_user() { inside setpriv --reuid 1000 --regid 1000 --clear-groups -- "$@"; }
on b ag-box status --json demo >"$WORK/status"
keeper=$(json_field "$WORK/status" box_pid)

# 1: a box needs no user namespace and no network namespace, so a host that forbids them to programs does not stop it.
for space in user net; do
    [ "$(inside readlink "/proc/self/ns/$space")" = "$(readlink "/proc/self/ns/$space")" ] || fail "another $space namespace"
done

# 14: whatever there is to leave out of /etc, bwrap's command line stays as short as it is.
bwrap=$(pgrep -P "$keeper" -x bwrap)
words=$(tr -cd '\0' <"/proc/$bwrap/cmdline" | wc -c)
((words < 250)) || fail "bwrap has $words words"
expect_exit 1 inside sh -c 'ls /etc/agbox-many | grep .'

# 16: unix sockets, everywhere where files can be made.
python 'import os, socket, sys
a, b = socket.socketpair()
a.send(b"x")
assert b.recv(1) == b"x"
for path in "/tmp/s", "/root/s", "/run/s", sys.argv[1] + "/s", "\0agbox-%d" % os.getpid():
    listener, client = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    client.connect(path)
    client.send(b"x")
    assert listener.accept()[0].recv(1) == b"x", path
    if path[0] == "/":
        os.unlink(path)' "$project"

# 17: what listens on the host at a path is not there, and no variable leads to it.
for path in "${sockets[@]}"; do
    expect_exit 1 python 'import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])' "$path"
    expect_error FileNotFoundError
done
found=$(inside sh -c 'find /run /tmp /var /root -type s; env | grep DOCKER || true')
[ "$found" = /run/box/demo/tmux.sock ] || fail "in the box: $found"

# 18, 22, 23: the sandboxes that programs bring. All namespaces are to be had in a user namespace; what is not is a /proc.
inside unshare --user --map-root-user --mount --pid --net --ipc --uts --fork true
inside unshare --user --map-root-user --pid --net --fork /usr/bin/python3 -c 'import os; os.chroot("/proc/self/fdinfo")' # as Chromium
sandboxed=(bwrap --new-session --die-with-parent --unshare-all --ro-bind / / --dev /dev --bind "$project" "$project" --chdir "$project")
[ "$(inside "${sandboxed[@]}" sh -c 'cat file; echo own >/dev/shm/x; touch new' && inside ls new)" = "text
new" ] || fail "no bwrap in a box"
expect_exit 1 inside "${sandboxed[@]}" --proc /proc true
expect_error "Can't mount proc"
inside "${sandboxed[@]}" --bind /proc /proc sh -c 'test -d /proc/self'
python 'import os
reader, writer = os.pipe()
ready, say = os.pipe()
pid = os.fork()
if pid == 0:
    import ctypes
    assert ctypes.CDLL(None).unshare(0x10000000) == 0 # CLONE_NEWUSER
    os.write(writer, b"x")
    os.read(ready, 1)
    os.setgroups([1000])
    os.setgid(1000)
    os.setuid(1000)
    assert os.getgroups() == [1000]
    os._exit(0)
os.read(reader, 1)
for name in "uid_map", "gid_map":
    with open("/proc/%d/%s" % (pid, name), "w") as f:
        f.write("0 0 65536")
os.write(say, b"x")
assert os.waitpid(pid, 0)[1] == 0'

# 19, 20, 21: what the filter refuses it refuses in the way that programs have another way for; threads are no matter of it.
python 'import ctypes, subprocess, sys, threading
assert subprocess.run(["sh", "-c", "echo out; echo err >&2; exit 3"], capture_output=True).returncode == 3
libc = ctypes.CDLL(None, use_errno=True)
for number in 425, 426, 427: # io_uring
    assert libc.syscall(number, 0, 0, 0, 0, 0, 0) == -1 and ctypes.get_errno() == 38, number
ran = []
threads = [threading.Thread(target=ran.append, args=(i,)) for i in range(100)]
[t.start() for t in threads], [t.join() for t in threads]
assert sorted(ran) == list(range(100))
child = libc.syscall(435, (ctypes.c_uint64 * 8)(0, 0, 0, 0, 17), 64) # clone3, as fork
if child == 0:
    libc._exit(0)
assert child > 0, ctypes.get_errno()'
if type -P node >/dev/null; then
    inside env UV_USE_IO_URING=1 node -e 'const { spawnSync } = require("child_process"), { Worker } = require("worker_threads");
        const ran = spawnSync("sh", ["-c", "echo out; exit 3"]);
        if (ran.error || ran.status !== 3 || String(ran.stdout) !== "out\n") throw ran;
        require("fs").promises.readFile("file", "utf8").then(text => {
            if (text !== "text\n") throw text;
            new Worker("", { eval: true }).on("exit", code => process.exit(code));
        });'
else
    echo "no node on this machine: python alone has shown it"
fi

# 45: nothing is left unreaped, by bwrap or by what starts it.
zombies() { ps -e -o stat=,ppid=,comm= | awk -v keeper="$keeper" -v bwrap="$bwrap" '$1 ~ /^Z/ && ($2 == keeper || $2 == bwrap)'; }
[ -z "$(zombies)" ] || fail "zombies: $(zombies)"

# 46: files can be given away, and programs become somebody else, as apt and su do.
inside sh -ec 'touch given ~/given; chown 1000:33 given ~/given; chgrp 4 given; [ "$(stat -c %u:%g given ~/given)" = "1000:4
1000:33" ]'
python 'import os
os.setgroups([4, 33])
os.setresgid(65534, 65534, 65534)
os.setresuid(42, 42, 42)
assert (os.getuid(), os.getgroups()) == (42, [4, 33])'
[ "$(inside su nobody -s /bin/sh -c 'id -un')" = nobody ] || fail "no su"

# 57: the project is everybody's whose it is, and not only root's: for another user in the box and for his sandbox there, and
# on the host, where his sandbox binds all there is. So is what `ag-box mount` shows.
[ "$(as_user cat "$project/file")" = text ] || fail "another user of the box cannot reach the project"
[ "$(as_user "${sandboxed[@]}" cat file)" = text ] || fail "nor can his sandbox"
mkdir "$WORK/look"
on b ag-box mount demo "$WORK/look"
for file in "$project/file" "$WORK/look/project/file"; do
    [ "$(on b setpriv --reuid 1000 --regid 1000 --clear-groups bwrap --ro-bind / / --dev /dev cat "$file")" = text ] ||
        fail "a user's sandbox on the host cannot read $file"
done
on b ag-box umount "$WORK/look"

# 54: a park ends what went into the background as far as can be, and its port is free.
python 'import os, socket, sys, time
s = socket.socket()
s.bind(("127.0.0.1", 0))
s.listen()
for _ in range(2):
    if os.fork():
        os._exit(0)
    os.setsid()
for fd in 0, 1, 2:
    os.close(fd)
with open("port.new", "w") as f:
    f.write(str(s.getsockname()[1]))
os.rename("port.new", "port")
while True:
    time.sleep(60)'
until [ -e "$WORK/port" ]; do on b sh -c "[ ! -e '$project/port' ] || cp '$project/port' '$WORK/port'"; done
connect() { /usr/bin/python3 -c 'import socket, sys; socket.create_connection(("127.0.0.1", int(sys.argv[1])))' "$(cat "$WORK/port")"; }
connect || fail "nobody listens"
on b ag-box park demo
expect_exit 1 connect
expect_error ConnectionRefusedError
[ -z "$(pgrep -x bwrap)$(pgrep -x boxinit)" ] || fail "something of the box is left"

# What was given away is so on the next node.
on a ag-box up demo
[ "$(on a ag-box exec demo -- stat -c %u:%g given /root/given)" = "1000:4
1000:33" ] || fail "owners did not travel"
on a ag-box park demo
kill "$(on b cat /run/listening)"
wait || true
for place in etc run; do on b umount -l "/$place"; done
