# SPDX-License-Identifier: MIT
# A push from another HOME than the last one is none that was meant: an empty one would take what it has not from all nodes.
# limit: 60
. "$TESTS/lib.sh"

store file
node a
node b
A="$WORK/node/a/home" B="$WORK/node/b/home"
mkdir -p "$A/.claude/skills/s" "$WORK/empty"
echo one | tee "$A/.claude/skills/s/SKILL.md" >"$A/.gitconfig"
on a ag-box globals push
on b ag-box globals pull

for home in "$WORK/empty" /nowhere; do
    expect_refused 2 "$A is the HOME that was pushed" a env HOME="$home" ag-box globals push
    expect_error "hint: "
    on b ag-box globals pull
    expect_file "$B/.claude/skills/s/SKILL.md" one
done
on a ag-box globals push

# So is one of which all is gone, as of a disk that is not mounted.
mv "$A" "$A.away"; mkdir "$A"
expect_refused 2 "nothing to push in $A" a ag-box globals push
rmdir "$A"; mv "$A.away" "$A"
on a ag-box globals push
on b ag-box globals pull
expect_file "$B/.claude/skills/s/SKILL.md" one

# It is said if it is meant; from then on that is the one.
on a env HOME="$WORK/empty" ag-box globals push --force
on a env HOME="$WORK/empty" ag-box globals push
expect_exit 2 on a ag-box globals push
on b ag-box globals pull
expect_missing "$B/.claude/skills"

# Another node's may lie elsewhere.
on b ag-box globals push
