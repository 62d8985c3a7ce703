# SPDX-License-Identifier: MIT
# A park sends content of packs that are mostly dead again, and metadata that spans many packs whole (rule S4): once, then
# there is nothing to do, and prune can free the old packs. Nothing in the tree changes by it.
. "$TESTS/lib.sh"

days() { on "$1" env AGBOX_STORE_CLOCK=$(($2 * 86400)) "${@:3}"; }
prune() { days a "$1" ag-box prune demo --keep-hourly 1 --keep-daily 1 --keep-weekly 1; }
packs() { find "$WORK/store/box/demo/pack" -type f | sort; }
newest() { on a ag-box ls --json | jq -r '.boxes[0].snapshot'; }

store file
node a BOX_LEASE_TTL=30d
node b
project="$WORK/project"; mkdir -p "$project/deep/er"
echo one >"$project/deep/file"; echo two >"$project/deep/er/file"; ln "$project/deep/file" "$project/linked"; ln -s linked "$project/symbolic"
for i in $(seq 40); do head -c 60000 /dev/urandom >"$project/random-$i"; done
head -c 12000000 /dev/urandom >"$project/big"       # many extents: a list of its own
on a ag-box track demo "$project"

# Each live snapshot adds a pack of metadata.
for i in $(seq 17); do
    echo "$i" >"$project/number"
    on a ag-box snapshot demo >/dev/null
done
copy_tree "$project" "$WORK/model"
prune 2; prune 4
before=$(packs | wc -l)
on a ag-box park demo --json >"$WORK/park"
[ "$(jq .changed "$WORK/park")" = true ] || fail "metadata in 18 packs was left as it was"
prune 6; prune 8
[ "$(packs | wc -l)" -le $((before - 15)) ] || fail "$(packs | wc -l) packs are left of $before"
on b ag-box check --read-data demo
on b ag-box up demo
expect_same_tree "$project" "$WORK/model"
root=$(newest)
on b ag-box park demo
[ "$(newest)" = "$root" ] || fail "a park without changes made a snapshot"

# Of the first pack of content less than a quarter stays in use.
large=$(find "$WORK/store/box/demo/pack" -type f -size +1000k | sort)
on b ag-box up demo
on b sh -c "cd '$project' && for i in \$(seq 3 40); do head -c 60000 /dev/urandom >random-\$i; done; head -c 1000 /dev/urandom >big"
on b sh -c "rm -r '$project/deep'; mkdir '$project/deep'; echo new >'$project/deep/one'; chmod 600 '$project/random-1'"
on b ag-box park demo
on b ag-box up demo
rm -rf "$WORK/model"
copy_tree "$project" "$WORK/model"
on b ag-box park demo --json >"$WORK/park"
[ "$(jq .changed "$WORK/park")" = true ] || fail "a pack that is mostly dead was left as it was"
sent=$(jq .sent_bytes "$WORK/park")
[ "$sent" -gt 120000 ] && [ "$sent" -lt 6000000 ] || fail "$sent bytes were sent"
prune 10; prune 12
for pack in $large; do
    [ ! -e "$pack" ] || fail "$pack is still there"
done
on b ag-box check --read-data demo
root=$(newest)
rm -rf "$WORK/node/a/state/cache"
on a ag-box up demo
expect_same_tree "$project" "$WORK/model"
on a ag-box park demo
[ "$(newest)" = "$root" ] || fail "tidied a second time"

# Small files have more in a pack's footer than they have content: such a pack is not dead.
tiny="$WORK/tiny"; mkdir "$tiny"
for i in $(seq 3000); do echo "$i" >"$tiny/$i"; done
on a ag-box track tiny "$tiny"
on a ag-box park tiny --json >"$WORK/park"
[ "$(jq .changed "$WORK/park")" = false ] || fail "a pack of small files was taken for a dead one"
