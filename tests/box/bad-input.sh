# SPDX-License-Identifier: MIT
# Whatever is wrong with what a command is given, it says so with the right exit code, and changes neither the store nor
# this node's journal.
# limit: 600
# level: normal
. "$TESTS/lib.sh"

store file
node a
node b
project="$WORK/project"; make_project "$project"
mkdir "$project/many" # more pages than a snapshot object carries itself
for i in $(seq 300); do echo "$i" >"$project/many/$i"; done
objects="$WORK/store"

# --- configuration
config="$WORK/node/a/config/env"
expect_refused 9 "password" a env BOX_PASSWORD=wrong ag-box ls
expect_refused 5 "$WORK/absent" a env BOX_STORE="file://$WORK/absent" ag-box ls
mkdir -p "$WORK/empty/.agbox"
cp -a "$objects/.agbox/." "$WORK/empty/.agbox/"
expect_refused 2 "not initialised" a env BOX_STORE="file://$WORK/empty" ag-box ls
expect_error "ag-box init"
expect_refused 2 "ftp://x" a env BOX_STORE=ftp://x ag-box ls
expect_refused 2 "AGBOX_STATE_DIR" a env AGBOX_STATE_DIR=relative ag-box ls
expect_refused 2 "AGBOX_LOG" a env AGBOX_LOG=loud ag-box ls
for mode in 604 640 666; do
    chmod "$mode" "$config"
    expect_refused 2 "$config: others can read or write it (mode 0$mode)" a ag-box ls
    expect_error "chmod 600 $config"
done
chmod 600 "$config"
cp "$config" "$WORK/env"
lines=$(wc -l <"$config")
bad_line() { # bad_line TEXT LINE
    printf '# a comment\n%s\n' "$2" >>"$config"
    expect_refused 2 "$config:$((lines + 2)): $1" a ag-box ls
    cat "$WORK/env" >"$config"
}
bad_line "unknown key BOX_COLOUR" BOX_COLOUR=red
bad_line "not a KEY=VALUE line" "what is this"
bad_line "BOX_HYDRATE: 'maybe'" BOX_HYDRATE=maybe
bad_line "BOX_CACHE_MAX: 'much'" BOX_CACHE_MAX=much
bad_line "BOX_NODE: '../x'" BOX_NODE=../x
bad_line "BOX_LEASE_TTL: '1' is not between" "BOX_LEASE_TTL=1"
bad_line "BOX_LEASE_TTL: '31d' is not between" "BOX_LEASE_TTL=31d"
bad_line "BOX_STORE: 'file://rel' is neither" "BOX_STORE=file://rel"
bad_line "the quote of the value is not closed" 'BOX_PASSWORD="abc'
bad_line "the quote of the value is not closed" "BOX_PASSWORD='"
printf 'BOX_\0NODE=x\n' >>"$config"
expect_refused 2 "NUL" a ag-box ls
cat "$WORK/env" >"$config"
expect_refused 2 "no password is configured" a env BOX_PASSWORD= ag-box ls

others="$WORK/node/a/config/nodes"
bad_node() { # bad_node TEXT LINE
    (umask 077; printf '# a comment\na local\n%s\n' "$2" >"$others")
    expect_refused 2 "$others:3: $1" a ag-box up demo
}
bad_node "not a line of two words" b
bad_node "not a line of two words" "b beta gamma"
bad_node "'../b' is not a name" "../b beta"
bad_node "'-oProxyCommand=x' is nothing that ssh could be given" "b -oProxyCommand=x"
bad_node "node a has a line already" "a local"
bad_node "b is not this node: it is a" "b local"
chmod 666 "$others"
expect_refused 2 "$others: others can read or write it (mode 0666)" a ag-box up demo
expect_error "chmod 600 $others"
rm "$others"
expect_refused 2 "no node b in $others (this node is a)" a ag-box up demo --node b
expect_refused 2 "this node is a, not b" a ag-box up demo --node b --local

# --- names
for name in .. . a/b ../x "a..b" globals etc boxinit -x "" $'a\nb' $'\033[2Jx' $'a\x7f' "$(printf 'x%.0s' {1..64})"; do
    expect_refused 2 "" a ag-box track -- "$name" "$project"
    expect_refused 2 "" a ag-box up -- "$name"
    [ "$name" = globals ] || expect_refused 2 "" a ag-box restore -- "$name" "$WORK/out" # they can be restored
done

# --- a box, with an object of every kind
on a ag-box track demo "$project"
expect_refused 8 "demo" a ag-box track other "$project"
expect_missing "$WORK/node/a/state/box/other" # nor does completion offer it
mkdir "$WORK/elsewhere"
expect_refused 8 "demo exists already" b ag-box track demo "$WORK/elsewhere"
expect_missing "$WORK/node/b/state/box/demo"
on a ag-box park demo
on a ag-box up demo
on a sh -c "echo 'not sent' >'$project/late'"
expect_refused 3 "held by a" b ag-box up demo
expect_refused 3 "held by a" b ag-box set demo pin=b
expect_refused 3 "held by a" b ag-box park demo
on b ag-box up --force demo
expect_exit 3 on a ag-box park demo
for text in one two; do
    on b sh -c "echo $text >'$project/$text'"
    on b ag-box snapshot demo
done
on b ag-box park demo
on b ag-box prune demo

# --- the place of the project
on a sh -c "chattr -i '$project'; chmod 700 '$project'; echo mine >'$project/mine'"
expect_refused 8 "not empty" a ag-box up demo
on a rm "$project/mine"
on a mount -t tmpfs none "$project"
expect_refused 8 "mount" a ag-box up demo
on a umount "$project"
mkdir "$WORK/full"; echo x >"$WORK/full/x"
expect_refused 2 "not empty" a ag-box restore demo "$WORK/full"
expect_refused 2 "xyz" a ag-box restore demo --snapshot xyz "$WORK/out"
expect_refused 4 "no box nobody" a ag-box up nobody
expect_refused 4 "" a ag-box restore demo --snapshot 0123456789abcdef "$WORK/out"
expect_refused 4 "fork" a ag-box restore demo --snapshot fork:nobody-1 "$WORK/out"

# --- this node
on a mount --bind "$WORK/node/a/state" "$WORK/node/a/state"
on a mount -o remount,ro,bind "$WORK/node/a/state"
expect_refused 1 "Read-only file system" a ag-box up demo
on a umount "$WORK/node/a/state"
chmod 777 "$WORK/node/a/state"
expect_refused 2 "chmod 700" a ag-box up demo
chmod 700 "$WORK/node/a/state"
exec 8>"$WORK/node/a/state/box/demo/command"
flock 8
expect_refused 8 "another command works on demo" a ag-box park demo
exec 8>&-

# --- objects that are not what they were. Node c has nothing of its own: what it reads comes from the store.
NO_INIT=1 node c
c="$WORK/node/c/state"
one_of() { # one_of KIND [N]: the key of one of demo's objects
    (cd "$objects" && find "box/demo/$1" -type f | sort | sed -n "${2:-1}p")
}
# The packs of metadata and of content are told apart by what reads them; restore reads all there are.
head=box/demo/head
root=$(on b ag-box ls --snapshots demo --json | python3 -c 'import json, sys
print(next(s["id"] for s in json.load(sys.stdin)["snapshots"] if s["newest"]))')
snap="box/demo/snap/$root"
other_snap=$(one_of snap 1); [ "$other_snap" != "$snap" ] || other_snap=$(one_of snap 2)
on c ag-box debug dump "$snap" >"$WORK/snap.json"
# A page of its tree that the snapshot object does not carry itself, and the pack of some file's content.
(cd "$objects/box/demo/pack" && find . -type f -printf '%P\n') | while read -r pack; do
    on c ag-box debug dump "box/demo/pack/$pack" | jq -c --arg pack "$pack" '{pack: $pack, frames}'
done >"$WORK/packs.json"
read -r pages data < <(python3 -c 'import json, sys
snap = json.load(open(sys.argv[1]))
frames = {(p["pack"], f["offset"]): f for p in map(json.loads, open(sys.argv[2])) for f in p["frames"]}
root = (snap["root"]["pack"], snap["root"]["offset"])
carried = {root, *((p["pack"], p["offset"]) for p in snap["inline_pages"])}
level = [root]
while carried.issuperset(level):
    level = [(i["pack"], i["offset"]) for at in level for i in frames[at]["items"]]
content = next(x for f in frames.values() for i in f.get("items", []) for x in i.get("extents", []))
print(*("box/demo/pack/" + pack for pack in (next(at[0] for at in level if at not in carried), content["pack"])))
' "$WORK/snap.json" "$WORK/packs.json")
other_pack=$(one_of pack 1); [ "$other_pack" != "$pages" ] || other_pack=$(one_of pack 2)
condemned=$(one_of condemned)
fork=$(one_of fork)

damaged() { # damaged OBJECT DONOR WHAT-THE-MESSAGE-NAMES NODE COMMAND...
    local object="$objects/$1" donor="$objects/$2" names=$3 how size
    shift 3
    cp -a "$object" "$WORK/kept"
    size=$(stat -c %s "$object")
    for how in truncated empty flipped swapped; do
        case $how in
        truncated) head -c $((size < 200 ? size / 2 : 100)) "$WORK/kept" >"$object" ;;
        empty) : >"$object" ;;
        flipped) python3 -c 'import sys
data = bytearray(open(sys.argv[1], "rb").read())
for at in range(40, len(data), 29): data[at] ^= 1 # every frame is hit: its nonce and tag alone are 40 bytes
open(sys.argv[2], "wb").write(data)' "$WORK/kept" "$object" ;;
        swapped) cat "$donor" >"$object" ;;
        esac
        echo "--- $how: $object"
        rm -rf "$c/cache" "$WORK/out"
        expect_refused 7 "$names" "$@"
    done
    cp -a "$WORK/kept" "$object"
    rm -rf "$WORK/out"
}
damaged "$head" "$other_snap" "the head of demo" c ag-box up demo
cp -a "$objects/$head" "$WORK/kept"
echo damaged >"$objects/$head" # what it led to can still be named
expect_refused 7 "the head of demo" c ag-box ls --snapshots demo
expect_output "$root"
on c ag-box restore demo "$WORK/out" --snapshot "$root"
[ -n "$(ls "$WORK/out")" ]
mkdir "$WORK/look"
on c ag-box mount demo "$WORK/look" --snapshot "${root:0:8}"
on c ag-box umount "$WORK/look"
cp -a "$WORK/kept" "$objects/$head"
rm -rf "$WORK/out" "$WORK/look"
damaged "$snap" "$other_snap" "${root:0:8}" c ag-box restore demo "$WORK/out"
damaged "$pages" "$other_pack" "${pages##*/}" c ag-box restore demo "$WORK/out"
damaged "$data" "$pages" "${data##*/}" c ag-box restore demo "$WORK/out"
damaged "$condemned" "$fork" "${condemned##*/}" c ag-box ls --snapshots demo
damaged "$fork" "$head" "${fork##*/}" c ag-box restore demo --snapshot "$(basename "$fork" | sed 's/^/fork:/; s/-[^-]*$//')" "$WORK/out"
on b ag-box up demo
hold=$(one_of hold)
damaged "$hold" "$head" "${hold##*/}" b ag-box prune demo
on b ag-box park demo

expect_refused 4 "no box nowhere" c ag-box up nowhere
expect_missing "$WORK/node/c/state/box/nowhere"

# --- the config is open, and all of it is taken for hostile
edit_config() { # edit_config STATEMENT on the parsed config, as o
    cp -a "$objects/config" "$WORK/kept"
    python3 -c 'import json, sys
o = json.load(open(sys.argv[1]))
exec(sys.argv[3])
json.dump(o, open(sys.argv[2], "w"))' "$WORK/kept" "$objects/config" "$1"
    rm -rf "$c/keys"
}
hostile() { # hostile CODE TEXT STATEMENT
    edit_config "$3"
    expect_refused "$1" "$2" c timeout 20 ag-box ls
    cp -a "$WORK/kept" "$objects/config"
}
hostile 2 "newer" 'o["v"] = 2'
hostile 2 "newer" 'o["format"] = 2'
for n in 0 11 4294967296 -1 '"3"'; do hostile 7 "config" "o['slots'][0]['argon2']['ops'] = $n"; done
for n in 0 4096 '1 << 40' '1 << 62' -1; do hostile 7 "config" "o['slots'][0]['argon2']['memory'] = $n"; done
hostile 7 "config" 'o["slots"] = []'
hostile 7 "config" 'o["slots"] = o["slots"] * 17'
hostile 7 "config" 'o["slots"] = 7'
hostile 7 "config" 'del o["store_id"]'
hostile 9 "password" 'o["slots"][0]["commitment"] = "00" * 32'
damaged_config() {
    cp -a "$objects/config" "$WORK/kept"
    printf '%s' "$1" >"$objects/config"
    rm -rf "$c/keys"
    expect_refused 7 "config" c ag-box ls
    cp -a "$WORK/kept" "$objects/config"
}
damaged_config ""
damaged_config "{"
damaged_config "$(head -c 100 "$objects/config")"
damaged_config "$(printf '[%.0s' {1..5000})"
on c ag-box ls # all is well again

# What begins work asks for the config, though a copy of it is here (and what ends it does not need it).
mkdir "$WORK/begun"
cp -a "$objects/config" "$WORK/kept"
on b ag-box up demo
sed -i 's/"format": *1/"format": 2/' "$objects/config"
cmp -s "$objects/config" "$WORK/kept" && fail "the config is as it was"
expect_refused 2 "newer" c ag-box up demo
expect_refused 2 "newer" c ag-box track begun "$WORK/begun"
expect_refused 2 "newer" c ag-box prune
expect_refused 2 "newer" c ag-box prune demo
expect_refused 2 "newer" c ag-box init
on b ag-box park demo
cp -a "$WORK/kept" "$objects/config"
on c ag-box up demo
on c ag-box park demo
