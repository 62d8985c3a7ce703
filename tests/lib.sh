# SPDX-License-Identifier: MIT
# lib.sh - what scenarios are told with. tests/run gives $WORK (the test's own directory), $TESTS, $BUILD and a PATH
# with the build's ag-box. A scenario reads: store, nodes, what happens, what is expected. The first thing that goes
# wrong ends it.
#
#   store KIND [ARG...]        the store that nodes made from here on use: file; others are tests/store/KIND.sh
#   node NAME [KEY=VALUE...]   a machine: its own three directories, mount namespace, machine-id and boot_id; lines
#                              for its env file. The first node makes the store (ag-box init), unless $NO_INIT is set.
#   on NAME COMMAND...         runs it there, in the current directory; `ag-box up` only with its tree (--no-start), unless
#                              the scenario has said BOXES=yes
#   reboot NAME                its processes are killed and its mounts gone; $STATE stays, a new boot begins
#   state_on_disk NODE [FILESYSTEM [SIZE]]  its $STATE lies on one (ext4) of its own from here on (the scenario has said NO_INIT=1)
#   place_on_disk NODE FILESYSTEM  the same, and $WORK/place is a directory on it
#   power_off NODE             a reboot of such a node, but of its $STATE only what had reached the disk is left
#   lazy_box NODE NAME DIR     a box that is up there over a snapshot: DIR is tracked, parked and taken up again
#   lose_cache NODE            what the node keeps of the store is gone
#   make_project DIR [--secret]    a small tree with one of everything that a tree may hold
#   drop_caches                the kernel forgets what it can of all trees
#   copy_tree A B              cp -a, while nobody drops caches
#   digest_of DIR [--exclude NAME]...   prints the digest, once ag-box and the second walk agree on it
#   expect_exit CODE COMMAND...         and then expect_output TEXT, expect_error TEXT look at what that command printed
#   expect_refused CODE TEXT NODE COMMAND...   that exit code and error, and neither the (file) store nor a journal changed
#   expect_file PATH TEXT      the file holds TEXT and a newline
#   expect_missing PATH
#   expect_same_tree A B [--exclude NAME]...
#   expect_state NODE BOX STATE
#   expect_clean NODE          no process and no mount is left there
#   needs_crash_points         skips the scenario where the build has none; after the first node
#   fail TEXT, skip REASON
#
# Paths in expect_file, digest_of and expect_same_tree are looked at on the node that `on` was last called for.

set -Eeuo pipefail
trap '_say_where "$BASH_COMMAND"' ERR
trap _finish EXIT

declare -A _holder=()       # node -> pid of the process that keeps its mount namespace
declare -A _mounts_before=()
declare -a _at_exit=()      # commands of stores and other helpers, run last to first
_last_node= _store_url= _store_made=
declare -a _store_env=()
umask 022

# The line of the scenario itself that went wrong, not the one in here.
_say_where() {
    local line=${BASH_LINENO[-2]}
    echo "failed at ${BASH_SOURCE[-1]##*/}:$line: $(sed -n "${line}p" "${BASH_SOURCE[-1]}") ($1)" >&2
}

fail() {
    trap - ERR
    echo "FAIL ${BASH_SOURCE[-1]##*/}:${BASH_LINENO[-2]}: $*" >&2
    exit 1
}

skip() {
    echo "$*"
    exit 77
}

needs_plain_build() { # WHY
    ! grep -qa __asan_init "$BUILD/cli/ag-box" || skip "$1"
}

needs_crash_points() {
    _there ag-box debug crash-points >/dev/null 2>&1 || skip "this build has no crash points (-Dfault=true)"
}

# --- stores and nodes

store() {
    local kind=$1
    shift
    case $kind in
    file)
        _store_url="file://$WORK/store"
        ;;
    *)
        [ -f "$TESTS/store/$kind.sh" ] || skip "no store of the kind $kind"
        . "$TESTS/store/$kind.sh" # starts it; sets _store_url and _store_env, adds to _at_exit
        ;;
    esac
    _store_made=
}

_hold_namespace() {
    local name=$1 ready="$WORK/node/$1/ready"
    mkfifo "$ready"
    unshare --mount --propagation private "$TESTS/node.sh" "$WORK/node/$name" &
    _holder[$name]=$!
    disown $!
    read -r <"$ready"
    rm "$ready"
    _mounts_before[$name]=$(_mounts_of "$name")
}

node() {
    local name=$1 dir="$WORK/node/$1"
    shift
    [ -n "$_store_url" ] || fail "a store comes before the first node"
    mkdir -p "$dir/config" "$dir/state" "$dir/run" "$dir/home"
    tr -d - </proc/sys/kernel/random/uuid >"$dir/machine-id"
    (
        umask 077
        printf '%s\n' "BOX_NODE=$name" "BOX_STORE=$_store_url" "BOX_PASSWORD=correct horse" "${_store_env[@]}" "$@" \
            >"$dir/config/env"
    )
    cat /proc/sys/kernel/random/uuid >"$dir/boot_id"
    _hold_namespace "$name"
    if [ -z "$_store_made" ] && [ -z "${NO_INIT:-}" ]; then
        on "$name" ag-box init
        _store_made=yes
    fi
}

on() {
    local name=$1 dir="$WORK/node/$1"
    shift
    _last_node=$name
    if [ -z "${BOXES:-}" ] && { [ "$1" = ag-box ] || [ "$1" = env ]; }; then
        local words=() word before=
        for word in "$@"; do
            words+=("$word")
            [ "$before $word" != "ag-box up" ] || words+=(--no-start)
            before=$word
        done
        set -- "${words[@]}"
    fi
    nsenter --mount --target "${_holder[$name]}" env -C "$PWD" HOME="$dir/home" AGBOX_CONFIG_DIR="$dir/config" \
        AGBOX_STATE_DIR="$dir/state" AGBOX_RUN_DIR="$dir/run" "$@"
}

# Where the last `on` was; here, when there is no node.
_there() {
    if [ -n "$_last_node" ]; then on "$_last_node" "$@"; else "$@"; fi
}

_mounts_of() {
    awk '{ print $5, $1 }' "/proc/${_holder[$1]}/mountinfo" | sort
}

# The pids in a node's mount namespace, its holder not among them.
_processes_of() {
    local space
    space=$(readlink "/proc/${_holder[$1]}/ns/mnt")
    { find /proc/[0-9]*/ns/mnt -maxdepth 0 -printf '%p %l\n' 2>/dev/null || true; } |
        awk -F '[/ ]' -v space="$space" -v holder="${_holder[$1]}" '$NF == space && $3 != holder { print $3 }'
}

_end_node() {
    local name=$1 pid
    for pid in $(_processes_of "$name") "${_holder[$name]}"; do
        kill -KILL "$pid" 2>/dev/null || true
    done
    while [ -e "/proc/${_holder[$name]}" ] || [ -n "$(_processes_of "$name" 2>/dev/null)" ]; do
        sleep 0.01 # the kernel gives no other sign of a process that is not ours to wait for
    done
    unset "_holder[$name]"
}

reboot() {
    local name=$1 dir="$WORK/node/$1"
    _end_node "$name"
    find "$dir/run" -xdev -mindepth 1 -delete
    cat /proc/sys/kernel/random/uuid >"$dir/boot_id"
    _hold_namespace "$name"
}

_mount_state() {
    on "$1" mount -o loop "$WORK/$1.disk" "$WORK/node/$1/state" || return 1
    on "$1" chmod 700 "$WORK/node/$1/state"
    _mounts_before[$1]=$(_mounts_of "$1")
}

state_on_disk() {
    truncate -s "${3:-192M}" "$WORK/$1.disk"
    "mkfs.${2:-ext4}" -q "$WORK/$1.disk" >/dev/null
    _mount_state "$1" || skip "no loop mounts of ${2:-ext4} here"
}

place_on_disk() {
    state_on_disk "$1" "$2" 600M
    mkdir -p "$WORK/place"
    on "$1" mkdir "$WORK/node/$1/state/place"
    on "$1" mount --bind "$WORK/node/$1/state/place" "$WORK/place"
    _mounts_before[$1]=$(_mounts_of "$1")
}

power_off() { # unmounting would write the rest into the image's file, so the copy comes first
    cp --sparse=always "$WORK/$1.disk" "$WORK/left.disk"
    reboot "$1"
    mv "$WORK/left.disk" "$WORK/$1.disk"
    _mount_state "$1"
}

# A daemon may be writing there: it sees that its cache is gone, and begins another one.
lose_cache() { # NODE
    mv "$WORK/node/$1/state/cache" "$WORK/lost-cache"
    until rm -rf "$WORK/lost-cache" 2>/dev/null; do sleep 0.05; done
}

# --- trees

make_project() {
    python3 "$TESTS/make-project.py" "$@"
}

lazy_box() {
    on "$1" ag-box track "$2" "$3"
    on "$1" ag-box park "$2"
    on "$1" ag-box up "$2"
}

# An overlay that is being forgotten can show two names of one file under two inode numbers (README, "Known limits"). The
# caches are all scenarios' together, so nobody drops them while another one looks at a whole tree.
drop_caches() {
    sync
    flock "${WORK%/*}" sh -c 'for i in 1 2 3; do echo 2 >/proc/sys/vm/drop_caches; done'
}

# copy_tree A B: cp -a, on the node of the last `on`.
copy_tree() {
    _there flock --shared "${WORK%/*}" cp -a "$1" "$2"
}

digest_of() {
    local dir=$1 ours theirs
    shift
    ours=$(_there flock --shared "${WORK%/*}" ag-box digest "$@" "$dir")
    theirs=$(_there flock --shared "${WORK%/*}" python3 "$TESTS/walk.py" "$@" "$dir")
    if [ "$ours" != "$theirs" ]; then
        _there ag-box digest --dump "$@" "$dir" >"$WORK/first-walk"
        _there python3 "$TESTS/walk.py" --dump "$@" "$dir" >"$WORK/second-walk"
        diff "$WORK/first-walk" "$WORK/second-walk" | cut -c 1-300 | head -n 20 >&2 || true
        fail "two walks over $dir disagree: $ours, $theirs"
    fi
    echo "$ours"
}

# --- expectations

expect_exit() {
    local expected=$1 code=0
    shift
    "$@" >"$WORK/output" 2>"$WORK/error" || code=$?
    sed 's/^/  > /' "$WORK/output"
    sed 's/^/  ! /' "$WORK/error"
    [ "$code" = "$expected" ] || fail "exit $code, expected $expected: $*"
}

expect_output() {
    grep -qF -- "$1" "$WORK/output" || fail "not in the output: $1"
}

expect_error() {
    grep -qF -- "$1" "$WORK/error" || fail "not in the error: $1"
}

# Everything that must stay as it is: the store's objects, and what the journals say (but for the heads that were seen).
_durable_state() {
    (cd "$WORK/store" && find . -path ./.agbox -prune -o -type f -exec sha256sum {} + | sort -k 2)
    python3 - "$WORK"/node/*/state/box/*/journal.db <<'END'
import sqlite3, sys
for path in sys.argv[1:]:
    db = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
    for table in "box", "lease", "pending", "pack":
        for row in db.execute("SELECT * FROM %s ORDER BY 1" % table):
            if table != "box" or row[1] != 0: # a box that is nowhere here is the same as none
                print(path, table, row)
END
}

expect_refused() {
    local code=$1 text=$2 before after
    shift 2
    before=$(_durable_state 2>/dev/null || true)
    expect_exit "$code" on "$@"
    expect_error "$text"
    ! grep -q $'[\x01-\x08\x0b-\x1f]' "$WORK/error" || fail "control characters in the message"
    after=$(_durable_state 2>/dev/null || true)
    [ "$before" = "$after" ] || fail "something was changed by $*: $(diff <(echo "$before") <(echo "$after"))"
}

expect_file() {
    local got
    got=$(_there cat -- "$1") || fail "cannot read $1"
    [ "$got" = "$2" ] || fail "$1 holds \"${got:0:200}\", expected \"$2\""
}

expect_missing() {
    ! _there test -e "$1" || fail "$1 is there"
}

expect_same_tree() {
    local a=$1 b=$2 digest_a digest_b
    shift 2
    digest_a=$(digest_of "$a" "$@")
    digest_b=$(digest_of "$b" "$@")
    [ "$digest_a" = "$digest_b" ] && return
    diff <(_there ag-box digest --dump "$@" "$a") <(_there ag-box digest --dump "$@" "$b") | cut -c 1-300 | head -n 20 || true
    fail "$a and $b are not the same tree"
}

# json_field FILE FIELD
json_field() {
    python3 -c 'import json, sys
value = json.load(open(sys.argv[1])).get(sys.argv[2])
print(value if isinstance(value, str) else json.dumps(value))' "$1" "$2"
}

state_of() {
    local answer="$WORK/status.$BASHPID"
    on "$1" ag-box status --json "$2" >"$answer"
    json_field "$answer" state
    rm "$answer"
}

expect_state() {
    local got
    got=$(state_of "$1" "$2")
    _last_node=$1
    [ "$got" = "$3" ] || fail "$2 is $got on $1, expected $3"
}

# A command returns when its daemon has ended, or is about to.
expect_clean() {
    local pid mounts tries=5
    while [ -n "$(_processes_of "$1" 2>/dev/null)" ] && ((tries-- > 0)); do
        sleep 0.1 # the kernel gives no other sign of a process that is not ours to wait for
    done
    for pid in $(_processes_of "$1"); do
        fail "left on $1: process $pid: $(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null)"
    done
    mounts=$(comm -13 <(echo "${_mounts_before[$1]}") <(_mounts_of "$1"))
    [ -z "$mounts" ] || fail "left on $1: mounts: $mounts"
}

# --- the end

# Control groups of boxes whose keepers were killed: the next one on the node would take them away, and there is none.
_remove_groups() {
    local mount group
    for mount in $(awk '/ - cgroup2 / || /freezer/ { print $5 }' /proc/self/mountinfo); do
        for group in "$mount"/ag-box-*."$(stat -L -c %i /proc/self/ns/pid)".*; do
            [ ! -d "$group" ] || rmdir "$group" || true
        done
    done
}

# A node on which no box is held, mounted or on its way must be clean without being asked.
_check_idle_node() {
    local box
    for box in "$WORK/node/$1/state/box"/*/; do
        [ -d "$box" ] || continue
        box=$(basename "$box")
        case $(state_of "$1" "$box" 2>/dev/null || echo unknown) in
        none | parked | moved-aside | tracking) ;;
        *) return 0 ;;
        esac
    done
    expect_clean "$1"
}

_finish() {
    local code=$? name i
    trap - ERR EXIT
    set +e
    if [ "$code" = 0 ]; then
        for name in "${!_holder[@]}"; do
            (_check_idle_node "$name") || code=1
        done
    fi
    for name in "${!_holder[@]}"; do
        _end_node "$name"
    done
    for ((i = ${#_at_exit[@]} - 1; i >= 0; i--)); do
        eval "${_at_exit[i]}"
    done
    _remove_groups
    exit "$code"
}
