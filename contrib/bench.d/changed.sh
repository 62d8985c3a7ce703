# SPDX-License-Identifier: MIT
# 20 changed files: park of a lazy box against restic backup of a native tree with the same change.
bench_changed() {
    local i native=$work/native project=$work/project
    cp -a "$tree" "$native"
    cp -a "$tree" "$project"
    new_store "$work/changed-store"
    node a
    quietly restic -r "$repository" backup "$native"
    quietly ag-box track bench "$project"
    quietly ag-box park bench
    for ((i = 0; i < runs; i++)); do
        quietly ag-box up --no-start bench
        change_20 "$native" "$i"
        change_20 "$project" "$i"
        timed changed-restic restic -r "$repository" backup "$native"
        export AGBOX_TRACE=$work/trace.$i
        timed changed-ours ag-box park bench
        unset AGBOX_TRACE
    done
    row "park, restic backup (20 changed files)" changed-ours changed-restic "<= 1.0"
    count_requests "$work/trace.0"
    end_node
    clear_away "$native" "$project" "$work/changed-store"
}

# change_20 DIR N: 20 files of different directories.
change_20() {
    local file
    (cd "$1" && git ls-files 'node_modules/*.js' | awk 'NR % 600 == 1' | head -n 20) >"$work/chosen"
    while read -r file; do
        echo "// changed $2" >>"$1/$file"
    done <"$work/chosen"
}

count_requests() {
    python3 - "$1" <<'END'
import json, sys
by, put, got = {}, 0, 0
for line in open(sys.argv[1]):
    event = json.loads(line)
    if event["event"] != "store":
        continue
    by[event["op"]] = by.get(event["op"], 0) + 1
    if event["op"].upper() == "PUT":
        put += event["bytes"]
    else:
        got += event["bytes"]
print("  requests of the park: %s; %.0f kB sent, %.0f kB received" % (
    ", ".join("%d %s" % (n, op) for op, n in sorted(by.items())), put / 1000, got / 1000))
END
}
