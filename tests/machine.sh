# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# machine.sh - machines for scenarios: Debian 12 in systemd-nspawn, systemd as its init, a network of its own, sshd. To be
# sourced after lib.sh. What is missing for it is said on a line that cannot be overlooked, and the scenario is skipped.
#
#   machine NAME           boots it; returns when its systemd says that it runs. /build is $BUILD, read-only, ag-box on the PATH;
#                          /var/lib/ag-box is a directory of this machine's disk.
#   network NAME...        joins machines that run: each finds the others by name, and gets there by ssh as root without
#                          questions; one that is booted again is joined again. `store fault --address 0.0.0.0` after it: an S3
#                          server that all of them reach.
#   inside NAME COMMAND... runs it there
#   units NAME             ag-box's units are there, as install would have them, but none is enabled
#   power_off NAME         as when the plug is pulled; machine NAME boots it again from the same disk
#
# The base is made by debootstrap once (about a minute), and kept in $AGBOX_TEST_CACHE (/var/cache/ag-box-test). Machines are
# an overlay over it; what must not lie on an overlay (ag-box's state) is bound from outside. Where there are control groups
# v1, a machine has a part of its own of each hierarchy that it needs, and may write there: its units' limits of memory hold.

_cache=${AGBOX_TEST_CACHE:-/var/cache/ag-box-test}
_base=$_cache/nspawn-bookworm
_packages=systemd,systemd-sysv,dbus,openssh-server,openssh-client,iproute2,bubblewrap,tmux,fuse3,libcurl4,libsodium23,libzstd1
_packages+=,libsqlite3-0,libjansson4,libexpat1,libseccomp2,procps,git,e2fsprogs,ca-certificates
_groups=/sys/fs/cgroup
_hierarchies="systemd unified memory freezer" # of v1; the last two nspawn makes read-only
_hub= _plugs=0                # a process in the network that joins them; how many wires there were
declare -A _machine=()        # name -> pid of its nspawn
declare -A _group=()          # name -> its group's name in each of them
declare -A _address=()        # name -> its address, once it is in the network

_no_machines() {
    skip "MACHINES NOT RUN: $*"
}

_make_base() {
    local program
    [ "$(id -u)" = 0 ] || _no_machines "not root"
    for program in systemd-nspawn nsenter $([ -d "$_base" ] || echo debootstrap); do
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

units() {
    local unit
    for unit in "$TESTS"/../contrib/systemd/*; do
        sed 's|@bindir@|/usr/local/bin|' "$unit" | inside "$1" sh -c 'cat >"/etc/systemd/system/$1"' - "${unit##*/}"
    done
    inside "$1" systemctl daemon-reload
}

_remove_group() {
    local hierarchy
    for hierarchy in $_hierarchies; do
        [ ! -d "$_groups/$hierarchy/$1" ] || find "$_groups/$hierarchy/$1" -depth -type d -exec rmdir {} ';' 2>/dev/null
    done
}

# And removes those of runs that were killed.
_make_group() {
    local hierarchy old
    for old in $(find "$_groups"/memory -maxdepth 1 -name 'agbox-machine.*' -mmin +60 -printf '%f\n' 2>/dev/null); do
        _remove_group "$old"
    done
    _group[$1]=agbox-machine.$RANDOM$RANDOM$RANDOM
    for hierarchy in $_hierarchies; do
        [ ! -w "$_groups/$hierarchy/cgroup.procs" ] || mkdir "$_groups/$hierarchy/${_group[$1]}"
    done
}

# What makes it another machine than the base. It is online when it has its wire: the network is not networkd's.
_make_own() {
    local root="$WORK/machine/$1/root"
    tr -d - </proc/sys/kernel/random/uuid >"$root/etc/machine-id"
    echo "$1" >"$root/etc/hostname"
    ln -sf /build/cli/ag-box "$root/usr/local/bin/ag-box"
    cat >"$root/etc/systemd/system/systemd-networkd-wait-online.service" <<'END'
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh -c 'until ip -4 address show dev eth0 | grep -q inet; do sleep 0.1; done'
END
}

# A child that is in the groups when it becomes nspawn, which makes them the roots of what the machine sees.
_boot() {
    local name=$1 dir="$WORK/machine/$1" hierarchy
    for hierarchy in $_hierarchies; do
        [ ! -d "$_groups/$hierarchy/${_group[$name]}" ] || echo "$BASHPID" >"$_groups/$hierarchy/${_group[$name]}/cgroup.procs"
    done
    exec systemd-nspawn --quiet --boot --register=no --keep-unit -M "agbox-$name-$RANDOM$RANDOM" --directory="$dir/root" \
        --private-network --bind=/dev/fuse --bind-ro="$BUILD:/build" --bind="$dir/state:/var/lib/ag-box" --console=pipe \
        --system-call-filter="@mount fsopen fsconfig fsmount move_mount" --link-journal=no </dev/null >"$dir/console" 2>&1
}

# plug: the wire comes as soon as there is a machine to plug it into.
_wait_for_boot() {
    local name=$1 plug=${2:-} tries=600 state=
    while ((tries-- > 0)); do
        [ -e "/proc/${_machine[$name]}" ] || _no_machines "nspawn: $(tail -n 1 "$WORK/machine/$name/console")"
        if _leader "$name" >/dev/null; then
            [ -z "$plug" ] || _plug "$name"
            plug=
            state=$(inside "$name" systemctl is-system-running 2>/dev/null || true)
            case $state in running | degraded) return 0 ;; esac
        fi
        sleep 0.1 # a container that is not registered tells nobody when it has booted
    done
    fail "the machine $name does not boot ($state): $(tail -n 3 "$WORK/machine/$name/console")"
}

machine() {
    local name=$1 dir="$WORK/machine/$1"
    [ -d "$_base" ] && [ -n "${_base_made:-}" ] || { _make_base; _base_made=yes; }
    mkdir -p "$dir/upper" "$dir/work" "$dir/root" "$dir/state"
    mountpoint -q "$dir/root" || mount -t overlay -o "lowerdir=$_base,upperdir=$dir/upper,workdir=$dir/work" none "$dir/root"
    [ -s "$dir/upper/etc/machine-id" ] || _make_own "$name"
    _make_group "$name"
    _boot "$name" &
    _machine[$name]=$!
    disown $!
    _wait_for_boot "$name" "${_address[$name]:-}"
    inside "$name" ag-box --help >/dev/null 2>"$dir/start" || _no_machines "ag-box does not start on Debian 12: $(head -n 1 "$dir/start")"
    if [ -d "$_groups/memory/${_group[$name]}" ]; then
        inside "$name" mount -o remount,bind,rw "$_groups/memory"
        inside "$name" mount -o remount,bind,rw "$_groups/freezer"
        inside "$name" systemctl daemon-reexec
        _wait_for_boot "$name"
    fi
}

_in_hub() {
    nsenter --target "$_hub" --net -- "$@"
}

_make_hub() {
    local ready="$WORK/machine/hub"
    mkfifo "$ready"
    unshare --net sh -c 'echo >"$1"; exec sleep infinity' - "$ready" &
    _hub=$!
    disown $!
    read -r <"$ready"
    _in_hub ip link set lo up
    _in_hub ip link add br0 address 02:00:00:00:00:fe type bridge # else it takes over another one with each wire
    _in_hub ip addr add 10.77.0.254/24 dev br0
    _in_hub ip link set br0 up
    _fault_in=(nsenter --target "$_hub" --net --) _fault_host=10.77.0.254 # store/fault.sh
}

# The wire of a machine that was powered off goes by and by, so each has a name of its own.
_plug() {
    local leader end="to$((_plugs += 1))"
    leader=$(_leader "$1")
    ip link add name "$end" netns "$_hub" type veth peer name eth0 netns "$leader"
    _in_hub ip link set "$end" master br0 up
    nsenter --target "$leader" --net -- ip addr add "${_address[$1]}/24" dev eth0
    nsenter --target "$leader" --net -- ip link set eth0 up
}

network() {
    local name number=1 hosts="127.0.0.1 localhost" keys=
    _make_hub
    for name in "$@"; do
        _address[$name]=10.77.0.$((number++))
        hosts+=$'\n'"${_address[$name]} $name"
        _plug "$name"
        inside "$name" sh -c 'mkdir -p -m 700 /root/.ssh; [ -f /root/.ssh/id_ed25519 ] ||
            ssh-keygen -q -t ed25519 -N "" -f /root/.ssh/id_ed25519; echo "StrictHostKeyChecking accept-new" >/root/.ssh/config'
        keys+=$(inside "$name" cat /root/.ssh/id_ed25519.pub)$'\n'
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
    _remove_group "${_group[$1]}"
}

_machines_off() {
    local name
    for name in "${!_machine[@]}"; do
        power_off "$name"
    done
    for name in "$WORK"/machine/*/root; do
        ! mountpoint -q "$name" || umount -l "$name"
    done
    [ -z "$_hub" ] || kill "$_hub"
}
_at_exit+=(_machines_off)
