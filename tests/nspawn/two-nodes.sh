# SPDX-License-Identifier: MIT
# Two machines with systemd as their init: a box is sent over ssh to the node that it is for, runs there in units of its
# own, and is taken over when that node loses its power; what was not sent becomes a fork when it is back.
# limit: 600
# level: full
. "$TESTS/lib.sh"
. "$TESTS/nspawn/machine.sh"

at() { # at NAME COMMAND...: a line of ssh's kind of shell, as people have it
    inside "$@"
}
configure() { # configure NAME OTHER
    inside "$1" sh -c 'mkdir -p -m 700 /root/.config/box; cd /root/.config/box; umask 077
        printf "BOX_NODE=%s\nBOX_STORE=file:///shared/store\nBOX_PASSWORD=secret\n" "$1" >env
        printf "%s local\n%s %s\n" "$1" "$2" "$2" >nodes' - "$1" "$2"
}

machine one
machine two
network one two
inside one ssh -o BatchMode=yes two hostname | grep -qx two || fail "no way from one to two"
configure one two
configure two one
at one ag-box init
at one sh -c 'mkdir /root/demo && echo hello >/root/demo/file'
at one ag-box track demo
at one ag-box park demo

# By its pin to the other node, over a real ssh.
at one ag-box set demo pin=two
expect_exit 0 at one ag-box up demo
expect_output "demo is up at /root/demo"
[ "$(at two cat /root/demo/file)" = hello ] || fail "the file is not on two"
expect_exit 3 at one ag-box up demo --local
expect_error "pinned to two"
at one ag-box set demo pin= || at two ag-box set demo pin=

# In units of its own, where the build starts boxes.
if ag-box up --help | grep -q -- --no-start; then
    for unit in boxfs-demo boxrun-demo; do
        inside two systemctl is-active "$unit" || fail "$unit is no unit on two"
    done
    [ "$(inside two systemctl show --value -p MemorySwapMax boxrun-demo)" = 0 ] || fail "boxrun-demo may swap"
fi
inside two ag-box doctor --json >"$WORK/output"
python3 -c 'import json, sys
checks = {c["name"]: c for c in json.load(open(sys.argv[1]))["checks"]}
print(checks)
sys.exit(any(checks[n]["state"] != "ok" for n in ("systemd", "nodes", "bwrap", "store")))' "$WORK/output" || fail "doctor on two"

# The plug is pulled; the other node takes it over. What comes back finds itself fenced.
at two sh -c 'echo "not sent" >/root/demo/late; sync'
power_off two
expect_exit 1 at one ag-box up demo --node two
expect_error "node two cannot be reached that way"
expect_exit 0 at one ag-box up demo --force --local
[ "$(at one cat /root/demo/file)" = hello ] || fail "the file is not on one"
machine two
at two ag-box resume
at two ag-box ls --snapshots demo | grep -q fork || fail "the work of two is no fork"
at one ag-box park demo
