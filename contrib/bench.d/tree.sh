# SPDX-License-Identifier: MIT
# tree.sh - the tree that contrib/bench works with: what `npm ci` makes of package-lock.json (no install scripts are run),
# committed to a git repository with a history. Made once, outside the source tree. To be sourced: bench_tree prints where
# it is. The lock file names no registry: packages come from the one that npm is configured for, by their integrity.

bench_commits=300

_bench_history() {
    local dir=$1 i
    cd "$dir" || return
    git init -q -b main .
    git config user.name bench
    git config user.email bench@example.invalid
    git config gc.auto 0
    git add -A .
    git commit -q -m "begin"
    git gc -q
    mkdir -p src
    for ((i = 1; i <= bench_commits; i++)); do
        printf 'export const step%d = %d;\n' "$i" $((i * i)) >>"src/part$((i % 25)).js"
        git add src
        git commit -q -m "step $i"
    done
}

# bench_tree PIECES CACHE: a tree that is there is used; what an interrupted run left is made anew. One at a time.
bench_tree() {
    local pieces=$1 cache=$2 name dir
    name=bench-$(cat "$pieces/package.json" "$pieces/package-lock.json" | sha256sum | cut -c 1-16)
    dir=$cache/$name
    if [ ! -d "$dir" ]; then
        rm -rf "$cache/$name.new"
        mkdir -p "$cache/$name.new"
        cp "$pieces/package.json" "$pieces/package-lock.json" "$cache/$name.new/"
        (cd "$cache/$name.new" && npm ci --ignore-scripts --no-audit --no-fund >&2) || return
        (_bench_history "$cache/$name.new" >&2) || return
        mv "$cache/$name.new" "$dir"
    fi
    echo "$dir"
}
