# SPDX-License-Identifier: MIT
# hydrate says that everything is here only where it is: not past the cache's limit, not of a disk that is full, not of
# what the store has wrong, and not of what went again. What it brought it does not take away again.
. "$TESTS/lib.sh"

store file
node a
project="$WORK/project"
mkdir "$project"
for i in 1 2 3 4 5 6; do head -c 10M /dev/urandom >"$project/large$i"; done
on a ag-box track demo "$project"
on a ag-box park demo

here() { # NODE LOWEST HIGHEST: per cent that status tells
    on "$1" ag-box status demo --json >"$WORK/status"
    jq -e ".hydrated * 100 >= $2 and .hydrated * 100 <= $3" "$WORK/status" >/dev/null ||
        fail "hydrated: $(json_field "$WORK/status" hydrated)"
}
away() { mv "$WORK/store" "$WORK/store-away"; }
back() { mv "$WORK/store-away" "$WORK/store"; }

# --- the limit
NO_INIT=yes node b BOX_CACHE_MAX=30M
on b ag-box up demo
for again in 1 2; do
    expect_exit 1 on b ag-box hydrate demo
    expect_error "of 60M is here: the cache's limit is 30M"
    expect_error "hint: raise BOX_CACHE_MAX"
    here b 25 52
done
on b ag-box park demo
sed -i s/BOX_CACHE_MAX=.*// "$WORK/node/b/config/env"
on b ag-box up demo
on b ag-box hydrate demo
here b 100 100
away
on b sh -c "cat '$project'/large* | sha256sum" >"$WORK/read"
back

# --- what another box takes
mkdir "$WORK/other"
head -c 25M /dev/urandom >"$WORK/other/large"
on a ag-box track other "$WORK/other"
on a ag-box park other
on b env BOX_CACHE_MAX=70M ag-box up other
on b env BOX_CACHE_MAX=70M ag-box hydrate other
here b 50 90
expect_exit 0 on b ag-box hydrate demo # its own limit is another one
here b 100 100
on b ag-box park other
on b ag-box park demo

# --- the disk
NO_INIT=yes node c
on c mount -t tmpfs -o size=40m,mode=700 none "$WORK/node/c/state"
on c ag-box up demo
expect_exit 1 on c ag-box hydrate demo
expect_error "of 60M is here"
expect_error "hint: make room"
here c 30 70
on c ag-box park demo
on c umount "$WORK/node/c/state"

# --- damage
pack=$(find "$WORK/store/box/demo/pack" -type f -size +8M | head -n 1)
printf rotten | dd of="$pack" bs=1 seek=3000000 conv=notrunc status=none
NO_INIT=yes node d
on d ag-box up demo
for again in 1 2; do
    expect_exit 7 on d ag-box hydrate demo
    expect_error "$(basename "$pack")"
    expect_error "hint: ag-box check --read-data demo"
    here d 80 99.9
done
on d ag-box park demo
