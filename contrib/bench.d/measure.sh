# SPDX-License-Identifier: MIT
# measure.sh - nodes, clocks and rows of contrib/bench. To be sourced; $work and $runs are set.
#
#   timed NAME COMMAND...      appends the command's milliseconds to $work/times/NAME
#   took COMMAND...           measures the same, and the processor's, for `kept NAME` to append to NAME and NAME.cpu
#   median NAME                of what was appended, in ms
#   row TEXT OURS OTHER BAR    a line of the table: two names and the figure to reach
#   new_store DIR              an empty store and restic repository there, and $store, $repository
#   node NAME                  the three directories of a node, made anew, as the environment of what follows
#   clear_away PATH...         mount points, which are immutable, too
#   end_node                   its daemons and mounts are gone

export RESTIC_PASSWORD=bench RESTIC_PROGRESS_FPS=0.01
unset BOX_STORE BOX_NODE BOX_PASSWORD
node_settings=()

timed() {
    local name=$1 begin
    shift
    begin=$(date +%s%N)
    "$@" >>"$work/log" 2>&1 || {
        echo "bench: failed: $*" >&2
        tail -n 20 "$work/log" >&2
        exit 1
    }
    echo $((($(date +%s%N) - begin) / 1000000)) >>"$work/times/$name"
}

took() {
    local TIMEFORMAT='%R %U %S'
    { time "$@" >>"$work/log" 2>&1; } 2>"$work/took" || {
        echo "bench: failed: $*" >&2
        exit 1
    }
}

kept() {
    awk -v all="$work/times/$1" '{ print $1 * 1000 >>all; print ($2 + $3) * 1000 >>(all ".cpu") }' "$work/took"
}

median() {
    sort -n "$work/times/$1" | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}

row() {
    awk -v text="$1" -v ours="$(median "$2")" -v other="$(median "$3")" -v bar="$4" 'BEGIN {
        printf "%-44s %8.2f s %8.2f s %7.3f  %s\n", text, ours / 1000, other / 1000, other ? ours / other : 0, bar }'
}

quietly() {
    "$@" >>"$work/log" 2>&1 || {
        echo "bench: failed: $*" >&2
        tail -n 20 "$work/log" >&2
        exit 1
    }
}

new_store() {
    clear_away "$1"
    mkdir -p "$1"
    store=file://$1/store repository=$1/restic
    quietly restic -r "$repository" init
    node "init"
    quietly ag-box init
}

node() {
    local dir=$work/node/$1
    rm -rf --one-file-system "$dir"
    mkdir -p "$dir/config"
    export AGBOX_CONFIG_DIR=$dir/config AGBOX_STATE_DIR=$dir/state AGBOX_RUN_DIR=$dir/run RESTIC_CACHE_DIR=$dir/restic
    printf '%s\n' "BOX_NODE=$1" "BOX_STORE=$store" BOX_PASSWORD=bench "${node_settings[@]}" >"$dir/config/env"
    chmod 600 "$dir/config/env"
}

# Everything below runs in a pid namespace of its own, so by-name looks see nobody else's processes.
end_node() {
    local pid mounts
    for pid in $(daemons); do
        kill -KILL "$pid" 2>/dev/null || true
    done
    mounts=$(awk -v dir="$work/" 'index($5, dir) == 1 { print $5 }' /proc/self/mountinfo | sort -r)
    for pid in $mounts; do
        umount -l "$pid" 2>/dev/null || true
    done
}

# The pids of ag-box, oldest first.
daemons() {
    local pid
    for pid in /proc/[0-9]*; do
        [ "$(readlink "$pid/exe" 2>/dev/null)" != "$build/cli/ag-box" ] || echo "${pid#/proc/}"
    done | sort -n
}

clear_away() {
    chattr -f -i "$@" || true
    rm -rf --one-file-system "$@"
}
