# SPDX-License-Identifier: MIT
# A lease that nobody renewed is taken over, by the store's clock alone; the old node's work becomes a fork, which can be
# made the line again. Clocks of nodes that are wrong decide nothing. Wrong credentials are told as what they are.
. "$TESTS/lib.sh"

store fault
node a
node b
project="$WORK/project"; make_project "$project"
lazy_box a demo "$project"
on a sh -c "echo 'of a, not sent' >'$project/late'"
copy_tree "$project" "$WORK/model"
reboot a # nobody renews
expect_exit 3 on b ag-box up demo
expect_error "held by a"

fault clock 7000 # under two hours
expect_exit 3 on b ag-box up demo
fault clock 7300
expect_exit 0 on b ag-box up demo
expect_error "fork"
expect_missing "$project/late"
on b sh -c "echo 'of b' >'$project/b'"
on b ag-box park demo

# Back within the same second: the work is kept, and then a has b's tree.
expect_exit 0 on a ag-box up demo
expect_missing "$project/late"
expect_file "$project/b" "of b"
on a ag-box park demo
fork=$(fault keys box/demo/fork/ | tail -n 1)
fork=${fork##*/}
on b ag-box up demo --from "fork:${fork%-*}"
expect_same_tree "$project" "$WORK/model"

# The store's clock far ahead and far behind ours: signatures are made anew by its time, and the lease is ours.
for skew in 90000 -90000; do
    fault clock $skew
    on b ag-box snapshot demo
done
fault clock 0
on b ag-box park demo

sed -i 's/^AWS_SECRET_ACCESS_KEY=.*/AWS_SECRET_ACCESS_KEY=wrong/' "$WORK/node/b/config/env"
expect_exit 5 on b ag-box up demo
expect_error "refused"
