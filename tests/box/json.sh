# SPDX-License-Identifier: MIT
# --json of every command, done and failed, is one object of the promised shape, and each of its fields is in the man page.
# limit: 240
. "$TESTS/lib.sh"

store file
node a
node b
project="$WORK/project"; make_project "$project"
cp -a "$project" "$WORK/original"
man="$TESTS/../cli/man"

# json CODE NODE COMMAND...: runs it with --json, and looks at what it prints.
json() {
    local code=$1 node=$2 got=0
    shift 2
    on "$node" ag-box "$@" --json >"$WORK/output" 2>"$WORK/error" || got=$?
    echo "$got ag-box $* --json: $(head -c 2000 "$WORK/output")"
    [ "$got" = "$code" ] || fail "exit $got, expected $code: ag-box $* --json: $(cat "$WORK/error")"
    python3 - "$code" "$1" "$man" "$WORK/output" <<'END'
import json, re, sys
code, command, man, output = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
text = open(output, "rb").read().decode("ascii")
assert text.endswith("\n") and text.count("\n") == 1, "not one line"
answer = json.loads(text)
assert answer["v"] == 1 and answer["ok"] is (code == 0), "v or ok"
KINDS = {1: "failed", 2: "usage", 3: "held", 4: "unknown", 5: "store", 6: "doubt", 7: "damaged", 8: "busy", 9: "password"}
if code:
    assert answer["code"] == code and answer["kind"] == KINDS[code], "code or kind"
    assert isinstance(answer["message"], str) and answer["message"], "message"
    assert not answer["message"].startswith("ag-box:"), "message"
else:
    assert not {"code", "kind", "message", "hint"} & set(answer), "a success speaks of failure"

pages = [open("%s/ag-box-%s.1.scd" % (man, command)).read().split("# JSON", 1)[1], open(man + "/ag-box.1.scd").read()]
known = set(re.findall(r"\*([a-z0-9_]+)\*", "\n".join(pages)))
TIMES = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
def check(value, where):
    if isinstance(value, dict):
        for key, below in value.items():
            assert key in known, "%s: no field *%s* in the man page" % (where, key)
            if key == "time" or key == "created" and isinstance(below, str):
                assert TIMES.match(below), "%s is no RFC 3339 time: %r" % (key, below)
            if key == "bytes" or key.endswith("_bytes") or key.endswith("_s") or key.endswith("_ms"):
                assert isinstance(below, int) and below >= 0, "%s: %r" % (key, below)
            check(below, where + "." + key)
    elif isinstance(value, list):
        for below in value:
            check(below, where + "[]")
check(answer, command)
END
}

has() { # has FIELD...: what came last has these
    for field; do
        jq -e --arg field "$field" 'has($field)' "$WORK/output" >/dev/null || fail "no $field: $(cat "$WORK/output")"
    done
}

# What fails before there is anything.
json 4 a up demo
json 4 a park demo
json 4 a snapshot demo
json 2 a snapshot
json 4 a set demo pin=a
json 4 a status demo
json 4 a hydrate demo
json 4 a diff demo
json 4 a restore demo "$WORK/out"
json 4 a ls --snapshots demo
json 4 a prune demo
json 2 a track demo "$WORK/absent"
json 1 a digest "$WORK/absent"
json 2 a key nothing
json 4 a globals pull
json 2 a globals sideways
json 0 a globals auto
json 0 a snapshot --active
json 0 a ls
json 0 a status

# A shortened option is that option; and what exec was told to write is there, whatever fails.
on a ag-box ls --js | jq -e .ok
expect_exit 125 on a env BOX_HYDRATE=maybe ag-box exec demo --json="$WORK/said" -- true
jq -e '.ok == false and .code == 125 and .kind == "usage"' "$WORK/said"

json 0 a init
json 0 a key list
json 0 a key export
BOX_NEW_PASSWORD=another json 0 a key add --label other
slot=$(on a ag-box key list | sed -n 's/ .*other$//p')
json 0 a key remove "$slot"
json 0 a digest "$project"
echo a >"$WORK/node/a/home/.gitconfig"
echo b >"$WORK/node/b/home/.gitconfig"
json 0 a globals push
json 0 a globals push
json 0 b globals pull

json 0 a track demo "$project"
json 0 a track demo "$project"
json 0 a status demo
json 8 a track other "$project"
on a sh -c "echo x >>'$project/file'"
json 0 a diff demo
json 0 a snapshot demo
json 0 a snapshot --active
json 0 a set demo exclude+=node_modules/
json 2 a set demo colour=red
json 0 a hydrate demo
json 8 b up demo
json 0 a up demo
has node snapshot from_node time age_ms full
json 0 a park demo
json 0 a park demo
has snapshot changed sent_bytes
json 0 a snapshot demo
has snapshot changed sent_bytes
json 0 b park demo
has snapshot changed sent_bytes
json 4 b snapshot demo
json 0 a status
json 0 a up demo
has node snapshot from_node time age_ms
json 0 a up demo
has node snapshot from_node time age_ms
json 3 b up demo
json 0 a hydrate demo
json 0 a status demo
mkfifo "$WORK/ready"
on a sh -c "exec 9>'$project/open'; echo \$\$ >'$WORK/ready'; cd /; exec sleep 60" &
read -r writer <"$WORK/ready"
json 8 a park demo
kill "$writer"; wait
on a sh -c "echo z >'$project/late'"
json 0 b up demo --force
json 3 a snapshot demo
json 0 a ls
json 0 a ls --snapshots demo
json 3 a park demo
json 0 a ls --snapshots demo
json 0 a restore demo "$WORK/out"
json 0 b park demo
mkdir "$WORK/mnt"
json 0 a mount demo "$WORK/mnt"
json 0 a umount "$WORK/mnt"
json 4 a umount "$WORK/mnt"
json 4 a mount demo "$WORK/mnt" --snapshot 0123456789abcdef
json 0 b check
json 0 b check demo --read-data
json 4 b check nobody
cp "$WORK/store/box/demo/head" "$WORK/head"
echo damaged >"$WORK/store/box/demo/head"
json 7 b check
json 7 a ls
cat "$WORK/head" >"$WORK/store/box/demo/head"
json 0 b prune demo
json 0 b prune --dry-run
on b ag-box up demo
json 8 b drop demo
on b ag-box park demo
json 8 b drop demo --yes
json 2 b drop demo --force
json 4 b drop demo --fork nobody-1
json 0 b drop demo --yes --fork "$(on b ag-box ls --snapshots demo | sed -n 's/^\(fork:[^ ]*\).*/\1/p')"
json 0 a up --full demo
json 0 a park demo
json 0 a drop demo --yes --force
json 0 b drop demo --yes
json 4 b up demo
mv "$WORK/store" "$WORK/away"
json 5 a up demo
json 5 a ls
json 0 a status
mv "$WORK/away" "$WORK/store"
echo "BOX_PASSWORD=wrong" >>"$WORK/node/b/config/env"
json 9 b ls
json 9 b init
