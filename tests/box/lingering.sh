# SPDX-License-Identifier: MIT
# Somebody stays in a tree that was parked, and keeps its daemon. What that one learns of its base, since the store was slow,
# is not taken for what the next tree's base has in the store.
. "$TESTS/lib.sh"

store fault
node a
node b
project="$WORK/project"
mkdir "$project"
for i in $(seq 400); do
    mkdir -p "$project/$((i % 20))"
    echo "$i" >"$project/$((i % 20))/$i"
done
echo "only in the older base" >"$project/content"
on b ag-box track demo "$project"
on b ag-box park demo

fault delay 6000 --op GET --key 'box/demo/pack/*' --times 1 # the daemon's first, for a page
on a ag-box up demo
mkfifo "$WORK/stay"
on a sh -c 'cd "$1" && read -r _ <"$2"' - "$project" "$WORK/stay" &
reader=$!
exec {stay}>"$WORK/stay"
on a ag-box park demo
on b ag-box up demo
on b rm "$project/content"
on b ag-box park demo
on a ag-box up demo

known() { sqlite3 "$WORK/node/a/state/cache/.catalog.db" "SELECT count(*) FROM known WHERE box = 'demo'"; }
for _ in $(seq 70); do # until the older daemon has had its answer
    sleep 0.1
    [ "$(known)" -le 400 ] || break
done
[ "$(known)" = 400 ] || fail "$(known) pieces of content are known of a base that has 400"
echo >&"$stay"
wait "$reader"
on a ag-box park demo
