# SPDX-License-Identifier: MIT
# A path that cannot be a box's is refused with its reason, by track and by up, and nothing is changed for it.
. "$TESTS/lib.sh"

store file
node a
node b
project="$WORK/project"; make_project "$project"
track() { # track EXIT TEXT DIR
    expect_refused "$1" "$2" a ag-box track new "$3"
}
track 2 "No such file" "$WORK/absent"
echo x >"$WORK/file"
track 2 "not a directory" "$WORK/file"
mkdir "$WORK/caf"$'\xe9'
track 2 "is not UTF-8" "$WORK/caf"$'\xe9'
mkdir "$WORK/mnt"
on a mount -t tmpfs none "$WORK/mnt"
track 2 "mount point" "$WORK/mnt"
on a umount "$WORK/mnt"
mkdir "$project/below"
on a mount -t tmpfs none "$project/below"
track 2 "mounted below" "$project"
on a umount "$project/below"; rmdir "$project/below"

# What is ag-box's own can be no part of a box, and no box a part of it.
own="$WORK/node/a"
mkdir "$own/state/inside" "$own/config/inside" "$own/run/inside" "$own/home/inside"
ln -s "$own/state" "$WORK/link"
for dir in state config run; do
    track 2 "ag-box's own" "$own/$dir"
    track 2 "ag-box's own" "$own/$dir/inside"
done
track 2 "own store directory $WORK/store" "$WORK/store"
track 2 "own store directory $WORK/store" "$WORK/store/.agbox"
track 2 "own state directory" "$WORK/link"
track 2 "ag-box's own" "$own"
track 2 "ag-box's own" "$WORK"
track 2 "cannot be a project's path" /
[ ! -e "$own/state/box" ] || fail "something was made for what was refused"

# A box that was made elsewhere may have a path that is none here.
on b ag-box track demo "$project"
on b ag-box park demo
up() { # up EXIT TEXT PATH
    on b ag-box set demo "path=$3"
    expect_refused "$1" "$2" a ag-box up --local demo
}
for dir in state config run; do
    up 2 "own" "$own/$dir"
    expect_error "ag-box set demo path=DIR"
    up 2 "own" "$own/$dir/inside/absent"
done
expect_refused 2 "own store directory" b ag-box set demo "path=$WORK/store/absent" # it is b's, too
up 2 "own state directory" "$WORK/link/absent"
up 2 "own" "$own"
up 8 "is not empty" "$own/home"
for path in / relative /two//slashes /up/.. "$WORK/caf"$'\xe9'; do
    expect_refused 2 "path" b ag-box set demo "path=$path"
done
for path in /etc /etc/foo /usr/share/foo /bin/foo; do
    expect_refused 2 "is the system's" b ag-box set demo "path=$path"
done
track 2 "is the system's" /usr/share
on b ag-box set demo "path=$WORK/new"
expect_exit 0 on b ag-box status demo
expect_output "at $WORK/new"
on b ag-box set demo "path=$project"

# One directory is one box's.
on a ag-box up --local demo
mkdir "$WORK/other"
on a ag-box track other "$WORK/other"
track 8 "box demo has $project" "$project/deep"
track 2 "mount point" "$project"
on a ag-box park demo
expect_refused 8 "box other has $WORK/other" a ag-box set demo "path=$WORK/other"
expect_refused 8 "box other has $WORK/other" a ag-box set demo "path=$WORK/other/inside"
on b ag-box set demo "path=$WORK/other"
expect_refused 8 "box other has $WORK/other" a ag-box up --local demo
on b ag-box set demo "path=$WORK/other/inside"
expect_refused 8 "box other has $WORK/other" a ag-box up --local demo
mkdir "$WORK/other/inside"
track 8 "box other has $WORK/other" "$WORK/other"
track 8 "box other has $WORK/other" "$WORK/other/inside"
expect_exit 2 on a ag-box track ../x "$project"
expect_exit 2 on a ag-box track globals "$project"
expect_exit 0 on a ag-box ls
expect_output "other"
on a ag-box park other

# A path is shown in one line, whatever is in it.
odd="$WORK/"$'new\nline'
mkdir "$odd"
on a ag-box track odd "$odd"
on a ag-box park odd
expect_exit 0 on a ag-box up odd
expect_output 'new\nline'
on a ag-box park odd

# Deeper than a path may lead: what is to be done is said, and after that the box can be parked.
mkdir "$WORK/deep"
on a ag-box track deep "$WORK/deep"
on a python3 -c 'import os, sys
os.chdir(sys.argv[1])
for _ in range(20):
    os.mkdir("d" * 250)
    os.chdir("d" * 250)' "$WORK/deep"
expect_exit 1 on a ag-box park deep
expect_error "at most 4095 bytes"
on a rm -rf "$WORK"/.deep.agbox-*/ddd*
on a ag-box park deep
