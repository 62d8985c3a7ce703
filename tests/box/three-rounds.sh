# SPDX-License-Identifier: MIT
# Three rounds of park and up in turn on two nodes: the tree is equal every time, also after the kernel's caches are dropped.
. "$TESTS/lib.sh"

store file
node a
node b
project="$WORK/project"; make_project "$project"
on a ag-box track demo "$project"
on a ag-box park demo

for round in 1 2 3; do
    for name in b a; do
        on $name ag-box up demo
        [ ! -e "$WORK/model" ] || expect_same_tree "$project" "$WORK/model"
        on $name python3 "$TESTS/mutate-project.py" "$project" "$round$name"
        drop_caches
        rm -rf "$WORK/model"
        copy_tree "$project" "$WORK/model"
        expect_same_tree "$project" "$WORK/model"
        on $name ag-box park demo
    done
done
on b ag-box restore demo "$WORK/restored"
expect_same_tree "$WORK/restored" "$WORK/model"
