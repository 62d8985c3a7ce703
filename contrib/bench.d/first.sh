# SPDX-License-Identifier: MIT
# The first snapshot of the tree: track against the first restic backup, both to a directory.
bench_first() {
    local i
    cp -a "$tree" "$work/first"
    cat_all "$work/first"
    for ((i = 0; i < runs; i++)); do
        new_store "$work/first-store"
        node a
        timed first-restic restic -r "$repository" backup "$work/first"
        timed first-ours ag-box track bench "$work/first"
        end_node
    done
    row "track, restic backup (first)" first-ours first-restic "<= 1.0"
    printf '%-44s %7d MB %7d MB\n' "  in the store" "$(du -sm "$work/first-store/store" | cut -f 1)" \
        "$(du -sm "$repository" | cut -f 1)"
    clear_away "$work/first" "$work/first-store"
}

cat_all() {
    find "$1" -type f -print0 | xargs -0 cat >/dev/null
}
