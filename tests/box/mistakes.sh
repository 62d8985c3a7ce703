# SPDX-License-Identifier: MIT
# What a user gets wrong, or finds on a machine: each is refused with its reason and a next step, and nothing is changed.
# lane: wait
# limit: 240
BOXES=yes
. "$TESTS/lib.sh"

store file
node a
node b
project="$WORK/place/project"
mkdir -p "$project" "$WORK/other"
echo text >"$project/file"
head -c 3000000 /dev/urandom >"$project/large"

# refused CODE TEXT HINT NODE COMMAND...
refused() {
    local code=$1 text=$2 hint=$3
    shift 3
    expect_refused "$code" "$text" "$@"
    grep -q "^hint: .*$hint" "$WORK/error" || fail "no hint of $hint: $*"
}

# --- a box that nobody has
mkdir "$WORK/look"
for command in "up nobody" "up --node a nobody" "park nobody" "snapshot nobody" "set nobody pin=a" "ls --snapshots nobody" \
    "status nobody" "hydrate nobody" "restore nobody $WORK/out" "mount nobody $WORK/look" "diff nobody" "check nobody" \
    "prune nobody" "drop nobody --yes"; do
    refused 4 "box nobody" "ag-box" a ag-box $command
done
refused 125 "box nobody" "ag-box" a ag-box exec nobody -- true
expect_missing "$WORK/node/a/state/box/nobody"

refused 4 "/nope" "ag-box status" a ag-box umount /nope
refused 2 "--active" "" a ag-box snapshot nobody --active

# --- names that collide: the box's, and the directory's
on a ag-box track demo "$project"
refused 8 "box demo is on this node already, at $project" "another name" a ag-box track demo "$WORK/other"
refused 8 "box demo exists already" "another name" b ag-box track demo "$WORK/other"
refused 8 "box demo has $project" "another directory" a ag-box track other "$project"

# --- a box that another node holds
on a ag-box park demo # its plain directory would be in b's way
on a ag-box up --no-start demo
for command in "up demo" "park demo" "set demo pin=b"; do
    refused 3 "held by a" "a" b ag-box $command
done
for command in "snapshot demo" "diff demo" "hydrate demo"; do
    refused 4 "box demo" "ag-box" b ag-box $command
done
refused 125 "box demo is up on a, not here" "on a: ag-box exec demo" b ag-box exec demo -- true
on a ag-box park demo
refused 125 "box demo is not up here" "ag-box up demo" b ag-box exec demo -- true

# --- a node that there is not, or that does not answer
mkdir "$WORK/bin"
cat >"$WORK/bin/ssh" <<'S'
#!/bin/sh
echo "ssh: connect to host gone port 22: No route to host" >&2
exit 255
S
chmod +x "$WORK/bin/ssh"
(umask 077; printf 'a local\nc gone\n' >"$WORK/node/a/config/nodes")
refused 2 "no node nowhere in $WORK/node/a/config/nodes (this node is a)" "" a ag-box up --node nowhere demo
refused 1 "No route to host" "" a env PATH="$WORK/bin:$PATH" ag-box up --node c demo
refused 2 "no node typo in $WORK/node/a/config/nodes" "there are: a c" a ag-box set demo pin=typo # nobody could undo it
on a ag-box set demo pin=c
refused 3 "pinned to c" "" b ag-box up demo
on a env BOX_NODE=c ag-box set demo pin=
rm "$WORK/node/a/config/nodes"

# --- a machine without what a box needs
mkdir "$WORK/poor"
for tool in env sh ag-box; do ln -s "$(command -v $tool)" "$WORK/poor/$tool"; done
without() { # PROGRAM PACKAGE
    refused 2 "a box needs $1, which is not on the PATH" "apt-get install $2" b env PATH="$WORK/poor" ag-box up demo
}
without bwrap bubblewrap
ln -s "$(command -v bwrap)" "$WORK/poor"
without tmux tmux
on b env PATH="$WORK/poor" ag-box up --no-start demo
refused 125 "a box needs tmux" "apt-get install tmux" b env PATH="$WORK/poor" ag-box exec demo -- true
! grep -q -- --no-start "$WORK/error" || fail "exec does not do without a box"
on b ag-box park demo

# --- a path that cannot be on this node
on a ag-box set demo "path=$WORK/new/deep/project"
echo >"$WORK/new"
refused 8 "$WORK/new is no directory" "ag-box set demo path=DIR" b ag-box up demo
rm "$WORK/new"
mkdir "$WORK/new"
on b mount -t tmpfs -o ro none "$WORK/new"
refused 8 "cannot be made in $WORK/new: Read-only file system" "ag-box set demo path=DIR" b ag-box up demo
on b umount "$WORK/new"
mkdir "$WORK/new/deep"
echo >"$WORK/new/deep/project"
refused 8 "$WORK/new/deep/project is in the way" "ag-box set demo path=DIR" b ag-box up demo
rm -r "$WORK/new"
on b ag-box up demo # what leads there is made
expect_file "$WORK/new/deep/project/file" text
on b ag-box park demo

# --- another user than root
on b mount -t tmpfs none /mnt # the build may be where only root gets
on b cp "$BUILD/cli/ag-box" /mnt
as_user() { on b env PATH="/mnt:$PATH" setpriv --reuid 1000 --regid 1000 --clear-groups "$@"; }
expect_exit 2 as_user ag-box ls
expect_error "Permission denied"
expect_error "hint: ag-box is root's: run it as root"
expect_exit 1 as_user env HOME=/tmp AGBOX_CONFIG_DIR=/nowhere BOX_STORE="file://$WORK/store" BOX_PASSWORD=x AGBOX_STATE_DIR=/nowhere ag-box ls
expect_error "hint: ag-box is root's: run it as root"
on b umount /mnt

# --- a full disk: the node's own, before and while a box is up, and the store's
small() { # SIZE: of b's state
    on b rm -rf "$WORK/node/b/state"
    mkdir -m 700 "$WORK/node/b/state"
    on b mount -t tmpfs -o "size=$1,mode=700" none "$WORK/node/b/state"
}
failures=0
for size in $(seq 60 40 2000); do
    small "${size}k"
    code=0
    on b ag-box up demo >"$WORK/output" 2>"$WORK/error" || code=$?
    [ "$code" != 0 ] || break
    sed 's/^/  ! /' "$WORK/error"
    grep -q "^hint: make room" "$WORK/error" || fail "no hint of a full disk of ${size}k"
    failures=$((failures + 1))
    on b mount -o remount,size=8m "$WORK/node/b/state"
    on b ag-box up demo
    on b ag-box park demo
    on b umount "$WORK/node/b/state"
done
((code == 0 && failures > 1)) || fail "it never was up, or its disk never full"
on b mount -o remount,size=8m "$WORK/node/b/state"
expect_exit 1 on b ag-box exec demo -- sh -c 'cat /dev/zero >fills'
expect_error "No space left on device"
refused 1 "full" "make room" b ag-box snapshot demo
on b ag-box exec demo -- rm fills
on b ag-box exec demo -- sh -c 'echo after >after'
on b ag-box park demo
on b ag-box restore demo "$WORK/out"
expect_file "$WORK/out/after" after
on b umount "$WORK/node/b/state"

mkdir "$WORK/small"
NO_INIT=1 node c BOX_STORE="file://$WORK/small"
on c mount -t tmpfs -o size=2m none "$WORK/small"
on c ag-box init
expect_exit 5 on c ag-box track demo "$WORK/out"
expect_error "No space left on device"
expect_error "hint: make room"
on c mount -o remount,size=20m "$WORK/small"
on c ag-box track demo "$WORK/out" # goes on
on c ag-box park demo
on c umount "$WORK/small"

# An answer that nobody gets is no success.
for words in ls "ls --json" "digest $TESTS/store" "key export"; do
    code=0
    on a ag-box $words >/dev/full 2>"$WORK/error" || code=$?
    [ "$code" = 1 ] || fail "exit $code: $words"
    expect_error "what this command answers could not be written: No space left on device"
done

# A store that is put back to when this node held the box: accepting that is not enough, and the hint says what is.
mkdir "$WORK/back"; echo one >"$WORK/back/file"
on a ag-box track back "$WORK/back"
cp -a "$WORK/store" "$WORK/backup"
on a ag-box park back
rm -r "$WORK/store"; mv "$WORK/backup" "$WORK/store"
expect_exit 7 on a ag-box up back
expect_exit 3 on a ag-box up back --accept-rollback
expect_error "the store was restored from a copy"
expect_error "up --force takes it"
on a ag-box up back --accept-rollback --force
expect_file "$WORK/back/file" one
on a ag-box park back
