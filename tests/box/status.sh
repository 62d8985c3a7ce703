# SPDX-License-Identifier: MIT
# Status shows what `set` has set, by another node too, and what `mount` shows; it counts boxes as ls does, and both say the
# same of a box whose mounts a reboot took.
. "$TESTS/lib.sh"

store file
node a
node b
for name in one two gone; do
    mkdir "$WORK/$name"; echo $name >"$WORK/$name/file"
    on a ag-box track $name "$WORK/$name"
    on a ag-box park $name
done
on b ag-box set one pin=a memory_max=3G 'exclude+=*.o' "exclude+=build dir/"
expect_exit 0 on a ag-box status one
for line in "  pin a" "  memory_max 3.0G" "  exclude *.o" "  exclude build dir/"; do
    grep -qxF -- "$line" "$WORK/output" || fail "no line: $line"
done
on a ag-box status one --json | jq -e '.pin == "a" and .own_memory_max == 3221225472 and (.nix | not) and
    .exclude == ["*.o", "build dir/"]'
expect_exit 0 on a ag-box status two
! grep -qE '^  (pin|memory_max|nix|exclude) ' "$WORK/output" || fail "settings that nobody has set"

on a ag-box drop gone --yes
mkdir "$WORK/look"
expect_exit 0 on a ag-box status
expect_output "snapshots: 3, of 2 boxes"
! grep -q "is mounted at" "$WORK/output" || fail "a mount that there is not"
on a ag-box mount two "$WORK/look"
expect_exit 0 on a ag-box status
expect_output "is mounted at $WORK/look"
on a ag-box status --json | jq -e --arg path "$WORK/look" '.mounts | length == 1 and .[0].name == "two" and .[0].path == $path'
on a ag-box umount "$WORK/look"
[ "$(on a ag-box status --json | jq '.mounts | length')" = 0 ]

on a ag-box up two
reboot a
expect_state a two dirty-unmounted
on a ag-box ls --json | jq -e '.boxes[] | select(.name == "two") | .here == "dirty-unmounted"'
on a ag-box up two
on a ag-box park two
