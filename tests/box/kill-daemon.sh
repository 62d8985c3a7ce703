# SPDX-License-Identifier: MIT
# The process that serves a mount is killed under load, again and again: no call fails, and no byte is wrong.
# limit: 300
. "$TESTS/lib.sh"

KILLS=${KILLS-20} SEED=${SEED:-$RANDOM}
echo "seed $SEED"
store fault
node a
node b BOX_HYDRATE=off
project="$WORK/project"; mkdir "$project"
python3 - "$project" "$KILLS" <<'END'
import os, sys
for d in ["round-%d" % i for i in range(int(sys.argv[2]))] + ["lower"]:
    os.mkdir("%s/%s" % (sys.argv[1], d))
    for f in range(24):
        with open("%s/%s/%d" % (sys.argv[1], d, f), "wb") as out:
            out.write(os.urandom(70000 if f % 8 == 0 else 3000 + 100 * f))
END
cp -a "$project" "$WORK/original"
on a ag-box track demo "$project"
on a ag-box park demo
on b ag-box up demo
fault rtt 5
on b python3 "$TESTS/kill-daemon.py" "$project" "$WORK/original" "$KILLS" "$SEED"
fault rtt 0
copy_tree "$project" "$WORK/model"
on b ag-box park demo
on a ag-box up demo
expect_same_tree "$project" "$WORK/model"
on a ag-box park demo
