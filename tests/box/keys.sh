# SPDX-License-Identifier: MIT
# Key slots: a password that is typed is not shown, the slot of the configured one stays unless it is said, and a password whose
# slot is gone lists nothing, whatever this node has kept.
. "$TESTS/lib.sh"

store file
node a
on a ag-box init
slots() { on a ag-box key list --json | jq -r '.slots[].label'; }
on a python3 "$TESTS/passwords.py"
[ "$(slots)" = $'init\ntyped' ]
BOX_PASSWORD="my secret" on a ag-box key list

# Commands that look at the store's config at the same time are not in each other's way.
for round in 1 2 3; do
    rm -r "$WORK/node/a/state/keys"
    on a sh -c 'for i in 1 2 3 4 5 6 7 8; do ag-box key list >/dev/null || echo failed & done; wait' >"$WORK/failed"
    [ ! -s "$WORK/failed" ] || fail "$(wc -l <"$WORK/failed") of 8 have failed"
done

# A password that is too long is refused, not cut: nobody could type the key that it made.
for long in "$(printf 'x%.0s' {1..1023})" "$(printf 'x%.0s' {1..2000})"; do
    BOX_NEW_PASSWORD=$long expect_exit 2 on a ag-box key passwd
    expect_error "longer than 1022 bytes"
    expect_exit 2 on a ag-box key add <<<"$long"
    expect_error "longer than 1022 bytes"
done
long=$(printf 'x%.0s' {1..1022})
BOX_NEW_PASSWORD=$long on a ag-box key add --label long
BOX_PASSWORD=$long on a ag-box key list
on a ag-box key remove "$(on a ag-box key list --json | jq -r '.slots[] | select(.label == "long").id')"

# What the env file cannot hold is none either: a zero byte, which cut it; and a line's end is none of it, however it is written.
printf 'cut\0here\n' >"$WORK/line"
expect_exit 2 on a ag-box key passwd <"$WORK/line"
expect_error "zero byte"
on a ag-box key list
printf 'of another system\r\n' >"$WORK/line"
on a ag-box key add --label other <"$WORK/line"
BOX_PASSWORD="of another system" on a ag-box key list
on a ag-box key remove "$(on a ag-box key list --json | jq -r '.slots[] | select(.label == "other").id')"

BOX_NEW_PASSWORD=other expect_exit 2 on a ag-box key passwd "a new password"
expect_error "passwords are asked for"

# BOX_PASSWORD wins, wherever RESTIC_PASSWORD is said.
cp -p "$WORK/node/a/config/env" "$WORK/env"
RESTIC_PASSWORD="another repository's" on a ag-box key list
echo 'RESTIC_PASSWORD="another repository'"'"'s"' >>"$WORK/node/a/config/env"
on a ag-box key list
sed -i 's/^BOX_PASSWORD=/# &/; s/^RESTIC_PASSWORD=.*/RESTIC_PASSWORD=correct horse/' "$WORK/node/a/config/env"
on a ag-box key list
RESTIC_PASSWORD=wrong expect_exit 9 on a ag-box key list
cat "$WORK/env" >"$WORK/node/a/config/env"

own=$(on a ag-box key list --json | jq -r '.slots[0].id')
expect_exit 2 on a ag-box key remove "$own"
expect_error "is the slot of the password that is configured here"
expect_error "--force"
[ "$(slots)" = $'init\ntyped' ]

# A box that is here parks with the key that this node has kept: it stays until then, --force or not.
project="$WORK/project"; mkdir "$project"
on a ag-box track demo "$project"
echo work >"$project/file"
expect_refused 8 "demo is here, and needs the key" a ag-box key remove "$own" --force
expect_error "hint: ag-box park demo first"
[ "$(slots)" = $'init\ntyped' ]
BOX_PASSWORD="my secret" on a ag-box key list # another slot's is no matter of the boxes here
on a ag-box park demo

# Then nothing opens here any more, though this node had kept the key, but with the password of another slot.
kept=$(echo "$WORK"/node/a/state/keys/*)
[ -f "$kept/key" ] || fail "no key is kept"
expect_exit 0 on a ag-box key remove "$own" --force
expect_output "which opens the store no more"
expect_missing "$kept/key"
for words in "key list" "key export" ls "up demo" "snapshot demo"; do
    expect_exit 9 on a ag-box $words
done
expect_exit 0 on a ag-box status demo
expect_error "password"
expect_missing "$kept/key"
BOX_PASSWORD="my secret" on a ag-box key list --json | jq -e '.slots | length == 1'
sed -i 's/^BOX_PASSWORD=.*/BOX_PASSWORD="my secret"/' "$WORK/node/a/config/env"
on a ag-box up demo
expect_file "$project/file" work
on a ag-box park demo
