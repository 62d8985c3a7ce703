# SPDX-License-Identifier: MIT
# The README's commands work, in its order, as they stand there: each block on the node that the comment above it names.
. "$TESTS/lib.sh"

readme="$TESTS/../README.md"
store file
node laptop
node server

# blocks MARK: numbers of the lines below "<!-- MARK" that begin a block.
block_at() { # block_at LINE: the block that begins there
    tail -n "+$(($1 + 2))" "$readme" | sed '/^```$/,$d'
}

# Every key of the example's configuration is known, and so are its values' forms.
at=$(grep -nx '<!-- env -->' "$readme" | cut -d : -f 1)
mkdir -m 700 "$WORK/config"
(umask 077; block_at "$at" >"$WORK/config/env")
expect_exit 0 on laptop env AGBOX_CONFIG_DIR="$WORK/config" BOX_STORE="file://$WORK/store" ag-box status
expect_output "node: laptop"
at=$(grep -nx '<!-- nodes -->' "$readme" | cut -d : -f 1)
(umask 077; block_at "$at" >"$WORK/config/nodes")
expect_exit 4 on laptop env AGBOX_CONFIG_DIR="$WORK/config" BOX_STORE="file://$WORK/store" BOX_PASSWORD="correct horse" \
    ag-box up nobody

for name in laptop server; do
    on "$name" mount -t tmpfs -o mode=700 none /root # the README's paths are below it
done
on laptop sh -c "mkdir /root/demo && echo one >/root/demo/file"
count=0
while IFS=: read -r line mark; do
    name=${mark#<!-- run on } name=${name% -->}
    block_at "$line" >"$WORK/block"
    echo "--- on $name:"
    cat "$WORK/block"
    on "$name" bash -eu "$WORK/block" </dev/null || fail "the block at line $line of README.md"
    count=$((count + 1))
done < <(grep -n '^<!-- run on ' "$readme")
[ "$count" -ge 6 ] || fail "only $count blocks were found"
expect_state server demo none
on laptop grep -qx "done" /root/demo/idea && fail "it is parked, and still there"

# No block of commands goes untested.
[ "$(grep -c '^```sh' "$readme")" = "$count" ] || fail "a block of sh that no node runs"
for command in $(grep -o 'ag-box [a-z-]*' "$readme" | cut -d ' ' -f 2 | sort -u); do
    case $command in
    carries | '') continue ;;
    esac
    ag-box "$command" --help >/dev/null || fail "the README speaks of a command $command"
done
for name in laptop server; do
    on "$name" sh -c 'chattr -i /root/demo; umount -l /root'
done
