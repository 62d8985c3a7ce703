# SPDX-License-Identifier: MIT
# When every password is lost, the recovery text opens the store again, and what is in it is as it was.
. "$TESTS/lib.sh"

store file
node a
project="$WORK/project"; make_project "$project"
cp -a "$project" "$WORK/original"
on a ag-box track demo "$project"
on a ag-box park demo
on a ag-box key export >"$WORK/paper"

sed -i 's/^BOX_PASSWORD=.*/BOX_PASSWORD=a new one/' "$WORK/node/a/config/env"
expect_exit 9 on a ag-box ls
expect_exit 2 on a ag-box key recover <<<"not a recovery text"
expect_exit 9 on a ag-box ls
on a ag-box key recover <"$WORK/paper"
on a ag-box up demo
expect_same_tree "$project" "$WORK/original"
on a ag-box park demo

rm "$WORK/store/config" # the text alone is enough
on a ag-box key recover <"$WORK/paper"
rm -r "$WORK/node/a/state/keys"
on a ag-box up demo
expect_same_tree "$project" "$WORK/original"
on a ag-box park demo
