# SPDX-License-Identifier: MIT
# The README's commands work, in its order, as they stand there: each block on the node that the comment above it names.
# "in the source": contrib's scripts, whose building is others' business (tests/box/install.sh) and put aside here.
# "at a terminal": with a person who waits for the box's tmux and detaches.
# limit: 240
. "$TESTS/lib.sh"

readme="$TESTS/../README.md"
store file
node laptop
node server

block_at() { # block_at LINE: the block below the comment on that line
    tail -n "+$(($1 + 2))" "$readme" | sed '/^```$/,$d'
}

# --- what stands in for another machine, and for a build

# ssh [OPTION...] server WORDS...: a shell on the scenario's other node, which has less memory; of install, its files.
mkdir -p "$WORK/bin" "$WORK/build-bin" "$WORK/source"
server=("$WORK/node/server" "${_holder[server]}")
cat >"$WORK/bin/ssh" <<END
#!/bin/bash
while [[ \$1 == -* ]]; do shift; done
[ "\$1" = server ] || exit 255
shift
case \$* in
*/proc/meminfo*) printf 'MemTotal: 99 kB\nMemAvailable: 1 kB\n'; exit ;;
*/contrib/install*) DESTDIR="$WORK/far" exec sh -c "\$*" ;;
esac
dir=${server[0]}
exec nsenter --mount --target ${server[1]} env -C / HOME="\$dir/home" AGBOX_CONFIG_DIR="\$dir/config" \\
    AGBOX_STATE_DIR="\$dir/state" AGBOX_RUN_DIR="\$dir/run" sh -c "\$*"
END
cat >"$WORK/build-bin/meson" <<'END'
#!/bin/sh
build=; case $1 in setup | configure) build=$2 ;; install) build=$3 ;; esac
mkdir -p "$build/meson-logs"
touch "$build/build.ninja" "$build/meson-logs/install-log.txt"
END
printf '#!/bin/sh\necho built\n' >"$WORK/build-bin/ninja"
chmod +x "$WORK"/bin/* "$WORK"/build-bin/*
export PATH="$WORK/bin:$PATH"
cp -a "$TESTS/../contrib" "$WORK/source/"
git -C "$WORK/source" init -q
git -C "$WORK/source" add contrib
git -C "$WORK/source" -c user.name=a -c user.email=a@example.invalid commit -qm all

run_in_the_source() { # NODE BLOCK
    on "$1" env -C "$WORK/source" PATH="$WORK/build-bin:$PATH" DESTDIR="$WORK/installed" AGBOX_QUICKSTART_WORK="$WORK/quickstart" \
        bash -eu "$2" </dev/null
}
run_at_a_terminal() {
    on "$1" env PYTHONPATH="$TESTS" python3 - "$2" <<'END'
import sys, time
import pty
t = pty.Terminal(["bash", "-eu", sys.argv[1]])
t.sees(r"\[box:demo@")
time.sleep(0.1)  # keys that come within a millisecond are a paste to tmux
t.type(pty.DETACH)
sys.exit(t.wait())
END
}
run_() {
    on "$1" bash -eu "$2" </dev/null
}

# --- the configuration: every key of the example is known, and so are its values' forms

at=$(grep -nx '<!-- env -->' "$readme" | cut -d : -f 1)
mkdir -m 700 "$WORK/config"
(umask 077; block_at "$at" >"$WORK/config/env")
expect_exit 0 on laptop env AGBOX_CONFIG_DIR="$WORK/config" BOX_STORE="file://$WORK/store" ag-box status
expect_output "node: laptop"
at=$(grep -nx '<!-- nodes -->' "$readme" | cut -d : -f 1)
(umask 077; block_at "$at" >"$WORK/node/laptop/config/nodes")

# --- the commands

# The README's paths are below /root. So may be what is tested here: that is seen again.
for name in laptop server; do
    on "$name" bash -eu -c 'exec 3<"$1" 4<"$2"
        mount -t tmpfs -o mode=700 none /root
        fd=3
        for place; do
            [[ $place != /root/* ]] || { mkdir -p "$place" && mount --no-canonicalize --bind "/proc/self/fd/$fd" "$place"; }
            fd=$((fd + 1))
        done' - "$(realpath "$TESTS/..")" "$BUILD"
done
on laptop sh -c "mkdir /root/demo && echo one >/root/demo/file"
count=0
while IFS=: read -r line mark; do
    mark=${mark#<!-- run on } mark=${mark% -->}
    name=${mark%% *} way=${mark#"$name"}
    way=${way# } way=${way// /_}
    block_at "$line" >"$WORK/block"
    echo "--- on $mark:"
    cat "$WORK/block"
    "run_$way" "$name" "$WORK/block" || fail "the block at line $line of README.md"
    count=$((count + 1))
done < <(grep -n '^<!-- run on ' "$readme")
[ "$count" -ge 12 ] || fail "only $count blocks were found"
expect_state server demo none
on laptop grep -qx "done" /root/demo/idea && fail "it is parked, and still there"
for tree in installed far; do
    [ -s "$WORK/$tree/usr/local/lib/systemd/system/box-snapshot.timer" ] || fail "nothing was installed in $tree"
done

# --- no block goes untested, and what the text names is there

[ "$(grep -c '^```sh' "$readme")" = "$count" ] || fail "a block of sh that no node runs"
[ "$(grep -c '^```' "$readme")" = $((2 * count + 4)) ] || fail "a block that is neither sh, nor env, nor nodes"
for command in $(grep -oE '(`|^)ag-box [a-z]+' "$readme" | cut -d ' ' -f 2 | sort -u); do
    ag-box "$command" --help >/dev/null || fail "the README speaks of a command $command"
done
for file in $(grep -oE '(contrib|index)/[A-Za-z./-]*[A-Za-z]' "$readme" | sort -u); do
    [ -e "$TESTS/../$file" ] || fail "the README speaks of $file"
done
for file in $(grep -oE '(box|unit|self|nspawn)/[a-z0-9-]+\.(sh|c)\b' "$TESTS/../contrib/SPEC.md" | sort -u); do
    [ -e "$TESTS/$file" ] || fail "contrib/SPEC.md speaks of $file"
done
for name in laptop server; do
    on "$name" sh -c 'chattr -i /root/demo; umount -l /root'
done
chattr -i "$WORK/quickstart/project"
