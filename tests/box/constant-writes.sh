# SPDX-License-Identifier: MIT
# Files that never hold still do not keep a live snapshot from saving all else: they are read as they are, and named. The
# next snapshot reads them again, whatever their times say.
# limit: 180
. "$TESTS/lib.sh"

store file
node a
node b
project="$WORK/project"; mkdir "$project" "$project/b"
head -c 24M /dev/urandom >"$project/b/database"
head -c 9M /dev/urandom >"$project/b/shrinks"
echo first >"$project/a"; echo first >"$project/c"
mkfifo "$WORK/ready" "$WORK/end"
busy() { # until a line comes: bytes of one file, and the size of the other, change all the time
    on a python3 - "$project/b" "$WORK" <<'PY'
import os, select, sys
tree, work = sys.argv[1:]
end = os.open(work + "/end", os.O_RDONLY | os.O_NONBLOCK)
database, shrinks = (os.open(f"{tree}/{n}", os.O_RDWR) for n in ("database", "shrinks"))
open(work + "/ready", "w").close()
n = 0
while not select.select([end], [], [], 0)[0] or not os.read(end, 1):
    n += 1
    os.pwrite(database, n.to_bytes(8, "big"), n * 4096 % (24 << 20))
    os.ftruncate(shrinks, (n % 9 << 20) + 7)
os.ftruncate(shrinks, 5 << 20)
PY
}
snapshot() { # snapshot COMMAND...: while they change
    busy & writer=$!
    read -r <"$WORK/ready" || true
    expect_exit 0 on a ag-box "$@" --json
    echo >"$WORK/end"; wait "$writer"
    python3 - "$WORK/output" <<'PY' || fail "the file that is written to all the time is not named"
import json, sys
said = json.load(open(sys.argv[1]))
assert "project/b/database" in [f["path"] for f in said["unsettled"]], said
assert {f["path"] for f in said["unsettled"]} <= {"project/b/database", "project/b/shrinks"}, said
assert any("project/b/database" in w for w in said["warnings"]), said
PY
}
expect_saved() { # as it is in the store now
    rm -rf "$WORK/restored"
    on b ag-box restore demo "$WORK/restored"
    expect_file "$WORK/restored/a" "$1"
    expect_file "$WORK/restored/c" "$1"
    [ -s "$WORK/restored/b/database" ] || fail "the file itself is not there"
}

snapshot track demo "$project"
expect_saved first
echo second >"$project/a"; echo second >"$project/c"
snapshot snapshot demo
expect_saved second
expect_exit 0 on a ag-box snapshot demo --json
grep -q '"unsettled": \?\[\]' "$WORK/output" || fail "nothing changes any more"
expect_saved second
expect_same_tree "$project" "$WORK/restored"
expect_exit 0 on a ag-box park demo
! grep -q "was written to" "$WORK/error" || fail "what it wrote anew counts as changed"
on a ag-box up demo # the same of an overlay
on a sh -c "echo third >'$project/a'; echo third >'$project/c'"
snapshot snapshot demo
expect_saved third
on a ag-box park demo
on a ag-box up demo
rm -rf "$WORK/restored"
on a ag-box restore demo "$WORK/restored"
expect_same_tree "$project" "$WORK/restored"
on a ag-box park demo
