# SPDX-License-Identifier: MIT
# Once the kernel has forgotten a file that was written since `up`, the overlay may show another inode number for it. That is
# no change: the next snapshot sends nothing, and neither does park. A file that was written and given a second name may
# even show two (README, "Known limits"): snapshots and parks still know that it is one.
. "$TESTS/lib.sh"

# hold NODE FILE: the kernel cannot forget this name until let_go.
hold() {
    mkfifo "$WORK/held"
    on "$1" sh -c 'exec 3<"$0"; echo $$ >"$1"; exec sleep 1000' "$2" "$WORK/held" &
    read -r holder <"$WORK/held"
    rm "$WORK/held"
}

let_go() {
    kill "$holder"
    wait || true
}

store file
node a
node b
project="$WORK/project"; make_project "$project"
lazy_box a demo "$project"
on a sh -c "echo more >>'$project/file'; chmod 700 '$project/README.md'; echo new >'$project/new'"
on a ag-box snapshot demo
before=$(on a stat -c %i "$project/file")
drop_caches
[ "$before" != "$(on a stat -c %i "$project/file")" ] || echo "this kernel kept the number"
expect_exit 0 on a ag-box snapshot demo
expect_output "nothing has changed"
expect_exit 0 on a ag-box park demo
expect_output "nothing had changed"

# Written and given a second name, then forgotten; one name is looked up and held; a listing brings the base's inode back.
# From Linux 6.16 on the other name then has another number, before that it has not (tests/unit/test-inodes.c).
one="$project/src/lib/module-07.c"
two="$project/names/second"
on a ag-box up demo
on a sh -c "echo '/* more */' >>'$one'; ln '$one' '$two'"
drop_caches
hold a "$two"
on a ls "$project/src/lib" >"$WORK/listed"
numbers=$(on a stat -c %i "$one" "$two" | sort -u | wc -l)
echo "the two names show $numbers inode numbers"
expect_exit 0 on a ag-box snapshot demo
on a sh -c "echo '/* by the second name */' >>'$two'"
[ "$(on a tail -n 1 "$one")" = "/* by the second name */" ] || fail "the names are two files"
let_go
on a ag-box park demo
on b ag-box up demo
[ "$(on b stat -c %h "$two")" = 2 ] || fail "the second name is a file of its own"
[ "$(on b stat -c %i "$one")" = "$(on b stat -c %i "$two")" ] || fail "the names are two inodes"
[ "$(on b tail -n 1 "$one")" = "/* by the second name */" ] || fail "what was written is lost"
drop_caches
[ "$(on b stat -c %i "$one")" = "$(on b stat -c %i "$two")" ] || fail "the names are two inodes once forgotten"
on b ag-box park demo
on b ag-box restore demo "$WORK/restored"
[ "$WORK/restored/src/lib/module-07.c" -ef "$WORK/restored/names/second" ] || fail "restored as two files"
