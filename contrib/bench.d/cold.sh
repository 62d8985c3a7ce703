# SPDX-License-Identifier: MIT
# A node that has nothing: up and one read of a file, and everything local, from a directory; against restic restore and
# the first read of a restic mount.
bench_cold() {
    local i project=$work/project
    cp -a "$tree" "$project"
    new_store "$work/cold-store"
    node a
    quietly restic -r "$repository" backup "$project"
    quietly ag-box track bench "$project"
    quietly ag-box park bench
    end_node
    for ((i = 0; i < runs; i++)); do
        cold_run cold
    done
    row "up to first read, restic restore" cold-first cold-restore "0.5 s"
    row "up to first read, restic mount to first read" cold-first cold-mounted ""
    row "up to all local, restic restore" cold-full cold-restore ""
    clear_away "$project" "$work/cold-store"
}

first_read=node_modules/typescript/package.json

up_and_read() {
    ag-box up --no-start bench && cat "$project/$first_read" >/dev/null
}

up_and_hydrate() {
    up_and_read
    ag-box hydrate bench
}

mount_and_read() {
    mkdir -p "$work/restic-mount"
    restic -r "$repository" mount "$work/restic-mount" &
    local file="$work/restic-mount/snapshots/latest$project/$first_read"
    until cat "$file" >/dev/null 2>&1; do sleep 0.005; done
}

# cold_run NAME: once each, on fresh nodes; $project, $store and $repository are set.
cold_run() {
    node b
    timed "$1-restore" restic -r "$repository" restore latest --target "$work/restored"
    clear_away "$work/restored"
    node c
    timed "$1-mounted" mount_and_read
    fusermount3 -u "$work/restic-mount" || umount -l "$work/restic-mount"
    node d
    timed "$1-first" up_and_read
    quietly ag-box hydrate bench
    quietly ag-box park bench
    end_node
    node e
    timed "$1-full" up_and_hydrate
    quietly ag-box park bench
    end_node
}
