# SPDX-License-Identifier: MIT
# Every file has an inode number of its own, however it came to where it is (rule O9): where two had one, cp says that
# they are the same file, and diff that they do not differ.
. "$TESTS/lib.sh"

store file
node a
node b
project="$WORK/project"
mkdir -p "$project/directory"
echo content | tee "$project/file" "$project/other" "$project/directory/file" >/dev/null
on a ag-box track demo "$project"
on a ag-box park demo

numbers_differ() { # on NODE
    on "$1" find "$project" -type f -printf '%i\n' | sort | uniq -d >"$WORK/twice"
    [ ! -s "$WORK/twice" ] || fail "$(on "$1" find "$project" -type f -printf '%i %P, ')"
}

# Copied back to where it was moved away from: with a snapshot of before, and without.
on a ag-box up demo
on a sh -c 'cd "$1" && mv file file.old && cp -a file.old file && mv directory moved && cp -a moved directory' - "$project"
on a ag-box park demo
on b ag-box up demo
numbers_differ b
on b sh -c 'cd "$1" && touch -d @99 other' - "$project"
on b ag-box snapshot demo
on b sh -c 'cd "$1" && mv other other.old && cp -a other.old other' - "$project"
on b ag-box park demo
on a ag-box up demo
numbers_differ a
on a ag-box park demo
