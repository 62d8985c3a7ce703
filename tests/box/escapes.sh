# SPDX-License-Identifier: MIT
# What a box must not be able to do: each is tried inside a real one and refused, and each is done where its protection
# alone is switched off (AGBOX_POLICY_WITHOUT, sandbox/weaken), so that none is refused by chance.
# lane: wait
# limit: 300
BOXES=yes
. "$TESTS/lib.sh"

store file
node a
needs_crash_points # the switch is there in such builds only
project="$WORK/project"
mkdir "$project"
echo text >"$project/file"

# The node's own /etc and /usr, so that an escape that succeeds harms nobody.
for place in etc usr; do
    mkdir -p "$WORK/own/$place" "$WORK/work/$place"
    on a mount -t overlay -o "lowerdir=/$place,upperdir=$WORK/own/$place,workdir=$WORK/work/$place" none "/$place"
done
on a mount --make-rshared / # as where systemd is the init
on a mkdir -m 755 /etc/agbox-test
on a mkdir -p /usr/agbox-test/late
on a sh -c 'echo "-----BEGIN OPENSSH PRIVATE KEY-----" >/etc/agbox-test/readable; echo secret >/etc/agbox-test/mine
    mkdir -m 700 /etc/agbox-test/locked; echo secret >/etc/agbox-test/locked/file; chmod 755 /etc/agbox-test
    chmod 644 /etc/agbox-test/readable; chmod 600 /etc/agbox-test/mine'
home="$WORK/node/a/home"
mkdir -p "$home/.ssh" "$home/.local/share" "$home/.codex" "$home/.grok" "$WORK/other" "$WORK/victim"
echo key >"$home/.ssh/id"
echo other >"$WORK/other/file"
python3 -c 'import socket, sys, time
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
s.listen()
time.sleep(600)' "$home/.local/share/agent.sock" &
_at_exit+=("kill $! 2>/dev/null")
while [ ! -S "$home/.local/share/agent.sock" ]; do sleep 0.01; done

python3 -c 'import socket, sys, time
s = socket.socket(socket.AF_UNIX)
s.bind("\0" + sys.argv[1])
s.listen()
open(sys.argv[1], "w")
time.sleep(600)' "$WORK/abstract" &
_at_exit+=("kill $! 2>/dev/null")
while [ ! -e "$WORK/abstract" ]; do sleep 0.01; done
sleep 600.75 & # of the host
victim=$!
_at_exit+=("kill $victim 2>/dev/null")

on a ag-box track other "$WORK/other"
on a ag-box track demo "$project"
on a ag-box park demo

# box_without PROTECTION: the box anew; "": with all of them
box_without() {
    [ "$(state_of a demo)" != mounted ] || on a ag-box park demo
    on a env BOX_PASSWORD="correct horse" AGBOX_POLICY_WITHOUT="$1" ag-box up demo >/dev/null
}

inside() {
    on a ag-box exec demo -- "$@"
}

# Each exits with 0 once it has escaped.
python() {
    inside /usr/bin/python3 -c "$@"
}
write_etc() { inside sh -c ': >/etc/agbox-was-here'; }
write_usr() { inside sh -c ': >/usr/agbox-was-here'; }
write_root() { inside sh -c ': >/agbox-was-here'; }
remount() { inside mount -o remount,bind,rw /usr; }
make_device() { inside mknod /tmp/null c 1 3; }
set_name() { inside hostname elsewhere; }
read_shadow() { [ "$(inside cat /etc/shadow)" = "$(cat /etc/shadow)" ]; } # it has one of its own, without passwords
read_key() { inside test -s /etc/agbox-test/readable; }
read_mine() { inside test -s /etc/agbox-test/mine; }
read_locked() { inside test -e /etc/agbox-test/locked/file; }
read_replaced() { # as passwd does it, while the box runs
    on a sh -c 'umask 077; echo new >/etc/agbox-test/new; mv /etc/agbox-test/new /etc/agbox-test/mine'
    inside grep -q new /etc/agbox-test/mine
}
read_later() { # what was not there when the box was started
    on a sh -c 'umask 077; echo secret >/etc/agbox-test/later'
    inside test -s /etc/agbox-test/later
}
call_agent() { python 'import socket; socket.socket(socket.AF_UNIX).connect("/root/.local/share/agent.sock")'; }
call_abstract() { python "import socket; socket.socket(socket.AF_UNIX).connect('\0$WORK/abstract')"; }
core_pattern() { python 'import os; os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY)'; }
keyring() { python 'import ctypes, sys; sys.exit(ctypes.CDLL(None).syscall(250, 0, -4, 0) < 0)'; }
packets() { python 'import socket; socket.socket(socket.AF_VSOCK)'; }
personality() { python 'import ctypes, sys; sys.exit(ctypes.CDLL(None).personality(0x400000) < 0)'; }
inject() { # types into the terminal that it has
    on a sh -c 'ag-box exec --tty demo -- /usr/bin/python3 -c "import fcntl, termios; fcntl.ioctl(0, termios.TIOCSTI, b\"x\")" </dev/null'
}
late_mount() { # what the host mounts below a shown directory once the box runs
    local code=0
    on a mount -t tmpfs none /usr/agbox-test/late
    inside sh -c ': >/usr/agbox-test/late/written' || code=$?
    on a umount /usr/agbox-test/late
    return $code
}
# Whoever opens the file then waits for up to 45 s.
lease() { python 'import fcntl; fcntl.fcntl(open("/run/box/etc/tmux.conf"), fcntl.F_SETLEASE, fcntl.F_WRLCK)'; }
see_ssh() { inside sh -c "cat '$home/.ssh/id' || cat '/run/host$home/.ssh/id'"; }
see_other() { inside sh -c "cat '$WORK/other/file' || cat '/run/host$WORK/other/file'"; }
see_keys() { inside sh -c "cat '$WORK/node/a/config/env' || cat '/run/host$WORK/node/a/config/env'"; }
see_password() { inside sh -c 'grep -qsa "correct [h]orse" /proc/*/environ /proc/*/cmdline'; }
see_process() { inside sh -c 'grep -qs "600.7[5]" /proc/*/cmdline'; }
kill_process() {
    inside kill "$victim" || return # who has this number in there, if anybody
    wait "$victim" || true
}
# The host's login comes from, or goes to, where a link of the box leads. Grok's, which follows, says when it is done.
login() { # HOURS TOKEN
    jq -nc --arg refresh "$2" --argjson at $(($(date +%s) + 3600 * $1)) '{tokens: {account_id: "me", refresh_token: $refresh,
        access_token: ("h." + ({exp: $at, sub: "me"} | tojson | @base64 | gsub("\\+"; "-") | gsub("/"; "_") | gsub("="; "")) + ".s")}}'
}
token() { jq -r .tokens.refresh_token "$1"; }
exchange() { # HOURS: the victim's; the host's has two
    local until=$((SECONDS + 30)) stamp
    login "$1" victim >"$WORK/victim/auth.json"
    inside sh -c "rm -rf ~/.codex; ln -s '$WORK/victim' ~/.codex"
    login 2 host >"$home/.codex/auth.json"
    exchanges=$((${exchanges:-0} + 1))
    stamp="stamp-$exchanges-"
    jq -nc --arg key "$stamp" --argjson at $(($(date +%s) + 60 * exchanges)) '{me: {key: $key, user_id: "me", expires_at: $at}}' \
        >"$home/.grok/auth.json"
    until inside grep -qs "$stamp" /root/.grok/auth.json; do
        ((SECONDS < until)) || return 125
        sleep 0.05
    done
}
read_login() { exchange 3 && [ "$(token "$home/.codex/auth.json")" = victim ]; }
write_login() { exchange 1 && [ "$(token "$WORK/victim/auth.json")" = host ]; }

# What tmux in the box tells whoever is attached to become. CLIENT...: how one attaches.
become() {
    local client
    rm -f "$WORK/outside"
    mkfifo "$WORK/keys"
    on a env TERM=xterm script -qec "$*" /dev/null <>"$WORK/keys" >/dev/null &
    until client=$(inside tmux -S /run/box/demo/tmux.sock list-clients -F '#{client_name}') && [ -n "$client" ]; do sleep 0.01; done
    inside tmux -S /run/box/demo/tmux.sock detach-client -t "$client" -E "touch '$WORK/outside'"
    wait $! || true
    rm "$WORK/keys"
    [ -e "$WORK/outside" ]
}
become_something() { become ag-box attach demo; }
own_proc() { inside unshare --user --map-root-user --mount --pid --fork --mount-proc true; }

refused() {
    local escape code
    for escape in "$@"; do
        code=0
        $escape >"$WORK/output" 2>&1 || code=$?
        [ "$code" != 0 ] || fail "$escape: it is out"
        [ "$code" != 125 ] || { cat "$WORK/output"; fail "$escape: it was not even tried"; }
    done
}

done_without() {
    local protection=$1 escape
    shift
    box_without "$protection"
    for escape in "$@"; do
        $escape >"$WORK/output" 2>&1 || { cat "$WORK/output"; fail "$escape is refused without $protection, too: it shows nothing"; }
    done
}

box_without ""
inside true
refused write_etc write_usr write_root remount make_device set_name read_shadow read_key read_mine read_locked \
    read_replaced read_later call_agent see_process kill_process read_login write_login become_something \
    core_pattern keyring packets personality late_mount lease see_ssh see_other see_keys see_password own_proc
[ "$(cat /proc/sys/dev/tty/legacy_tiocsti 2>/dev/null || echo 1)" = 0 ] || refused inject

# Its own directory in /run lies on nothing of the host's, which it would fill.
inside sh -c ': >/run/box/demo/written-inside'
[ -z "$(find "$WORK/node/a/run" -name written-inside)" ] || fail "what a box writes below /run is in the host's"

# Abstract sockets of its own it has, and agents' sandboxes their mounts.
inside unshare --user --map-root-user --mount mount -t tmpfs none /tmp
scopes=$(python3 -c 'import ctypes; print(int(ctypes.CDLL(None).syscall(444, None, 0, 1) >= 6))') # Landlock's version
[ "$scopes" = 0 ] || refused call_abstract
python 'import socket
one, other = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
one.bind("\0inside")
one.listen()
other.connect("\0inside")'

# Root in the box lets others work for it: they find name servers, and git its configuration.
inside /usr/bin/python3 -c 'import os; os.setgid(1000); os.setuid(1000); open("/etc/gitconfig").read(); open("/etc/resolv.conf").read(); os.listdir("/run/box/etc")'

# By exec nobody leaves the box's control group; by entering its namespaces from outside one would never have been in it.
inside sleep 600.25 || true &
running=$!
while ! pid=$(pgrep -xf "sleep 600.25"); do sleep 0.01; done
become "tmux -S /proc/$pid/root/run/box/demo/tmux.sock attach" || fail "a client of the host's own is not told either: it shows nothing"
grep -q "/ag-box-demo\." "/proc/$pid/cgroup" || fail "exec is not in the box's control group"
on a nsenter --mount --pid --target "$pid" sleep 600.5 || true &
while ! entered=$(pgrep -xf "sleep 600.5"); do sleep 0.01; done
! grep -q "/ag-box-demo\." "/proc/$entered/cgroup" || fail "what was entered from outside is in it, too: it shows nothing"
kill "$pid" "$entered"
wait "$running"

# A directory that becomes a link while the host makes mount points: nothing appears where it leads.
inside sh -c 'rm -rf ~/.config; ln -s /etc/agbox-test ~/.config; rm -rf ~/.claude; ln -s /usr ~/.claude'
on a mkdir -p "$home/.config/gh" "$home/.claude/skills"
box_without ""
expect_missing /etc/agbox-test/gh
expect_missing /usr/skills
inside true

done_without system write_etc write_usr write_root
done_without capabilities remount make_device set_name
done_without hidden read_shadow read_key read_mine read_locked read_replaced read_later call_agent
done_without sysctl core_pattern
done_without filter keyring packets personality lease
[ "$(cat /proc/sys/dev/tty/legacy_tiocsti 2>/dev/null || echo 1)" = 0 ] || inject
done_without propagation late_mount
done_without scope call_abstract
done_without places see_ssh see_other see_keys
done_without environment see_password
done_without links read_login write_login
done_without processes see_process kill_process
server=$(inside tmux -S /run/box/demo/tmux.sock display-message -p '#{pid}') # no kernel ends it with the box
on a ag-box status --json demo >"$WORK/status"
kill -KILL "$(json_field "$WORK/status" box_pid)"
while [ -d "/proc/$(json_field "$WORK/status" box_pid)" ]; do sleep 0.01; done
kill -KILL "$server"
while [ -d "/proc/$server" ]; do sleep 0.01; done

# Control groups that the box has made below its own do not stay.
box_without ""
inside unshare --user --map-root-user --mount --cgroup sh -c 'mount -t cgroup2 none /tmp && mkdir -p /tmp/one/two' ||
    echo "no control groups can be made in here"

# A box that has frozen itself ends all the same, and what it has frozen in groups of its own, too. (v1's frozen
# processes would outlive even the test.)
groups="ag-box-demo.$(stat -Lc %i /proc/self/ns/pid)"
_at_exit+=('for group in /sys/fs/cgroup/freezer/"$groups".*; do
    find "$group" -name freezer.state -exec sh -c "echo THAWED >{}" \; 2>/dev/null; done')
inside sh -c 'sleep 600.125 & sleep 600.25 & below=$!
    unshare --user --map-root-user --mount --cgroup sh -c "
    mount -t cgroup -o freezer none /tmp && mkdir -p /tmp/one/two && echo $below >/tmp/one/two/cgroup.procs &&
        echo FROZEN >/tmp/one/two/freezer.state && echo FROZEN >/tmp/freezer.state ||
    mount -t cgroup2 none /tmp && echo 1 >/tmp/cgroup.freeze"' &
frozen=$!
until grep -qs FROZEN /sys/fs/cgroup/freezer/"$groups".*/freezer.state ||
    grep -qsx "frozen 1" /sys/fs/cgroup/{,unified/}"$groups".*/cgroup.events || ! kill -0 $frozen 2>/dev/null; do
    sleep 0.01
done
on a ag-box park demo
wait $frozen || true
! pgrep -xf "sleep 600[.](125|25)" || fail "a frozen box has survived its park"
left=$(find /sys/fs/cgroup -type d -name "$groups.*")
[ -z "$left" ] || fail "left: $left"
on a ag-box park other
for place in etc usr; do on a umount -l "/$place"; done
