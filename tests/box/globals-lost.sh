# SPDX-License-Identifier: MIT
# Globals over S3: an answer that is lost is found out, what is asked for is counted, and two pushes at once leave one of the two.
# limit: 180
. "$TESTS/lib.sh"

store fault
node a
node b
node c
A="$WORK/node/a/home" B="$WORK/node/b/home" C="$WORK/node/c/home"
mkdir -p "$A/.claude/skills/s"
echo one | tee "$A/.gitconfig" "$A/.claude/skills/s/SKILL.md" >"$A/.claude/CLAUDE.md"

# The first push creates the head and frees it; a later one acquires and commits. Each answer of them is lost once.
fault drop-response --key globals/head --op PUT --times 1
on a ag-box globals push
expect_commits globals/head 2
for lost in 1 2; do
    echo "two $lost" >"$A/.claude/CLAUDE.md"
    fault reset
    fault drop-response --key globals/head --op PUT --times "$lost"
    on a ag-box globals push
    expect_commits globals/head 2
    on b ag-box globals pull
    expect_file "$B/.claude/CLAUDE.md" "two $lost"
done
expect_file "$B/.claude/skills/s/SKILL.md" one

# Nothing changed: one request. Changed: a hold, a pack of content and one of pages, a snapshot, LIST, the head twice.
fault reset
on a ag-box globals push
[ "$(fault_counter requests)" = 1 ] || fail "a push of nothing: $(fault log)"
fault reset
on b ag-box globals pull
[ "$(fault_counter requests)" = 1 ] || fail "a pull of nothing: $(fault log)"
echo three >"$A/.claude/CLAUDE.md"
fault reset
on a ag-box globals push
[ "$(fault_counter requests)" -le 10 ] || fail "a push of one file: $(fault log)"
[ "$(fault_counter bytes_in)" -le 40000 ] || fail "a push of one file sends $(fault_counter bytes_in) bytes"

# The store goes away between the packs and the head: nothing is changed for the others, and the next push goes on.
echo four >"$A/.claude/CLAUDE.md"
fault status 503 --key globals/head --op PUT --times 1000
code=0
on a ag-box globals push || code=$?
[ "$code" = 5 ] || [ "$code" = 6 ] || fail "exit $code without a head"
on b ag-box globals pull
expect_file "$B/.claude/CLAUDE.md" three
fault clear
on a ag-box globals push
on b ag-box globals pull
expect_file "$B/.claude/CLAUDE.md" four

# Ctrl-C while content is on its way, out and in.
stopped() { # stopped NODE VERB OP
    fault await --op "$3" --key 'globals/pack/*' --timeout 60
    kill -INT "$(cat "$WORK/pid")"
    local code=0
    wait $! || code=$?
    cat "$WORK/error"
    [ "$code" = 130 ] || fail "exit $code after Ctrl-C"
    expect_error "ag-box globals $2\` goes on"
    fault clear
}
head -c 300000 /dev/urandom >"$A/.claude/skills/s/large"
fault reset
fault stall 600000 --key 'globals/pack/*' --op PUT --times 100
on a sh -c 'echo $$ >"$1/pid"; exec ag-box globals push' sh "$WORK" >"$WORK/output" 2>"$WORK/error" &
stopped a push PUT
on a ag-box globals push
fault reset
fault stall 600000 --key 'globals/pack/*' --op GET --times 100
on b sh -c 'echo $$ >"$1/pid"; exec ag-box globals pull' sh "$WORK" >"$WORK/output" 2>"$WORK/error" &
stopped b pull GET
expect_missing "$B/.claude/skills/s/large"
on b ag-box globals pull
cmp "$A/.claude/skills/s/large" "$B/.claude/skills/s/large"
[ -z "$(fault keys globals/hold/)" ] || fail "a hold is left: $(fault keys globals/hold/)"

# Two at once. Whoever is late is refused, or pushes what it has, when it is told to, after the other.
on c ag-box globals pull
for turn in 1 2 3 4 5 6; do
    for name in a c; do
        echo "$turn of $name" | tee "$WORK/node/$name/home/.gitconfig" >"$WORK/node/$name/home/.claude/CLAUDE.md"
    done
    on a ag-box globals push --force >"$WORK/a" 2>&1 &
    first=$!
    other=0
    on c ag-box globals push --force >"$WORK/c" 2>&1 || other=$?
    code=0
    wait $first || code=$?
    case "$code $other" in '0 0' | '0 3' | '3 0') ;; *) fail "turn $turn: exits $code, $other: $(cat "$WORK/a" "$WORK/c")" ;; esac
    on b ag-box globals pull
    [ "$(cat "$B/.gitconfig")" = "$(cat "$B/.claude/CLAUDE.md")" ] || fail "turn $turn: a mixture"
    case $(cat "$B/.gitconfig") in "$turn of a" | "$turn of c") ;; *) fail "turn $turn: neither" ;; esac
done
on a ag-box check
