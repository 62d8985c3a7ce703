# SPDX-License-Identifier: MIT
# A store that lost its config, or is not mounted, is never made anew over what was there, and nobody is told to.
. "$TESTS/lib.sh"

store file
node a
node b
project="$WORK/project"; make_project "$project"
cp -a "$project" "$WORK/original"
on a ag-box track demo "$project"
on a ag-box park demo
on a ag-box key export >"$WORK/paper"

no_init() { ! grep -q "ag-box init" "$WORK/error" "$WORK/output" || fail "init is advised"; }

# --- the disk is not mounted, or another one is
mv "$WORK/store" "$WORK/away"
mkdir "$WORK/store"
for what in "up demo" "check" "prune" "ls --snapshots demo"; do
    expect_exit 5 on a ag-box $what
    expect_error "mount what holds the store"
    no_init
done
expect_exit 1 on a ag-box doctor
no_init
expect_exit 7 on a ag-box init
expect_error "was opened here before"
expect_error "key recover"
rmdir "$WORK/store" # nothing is in it: no mark was made
expect_exit 5 on b ag-box ls # knows no store yet
expect_error "ag-box init"
mkdir "$WORK/store"
on b ag-box init # may make one
expect_exit 7 on a ag-box prune # asks for the config
expect_error "is another store than the one that was opened here before"
expect_exit 7 on a ag-box init
rm -r "$WORK/store"
mv "$WORK/away" "$WORK/store"
on a ag-box up demo
on a ag-box park demo

# --- the config is gone
rm -r "$WORK/node/b/state/keys" "$WORK/store/config"
expect_exit 7 on a ag-box up demo
expect_error "its config is gone"
expect_error "ag-box key recover"
no_init
expect_exit 1 on a ag-box doctor
expect_output "ag-box key recover"
no_init
expect_exit 7 on a ag-box init
expect_exit 7 on b ag-box init # has never opened it
expect_error "has lost its config: there is something in box/"
expect_error "key recover"
expect_missing "$WORK/store/config"
on b ag-box key recover <"$WORK/paper"
for node in a b; do
    on $node ag-box up demo
    expect_same_tree "$project" "$WORK/original"
    on $node ag-box park demo
done
