# SPDX-License-Identifier: MIT
# Passes over a tree that is all local and was walked before: in the mount, in a native copy, and in the kernel's own
# overlay over a native copy, which is what remains of the mount without our lower. And two that write a tree and take it
# away: on the disk that is there, and on a file system of their own in memory, where ext4 itself takes least.
bench_warm() {
    warm_places
    cp -a "$tree" "$work/native"
    plain_overlay "$work"
    quietly ag-box up --no-start bench
    quietly ag-box hydrate bench
    in_turns read_pass find grep status
    warm_row "find with lstat" find "<= 1.25"
    warm_row "grep -r" grep "<= 1.25"
    warm_row "git status" status "<= 1.25"
    warm_end
}

bench_write() {
    write_on "on disk" mkdir "$work/disk"
    write_on "in memory" memory_disk
}

memory_disk() {
    local image=/dev/shm/ag-box-bench.$$
    truncate -s 4G "$image"
    mkfs.ext4 -q -F "$image"
    mkdir "$work/disk"
    mount -o loop "$image" "$work/disk"
    rm "$image" # gone with the mount
}

# write_on WHERE COMMAND...: on what the command makes at $work/disk.
write_on() {
    local where=$1
    shift
    warm_places
    tar -C "$tree" --exclude=./.git -cf "$work/tree.tar" .
    "$@"
    mkdir "$work/disk/native"
    ln -s "$work/disk/native" "$work/native"
    plain_overlay "$work/disk"
    node b
    export AGBOX_STATE_DIR=$work/disk/state
    quietly ag-box up --no-start bench
    quietly ag-box hydrate bench
    rm -f "$work/times"/{tar,rm}-*
    in_turns write_pass tar rm
    warm_row "tar x of the tree, $where" tar "<= 1.25"
    warm_row "rm -rf of that" rm "<= 1.25"
    warm_end
}

# $project, parked in $store.
warm_places() {
    project=$work/project
    cp -a "$tree" "$project"
    new_store "$work/warm-store"
    node a
    quietly ag-box track bench "$project"
    quietly ag-box park bench
}

# plain_overlay DIR: at $work/overlay, with its upper layer in DIR.
plain_overlay() {
    cp -a "$tree" "$work/lower"
    mkdir "$work/overlay" "$1/upper" "$1/work"
    mount -t overlay -o "index=off,redirect_dir=on,metacopy=on,xino=on,lowerdir=$work/lower,upperdir=$1/upper" \
        -o "workdir=$1/work,nosuid,nodev" overlay "$work/overlay"
}

warm_end() {
    quietly ag-box park bench
    end_node
    clear_away "$work/native" "$project" "$work/lower" "$work/overlay" "$work/upper" "$work/work" "$work/tree.tar" \
        "$work/warm-store" "$work/disk"
}

# in_turns PASS NAME...: `PASS NAME PLACE` for each, three times as often as longer things.
in_turns() {
    local i name place pass=$1
    shift
    for ((i = 0; i < 3 * runs; i++)); do
        for name in "$@"; do
            for place in native overlay project; do
                "$pass" "$name" "$place"
            done
        done
    done
}

# A pass follows one like it. If anybody has dropped the kernel's caches meanwhile it was none over a warm tree, and is
# done again.
read_pass() {
    local before=
    until [ "$before" = "$(grep drop_ /proc/vmstat)" ]; do
        before=$(grep drop_ /proc/vmstat)
        quietly "pass_$1" "$work/$2"
        took "pass_$1" "$work/$2"
    done
    kept "$1-$2"
}

write_pass() {
    took "pass_$1" "$work/$2"
    kept "$1-$2"
}

# Two rows: ours and the plain overlay's, each with its ratio to native, in time and in processor time.
warm_row() {
    local place text
    for place in project overlay; do
        text=$1
        [ "$place" = project ] || text="  the kernel's overlay over ext4"
        awk -v text="$text" -v ours="$(median "$2-$place")" -v other="$(median "$2-native")" -v bar="$3" \
            -v cpu="$(median "$2-$place.cpu")" -v cpu_other="$(median "$2-native.cpu")" -v place="$place" 'BEGIN {
            printf "%-44s %8.2f s %8.2f s %7.3f  %s processor time %.3f\n", text, ours / 1000, other / 1000,
                ours / other, place == "project" ? bar ";" : "", cpu / cpu_other }'
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
