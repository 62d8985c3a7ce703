# SPDX-License-Identifier: MIT
# A box keeps nothing alive of another one, nor of a snapshot that is mounted, on a node whose mounts are private too:
# there nothing that is unmounted is unmounted in the namespaces that were made before.
. "$TESTS/lib.sh"

BOXES=yes
store file
node a
mkdir "$WORK/one" "$WORK/two" "$WORK/snapshot"
echo one >"$WORK/one/file"
echo two >"$WORK/two/file"
on a ag-box track one "$WORK/one"
on a ag-box track two "$WORK/two"
on a ag-box park one
on a ag-box park two

on a ag-box up two
on a ag-box mount one "$WORK/snapshot"
on a ag-box up one
on a ag-box exec two -- sh -c 'echo changed >file'
expect_exit 0 on a ag-box park two
! grep -q "still mounted" "$WORK/error" || fail "the other box keeps the tree: $(cat "$WORK/error")"
expect_state a two moved-aside
expect_exit 0 on a ag-box umount "$WORK/snapshot"
for process in $(_processes_of a); do
    ! tr '\0' ' ' <"/proc/$process/cmdline" 2>/dev/null | grep -q mountfs || fail "the snapshot is still served"
done
on a ag-box exec one -- cat file | grep -qx one
on a ag-box up two
on a ag-box exec two -- cat file | grep -qx changed
on a ag-box park one
on a ag-box park two
