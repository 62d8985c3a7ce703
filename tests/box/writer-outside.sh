# SPDX-License-Identifier: MIT
# A file of the tree that is open for writing stops park: the writer is named, nothing has changed, and the tree stays writable. A
# plain directory does not move aside under a writer, when its lease was lost neither. Nor does a park take away what somebody
# has mounted in the tree: no snapshot holds it.
. "$TESTS/lib.sh"

store file
node a
node b
mkdir "$WORK/tree" "$WORK/tree-of-b"
on b mount --bind "$WORK/tree-of-b" "$WORK/tree" # a plain directory is in every namespace
project="$WORK/tree/project"; make_project "$project"
lazy_box a demo "$project"

mkfifo "$WORK/go" "$WORK/ready"
on a sh -c "exec 9>'$project/open'; echo ready >'$WORK/ready'; read x <'$WORK/go'; echo more >&9" &
read -r <"$WORK/ready"
expect_exit 8 on a ag-box park demo
expect_error "sh"
expect_error "open"
expect_state a demo mounted
on a sh -c "echo still >'$project/writable'"
echo >"$WORK/go"; wait
on a ag-box park demo
on a ag-box up demo

# Whatever others call a file or a program: no control character reaches the terminal, and JSON has it.
on a sh -c "printf 'caf\303' >/proc/self/comm; exec 9>'$project/"$'odd\e[2J\xc2\x9b'"'; echo ready >'$WORK/ready'; read x <'$WORK/go'" &
read -r <"$WORK/ready"
expect_exit 8 on a ag-box park demo
expect_error 'caf\xc3 has'
! LC_ALL=C grep -q $'[\e\x9b]' "$WORK/error" || fail "an escape sequence of the box's"
expect_exit 8 on a ag-box park demo --json
jq -e '.holders | length == 1 and (.[0].program | startswith("caf"))' "$WORK/output"
echo >"$WORK/go"; wait
on a rm "$project/"$'odd\e[2J\xc2\x9b'

expect_file "$project/open" more
expect_file "$project/writable" still
on a ag-box park demo

for how in --local --full; do
    on a ag-box up demo "$how"
    on a mkdir "$project/mounted here"
    on a mount -t tmpfs none "$project/mounted here"
    echo only | on a tee "$project/mounted here/file" >/dev/null
    expect_exit 8 on a ag-box park demo
    expect_error "$project/mounted here is mounted in it"
    expect_error "umount '$project/mounted here'"
    expect_file "$project/mounted here/file" only
    on a sh -c "echo still >'$project/writable'"
    on a umount "$project/mounted here"
    on a rmdir "$project/mounted here"
    on a ag-box park demo
done

on a ag-box up demo --full
on b ag-box up demo --force
on b sh -c "echo theirs >'$project/theirs'"
on b ag-box park demo
echo work | on a tee "$project/work" >/dev/null
expect_exit 3 on a ag-box snapshot demo
expect_state a demo fenced
on a sh -c "exec 9>'$project/open'; echo ready >'$WORK/ready'; read x <'$WORK/go'; echo last >&9" &
read -r <"$WORK/ready"
expect_exit 8 on a ag-box park demo
expect_error "$project/open"
expect_state a demo fenced
expect_file "$project/work" work
expect_exit 8 on a ag-box up demo
expect_file "$project/work" work
echo >"$WORK/go"; wait
expect_exit 3 on a ag-box park demo
on b ag-box restore demo --snapshot "$(on b ag-box ls --snapshots demo | grep -o 'fork:a-[0-9]*')" "$WORK/forked"
expect_file "$WORK/forked/open" last
on b umount "$WORK/tree"
