# SPDX-License-Identifier: MIT
# Whatever becomes of a PUT of the head - its answer lost, itself lost, refused for a while - every command that makes
# one ends as if nothing had been, and the head was changed once for each.
. "$TESTS/lib.sh"

store fault
node a
node b
project="$WORK/project"; make_project "$project"

faults=("drop-response --times 1" "drop-request --times 1" "status 429 --times 1" "status 503 --times 2"
    "status 500 --after-commit --times 1" "status 412 --after-commit --times 1" "truncate 10 --after-commit --times 1")

# with FAULT COMMAND...: one change of the head, although its first PUTs meet the fault
with() {
    local spec=$1
    shift
    fault clear
    fault reset
    fault ${spec/ --/ --key box/demo/head --op PUT --}
    expect_exit 0 "$@"
    fault clear
    expect_commits box/demo/head 1
}

i=0
for spec in "${faults[@]}"; do
    i=$((i + 1))
    echo "== $spec"
    if [ "$i" = 1 ]; then
        with "$spec" on a ag-box track demo "$project"
        echo "full $i" >"$project/file"
        with "$spec" on a ag-box park demo
        expect_state a demo moved-aside
        with "$spec" on a ag-box up demo
    fi
    on a sh -c "echo 'snapshot $i' >'$project/file'"
    fault reset
    fault ${spec/ --/ --key box/demo/head --op PUT --}
    expect_exit 0 on a ag-box snapshot demo # renews, then commits
    fault clear
    expect_commits box/demo/head 2
    on a sh -c "echo '$i' >'$project/file'"
    with "$spec" on a ag-box park demo
    with "$spec" on b ag-box up demo
    expect_file "$project/file" "$i"
    with "$spec" on b ag-box set demo memory_max=$((i << 30))
    with "$spec" on b ag-box park demo # frees
    with "$spec" on a ag-box up demo
    expect_file "$project/file" "$i"
done
on a ag-box park demo
expect_state a demo moved-aside
