# SPDX-License-Identifier: MIT
# Two machines with systemd as their init, one S3 server: an agent's sessions go with a box from the host into it, to the node
# that is chosen for it over ssh, and on there; its units have its limit, and a program that breaks it dies alone; timers make
# snapshots and prune. The box is taken over when that node loses its power, and what was not sent is a fork when it is back.
# limit: 600
# level: normal
. "$TESTS/lib.sh"
. "$TESTS/machine.sh"

configure() { # configure NAME OTHER: the units, too, as install has them, but the timers are not enabled, and have no patience
    inside "$1" sh -c 'mkdir -p -m 700 /root/.config/box; cd /root/.config/box; umask 077
        printf "BOX_NODE=%s\nBOX_STORE=%s\nBOX_PASSWORD=secret\n" "$1" "$3" >env
        printf "%s local\n%s %s\n" "$1" "$2" "$2" >nodes
        shift 3
        printf "%s\n" "$@" >>env' - "$1" "$2" "$_store_url" "${_store_env[@]}"
    inside "$1" sh -c 'cat >/usr/local/bin/agent; chmod 755 /usr/local/bin/agent' <"$TESTS/nspawn/agent"
    units "$1"
    for unit in box-snapshot box-prune; do
        inside "$1" sh -c 'mkdir "/etc/systemd/system/$1.timer.d"
            printf "[Timer]\nOnCalendar=\nOnCalendar=*:*:0/2\nRandomizedDelaySec=0\nAccuracySec=50ms\n" \
                >"/etc/systemd/system/$1.timer.d/often.conf"' - "$unit"
    done
    inside "$1" systemctl daemon-reload
    inside "$1" systemctl enable --quiet box-resume.service
}
# until_true WHAT COMMAND...: systemd and the store are asked again and again; nobody tells.
until_true() {
    local what=$1 tries=600
    shift
    until "$@"; do
        ((tries-- > 0)) || fail "not after a minute: $what: $(inside two journalctl -n 20)"
        sleep 0.1
    done
}
property() { # MACHINE UNIT NAME
    inside "$1" systemctl show --value -p "$3" "$2"
}
resume() { # MACHINE TEXT: each agent goes on in its session; what was said before is in the output
    local layout
    for layout in claude codex grok; do
        inside "$1" ag-box exec demo -- agent "$layout" --resume "$2"
    done
}

machine one
machine two
network one two
store fault --address 0.0.0.0
inside one ssh -o BatchMode=yes two hostname | grep -qx two || fail "no way from one to two"
configure one two
configure two one
inside one ag-box init

# The agents' sessions on the host, in the box, and on the node that has more memory.
inside one sh -c 'mkdir /root/demo && cd /root/demo && echo hello >file
    for layout in claude codex grok; do agent "$layout" "on the host"; done'
expect_exit 0 inside one ag-box track demo
expect_output "imported 1 session of Claude Code, 1 of Codex, 1 of Grok"
expect_exit 0 resume one "in the box"
[ "$(cat "$WORK/output")" = "on the host
on the host
on the host" ] || fail "not the host's sessions"
inside one ag-box set demo memory_max=200M
inside one ag-box park demo
inside one sh -c 'echo "MemAvailable: 1000 kB" >/root/meminfo; mount --bind /root/meminfo /proc/meminfo'
expect_exit 0 inside one ag-box up demo
expect_output "demo is up at /root/demo"
[ "$(inside two cat /root/demo/file)" = hello ] || fail "the file is not on two"
expect_exit 0 resume two "on two"
[ "$(cat "$WORK/output")" = "on the host
in the box
on the host
in the box
on the host
in the box" ] || fail "not the sessions of one"
inside two test ! -e /root/.claude || fail "the box's sessions are in the host's HOME"

# In units of its own, with its limits.
for unit in boxfs-demo boxrun-demo; do
    inside two systemctl is-active "$unit" || fail "$unit is no unit on two"
done
limits=$(for name in MemoryMax MemorySwapMax TasksMax OOMPolicy; do property two boxrun-demo "$name"; done)
[ "$(echo $limits)" = "209715200 0 4096 continue" ] || fail "boxrun-demo has other limits: $limits"
inside two ag-box doctor --json >"$WORK/output"
python3 -c 'import json, sys
checks = {c["name"]: c for c in json.load(open(sys.argv[1]))["checks"]}
print(checks)
sys.exit(any(checks[n]["state"] != "ok" for n in ("systemd", "nodes", "bwrap", "store")))' "$WORK/output" || fail "doctor on two"

# A program that takes more than that is killed; everything else in the box goes on.
group=/sys/fs/cgroup/memory$(property two boxrun-demo ControlGroup)
if [ "$(inside two cat "$group/memory.limit_in_bytes" 2>/dev/null)" = 209715200 ]; then
    inside two ag-box exec demo -d -- sleep 1000
    expect_exit 137 inside two ag-box exec demo -- sh -c 'head -c 1G /dev/zero | tail'
    expect_exit 0 inside two ag-box exec demo -- pgrep -x 'sleep|tmux: server' --count
    [ "$(cat "$WORK/output")" = 2 ] || fail "more than that program has died"
    inside two grep -qx 'oom_kill [1-9]*' "$group/memory.oom_control" || fail "it was not for want of memory"
    inside two systemctl is-active boxrun-demo || fail "the unit has ended with it"
else
    echo "OUT OF MEMORY NOT TRIED: these machines have no memory controller"
fi

# Timers, shortened to seconds: what changed is sent, and old snapshots are looked for. One after the other, since prune takes
# away what the first has made.
snapshots() {
    inside two ag-box ls --snapshots --json demo | jq '.snapshots | length'
}
more_snapshots() {
    [ "$(snapshots)" -gt "$before" ]
}
pruned() {
    inside two journalctl -u box-prune | grep -q 'demo: .* snapshots\? kept'
}
by_timer() { # UNIT COMMAND...: until the command is true
    local unit=$1
    shift
    inside two systemctl start "$unit.timer"
    until_true "$unit by its timer" "$@"
    [ "$(property two "$unit.timer" LastTriggerUSec)" ] || fail "$unit was not started by its timer"
    inside two systemctl stop "$unit.timer"
    until_true "$unit ends" has_ended "$unit"
    [ "$(property two "$unit.service" Result)" = success ] || fail "$unit has failed: $(inside two journalctl -u "$unit")"
}
has_ended() {
    [ "$(property two "$1.service" ActiveState)" != activating ]
}
before=$(snapshots)
inside two sh -c 'echo "by a timer" >/root/demo/timed'
by_timer box-snapshot more_snapshots
one_instant=$(inside two ag-box ls --snapshots --json demo | jq '.snapshots[] | select(.newest) | .one_instant')
[ "$one_instant" = true ] || fail "the box was not frozen for the timer's snapshot"
by_timer box-prune pruned
inside one ag-box restore demo /root/timed
[ "$(inside one cat /root/timed/timed)" = "by a timer" ] || fail "the timer's snapshot lacks the change"
inside two ag-box park demo

# By its pin to the other node.
inside one ag-box set demo pin=two
expect_exit 0 inside one ag-box up demo
expect_output "demo is up at /root/demo"
expect_exit 3 inside one ag-box up demo --local
expect_error "pinned to two"
inside two ag-box set demo pin=

# The plug is pulled; the other node takes it over, and the agents go on there. What comes back finds itself fenced.
inside two sh -c 'echo "not sent" >/root/demo/late; sync'
power_off two
expect_exit 1 inside one ag-box up demo --node two
expect_error "node two cannot be reached that way"
expect_exit 0 inside one ag-box up demo --force --local
expect_exit 0 resume one "on one again"
expect_output "on two"
machine two
[ "$(property two box-resume.service Result)" = success ] || fail "resume has failed: $(inside two journalctl -u box-resume)"
fork=$(inside two ag-box ls --snapshots demo | grep -o 'fork:[^ ]*') || fail "the work of two is no fork"
inside one ag-box restore demo --snapshot "$fork" /root/fork
[ "$(inside one cat /root/fork/late)" = "not sent" ] || fail "the fork lacks what was not sent"
inside one test ! -e /root/demo/late || fail "what was not sent is on one"
inside one ag-box park demo
