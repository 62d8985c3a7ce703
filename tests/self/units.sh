# SPDX-License-Identifier: MIT
# systemd takes the units that contrib/install puts there; each runs a command that there is, and what doctor asks for is
# among them.
# level: quick
# lane: cpu
. "$TESTS/lib.sh"

top="$TESTS/.."
for unit in "$top"/contrib/systemd/*; do
    sed "s|@bindir@|$BUILD/cli|g" "$unit" >"$WORK/${unit##*/}"
    command=$(sed -n 's|^ExecStart=@bindir@/ag-box \([a-z-]*\).*|\1|p' "$unit")
    case $unit in
    *.service)
        ag-box "$command" --help >/dev/null || fail "${unit##*/} runs '$command', which there is not"
        ;;
    *.timer)
        [ -f "${unit%.timer}.service" ] || fail "${unit##*/} has no service"
        ;;
    esac
done
for unit in $(grep -o 'box-[a-z]*\.\(timer\|service\)' "$top/cli/check-machine.c") $(sed -n 's/.*enable --quiet\( --now\)\? //p' "$top/contrib/install"); do
    grep -q '^\[Install\]' "$WORK/$unit" || fail "$unit cannot be enabled"
done
# One key a line, and nothing that stops the others where a kernel lacks it.
! grep -vE '^(#|$|-[a-z_.]+ = [0-9]+$)' "$top"/contrib/sysctl/* || fail "sysctl: a line that can fail"
# Globals come after the boxes' snapshots, and whatever becomes of these.
grep -q '^Wants=.*\bbox-globals\.service' "$WORK/box-snapshot.service" || fail "nothing starts box-globals.service"
grep -q '^After=.*\bbox-snapshot\.service' "$WORK/box-globals.service" || fail "box-globals.service does not wait"
! grep -E '^(Requires|Requisite|BindsTo|PartOf|Upholds|ExecStartPre|ExecStartPost|OnSuccess)=' "$WORK"/box-{globals,snapshot}.service ||
    fail "one's failure would be the other's"
command -v systemd-analyze >/dev/null || skip "UNITS NOT VERIFIED: no systemd-analyze"
systemd-analyze verify --man=no "$WORK"/box-* >"$WORK/said" 2>&1 || fail "systemd-analyze: $(cat "$WORK/said")"
[ ! -s "$WORK/said" ] || fail "systemd-analyze says: $(cat "$WORK/said")"
