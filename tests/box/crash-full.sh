# SPDX-License-Identifier: MIT
# level: full
# limit: 1200
# `up --full`, and the park of a full box, killed at every step: whichever of up and park comes next, the tree is whole, and
# at last the box is free with nothing left of it here.
. "$TESTS/lib.sh"

store file
node a
node b
needs_crash_points
project="$WORK/project"; mkdir -p "$project/d"
echo 1 >"$project/one"; echo 2 >"$project/d/two"; ln "$project/one" "$project/d/three"; ln -s one "$project/symlink"
echo secret >"$project/.auth-secret"
aside() { find "$WORK" -maxdepth 1 -name '.project.agbox-*'; }
free_and_whole() { # on a, with what the model has; an earlier command may have parked it
    on a ag-box park demo
    expect_missing "$project/one"
    on a ag-box up demo
    expect_same_tree "$project" "$WORK/model"
    expect_file "$project/.auth-secret" secret
    on a ag-box park demo
    case $(state_of a demo) in none | moved-aside) ;; *) fail "still $(state_of a demo)" ;; esac
    aside | while read -r directory; do rm -rf "$directory"; done
}

on a ag-box track demo "$project"
copy_tree "$project" "$WORK/model"
on a ag-box park demo
aside | while read -r directory; do rm -rf "$directory"; done
on a env AGBOX_CRASH_LIST="$WORK/up-steps" ag-box up demo --full
echo changed >"$project/one"; echo new >"$project/new"
rm -rf "$WORK/model"; copy_tree "$project" "$WORK/model"
on a env AGBOX_CRASH_LIST="$WORK/park-steps" ag-box park demo
free_and_whole

n=0
while read -r step; do
    n=$((n + 1))
    echo "--- killed at $step"
    on a env AGBOX_CRASH_AT="$step" ag-box up demo --full && continue # another order of threads
    [ $((n % 3)) != 0 ] || reboot a
    if [ $((n % 2)) = 1 ]; then
        on a ag-box up demo --full
        expect_same_tree "$project" "$WORK/model"
        expect_file "$project/.auth-secret" secret
    fi
    free_and_whole
done <"$WORK/up-steps"

while read -r step; do
    n=$((n + 1))
    echo "--- killed at $step"
    on a ag-box up demo --full
    echo "$n" >"$project/new"; rm -rf "$project/d"; mkdir "$project/d"; echo "$n" >"$project/d/$n"
    rm -rf "$WORK/model"; copy_tree "$project" "$WORK/model"
    on a env AGBOX_CRASH_AT="$step" ag-box park demo && continue
    [ $((n % 3)) != 0 ] || reboot a
    if [ $((n % 2)) = 1 ]; then
        on a ag-box up demo
        expect_same_tree "$project" "$WORK/model"
        expect_file "$project/.auth-secret" secret
    fi
    free_and_whole
done <"$WORK/park-steps"
[ "$(find "$WORK/store/box/demo/hold" -type f | wc -l)" = 0 ] || fail "a hold is left"
