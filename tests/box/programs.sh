# SPDX-License-Identifier: MIT
# lane: cpu
# limit: 240
# Real programs work inside the mount, and what they made survives park and up: SQLite in WAL mode, git gc, a C build, a
# writer through a shared mapping, locks.
. "$TESTS/lib.sh"

store file
node a
node b
project="$WORK/project"
mkdir -p "$project/src"
for i in $(seq 60); do
    printf '#include <stdio.h>\nint value_%d(void)\n{\n    return %d;\n}\n' "$i" "$i" >"$project/src/f$i.c"
done
{
    for i in $(seq 60); do echo "int value_$i(void);"; done
    echo 'int printf(const char *, ...);'
    echo 'int main(void)'
    echo '{'
    echo '    int sum = 0;'
    for i in $(seq 60); do echo "    sum += value_$i();"; done
    echo '    printf("%d\n", sum);'
    echo '    return 0;'
    echo '}'
} >"$project/src/main.c"
printf 'objects := $(patsubst %%.c,%%.o,$(wildcard src/*.c))\nprogram: $(objects)\n\tcc -o $@ $^\n' >"$project/Makefile"
git -C "$project" init -q
for i in 1 2 3 4 5; do
    echo "$i" >"$project/counter"
    git -C "$project" add -A
    git -C "$project" -c user.name=t -c user.email=t@example.invalid commit -qm "commit $i"
done
on a ag-box track demo "$project"
on a ag-box park demo

on b ag-box up demo
on b python3 - "$project" <<'PYTHON'
import fcntl, mmap, os, sqlite3, sys
os.chdir(sys.argv[1])
one, two = (sqlite3.connect("data.db", isolation_level=None) for _ in "ab")
assert one.execute("pragma journal_mode=wal").fetchone() == ("wal",)
one.execute("create table t (n integer primary key, x blob)")
for n in range(300):
    (one if n % 2 else two).execute("insert into t values (?, ?)", (n, os.urandom(2000)))
assert two.execute("select count(*) from t").fetchone() == (300,)
with open("mapped", "wb") as f:
    f.truncate(1 << 20)
with open("mapped", "r+b") as f, mmap.mmap(f.fileno(), 0) as m:
    for at in range(0, 1 << 20, 4096):
        m[at:at + 8] = b"%08d" % at
    m.flush()
with open("src/main.c", "r+b") as f, mmap.mmap(f.fileno(), 0) as m:  # a file of the lower
    m[0:3] = b"int"
    m.flush()
with open("lock", "w") as f:
    fcntl.flock(f, fcntl.LOCK_EX)
    fcntl.lockf(open("lock", "r+"), fcntl.LOCK_EX)
PYTHON
on b make -s -j2 -C "$project" program
[ "$(on b "$project/program")" = 1830 ] || fail "the program built in the mount is wrong"
on b git -C "$project" gc -q --aggressive --prune=now
on b git -C "$project" fsck --strict --no-dangling
on b git -C "$project" status --porcelain >"$WORK/status.b"
copy_tree "$project" "$WORK/model"
on b ag-box park demo

on a ag-box up demo
expect_same_tree "$project" "$WORK/model"
on a git -C "$project" fsck --strict --no-dangling
on a git -C "$project" status --porcelain >"$WORK/status.a"
cmp "$WORK/status.a" "$WORK/status.b"
[ "$(on a "$project/program")" = 1830 ] || fail "the program does not run on the other node"
[ "$(on a make -C "$project" program 2>&1 | grep -c 'cc ')" = 0 ] || fail "make builds again: times have changed"
on a python3 - "$project" <<'PYTHON'
import os, sqlite3, sys
os.chdir(sys.argv[1])
db = sqlite3.connect("data.db")
assert db.execute("pragma integrity_check").fetchone() == ("ok",)
assert db.execute("select count(*), sum(length(x)) from t").fetchone() == (300, 600000)
data = open("mapped", "rb").read()
assert all(data[at:at + 8] == b"%08d" % at for at in range(0, 1 << 20, 4096))
PYTHON
on a ag-box park demo
