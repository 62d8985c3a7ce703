# SPDX-License-Identifier: MIT
# After a reboot everything that was up comes up again, with the work that was there. A box that cannot does not stop the
# others; one that another node took meanwhile becomes a fork; one that was parked stays parked.
# limit: 240
. "$TESTS/lib.sh"

store file
node a
node b
expect_exit 0 on a ag-box resume
expect_output "nothing to do"

for name in blocked plain taken parked; do
    mkdir "$WORK/$name"
    echo "of $name" >"$WORK/$name/file"
    on a ag-box track "$name" "$WORK/$name"
    on a ag-box park "$name"
    on a ag-box up "$name"
    on a sh -c "echo work >'$WORK/$name/work'"
done
on a ag-box park parked
reboot a
on b ag-box up --force taken
on a sh -c "chattr -i '$WORK/blocked'; echo x >'$WORK/blocked/in-the-way'"

expect_exit 1 on a ag-box resume
expect_output "plain is up again at $WORK/plain, with the work that was here"
expect_error "blocked does not come up"
expect_error "1 of 3 boxes did not come up again"
expect_file "$WORK/plain/work" work
expect_state a plain mounted
expect_state a parked moved-aside
expect_state a taken moved-aside
on b ag-box ls --snapshots taken | grep -q fork || fail "the work of the box that was taken is no fork"

# Again, once what was in the way is gone: what is up is left as it is.
on a rm "$WORK/blocked/in-the-way"
expect_exit 0 on a ag-box resume
expect_output "plain is up here already"
expect_file "$WORK/blocked/work" work
on a ag-box resume --json | jq -es 'length == 1 and (.[0].boxes | length == 2)'
for name in plain blocked; do
    on a ag-box park "$name"
done
