# SPDX-License-Identifier: MIT
# Every command has a man page that names each of its options, and ag-box(1) every command, exit status and setting.
# level: quick
# lane: cpu
. "$TESTS/lib.sh"

top="$TESTS/.."
pages="$top/cli/man"
ag-box --help >"$WORK/overview"
for command in $(sed -n 's/^  \([a-z-]*\) .*/\1/p' "$WORK/overview"); do
    page="$pages/ag-box-$command.1.scd"
    [ -f "$page" ] || fail "no man page of $command"
    ag-box "$command" --help >"$WORK/help"
    for option in $(sed -n 's/^  \(--[a-z-]*\).*/\1/p' "$WORK/help"); do
        grep -qF -- "*$option" "$page" || fail "$page does not name $option"
    done
    for option in $(grep -o '^\*--[a-z-]*' "$page" | tr -d '*'); do
        grep -qE -- "^  $option( |\[|=|$)" "$WORK/help" || fail "$page names $option, which there is not"
    done
    for section in NAME SYNOPSIS DESCRIPTION OPTIONS 'EXIT STATUS' JSON EXAMPLES; do
        grep -qx "# $section" "$page" || fail "$page has no section $section"
    done
    grep -qF "*ag-box-$command*(1)" "$pages/ag-box.1.scd" || fail "ag-box(1) does not name $command"
    grep -qF "'$command'" "$pages/meson.build" || fail "the page of $command is not installed"
done
for page in "$pages"/ag-box-*.scd; do
    command=${page##*/ag-box-} command=${command%.1.scd}
    grep -q "^  $command " "$WORK/overview" || fail "a page of $command, which there is not"
done
for code in 0 1 2 3 4 5 6 7 8 9 130; do
    grep -qx "\*$code\*" "$pages/ag-box.1.scd" || fail "ag-box(1) does not name exit status $code"
done
for setting in $(sed -n 's/^    { "\([A-Z0-9_]*\)", VALUE_.*/\1/p' "$top/cli/config.c") \
    AGBOX_CONFIG_DIR AGBOX_STATE_DIR AGBOX_RUN_DIR AGBOX_LOG AGBOX_TRACE; do
    grep -qF "*$setting*" "$pages/ag-box.1.scd" || fail "ag-box(1) does not name $setting"
done
if command -v scdoc >/dev/null; then
    for page in "$pages"/*.scd; do
        scdoc <"$page" >"$WORK/page" || fail "scdoc does not take $page"
    done
fi
