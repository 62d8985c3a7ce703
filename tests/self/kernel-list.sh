# SPDX-License-Identifier: MIT
# No unit test that touches overlay or FUSE is left out of what runs on Debian 12's kernel without a word why.
# level: quick
. "$TESTS/lib.sh"

check() { # CODE
    expect_exit "$1" "$TESTS/kernel/run" --check-list --list "$WORK/list"
}

cp "$TESTS/kernel/list" "$WORK/list"
check 0
sed -i /^overlay/d "$WORK/list"
check 1
expect_output 'test-overlay touches overlay or FUSE and is not listed'
echo 'overlay not here: because' >>"$WORK/list"
check 0

echo 'sigv4' >>"$WORK/list"
check 1
expect_output 'sigv4 is no test that touches overlay or FUSE'
echo 'serve not here:' >"$WORK/list"
check 1
expect_error 'cannot be understood: serve not here:'
