# SPDX-License-Identifier: MIT
# Work whose lease was lost comes up only after its fork is made. While the store is away that is refused, with the reason
# and the next step; the work is neither blocked where it is in use nor lost where it is not.
. "$TESTS/lib.sh"

store file
node a
node b
mkdir "$WORK/tree" "$WORK/tree-of-b"
on b mount --bind "$WORK/tree-of-b" "$WORK/tree" # a plain directory is in every namespace
project="$WORK/tree/project"; mkdir "$project"; echo first >"$project/file"
away() { mv "$WORK/store" "$WORK/away"; }
back() { mv "$WORK/away" "$WORK/store"; }
refused() { # refused COMMAND
    expect_exit 5 on a ag-box "$1" demo
    expect_error "the lease of demo was lost, so its work must become a fork"
    expect_error "hint: nothing is lost: the work stays here"
    expect_state a demo fenced
}
lose() { # lose TEXT: a has unsent work, and learns that b has committed since
    echo "$1" | on a tee "$project/file" >/dev/null
    on b ag-box up demo --force
    echo "after $1" | on b tee "$project/file" >/dev/null
    on b ag-box park demo
    expect_exit 3 on a ag-box snapshot demo
    expect_state a demo fenced
    echo "last of $1" | on a tee "$project/file" >/dev/null
}
expect_fork() { # expect_fork TEXT
    rm -rf "$WORK/forked"
    on b ag-box restore demo --snapshot "$(on a ag-box ls --snapshots demo --json | jq -r '.forks[-1].id')" "$WORK/forked"
    expect_file "$WORK/forked/file" "$1"
}

lazy_box a demo "$project"
lose lazy
away
refused park
refused up
echo "still lazy" | on a tee "$project/file" >/dev/null
reboot a
refused up
refused park
back
on a ag-box up demo
expect_file "$project/file" "after lazy"
expect_fork "still lazy"
on a ag-box park demo

on a ag-box up demo --full
lose full
away
refused park
expect_file "$project/file" "last of full"
refused up
echo "still full" | on a tee "$project/file" >/dev/null
back
# Half way, too: the fork cannot be sent, and the directory is at its path again.
mv "$WORK/store/box/demo/pack" "$WORK/packs"; : >"$WORK/store/box/demo/pack"
expect_exit 5 on a ag-box park demo
expect_state a demo fenced
expect_file "$project/file" "still full"
rm "$WORK/store/box/demo/pack"; mv "$WORK/packs" "$WORK/store/box/demo/pack"
expect_exit 3 on a ag-box park demo
expect_fork "still full"
on b umount "$WORK/tree"
