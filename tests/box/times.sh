# SPDX-License-Identifier: MIT
# File systems whose times do not tell of every change: one that keeps whole seconds, and one that keeps all in memory,
# where a store into a mapping changes no time once its page is dirty. What changed all the same is in the next snapshot.
. "$TESTS/lib.sh"

store file
truncate -s 64M "$WORK/disk.ext4"
mkfs.ext4 -q -I 128 "$WORK/disk.ext4"
NO_INIT=1
node a
node b
on a mount -o loop "$WORK/disk.ext4" "$WORK/node/a/state" || skip "no loop mounts here"
on a chmod 700 "$WORK/node/a/state"
_mounts_before[a]=$(_mounts_of a)
on a ag-box init

# snapshot_has FILE TEXT: what another node finds in the newest one.
snapshot_has() {
    rm -rf "$WORK/restored"
    on b ag-box restore demo "$WORK/restored"
    expect_file "$WORK/restored/$1" "$2"
}

# Whole seconds: written, read by a snapshot, and written again within one.
project="$WORK/project"; make_project "$project"
lazy_box a demo "$project"
for _ in 1 2 3 4 5; do
    on a sh -c 'while [ "$(date +%N | cut -c 1)" != 0 ]; do :; done; echo first >"$1/file"' - "$project"
    before=$(on a stat -c '%Z %Y' "$project/file")
    on a ag-box snapshot demo
    on a sh -c 'echo again >"$1/file"' - "$project"
    [ "$before" != "$(on a stat -c '%Z %Y' "$project/file")" ] || break
done
[ "$before" = "$(on a stat -c '%Z %Y' "$project/file")" ] || skip "a snapshot takes longer than a second here"
on a ag-box snapshot demo
snapshot_has file again
on a ag-box park demo
on a ag-box drop demo --yes

# In memory: a program that keeps its file mapped, as databases do.
mkdir "$WORK/memory"
on a mount -t tmpfs none "$WORK/memory"
project="$WORK/memory/project"
on a sh -c 'mkdir "$1" && echo first >"$1/mapped"' - "$project"
on a ag-box track demo "$project"
cat >"$WORK/mapping.py" <<'END'
import mmap, os, sys
with open(sys.argv[1], "r+b") as f:
    memory = mmap.mmap(f.fileno(), 0)
for word in ("dirty", "again"):
    sys.stdin.readline()
    memory[0:5] = word.encode()
    print(word, flush=True)
sys.stdin.readline()
END
coproc mapping { on a python3 "$WORK/mapping.py" "$project/mapped"; }
mapper=$mapping_PID
store_word() {
    echo >&"${mapping[1]}"
    read -r said <&"${mapping[0]}"
    [ "$said" = "$1" ]
}
store_word dirty
before=$(on a stat -c %z "$project/mapped")
sleep 0.1 # of real time, which is what makes times count
on a ag-box snapshot demo
store_word again
[ "$before" = "$(on a stat -c %z "$project/mapped")" ]
on a ag-box snapshot demo
snapshot_has mapped again
echo >&"${mapping[1]}"
wait "$mapper"
on a ag-box park demo
snapshot_has mapped again
on a umount "$WORK/memory"
