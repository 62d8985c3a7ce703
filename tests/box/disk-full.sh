# SPDX-License-Identifier: MIT
# The cache gives room where the disk is short: what hydration brought goes when a box writes, and a full disk hinders
# neither diff nor park, whose cache is not needed. Of a store's full disk the store's directory is told.
. "$TESTS/lib.sh"

store file
node a
project="$WORK/project"
mkdir "$project"
for i in 1 2 3 4 5 6; do head -c 10M /dev/urandom >"$project/large$i"; done
on a ag-box track demo "$project"
on a ag-box park demo

# --- lazy: a box that writes as long as the cache can go
NO_INIT=yes node b
on b mount -t tmpfs -o size=50m,mode=700 none "$WORK/node/b/state"
on b ag-box up demo
expect_exit 1 on b ag-box hydrate demo
for i in $(seq 1 20); do
    on b sh -c "head -c 2M /dev/urandom >>'$project/written'" || fail "the disk was full after $i times 2M"
    until [ "$(on b df --output=avail -k "$WORK/node/b/state" | tail -n 1)" -gt 2300 ]; do sleep 0.05; done
done
on b ag-box diff demo
on b ag-box park demo
on b umount "$WORK/node/b/state"

# --- full: nothing but the cache is on the disk that is full
NO_INIT=yes node c
on c mount -t tmpfs -o size=40m,mode=700 none "$WORK/node/c/state"
on c ag-box up --full demo
on c sh -c "echo more >'$project/more'"
on c sh -c "cat /dev/zero >'$WORK/node/c/state/fills'" 2>/dev/null || true
expect_exit 0 on c ag-box diff demo
grep -q "^A.*more" "$WORK/output" || fail "no difference is told"
expect_exit 0 on c ag-box park demo
on c umount "$WORK/node/c/state"

# --- full before anything was read: all comes without the cache, metadata too, and only hydrate says so
make_project "$WORK/linked"
mkdir "$WORK/mounted"
on a ag-box track linked "$WORK/linked"
NO_INIT=yes node e
on e mount -t tmpfs -o size=40m,mode=700 none "$WORK/node/e/state"
on e ag-box ls
on e sh -c "head -c 39000k /dev/zero >'$WORK/node/e/state/fills'"
on e ag-box restore linked "$WORK/restored"
on e ag-box check
on e ag-box prune
on e ag-box mount linked "$WORK/mounted"
[ "$(on e ag-box digest "$WORK/restored")" = "$(on e ag-box digest "$WORK/mounted/project")" ] ||
    fail "the mount differs"
on e ag-box umount "$WORK/mounted"
on a ag-box park linked
on e ag-box up linked
expect_exit 1 on e ag-box hydrate linked
on e sh -c "echo more >'$WORK/linked/more'"
on e ag-box park linked
on e umount "$WORK/node/e/state"

# --- the store's
mkdir "$WORK/small" "$WORK/new"
head -c 5M /dev/urandom >"$WORK/new/large"
NO_INIT=1 node d BOX_STORE="file://$WORK/small"
on d mount -t tmpfs -o size=2m none "$WORK/small"
on d ag-box init
expect_exit 5 on d ag-box track other "$WORK/new"
expect_error "hint: make room for the store in $WORK/small"
on d umount "$WORK/small"
