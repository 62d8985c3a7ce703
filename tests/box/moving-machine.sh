# SPDX-License-Identifier: MIT
# A machine moves to another network while a box runs: the box finds the new name servers, behind the link that leads to
# them, and the new names. Its /etc else is that of its start.
# lane: wait
# limit: 120
BOXES=yes
. "$TESTS/lib.sh"

store file
node a
mkdir -p "$WORK/project" "$WORK/own" "$WORK/work" "$WORK/resolver"
on a mount -t overlay -o "lowerdir=/etc,upperdir=$WORK/own,workdir=$WORK/work" none /etc # the node's own
echo "nameserver 192.0.2.1" >"$WORK/resolver/stub.conf"
on a ln -sfn "$WORK/resolver/stub.conf" /etc/resolv.conf
on a sh -c 'echo "192.0.2.9 before" >/etc/hosts; echo before >/etc/agbox-other; printf "[user]\n\tname = Somebody\n" >/etc/gitconfig'
lazy_box a demo "$WORK/project"

inside() { on a ag-box exec demo -- "$@"; }
becomes() { # TEXT FILE
    local until=$((SECONDS + 20))
    while [ "$(inside cat "$2")" != "$1" ]; do
        ((SECONDS < until)) || fail "$2 in the box is not \"$1\" after 20 s"
        sleep 0.05
    done
}

[ "$(inside cat /etc/resolv.conf)" = "nameserver 192.0.2.1" ] || fail "the box has no name servers"
[ "$(inside git config user.name) $(inside git config core.checkStat)" = "Somebody minimal" ] || fail "git's configuration"
echo "nameserver 192.0.2.2" >"$WORK/resolver/new"
mv "$WORK/resolver/new" "$WORK/resolver/stub.conf"
becomes "nameserver 192.0.2.2" /etc/resolv.conf
on a sh -c 'echo after >/etc/agbox-other; echo "192.0.2.9 after" >/etc/new; mv /etc/new /etc/hosts'
becomes "192.0.2.9 after" /etc/hosts
[ "$(inside cat /etc/agbox-other)" = before ] || fail "something else is kept current"
on a sh -c 'echo "nameserver 192.0.2.3" >/etc/new; mv /etc/new /etc/resolv.conf' # no link any more
becomes "nameserver 192.0.2.3" /etc/resolv.conf
on a ag-box park demo
on a umount -l /etc
