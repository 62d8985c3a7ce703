# SPDX-License-Identifier: MIT
# On two machines with systemd as their init: the hour's box-snapshot.service brings globals along, as each node's role has
# it, and also when the snapshots failed; and a failure of globals is none of the snapshots'.
# limit: 300
# level: normal
. "$TESTS/lib.sh"
. "$TESTS/machine.sh"

set_up() { # set_up NAME ROLE
    inside "$1" sh -ec 'mkdir -p -m 700 /root/.config/box; cd /root/.config/box; umask 077
        printf "BOX_NODE=%s\nBOX_STORE=%s\nBOX_PASSWORD=secret\nBOX_GLOBALS_ROLE=%s\n" "$1" "$3" "$2" >env
        shift 3
        printf "%s\n" "$@" >>env' - "$1" "$2" "$_store_url" "${_store_env[@]}"
    units "$1"
}
property() { # property NAME UNIT PROPERTY
    inside "$1" systemctl show --value -p "$3" "$2"
}
hour() { # hour NAME: what the timer does; returns when both have ended
    local tries=300
    inside "$1" systemctl start box-snapshot.service || true
    while inside "$1" systemctl list-jobs --no-legend | grep -q box-globals; do
        ((tries-- > 0)) || fail "box-globals.service does not end"
        sleep 0.1 # it is no job of ours, so nothing tells of its end
    done
}

machine one
machine two
network one two
store fault --address 0.0.0.0
set_up one push
set_up two pull
inside one ag-box init
inside one sh -c 'echo "[user]" >/root/.gitconfig'
hour one
[ "$(property one box-globals.service Result)" = success ] || fail "globals on one"
[ "$(property one box-snapshot.service Result)" = success ] || fail "snapshots on one"
hour two
[ "$(inside two cat /root/.gitconfig)" = "[user]" ] || fail "it did not come to two"

# The snapshots fail; globals go on.
inside one sh -c 'echo "[core]" >/root/.gitconfig; mkdir /etc/systemd/system/box-snapshot.service.d
    printf "[Service]\nExecStart=\nExecStart=/bin/false\n" >/etc/systemd/system/box-snapshot.service.d/fails.conf
    systemctl daemon-reload'
hour one
[ "$(property one box-snapshot.service Result)" = exit-code ] || fail "the snapshots did not fail"
[ "$(property one box-globals.service Result)" = success ] || fail "globals failed with them"
hour two
[ "$(inside two cat /root/.gitconfig)" = "[core]" ] || fail "it did not come to two"

# Globals fail, here because two may not push; the snapshots do not.
inside two sh -c 'echo "[alias]" >/root/.gitconfig; sed -i s/=pull/=push/ /root/.config/box/env; ag-box globals push'
inside one sh -c 'rm -r /etc/systemd/system/box-snapshot.service.d; systemctl daemon-reload'
hour one
[ "$(property one box-snapshot.service Result)" = success ] || fail "the snapshots failed"
[ "$(property one box-globals.service Result)" = exit-code ] || fail "one pushed over two's push"
[ "$(property one box-globals.service ExecMainStatus)" = 3 ] || fail "another exit than 3"
