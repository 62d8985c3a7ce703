# SPDX-License-Identifier: MIT
# Bodies that end early, stop in the middle or come with a bit flipped: a read gets the right bytes or EIO, and what was
# wrong once is right again when the store is.
. "$TESTS/lib.sh"

store fault
node a
node b BOX_HYDRATE=off
project="$WORK/project"; mkdir "$project"
for i in 1 2 3 4 5 6; do
    mkdir "$project/$i"
    head -c 2000000 /dev/urandom >"$project/$i/file"
done
cp -a "$project" "$WORK/original"
on a ag-box track demo "$project"
on a ag-box park demo
on b ag-box up demo
on b ls -lR "$project" >"$WORK/list"

same() {
    on b cmp "$project/$1/file" "$WORK/original/$1/file"
}
fault truncate 1000 --op GET --key 'box/demo/pack/*' --times 2
same 1
fault stall 500 --op GET --key 'box/demo/pack/*' --times 1
same 2
fault clear
fault status 503 --op GET --key 'box/demo/pack/*' --times 3
same 3
fault clear

fault flip 300 --op GET --key 'box/demo/pack/*'
expect_exit 1 on b cat "$project/4/file" >/dev/null
expect_error "Input/output error"
fault clear
same 4
grep -q "damaged\|does not open" "$WORK/node/b/state/box/demo/daemon.log" || fail "the log does not tell of the damage"

# A commit while the store fails in bursts.
on b sh -c "echo changed >'$project/5/file'"
fault status 500 --op PUT --times 2
fault status 503 --op LIST --times 1
fault status 503 --op GET --times 1
on b ag-box park demo
fault clear
on a ag-box up demo
expect_file "$project/5/file" changed
on a ag-box park demo
