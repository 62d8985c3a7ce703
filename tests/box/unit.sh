# SPDX-License-Identifier: MIT
# Where systemd is, the tree and the box are services: with its properties, the starter's environment (which no property
# shows), and errors that come back. A stand-in for systemd-run starts them here.
# lane: wait
BOXES=yes
. "$TESTS/lib.sh"

store file
node a
needs_crash_points # the stand-in is heard in such builds only
project="$WORK/project"
make_project "$project"

mkdir "$WORK/bin"
cat >"$WORK/bin/systemd-run" <<'S'
#!/bin/bash
printf '%s\n' "$@" >>"${0%/*}/arguments"
ready=
while [ "$1" != -- ]; do
    case $1 in --setenv=*) ready=${1#--setenv=} ;; esac
    shift
done
shift
[ ! -e "${0%/*}/broken" ] || exit 1
setsid env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin "$ready" "$@" </dev/null >>"${0%/*}/log" 2>&1 &
S
chmod +x "$WORK/bin/systemd-run"
with() { on a env PATH="$WORK/bin:$PATH" AGBOX_TEST_UNIT=1 BOX_MEMORY_MAX=1500M "$@"; }

with ag-box track demo "$project"
with ag-box park demo
with ag-box up demo
on a ag-box status --json demo >"$WORK/status"
[ "$(json_field "$WORK/status" box)" = running ] || fail "the box does not run"
grep -qx -- --property=MemoryMax=1572864000 "$WORK/bin/arguments" || fail "no memory limit"
grep -qx -- --unit=boxfs-demo "$WORK/bin/arguments" || fail "the tree is no service"
! grep -q "correct horse" "$WORK/bin/arguments" || fail "the password is among a unit's properties"
with ag-box park demo

# The limit is the box's own where it has one.
with ag-box set demo memory_max=700M
: >"$WORK/bin/arguments"
with ag-box up demo
grep -qx -- --property=MemoryMax=734003200 "$WORK/bin/arguments" || fail "not the box's memory limit"
with ag-box park demo
: >"$WORK/bin/arguments"
with ag-box up demo --no-start
with ag-box exec demo -- true
grep -qx -- --property=MemoryMax=734003200 "$WORK/bin/arguments" || fail "not the box's memory limit, where exec starts it"
with ag-box park demo

# What goes wrong in the service is said by whoever started it.
touch "$WORK/bin/broken"
expect_exit 1 with ag-box up demo
expect_error "systemd-run could not start it"
rm "$WORK/bin/broken"
with ag-box up demo
with ag-box park demo
