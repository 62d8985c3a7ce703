# SPDX-License-Identifier: MIT
# A node loses its cache while a box is up, in plain directories or not: of files that did not change nothing is sent again.
. "$TESTS/lib.sh"

store file
node a
node b
project="$WORK/project"; mkdir "$project"
head -c 6000000 /dev/urandom >"$project/large"
for i in $(seq 40); do head -c 30000 /dev/urandom >"$project/small-$i"; done
on a ag-box track demo "$project"
on a ag-box park demo
packs() { find "$WORK/store/box/demo/pack" -type f -printf '%s\n' | awk '{ sum += $1 } END { print sum }'; }

for full in --full ''; do
    on b ag-box up $full demo
    lose_cache b
    rm -rf "$WORK/model" "$WORK/restored"
    on b touch "$project/large" "$project/small-1"
    on b sh -c "echo more >>'$project/small-2'"
    copy_tree "$project" "$WORK/model"
    before=$(packs)
    on b ag-box park demo
    sent=$(($(packs) - before))
    [ "$sent" -lt 100000 ] || fail "up $full: $sent bytes were sent, 30000 of which are new"
    on a ag-box restore demo "$WORK/restored"
    expect_same_tree "$WORK/restored" "$WORK/model"
done
on a ag-box check --read-data demo
