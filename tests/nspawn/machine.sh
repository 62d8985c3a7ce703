# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# machine.sh - machines for scenarios: Debian 12 in systemd-nspawn, systemd as its init, a network of its own, sshd. To be
# sourced after lib.sh. What is missing for it is said on a line that cannot be overlooked, and the scenario is skipped.
#
#   machine NAME           boots it; returns when its systemd says that it runs. /build is $BUILD, read-only, ag-box on the PATH;
#                          /shared is one directory of all machines; /var/lib/ag-box is a directory of this machine's disk.
#   network NAME...        joins machines that run: each finds the others by name, and gets there by ssh as root without questions.
#                          It goes with the first one.
#   inside NAME COMMAND... runs it there
#   power_off NAME         as when the plug is pulled; machine NAME boots it again from the same disk
#
# The base is made by debootstrap once, and kept in $AGBOX_TEST_CACHE (/var/cache/ag-box-test). Machines are an overlay over
# it; what must not lie on an overlay (ag-box's state) is bound from outside.

_cache=${AGBOX_TEST_CACHE:-/var/cache/ag-box-test}
_base=$_cache/nspawn-bookworm
_packages=systemd,systemd-sysv,dbus,openssh-server,openssh-client,iproute2,bubblewrap,tmux,fuse3,libcurl4,libsodium23,libzstd1
_packages+=,libsqlite3-0,libjansson4,libexpat1,libseccomp2,procps,git,e2fsprogs,ca-certificates
declare -A _machine=() # name -> pid of its nspawn

_no_machines() {
    skip "MACHINES NOT RUN: $*"
}

_make_base() {
    local program
    [ "$(id -u)" = 0 ] || _no_machines "not root"
    for program in systemd-nspawn debootstrap nsenter; do
        command -v "$program" >/dev/null || _no_machines "there is no $program"
    done
    mkdir -p "$_cache"
    exec 7>"$_cache/nspawn.lock"
    flock 7
    if [ ! -d "$_base" ]; then
        rm -rf --one-file-system "$_base.part"
        debootstrap --variant=minbase --include="$_packages" bookworm "$_base.part" >"$WORK/debootstrap.log" 2>&1 ||
            _no_machines "debootstrap: $(tail -n 1 "$WORK/debootstrap.log")"
        mv "$_base.part" "$_base"
    fi
    exec 7>&-
}

# The first process in a child pid namespace of nspawn's: its systemd. (A bare `return` in a trap is the trap's status.)
_leader() {
    local pid
    for pid in $(cat "/proc/${_machine[$1]}/task/${_machine[$1]}/children" 2>/dev/null); do
        [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = systemd ] && echo "$pid" && return 0
        local below
        for below in $(cat "/proc/$pid/task/$pid/children" 2>/dev/null); do
            [ "$(cat "/proc/$below/comm" 2>/dev/null)" = systemd ] && echo "$below" && return 0
        done
    done
    return 1
}

inside() {
    local name=$1 leader
    shift
    leader=$(_leader "$name") || fail "the machine $name does not run"
    nsenter --target "$leader" --mount --uts --ipc --net --pid --cgroup -- \
        env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 TERM=xterm "$@"
}

machine() {
    local name=$1 dir="$WORK/machine/$1" tries=600 state=
    [ -d "$_base" ] && [ -n "${_base_made:-}" ] || { _make_base; _base_made=yes; }
    mkdir -p "$dir/upper" "$dir/work" "$dir/root" "$dir/state" "$WORK/machine/shared"
    mountpoint -q "$dir/root" || mount -t overlay -o "lowerdir=$_base,upperdir=$dir/upper,workdir=$dir/work" none "$dir/root"
    rm -f "$dir/root/etc/machine-id"
    echo "$name" >"$dir/root/etc/hostname"
    ln -sf /build/cli/ag-box "$dir/root/usr/local/bin/ag-box"
    systemd-nspawn --quiet --boot --register=no --keep-unit -M "agbox-$name-$$" --directory="$dir/root" --private-network \
        --bind=/dev/fuse --bind-ro="$BUILD:/build" --bind="$dir/state:/var/lib/ag-box" --bind="$WORK/machine/shared:/shared" \
        --console=pipe --system-call-filter="@mount fsopen fsconfig fsmount move_mount" --link-journal=no \
        </dev/null >"$dir/console" 2>&1 &
    _machine[$name]=$!
    disown $!
    while ((tries-- > 0)); do
        [ -e "/proc/${_machine[$name]}" ] || _no_machines "nspawn: $(tail -n 1 "$dir/console")"
        if _leader "$name" >/dev/null; then
            state=$(inside "$name" systemctl is-system-running 2>/dev/null || true)
            case $state in running | degraded) return 0 ;; esac
        fi
        sleep 0.2 # a container that is not registered tells nobody when it has booted
    done
    fail "the machine $name does not boot ($state): $(tail -n 3 "$dir/console")"
}

_in_network_of() {
    local leader=$1
    shift
    nsenter --target "$leader" --net -- "$@"
}

network() {
    local first name leader number=1 hosts="127.0.0.1 localhost" keys=
    first=$(_leader "$1")
    _in_network_of "$first" ip link add br0 type bridge
    _in_network_of "$first" ip addr add 10.77.0.1/24 dev br0
    _in_network_of "$first" ip link set br0 up
    for name in "$@"; do
        hosts+=$'\n'"10.77.0.$number $name"
        if [ "$number" -gt 1 ]; then
            leader=$(_leader "$name")
            ip link add name "to$number" netns "$first" type veth peer name eth0 netns "$leader"
            _in_network_of "$first" ip link set "to$number" master br0 up
            _in_network_of "$leader" ip addr add "10.77.0.$number/24" dev eth0
            _in_network_of "$leader" ip link set eth0 up
        fi
        inside "$name" sh -c 'mkdir -p -m 700 /root/.ssh; [ -f /root/.ssh/id_ed25519 ] ||
            ssh-keygen -q -t ed25519 -N "" -f /root/.ssh/id_ed25519; echo "StrictHostKeyChecking accept-new" >/root/.ssh/config'
        keys+=$(inside "$name" cat /root/.ssh/id_ed25519.pub)$'\n'
        number=$((number + 1))
    done
    for name in "$@"; do
        inside "$name" sh -c 'echo "$1" >/etc/hosts; umask 077; echo "$2" >/root/.ssh/authorized_keys' - "$hosts" "$keys"
    done
}

power_off() {
    local leader
    leader=$(_leader "$1") && kill -KILL "$leader"
    while [ -e "/proc/${_machine[$1]}" ]; do
        sleep 0.05
    done
    unset "_machine[$1]"
}

_machines_off() {
    local name
    for name in "${!_machine[@]}"; do
        power_off "$name"
        umount -l "$WORK/machine/$name/root"
    done
}
_at_exit+=(_machines_off)
