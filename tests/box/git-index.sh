# SPDX-License-Identifier: MIT
# A git repository's index stays valid across nodes: after a cold `up`, `git status` is right and reads no tracked file but
# .gitignore and .gitattributes (rule O9; counted as READs of the lower, hydration off).
. "$TESTS/lib.sh"

store file
node a
node b BOX_HYDRATE=off
project="$WORK/project"
mkdir -p "$project"
for d in $(seq 20); do
    mkdir -p "$project/d$d"
    for f in $(seq 30); do echo "file $f of $d" >"$project/d$d/f$f"; done
done
echo '*.o' >"$project/.gitignore"
echo '*.txt text' >"$project/.gitattributes"
find "$project" -exec touch -d @1700000000 {} + # older than the index: nothing is racily clean (git's racy-git.txt)
git -C "$project" init -q
git -C "$project" add -A
git -C "$project" -c user.name=t -c user.email=t@example.invalid commit -qm begin
echo changed >"$project/d3/f3"
git -C "$project" status --porcelain >"$WORK/status.a"
on a ag-box track demo "$project"
on a ag-box park demo

on b ag-box up demo
on b git --no-optional-locks -C "$project" -c core.checkStat=minimal -c core.trustctime=false status --porcelain \
    >"$WORK/status.b"
cmp "$WORK/status.a" "$WORK/status.b"
on b git --no-optional-locks -C "$project" status --porcelain >"$WORK/status.default"
cmp "$WORK/status.a" "$WORK/status.default"
on b python3 - "$WORK/node/b/run/demo/socket" "$WORK/node/b/state/box/demo/access" >"$WORK/touched" <<'PYTHON'
import socket, sys
with socket.socket(socket.AF_UNIX) as s:  # the daemon writes what was read so far
    s.connect(sys.argv[1])
    s.sendall(b'{"command":"access"}\n')
    assert b'"ok":true' in s.makefile("rb").readline().replace(b" ", b"")
data, at = open(sys.argv[2], "rb").read(), 0
def varint():
    global at
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return value
for _ in range(varint()):
    length = varint()
    print(data[at:at + length].decode())
    at += length
PYTHON
grep -q '^project/.git/index$' "$WORK/touched" || fail "the list of reads does not even have the index"
grep -v '^project/.git/' "$WORK/touched" | grep -vx 'project/.gitignore\|project/.gitattributes' >"$WORK/read" || true
[ ! -s "$WORK/read" ] || fail "git status read tracked files: $(head "$WORK/read")"
on b ag-box park demo
