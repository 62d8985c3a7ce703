# SPDX-License-Identifier: MIT
# The daemon stays small: at most 64 MB resident at 22,000 files after everything was fetched, walked and read. Fails
# without mem_stay_small: then each of its threads keeps an arena, and each arena what the largest answer took.
# lane: cpu
# limit: 300
. "$TESTS/lib.sh"
needs_plain_build "a sanitized build takes much more memory"

store file
node a
project="$WORK/project"

# 220 directories of 100 files, 4 KiB on average and none like another, and some that are large.
python3 - "$project" <<'END'
import os, random, sys
random.seed(1)
for d in range(220):
    directory = "%s/part%d/module%d" % (sys.argv[1], d // 20, d)
    os.makedirs(directory)
    for f in range(100):
        with open("%s/file%d" % (directory, f), "wb") as out:
            out.write(random.randbytes(random.randrange(1, 2048)) * 4)
for f in range(8):
    with open("%s/large%d" % (sys.argv[1], f), "wb") as out:
        out.write(random.randbytes(5 << 20))
END
on a ag-box track demo "$project"
on a ag-box park demo
rm -rf "$WORK"/.project.agbox-*

NO_INIT=yes node b
on b ag-box up demo
on b ag-box hydrate demo
on b find "$project" -type f -printf '%s %T@\n' >"$WORK/found"
on b find "$project" -type f -exec cat {} + >"$WORK/read"
[ "$(wc -l <"$WORK/found")" = 22008 ] || fail "$(wc -l <"$WORK/found") files"
on b ag-box status --json demo >"$WORK/status"
kb=$(awk '/^VmRSS/ { print $2 }' "/proc/$(json_field "$WORK/status" daemon_pid)/status")
echo "the daemon has $kb kB"
[ "$kb" -gt 1000 ] || fail "no daemon"
[ "$kb" -le $((64 * 1024)) ] || fail "the daemon has $kb kB"
on b ag-box park demo
