# SPDX-License-Identifier: MIT
# kill-points.sh - what tests/box/kill-points*.sh are told with: a command dies by SIGKILL at one of its steps, and
# nothing is lost. A scenario sources lib.sh, sets COUNT (steps of each command; empty: all) and maybe SEED, then this.
#
# A case is a command in a prepared state: nodes a and b, each with its own disk at $WORK/p, and a store, all of which
# are copied back before every kill. Per step four runs: killed | killed and rebooted, times going on here | taken over
# from b. Whatever happens, the tree on the node that has it next is the old one or the new one, whole; what another
# node took over is a fork that can be made the line again; what is excluded is still on a at the end; nothing is left.
# Of a box that b took over before, a's command only makes a fork: there the runs are with b idle and with b at work.

SEED=${SEED:-$RANDOM}
echo "seed $SEED"
project="$WORK/p/project"
ignored=(--exclude '*.log')
mkdir "$WORK/p" "$WORK/saved"

store file
_own_disk() { # each node sees its own directory at $WORK/p, as two machines do
    mkdir -p "$WORK/node/$1/disk"
    on "$1" mount --bind "$WORK/node/$1/disk" "$WORK/p"
    _mounts_before[$1]=$(_mounts_of "$1")
}
node a BOX_HYDRATE=off
node b BOX_HYDRATE=off
_own_disk a
_own_disk b

restart() {
    reboot "$1"
    _own_disk "$1"
}

save_case() { # NAME: as the disks and the store are now; nothing is mounted
    restart a
    restart b
    mkdir "$WORK/saved/$1"
    cp -a "$WORK/store" "$WORK/node/a/state" "$WORK/node/a/disk" "$WORK/saved/$1"
    echo "$old" >"$WORK/saved/$1.old"
    echo "$new" >"$WORK/saved/$1.new"
}

load_case() {
    _end_node a
    _end_node b
    chattr -R -f -i "$WORK/node/a/disk" "$WORK/node/b/disk" || true
    rm -rf "$WORK/store" "$WORK"/node/?/{state,disk,run}
    mkdir -p "$WORK/node/b"/{state,disk,run} "$WORK/node/a/run"
    cp -a "$WORK/saved/$1/store" "$WORK"
    cp -a "$WORK/saved/$1/state" "$WORK/saved/$1/disk" "$WORK/node/a"
    cp -a "$WORK/saved/full/state/keys" "$WORK/node/b/state" # Argon2 would be half the time of a run
    local name
    for name in a b; do
        _hold_namespace $name
        _own_disk $name
    done
    old=$(cat "$WORK/saved/$1.old")
    new=$(cat "$WORK/saved/$1.new")
    case $1 in # what a reboot would have ended
    lazy) on a ag-box up demo >"$WORK/output" ;; # the dirty upper over its base
    frozen)
        on a ag-box up demo >"$WORK/output"
        quiet 137 on a env AGBOX_CRASH_AT=park:remount-ro.after ag-box park demo
        ;;
    moved) quiet 137 on a env AGBOX_CRASH_AT=park:rename-aside.after ag-box park demo ;;
    esac
}

copy_case() { # NAME COPY: for another command, or another state that load_case makes of it
    cp -a "$WORK/saved/$1" "$WORK/saved/$2"
    cp "$WORK/saved/$1.old" "$WORK/saved/$2.old"
    cp "$WORK/saved/$1.new" "$WORK/saved/$2.new"
}

tree_on() {
    on "$1" ag-box digest "${ignored[@]}" "$project"
}

expect_tree() { # NODE DIGEST...
    local got wanted
    got=$(tree_on "$1")
    shift
    for wanted in "$@"; do
        [ "$got" != "$wanted" ] || return 0
    done
    fail "$step: the tree is neither the old nor the new one: $got"
}

quiet() { # CODES COMMAND...: any of the codes, separated by commas; what was printed is shown only if another came
    local codes=$1
    shift
    code=0
    "$@" >"$WORK/output" 2>&1 || code=$?
    [[ ",$codes," = *",$code,"* ]] && return
    sed 's/^/  | /' "$WORK/output"
    fail "$step: exit $code, not $codes: $*"
}

forks() {
    find "$WORK/store/box/demo/fork" -type f -printf '%f\n' 2>/dev/null || true
}

# The end of every run: parked on $1, free for a, which still has what is excluded; then nothing is left anywhere.
finish() {
    quiet 0 on "$1" ag-box park demo
    quiet 0 on a ag-box up demo
    expect_tree a "$new"
    [ "$excluded" = no ] || expect_file "$project/kept.log" "only on a"
    quiet 0 on a ag-box park demo
    quiet 0 on a ag-box check --read-data demo
    expect_clean a
    expect_clean b
    local left
    left=$(
        cd "$WORK"
        shopt -s nullglob
        echo store/box/demo/hold/* node/?/state/box/demo/upper-*
    )
    [ -z "$left" ] || fail "$step: left: $left"
}

# the_command ENV=VALUE...
the_command() {
    on a env AGBOX_STORE_CLOCK="$clock" "$@" ag-box "${command[@]}"
}

# up --from that had come to its end is not run once more: what is there may be work by then.
go_on() {
    quiet 0,8 the_command
    [ "$code" = 0 ] || { [[ " ${command[*]} " = *" --from "* ]] && quiet 0 on a ag-box up demo; } || fail "$step: it does not go on"
    quiet 0 on a ag-box park demo
    quiet 0 on b ag-box up demo
    expect_tree b "$new"
    finish b
}

take_over() {
    quiet 0,4 on b ag-box up demo --force
    if [ "$code" = 4 ]; then # no box yet
        go_on
        return
    fi
    local there fork
    expect_tree b "$old" "$new"
    there=$(tree_on b)
    quiet 0,3 on a ag-box park demo
    quiet 0 on b ag-box park demo
    if [ "$there" != "$new" ]; then
        fork=$(forks)
        [ "$(wc -w <<<"$fork")" = 1 ] || fail "$step: one fork was expected: $fork"
        quiet 0 on b ag-box up demo --from "fork:${fork%-*}"
        expect_tree b "$new"
    else
        quiet 0 on b ag-box up demo
    fi
    finish b
}

# Of a box that b has taken over and parked: a's work becomes a fork, one, and b's line stays as b made it.
fork_it() {
    local theirs=$1 fork
    quiet 0,3 the_command
    quiet 0,3 on a ag-box park demo
    quiet 0 on b ag-box up demo
    expect_tree b "$theirs"
    quiet 0 on b ag-box park demo
    fork=$(forks)
    [ "$(wc -w <<<"$fork")" = 1 ] || fail "$step: one fork was expected: $fork"
    quiet 0 on b ag-box up demo --from "fork:${fork%-*}"
    expect_tree b "$new"
    finish b
}

with_b_idle() {
    fork_it "$old"
}

with_b_at_work() {
    local theirs=$old
    quiet 0,3 on b ag-box up demo
    if [ "$code" = 0 ]; then # not when a, its fork made, was about to go on with the box
        on b sh -c "echo 'more of b' >'$project/of-b'"
        theirs=$(tree_on b)
        quiet 0 on b ag-box park demo
    fi
    fork_it "$theirs"
}

# kill_at CASE STEP REBOOT THEN
kill_at() {
    local name=$1
    step="$name $2 $3 $4"
    load_case "$name"
    echo "  $step"
    quiet 137 the_command AGBOX_CRASH_AT="$2"
    [ "$3" = killed ] || restart a
    $4
}

# Into $WORK/chosen: steps of the command itself; those of the daemon that it starts have another name. With ONLY_NEW,
# only those that no case before had.
steps_of() {
    local name=$1
    load_case "$name"
    quiet 0,3 the_command AGBOX_CRASH_LIST="$WORK/steps"
    touch "$WORK/tried"
    python3 - "$WORK/steps" "$SEED" "${COUNT:-0}" "${command[0]}:" "${ONLY_NEW:+$WORK/tried}" >"$WORK/chosen" <<'END'
import random, sys
path, seed, count, mine, tried = sys.argv[1:]
steps = [line.strip() for line in open(path) if line.startswith(mine)]
if tried:
    before = set(open(tried).read().split())
    steps = [step for step in steps if step[len(mine):].partition("#")[0] not in before]
chance = random.Random(seed + mine)
for step in sorted(chance.sample(steps, min(int(count) or len(steps), len(steps))), key=steps.index):
    print(step)
END
    sed 's/^[^:]*:\(.*\)#.*/\1/' "$WORK/chosen" >>"$WORK/tried"
    rm "$WORK/steps"
}

# expect_all_tried RULE...: some case had each step that the build has, but those whose name begins with one of the rules.
expect_all_tried() {
    local left elsewhere
    elsewhere=$(IFS='|' && echo "$*")
    left=$(on a ag-box debug crash-points | sort -u | comm -23 - <(sort -u "$WORK/tried") | grep -vE "^($elsewhere)") || return 0
    fail "no case reaches" $left
}

# try_case CASE COMMAND...
try_case() {
    local name=$1 each outage then all=() tries=0 thens=(go_on take_over)
    shift
    command=("$@")
    excluded=yes clock=0
    case $name in
    condemn) clock=$((10 * 86400)) ;;
    prune) clock=$((12 * 86400)) ;;
    lost) thens=(with_b_idle with_b_at_work) ;;
    track | cold) excluded=no ;;
    esac
    steps_of "$name"
    mapfile -t all <"$WORK/chosen"
    echo "$name: $*: ${#all[@]} steps"
    for each in "${all[@]}"; do
        for outage in killed rebooted; do
            for then in "${thens[@]}"; do
                tries=$((tries + 1)) # of a sample, one in four
                [ -n "$COUNT" ] && [ $(((SEED + tries / 4 + tries) % 4)) != 0 ] || kill_at "$name" "$each" $outage $then
            done
        done
    done
}

small_project() {
    on a python3 - "$project" <<'END'
import os, sys
top = sys.argv[1]
os.makedirs(top + "/lower/deep")
for i in range(24):
    with open("%s/%s%02d" % (top, "lower/" if i % 2 else "", i), "w") as f:
        f.write("file %d\n" % i * (i * 40 + 1))
open(top + "/lower/deep/below", "w").write("below\n")
os.link(top + "/00", top + "/lower/other-name")
os.symlink("lower/01", top + "/link")
END
}

change_project() {
    on a sh -c "cd '$project' && mv lower renamed && rm 02 && echo changed >04 && echo one >>00 && echo new >new &&
        mkdir made && mv 06 made/06 && chmod 700 made"
}

prepare_cases() {
    small_project
    old=none new=$(tree_on a)
    save_case track
    on a ag-box track demo "$project"
    on a ag-box set demo exclude+='*.log'
    on a sh -c "echo 'only on a' >'$project/kept.log'"
    on a ag-box snapshot demo
    old=$(tree_on a)
    change_project
    new=$(tree_on a)
    save_case full
    copy_case full moved
    on a ag-box park demo
    old=$new
    save_case up
    copy_case up condemn
    copy_case up cold # on a machine that has nothing of it
    rm -rf "$WORK/saved/cold"/{state,disk}/*
    on a env AGBOX_STORE_CLOCK=$((10 * 86400)) ag-box prune demo --keep-hourly 1 --keep-daily 1 # condemns
    find "$WORK/store/box/demo/condemned" -type f | grep -q . || fail "nothing is condemned"
    save_case prune
    on a ag-box up demo
    on a sh -c "cd '$project' && mv renamed lower && echo more >>08 && ln 10 ten && rm -r made && mkdir made && echo x >made/y"
    new=$(tree_on a)
    save_case lazy
    copy_case lazy frozen
    on b ag-box up demo --force
    on b sh -c "echo 'of b' >'$project/of-b'"
    old=$(tree_on b)
    on b ag-box park demo
    save_case lost
    quiet 3 on a ag-box park demo # a's work is a fork
    save_case fork
}
