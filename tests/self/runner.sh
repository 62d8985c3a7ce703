# SPDX-License-Identifier: MIT
# The runner counts right, and fails a test for whatever it leaves or a sanitizer says.
# level: quick
# limit: 120
. "$TESTS/lib.sh"

mkdir "$WORK/inner" "$WORK/kept"

test_file() { # NAME LINE...
    printf '%s\n' "${@:2}" >"$WORK/inner/$1.sh"
}

runs() { # CODE COUNTS NAME...
    local code=$1 counts=$2
    shift 2
    expect_exit "$code" "$TESTS/run" --work "$WORK/kept" "${@/#/$WORK/inner/}"
    [ "$(tail -n 1 "$WORK/output")" = "$counts" ] || fail "last line is not \"$counts\""
    [ "$code" = 1 ] || [ -z "$(ls "$WORK/kept")" ] || fail "a directory is left"
    rm -rf "$WORK/kept"/*
}

test_file good 'echo fine'
test_file bad 'echo some reason; exit 3'
test_file skipped 'echo there is no such thing here; exit 77'
runs 0 '1 passed, 0 failed, 1 skipped' good.sh skipped.sh
expect_output 'skip'
expect_output 'there is no such thing here'
runs 1 '1 passed, 1 failed, 1 skipped' good.sh bad.sh skipped.sh
expect_output ': exit 3'
expect_output '| some reason'
expect_output 'again: tests/run'

test_file telling '# tells: last-line' 'echo first; echo 3 of 3'
runs 0 '2 passed, 0 failed, 0 skipped' good.sh telling.sh
expect_output 'telling: 3 of 3'
! grep -qE 'fine|first' "$WORK/output" || fail "a test told more than it was asked to"

test_file lib-fails '. "$TESTS/lib.sh"' 'false' 'true'
runs 1 '0 passed, 1 failed, 0 skipped' lib-fails.sh
expect_output 'failed at lib-fails.sh:2: false'

test_file lib-expects '. "$TESTS/lib.sh"' 'expect_exit 0 sh -c "exit 4"'
runs 1 '0 passed, 1 failed, 0 skipped' lib-expects.sh
expect_output 'lib-expects.sh:2: exit 4, expected 0'

test_file slow '# limit: 1' 'sleep 987'
runs 1 '0 passed, 1 failed, 0 skipped' slow.sh
expect_output 'not done after 1 s'
expect_output 'sleep 987'

test_file leaves-process 'setsid sleep 654 >/dev/null 2>&1 &'
runs 1 '0 passed, 1 failed, 0 skipped' leaves-process.sh
expect_output 'left process'
expect_output 'sleep 654'
for command in /proc/[0-9]*/cmdline; do
    tr '\0' ' ' <"$command" 2>/dev/null | grep -q '^sleep [69]' && fail "a test's process lives on"
done

test_file leaves-mount 'mkdir "$WORK/m"; mount -t tmpfs none "$WORK/m"'
runs 1 '0 passed, 1 failed, 0 skipped' leaves-mount.sh
expect_output 'left mount'

if losetup --find >/dev/null 2>&1; then
    test_file leaves-loop 'truncate -s 1M "$WORK/image"; losetup --find "$WORK/image"'
    runs 1 '0 passed, 1 failed, 0 skipped' leaves-loop.sh
    expect_output 'left loop device'
fi

# Nothing of this one goes to our own log, or the runner that runs us would find the word there.
test_file says-sanitizer 'echo "==1==ERROR: Address""Sanitizer: heap-use-after-free" >"$WORK/daemon.log"'
"$TESTS/run" --work "$WORK/kept" "$WORK/inner/says-sanitizer.sh" >"$WORK/output" && fail 'a sanitizer was not heard'
expect_output ' in daemon.log'
rm -rf "$WORK/kept"/* "$WORK/output"

# A process of a node is not waited for, and a node that holds no box must be clean.
test_file node-leaves '. "$TESTS/lib.sh"' 'NO_INIT=1' 'store file' 'node a' 'on a sh -c "setsid sleep 321 & exit 0" 2>&1'
runs 1 '0 passed, 1 failed, 0 skipped' node-leaves.sh
expect_output 'left on a: process'

test_file nodes '. "$TESTS/lib.sh"' 'NO_INIT=1' 'store file' 'node a BOX_MEMORY_MAX=1G' 'node b' \
    'mkdir "$WORK/m"' 'on a mount -t tmpfs none "$WORK/m"' 'on a sh -c "echo on-a >$WORK/m/f"' \
    'expect_file "$WORK/m/f" on-a' 'on b test ! -e "$WORK/m/f"' \
    'on a grep -qx BOX_NODE=a "$WORK/node/a/config/env"' 'on a grep -qx BOX_MEMORY_MAX=1G "$WORK/node/a/config/env"' \
    '[ "$(stat -c %a "$WORK/node/a/config/env")" = 600 ]' \
    '[ "$(on a cat /proc/sys/kernel/random/boot_id)" != "$(on b cat /proc/sys/kernel/random/boot_id)" ]' \
    'boot=$(on a cat /proc/sys/kernel/random/boot_id)' 'reboot a' '[ "$boot" != "$(on a cat /proc/sys/kernel/random/boot_id)" ]' \
    'on a test ! -e "$WORK/m/f"' 'expect_clean a' 'on b sh -c "exit 5" || [ $? = 5 ]'
runs 0 '1 passed, 0 failed, 0 skipped' nodes.sh

# The words for trees and states, with a twin of ag-box that says what it is told.
mkdir "$WORK/twin"
cat >"$WORK/twin/ag-box" <<'TWIN'
#!/bin/bash
case $1 in
digest) shift; exec python3 "$TESTS/walk.py" "$@" ;;
status) echo '{"v":1,"ok":true,"state":"parked"}' ;;
esac
TWIN
chmod +x "$WORK/twin/ag-box"
words() { # NAME LINE...
    test_file "$1" "PATH='$WORK/twin':\$PATH" '. "$TESTS/lib.sh"' 'store file' 'node a' 'make_project "$WORK/x"' "${@:2}"
}

words same-tree 'make_project "$WORK/y"' 'expect_same_tree "$WORK/x" "$WORK/y"' 'expect_state a demo parked'
runs 0 '1 passed, 0 failed, 0 skipped' same-tree.sh

words other-tree 'make_project "$WORK/y"' 'chmod 0600 "$WORK/y/big"' 'expect_same_tree "$WORK/x" "$WORK/y"'
runs 1 '0 passed, 1 failed, 0 skipped' other-tree.sh
expect_output 'are not the same tree'
expect_output 'big file 0600'

words fails-on-node 'on a sh -c "exit 9"'
runs 1 '0 passed, 1 failed, 0 skipped' fails-on-node.sh
expect_output 'failed at fails-on-node.sh:6: on a sh -c "exit 9"'

words other-state 'expect_state a demo mounted'
runs 1 '0 passed, 1 failed, 0 skipped' other-state.sh
expect_output 'demo is parked on a, expected mounted'

words walks-disagree 'echo "echo 00" >"'"$WORK"'/twin/ag-box"' 'digest_of "$WORK/x"'
runs 1 '0 passed, 1 failed, 0 skipped' walks-disagree.sh
expect_output 'disagree'
