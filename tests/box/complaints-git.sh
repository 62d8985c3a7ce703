# SPDX-License-Identifier: MIT
# git in a box: complaints 11 to 13 about other sandboxes (contrib/SPEC.md), and files of a user that a node has not.
# lane: wait
# limit: 180
BOXES=yes
. "$TESTS/lib.sh"

store file
node a
node b
project="$WORK/project"
commit() { git -C "$1" -c user.name=x -c user.email=x@x commit -q --allow-empty -m "$2"; }
inside() { local node=$1; shift; on "$node" ag-box exec demo -- "$@"; }

# 11 to 13: a repository with a worktree and a submodule, each of which has a file for its .git; the worktree has a
# configuration of its own.
git init -q "$WORK/library"
commit "$WORK/library" library
git init -q "$project"
commit "$project" first
git -C "$project" -c protocol.file.allow=always submodule --quiet add "$WORK/library" library
commit "$project" library
git -C "$project" worktree add -q "$project/trees/one" -b one
git -C "$project" config extensions.worktreeConfig true
git -C "$project/trees/one" config --worktree user.name Somebody
[ -f "$project/trees/one/.git" ] && [ -f "$project/library/.git" ] || fail "no files for .git"
echo "/trees/" >"$project/.git/info/exclude"
git -C "$project" worktree add -q "$WORK/outside" -b outside # which git in the box does not see
find "$project/.git/worktrees/outside" -exec touch -d "1 year ago" {} +
expect_exit 0 on a ag-box track demo "$project"
! grep -q "git will not work" "$WORK/error" || fail "it says that git does not work"
work() { # NODE NAME
    inside "$1" sh -ec '
        cd trees/one
        [ "$(git config user.name)" = Somebody ]
        git config --worktree user.email "$1@x"
        echo "$1" >"$1"
        git add "$1"
        [ ! -e "$(git rev-parse --git-path index.lock)" ]
        git commit -q -m "$1"
        git worktree add -q "../$1"
        for d in . ../.. ../../library "../$1"; do
            [ -z "$(git -C "$d" status --porcelain)" ] || { git -C "$d" status; exit 1; }
        done' sh "$2"
}
work a two
inside a git gc --quiet
git -C "$WORK/outside" status >/dev/null || fail "git in the box has cleaned away what is of a worktree outside"
on a ag-box park demo
on b ag-box up demo
work b three
[ "$(inside b git worktree list --porcelain | grep -c '^worktree ') $(inside b git -C trees/one log --format=%s)" = "5 three
two
library
first" ] || fail "not all is there: $(inside b git worktree list; inside b git -C trees/one log --format=%s)"

# Files of another user, whom this node may not even have, are no matter for git.
inside b chown -R 4321:4321 .
on b ag-box park demo
on a ag-box up demo
[ "$(inside a stat -c %u . .git trees/one | sort -u)" = 4321 ] || fail "owners did not travel"
expect_exit 0 inside a git -C trees/one status --porcelain
[ ! -s "$WORK/output" ] || fail "git sees changes"
on a ag-box park demo

# A worktree alone cannot work in a box, which `track` says; everything else does.
git init -q "$WORK/elsewhere"
commit "$WORK/elsewhere" first
git -C "$WORK/elsewhere" worktree add -q "$WORK/tree"
echo text >"$WORK/tree/file"
expect_exit 0 on a ag-box track tree "$WORK/tree"
expect_error "git will not work in the box: it needs $WORK/elsewhere/.git/worktrees/tree, outside of the project"
expect_exit 0 on a ag-box exec tree -- cat file
expect_output text
expect_exit 128 on a ag-box exec tree -- git status
on a ag-box park tree
mkdir "$WORK/linked"
ln -s ../elsewhere/.git "$WORK/linked/.git"
expect_exit 0 on a ag-box track linked "$WORK/linked" --json
python3 -c 'import json, sys; assert "needs %s/elsewhere/.git," % sys.argv[2] in json.load(open(sys.argv[1]))["warnings"][0]' "$WORK/output" "$WORK" ||
    fail "no warning in JSON"
on a ag-box park linked
git clone -q --shared "$WORK/elsewhere" "$WORK/clone"
expect_exit 0 on a ag-box track clone "$WORK/clone"
expect_error "it needs $WORK/elsewhere/.git/objects, outside of the project"
on a ag-box park clone
