# SPDX-License-Identifier: MIT
# `debug dump` tells every kind of object, by its key or its file, and refuses one that lies in another's place.
. "$TESTS/lib.sh"

store file
node a
node b
project="$WORK/project"; make_project "$project"
lazy_box a demo "$project"
on a sh -c "echo more >'$project/more'"
on b ag-box up --force demo
expect_exit 3 on a ag-box snapshot demo # its lease is gone: this makes a fork

dump() { # dump KEY-OR-FILE FILTER: what jq finds in it
    on a ag-box debug dump "$1" >"$WORK/dump"
    python3 -c 'import json, sys
value = json.load(open(sys.argv[1]))
print(eval(sys.argv[2], {"o": value}))' "$WORK/dump" "$2"
}
is() {
    [ "$1" = "$2" ] || fail "expected $2, got $1"
}
cd "$WORK/store"
is "$(dump config 'o["body"]["format"]')" 1
is "$(dump box/demo/head 'o["body"]["state"]')" held
is "$(dump "$WORK/store/box/demo/head" 'o["key"]')" box/demo/head
is "$(dump "$(find box/demo/hold -type f | head -n 1)" 'o["body"]["v"]')" 1
is "$(dump "$(find box/demo/fork -type f | head -n 1)" 'o["body"]["node"]')" a
root=$(dump box/demo/head 'o["body"]["root"]')
is "$(dump "box/demo/snap/$root" 'o["meta"]["path"]')" "$project"
pack=$(dump "box/demo/snap/$root" 'o["root"]["pack"]')
is "$(dump "box/demo/pack/$pack" '[i["type"] for f in o["frames"] for i in f.get("items", []) if i.get("type") and i["path"] == "project/file"][0]')" file

for kind in snap pack; do
    find "box/demo/$kind" -type f | head -n 2 >"$WORK/two"
    mapfile -t two <"$WORK/two"
    cp "${two[0]}" "$WORK/kept"; cp "${two[1]}" "${two[0]}"
    expect_exit 7 on a ag-box debug dump "${two[0]}"
    expect_error "${two[0]}"
    cp "$WORK/kept" "${two[0]}"
done
expect_exit 2 on a ag-box debug dump box/demo/nothing
expect_exit 4 on a ag-box debug dump box/other/head
expect_exit 0 on a ag-box debug crash-points
expect_output "put-head.before"
on b ag-box park demo
