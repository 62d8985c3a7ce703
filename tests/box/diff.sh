# SPDX-License-Identifier: MIT
# diff tells what was changed, by letter and path, of a mounted box and of plain directories, with the store away too.
. "$TESTS/lib.sh"

store file
node a
project="$WORK/project"
mkdir -p "$project/sub" "$project/moving"
echo one >"$project/changed"; echo two >"$project/gone"; echo three >"$project/typed"; echo four >"$project/moving/in"
echo same >"$project/sub/same"
changes() { # what every way of holding the tree must tell
    on a ag-box diff demo | LC_ALL=C sort
}
expected=$(printf 'A\t./home:x\nA\tadded\nD\tgone\nM\tchanged\nM\tsub/same\nT\ttyped')

on a ag-box track demo "$project"
[ -z "$(changes)" ] || fail "nothing was changed: $(changes)"
change() {
    on a sh -c "cd '$project' && echo 1 >added && echo x >home:x && echo longer >changed && rm gone typed && mkdir typed && touch sub/same && echo same >sub/same"
}
change
touch -r "$project/changed" "$project/sub/same" # a time is an attribute
[ "$(changes)" = "$expected" ] || fail "full: $(changes)"

on a ag-box park demo
on a ag-box up demo
[ -z "$(changes)" ] || fail "nothing was changed after up: $(changes)"
on a sh -c "cd '$project' && mv moving moved && echo y >sub/new && rm -r typed && ln -s x typed && rm changed"
mv "$WORK/store" "$WORK/store-away"
expected=$(printf 'A\tsub/new\nD\tchanged\nR\tmoved\nT\ttyped')
[ "$(changes)" = "$expected" ] || fail "mounted, store away: $(changes)"
reboot a
[ "$(changes)" = "$expected" ] || fail "after a crash, not mounted: $(changes)"
mv "$WORK/store-away" "$WORK/store"

on a ag-box up demo
on a python3 -c "open(b'$project/bad-\xff', 'w'); open('$project/\x1b[2J\n', 'w')"
expected+=$(printf '\nA\t\\x1b[2J\\n\nA\tbad-\\xff') # nothing that a terminal obeys
[ "$(changes)" = "$(LC_ALL=C sort <<<"$expected")" ] || fail "names: $(changes)"
expect_exit 0 on a ag-box diff --json demo
python3 - "$WORK/output" <<'END'
import base64, json, sys
answer = json.load(open(sys.argv[1]))
found = {c["path"]: c for c in answer["changes"]}
assert answer["ok"] and answer["v"] == 1
assert found["moved"]["change"] == "R" and "path_b64" not in found["moved"]
bad = found["bad-\\xff"]
assert base64.b64decode(bad["path_b64"]) == b"bad-\xff", bad
END
on a ag-box park demo
expect_exit 4 on a ag-box diff demo
expect_error "no working tree here"
expect_exit 4 on a ag-box diff nobody
