# SPDX-License-Identifier: MIT
# One life of a box with every ag-box, daemons too, under valgrind: no error and no definite leak.
# lane: cpu
# limit: 1800
# level: full
. "$TESTS/lib.sh"

command -v valgrind >/dev/null || skip "valgrind is not installed"
[ -e "$BUILD/tests/valgrind/libsyscalls.so" ] || skip "this build has no tests/valgrind"
needs_plain_build "this build has its own sanitizers"
store fault
node a
node b
# The store was made without it: the probe of a thousand requests is tests/unit/test-probe's.
mkdir "$WORK/bin"
printf '#!/bin/sh\nexec "%s" "%s" "%s" "$@"\n' "$TESTS/valgrind/under" "$BUILD" "$BUILD/cli/ag-box" >"$WORK/bin/ag-box"
chmod +x "$WORK/bin/ag-box"
PATH="$WORK/bin:$PATH"
project="$WORK/project"; make_project "$project"
cp -a "$project" "$WORK/original"

on a ag-box track demo "$project"
on a ag-box park demo
on b ag-box up demo
expect_same_tree "$project" "$WORK/original"
on b sh -c "echo 'written on b' >'$project/new file'; rm '$project/file'; mv '$project/deep' '$project/moved'"
on b ag-box snapshot demo
on b ag-box hydrate demo
on b ag-box park demo
on a ag-box up --full demo
expect_file "$project/new file" "written on b"
on a ag-box park demo

# A child that became a program of others ends without a summary; what it did before must not have been wrong, either.
mapfile -t logs < <(grep -l 'ERROR SUMMARY' "$WORK"/valgrind.*)
[ "${#logs[@]}" -ge 14 ] || fail "only ${#logs[@]} processes were under valgrind"
grep -l 'Command: .*boxfs-serve' "${logs[@]}" || fail "the file system's daemon was not under valgrind"
! grep -L 'ERROR SUMMARY: 0 errors' "${logs[@]}" | grep . || fail "valgrind found something"
! grep -E '^==[0-9]+== (Invalid|Conditional|Use of|Syscall param|Process terminating)' "$WORK"/valgrind.* ||
    fail "valgrind found something in a child"
