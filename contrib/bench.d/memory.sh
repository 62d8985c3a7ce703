# SPDX-License-Identifier: MIT
# What the daemon has in memory once everything is local and was walked and read.
bench_memory() {
    local pid kb project=$work/project
    cp -a "$tree" "$project"
    new_store "$work/memory-store"
    node a
    quietly ag-box track bench "$project"
    quietly ag-box park bench
    quietly ag-box up --no-start bench
    quietly ag-box hydrate bench
    find "$project" -printf '%s\n' | tail -n 1 >/dev/null
    find "$project" -type f -print0 | xargs -0 cat >/dev/null
    pid=$(ag-box status --json bench | python3 -c 'import json, sys; print(json.load(sys.stdin)["daemon_pid"])')
    kb=$(awk '/^VmRSS/ { print $2 }' "/proc/$pid/status")
    printf '%-44s %7d MB %28s\n' "daemon's VmRSS after hydration and reads" $((kb / 1024)) "<= 64 MB"
    quietly ag-box park bench
    end_node
    clear_away "$project" "$work/memory-store"
}
