# SPDX-License-Identifier: MIT
# doctor says what a machine lacks and what to do: each of its warnings and failures comes once, from what causes it.
# limit: 400
. "$TESTS/lib.sh"

store file
node a
needs_crash_points
project="$WORK/project"
mkdir "$project"; echo hello >"$project/file"

# A PATH of our own: what doctor looks for, less what a case takes away.
bin="$WORK/bin"
fresh_path() {
    rm -rf "$bin"
    mkdir "$bin"
    for program in sh env cat sleep true bwrap tmux systemd-run git ssh; do
        [ -z "$(type -P "$program")" ] || ln -s "$(type -P "$program")" "$bin/$program"
    done
    fake claude 'echo "2.1.211 (Claude Code)"'
    fake systemctl 'echo enabled'
    fake node 'echo v20.0.0'
}
fake() { # fake NAME SCRIPT
    rm -f "$bin/$1"
    printf '#!/bin/sh\n%s\n' "$2" >"$bin/$1"
    chmod +x "$bin/$1"
}
fresh_path

# doctor CODE [NAME=VALUE]...
doctor() {
    local code=$1
    shift
    expect_exit "$code" on a env PATH="$bin" "$@" "$BUILD/cli/ag-box" doctor --json
    python3 - "$code" "$WORK/output" <<'IN' || fail "not the promised object"
import json, sys
code, answer = int(sys.argv[1]), json.load(open(sys.argv[2]))
assert answer["ok"] is (code == 0) and (code == 0 or answer["kind"] == "failed")
for c in answer["checks"]:
    assert set(c) == {"name", "state", "what", "next"} and c["state"] in ("ok", "warn", "fail"), c
    assert c["what"] and bool(c["next"]) == (c["state"] != "ok"), c
assert code == any(c["state"] == "fail" for c in answer["checks"])
IN
}
# says NAME STATE TEXT [NEXT]: of the last doctor
says() {
    python3 - "$WORK/output" "$@" <<'IN' || fail "$1 does not say: $2 $3 ${4:-}"
import json, sys
_, path, name, state, text, *following = sys.argv
c = next(c for c in json.load(open(path))["checks"] if c["name"] == name)
print(c)
sys.exit(not (c["state"] == state and text in c["what"] and all(f in c["next"] for f in following)))
IN
}
silent() { # silent NAME: it is left out
    ! grep -q "\"name\":\"$1\"" "$WORK/output" || fail "$1 is there"
}
over() { # over PATH TEXT: the node sees a file with TEXT there
    printf '%s\n' "$2" >"$WORK/over${1//\//-}"
    on a mount --bind "$WORK/over${1//\//-}" "$1"
}

# All is well. What this machine may lack is given to it.
on a mount -t tmpfs none /run
on a mkdir -p /run/systemd/system
for file in /proc/sys/dev/tty/legacy_tiocsti /proc/sys/user/max_user_namespaces /sys/module/overlay/parameters/redirect_max; do
    [ ! -e "$file" ] || over "$file" 0
done
[ ! -e /proc/sys/user/max_user_namespaces ] || echo 1000 >"$WORK/over-proc-sys-user-max_user_namespaces"
[ ! -e /sys/module/overlay/parameters/redirect_max ] || echo 4096 >"$WORK/over-sys-module-overlay-parameters-redirect_max"
doctor 0
for name in config fuse overlay bwrap userns tmux systemd tiocsti timers nodes store rights clock tools nix; do
    says "$name" ok ""
done
expect_exit 0 on a env PATH="$bin" "$BUILD/cli/ag-box" doctor
expect_output "ok    config   node a, in $WORK/node/a/config"
[ -z "$(find "$WORK/store/probe" -type f 2>/dev/null)" ] || fail "its probe is left in the store"

# --- the machine
python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$WORK/socket"
on a mount --bind "$WORK/socket" /dev/fuse
doctor 1
says fuse fail "/dev/fuse: No such device or address" "modprobe fuse"
expect_exit 1 on a env PATH="$bin" "$BUILD/cli/ag-box" doctor
expect_output "fail  fuse     /dev/fuse"
expect_output "next: modprobe fuse"
expect_error "1 of 17 checks failed"
on a umount /dev/fuse

expect_exit 1 on a env PATH="$bin" "$(type -P setpriv)" --inh-caps=-sys_admin --bounding-set=-sys_admin "$BUILD/cli/ag-box" doctor --json
says overlay fail "overlayfs: Operation not permitted" "modprobe overlay"
says bwrap fail "bwrap cannot make a box" "namespaces"
if [ -e /sys/module/overlay/parameters/redirect_max ]; then
    echo 256 >"$WORK/over-sys-module-overlay-parameters-redirect_max"
    doctor 0
    says overlay warn "redirect_max is 256" "echo 4096"
    echo 4096 >"$WORK/over-sys-module-overlay-parameters-redirect_max"
fi

rm "$bin/bwrap" "$bin/tmux" "$bin/systemd-run"
doctor 1
says bwrap fail "there is no bwrap on the PATH" "apt-get install bubblewrap"
says tmux fail "there is no tmux on the PATH" "apt-get install tmux"
says systemd fail "systemd-run is not on the PATH" "apt-get install systemd"
fresh_path
fake systemctl 'case $2 in box-prune.timer) echo disabled; exit 1;; box-resume.service) exit 4;; esac; echo enabled'
doctor 0
says timers warn "not enabled: box-prune.timer (disabled) box-resume.service (not there)" contrib/install
fresh_path
on a umount /run
doctor 0
if [ ! -d /run/systemd/system ]; then
    says systemd warn "boxes run directly, without a limit of memory"
    says timers warn "without systemd no timer" "ag-box snapshot --active"
fi

# In a chroot nobody may make a user namespace.
mkdir "$WORK/root"
on a mount --rbind / "$WORK/root"
expect_exit 0 on a env PATH="$bin" "$(type -P chroot)" "$WORK/root" "$BUILD/cli/ag-box" doctor --json
says userns warn "no user namespace can be made" "sysctl"
on a umount -l "$WORK/root"
if [ -e /proc/sys/user/max_user_namespaces ]; then
    echo 0 >"$WORK/over-proc-sys-user-max_user_namespaces"
    doctor 0
    says userns warn "user namespaces are switched off" "sysctl -w user.max_user_namespaces"
    echo 1000 >"$WORK/over-proc-sys-user-max_user_namespaces"
fi
if [ -e /proc/sys/dev/tty/legacy_tiocsti ]; then
    echo 1 >"$WORK/over-proc-sys-dev-tty-legacy_tiocsti"
    doctor 0
    says tiocsti warn "TIOCSTI" "sysctl -w dev.tty.legacy_tiocsti=0"
fi
on a mount -t tmpfs none /sys/fs/cgroup
doctor 0
says freezer warn "not of one moment" "Delegate"
on a umount /sys/fs/cgroup
on a mount -t tmpfs -o size=64m,mode=700 none "$WORK/node/a/state"
doctor 0
says disk warn "64M left" "make room"
on a umount "$WORK/node/a/state"

# --- the configuration, and what it leads to
config="$WORK/node/a/config/env"
chmod 644 "$config"
doctor 1
says config fail "others can read or write it" "chmod 600 $config"
silent store
silent disk
chmod 600 "$config"
doctor 1 BOX_STORE=ftp://x
says config fail "ftp://x"
doctor 1 BOX_STORE="file://$WORK/absent"
says store fail "$WORK/absent" "mount what holds the store"
silent clock
mkdir -p "$WORK/empty/.agbox"
cp -a "$WORK/store/.agbox/." "$WORK/empty/.agbox/"
doctor 1 BOX_STORE="file://$WORK/empty"
says store fail "is not initialised" "ag-box init"
doctor 1 BOX_PASSWORD=wrong
says store fail "password" "BOX_PASSWORD"
on a mount --bind "$WORK/store" "$WORK/store"
on a mount -o remount,ro,bind "$WORK/store"
doctor 1
says rights fail "an object cannot be written" "writable"
on a umount "$WORK/store"
doctor 0 AGBOX_STORE_CLOCK=120
says clock warn "behind the store's" "timedatectl"
doctor 1 AGBOX_STORE_CLOCK=900
says clock fail "S3 refuses" "timedatectl"

nodes="$WORK/node/a/config/nodes"
(umask 077; printf 'a local\nb beta\nc gamma\n' >"$nodes")
fake ssh 'case "$*" in *beta*) printf "no route to \033[2Jbeta\n" >&2; exit 255;; esac; echo "MemAvailable: 1 kB"'
doctor 0
says nodes warn 'no answer of b (no route to \x1b[2Jbeta)' "ssh ALIAS true"
fake ssh 'echo "MemAvailable: 1 kB"'
doctor 0
says nodes ok "every node answers"
echo b >"$nodes"
doctor 1
says nodes fail "$nodes:1: not a line of two words"
rm "$nodes"

# --- tools, against what a box here last ran with
rm "$bin/claude"
doctor 0
says tools warn "no agent (claude, codex, grok) is on the PATH" "npm install"
fresh_path
on a env PATH="$bin:$PATH" ag-box track demo "$project"
on a ag-box debug dump "box/demo/snap/$(ls "$WORK/store/box/demo/snap")" | grep -q "2.1.211 (Claude Code)" ||
    fail "the snapshot does not say with which agent"
doctor 0
says tools ok "claude: 2.1.211 (Claude Code), node: v20.0.0, git: git version"
fake claude 'echo "2.2.0 (Claude Code)"'
doctor 0
says tools warn "box demo: claude was 2.1.211 (Claude Code), here it is 2.2.0 (Claude Code)" "the same version"
rm "$bin/claude"
doctor 0
says tools warn "claude was 2.1.211 (Claude Code), here it is missing"
fake claude 'sleep 60'
doctor 0
says tools ok "claude: ?"

# up says it, and other tools alone are no reason for a snapshot.
fresh_path
on a env PATH="$bin:$PATH" ag-box park demo
fake claude 'echo "2.2.0 (Claude Code)"'
expect_exit 0 on a env PATH="$bin:$PATH" ag-box up demo
expect_error "the data is here, the tool is not: claude was 2.1.211 (Claude Code), here it is 2.2.0 (Claude Code)"
before=$(ls "$WORK/store/box/demo/snap")
on a env PATH="$bin:$PATH" ag-box snapshot demo
[ "$(ls "$WORK/store/box/demo/snap")" = "$before" ] || fail "a snapshot of nothing but a tool's version"
on a sh -c "echo more >'$project/file'"
on a env PATH="$bin:$PATH" ag-box park demo
expect_exit 0 on a env PATH="$bin:$PATH" ag-box up demo
! grep -q "the tool is not" "$WORK/error" || fail "warns of the version it has parked with"
on a ag-box park demo
for file in /proc/sys/dev/tty/legacy_tiocsti /proc/sys/user/max_user_namespaces /sys/module/overlay/parameters/redirect_max; do
    [ ! -e "$file" ] || on a umount "$file"
done
