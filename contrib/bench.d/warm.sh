# SPDX-License-Identifier: MIT
# Passes over a tree that is all local and was walked before: in the mount against a native copy.
bench_warm() {
    local name native=$work/native project=$work/project
    cp -a "$tree" "$native"
    cp -a "$tree" "$project"
    tar -C "$tree" --exclude=./.git -cf "$work/tree.tar" .
    new_store "$work/warm-store"
    node a
    quietly ag-box track bench "$project"
    quietly ag-box park bench
    quietly ag-box up --no-start bench
    quietly ag-box hydrate bench
    for name in "$native" "$project"; do
        pass_find "$name" && pass_grep "$name" && pass_status "$name"
    done >>"$work/log"
    warm_in_turns $((3 * runs)) find grep status # short: more of them
    warm_in_turns "$runs" tar rm
    row "find (with lstat), native" warm-find-ours warm-find-native "<= 1.25"
    row "grep -r, native" warm-grep-ours warm-grep-native "<= 1.25"
    row "git status, native" warm-status-ours warm-status-native "<= 1.25"
    row "tar x, native" warm-tar-ours warm-tar-native "<= 1.25"
    row "rm -rf of that, native" warm-rm-ours warm-rm-native "<= 1.25"
    quietly ag-box park bench
    end_node
    clear_away "$native" "$project" "$work/tree.tar" "$work/warm-store"
}

warm_in_turns() {
    local i name times=$1
    shift
    for ((i = 0; i < times; i++)); do
        for name in "$@"; do
            timed "warm-$name-native" "pass_$name" "$native"
            timed "warm-$name-ours" "pass_$name" "$project"
        done
    done
}

pass_find() {
    find "$1" -printf '%s %T@ %p\n' | tail -n 1
}

pass_grep() {
    grep -r --binary-files=text -c -e 'no such words here' "$1" | tail -n 1 || true
}

pass_status() {
    git -C "$1" status --short
}

pass_tar() {
    mkdir "$1/copy" && tar -C "$1/copy" -xf "$work/tree.tar"
}

pass_rm() {
    rm -rf "$1/copy"
}
