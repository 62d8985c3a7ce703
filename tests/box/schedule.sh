# SPDX-License-Identifier: MIT
# up chooses a node: the pinned one, else the one with most memory among those that answer in time, else this one; it
# starts there over ssh, and what comes of that is passed on. A fake ssh runs the command on the scenario's other node.
# limit: 240
. "$TESTS/lib.sh"

store file
node a
node b
node c
project="$WORK/project"
mkdir "$project"; echo hello >"$project/file"
mkdir "$WORK/bin"

# Like ssh it gives the joined words to a shell at the other end. $WORK/ssh/ALIAS: the node, how it is, its memory.
cat >"$WORK/bin/ssh" <<END
#!/bin/bash
echo "\$*" >>"$WORK/ssh.log"
while [[ \$1 == -* ]]; do
    [ "\$1" != -- ] || { shift; break; }
    shift
done
alias=\$1
shift
[ -f "$WORK/ssh/\$alias" ] || { echo "ssh: Could not resolve hostname \$alias" >&2; exit 255; }
read -r node how memory holder <"$WORK/ssh/\$alias"
case \$how in
dead) echo "ssh: connect to host \$alias port 22: Connection refused" >&2; exit 255 ;;
slow) exec sleep 20 ;;
garbage) echo "Welcome to \$alias"; exit 0 ;;
bare) [ "\$1" = cat ] || { echo "bash: \$1: command not found" >&2; exit 127; } ;;
esac
if [ "\$1" = cat ]; then
    printf 'MemTotal: 99999999999 kB\nMemAvailable: %s kB\n' "\$memory"
    exit
fi
dir="$WORK/node/\$node"
exec nsenter --mount --target "\$holder" env -C / HOME="\$dir/home" AGBOX_CONFIG_DIR="\$dir/config" AGBOX_STATE_DIR="\$dir/state" \\
    AGBOX_RUN_DIR="\$dir/run" sh -c "\$*"
END
chmod +x "$WORK/bin/ssh"
mkdir "$WORK/ssh"
export PATH="$WORK/bin:$PATH"

# other ALIAS NODE ok|dead|slow|garbage|bare [MEMORY]
other() {
    echo "$2 $3 ${4:-1} ${_holder[$2]}" >"$WORK/ssh/$1"
    rm -f "$WORK/ssh.log"
}
asked() {
    cat "$WORK/ssh.log" 2>/dev/null || true
}
nodes_of() { # nodes_of NODE LINE...
    local file="$WORK/node/$1/config/nodes"
    shift
    (umask 077; printf '%s\n' "$@" >"$file")
}
# answer_is EXPRESSION: of the one JSON object that came
answer_is() {
    python3 -c 'import json, sys
answer = json.load(open(sys.argv[1]))
sys.exit(not eval(sys.argv[2]))' "$WORK/output" "$1" || fail "not so: $1"
}
much=99999999999

on a ag-box track demo "$project"
on a ag-box park demo

# Alone, by a missing file or by one that names nobody else, nobody is asked.
other beta b ok $much
expect_exit 0 on a ag-box up demo
on a ag-box park demo
nodes_of a "# only this one" "a local"
expect_exit 0 on a ag-box up demo
on a ag-box park demo
[ -z "$(asked)" ] || fail "asked: $(asked)"

# Most memory, there, with its output; the other end does not look any further.
nodes_of a "a local" "b beta" "c gamma"
nodes_of b "b local" "a alpha"
other beta b ok $much
other gamma c ok 1
expect_exit 0 on a ag-box up demo
expect_output "demo is up at $project"
expect_error "on b, where most memory is available"
expect_state b demo mounted
expect_state a demo moved-aside
for command in "exec demo -- true" "status demo"; do
    code=0
    on a ag-box $command >"$WORK/said" 2>&1 || code=$?
    [ "$code" = $([ "$command" = "status demo" ] && echo 0 || echo 125) ] || fail "$command: $code"
    grep -q "is up on b" "$WORK/said" && grep -qF "ssh beta ag-box ${command%% *} demo" "$WORK/said" || fail "$(cat "$WORK/said")"
done
expect_exit 3 on a script -qec "ag-box attach demo" /dev/null
expect_output "ssh -t beta ag-box attach demo"
asked | grep -qF -- "beta ag-box up --local --node=b --no-start -- demo" || fail "not asked like that: $(asked)"
! asked | grep -q alpha || fail "b went on to a"

# Held by another node: said here, and nobody asked. With a node's name that node's own answer is passed on.
other beta b ok $much
expect_exit 3 on a ag-box up demo
expect_error "held by b"
[ -z "$(asked)" ] || fail "asked: $(asked)"
expect_exit 0 on a ag-box up demo --node b
expect_output "up here already"
expect_error "on b"
expect_exit 3 on a ag-box up demo --node c
expect_error "held by b"
expect_exit 3 on a ag-box up demo --node c --json
answer_is 'answer["ok"] is False and answer["code"] == 3'

# Options go along: the lease is taken over on c, and b's work becomes a fork.
expect_exit 0 on a ag-box up demo --node c --force --json
answer_is 'answer["ok"] and answer["snapshot"]'
expect_exit 3 on b ag-box park demo
on c ag-box park demo

# Those that are dead, slow, or make no sense are left out within the three seconds; the best of the others is taken.
other beta b dead
other gamma c ok $much
expect_exit 0 on a ag-box up demo
expect_error "node b (ssh beta) is left out: ssh: connect to host beta port 22: Connection refused"
expect_state c demo mounted
on c ag-box park demo
other beta b slow
other gamma c garbage
begin=$(date +%s)
expect_exit 0 on a ag-box up demo
expect_error "node b (ssh beta) is left out: no answer in time"
expect_error "node c (ssh gamma) is left out: its /proc/meminfo makes no sense"
expect_state a demo mounted
[ $(($(date +%s) - begin)) -lt 15 ] || fail "waited for the slow one"

# Here already: nobody is asked, and neither with --local or this node's own name.
other beta b ok $much
for option in "" --local --node=a; do
    expect_exit 0 on a ag-box up demo $option
    expect_output "up here already"
done
on a ag-box park demo
expect_exit 0 on a ag-box up demo --local
on a ag-box park demo
[ -z "$(asked)" ] || fail "asked: $(asked)"

# A pin comes first, and is not forgotten for a node that is not there.
on a ag-box set demo pin=b
other beta b ok 1
other gamma c ok $much
expect_exit 0 on a ag-box up demo
expect_state b demo mounted
! asked | grep -q meminfo || fail "asked for memory though it is pinned"
on b ag-box park demo
other beta b dead
expect_exit 1 on a ag-box up demo
expect_error "ssh beta: node b cannot be reached that way"
expect_error "--local"
expect_exit 3 on a ag-box up demo --local
expect_error "pinned to b"
nodes_of a "a local" "c gamma"
expect_exit 3 on a ag-box up demo
expect_error "pinned to b"
on b ag-box set demo pin=

# What people get wrong.
nodes_of a "a local" "b beta" "c gamma" "d delta"
expect_exit 1 on a ag-box up demo --node b
expect_error "ssh beta: node b cannot be reached that way"
expect_error 'hint: `ssh beta true` must work'
expect_exit 1 on a ag-box up demo --node d --json
answer_is 'answer["code"] == 1 and "ssh delta" in answer["message"]'
other beta b bare
expect_exit 1 on a ag-box up demo --node b
expect_error "there is no ag-box on node b"
expect_error "contrib/install --to beta"
expect_exit 2 on a ag-box up demo --node nobody
expect_error "no node nobody in $WORK/node/a/config/nodes (this node is a)"
expect_error "there are: a b c d"
other beta c ok # the alias leads to another machine than its name says
expect_exit 2 on a ag-box up demo --node b
expect_error "this node is c, not b"
expect_exit 2 on a ag-box up demo --node b --from '$(reboot)'
expect_error "cannot be one"
expect_exit 2 on a env PATH="$BUILD/cli" "$BUILD/cli/ag-box" up demo --node b
expect_error "apt-get install openssh-client"
expect_exit 4 on a ag-box up nobody
expect_error "no box nobody"
