# SPDX-License-Identifier: MIT
# A live snapshot of a box that writes all the time is of one instant, for which the box is still for less than a second;
# a process that waits for the store does not hold it beyond the deadline.
# lane: wait
# limit: 240
BOXES=yes
. "$TESTS/lib.sh"

store fault
node a BOX_HYDRATE=off
project="$WORK/project"
mkdir -p "$project"
for i in $(seq 200); do echo "$i" >"$project/$i"; done
head -c 3000000 /dev/urandom >"$project/big"
# Twenty files in turn, then "last": at one instant their numbers only fall, by at most one.
cat >"$project/write" <<'W'
i=0
while :; do
    i=$((i + 1))
    for n in $(seq 20); do
        echo $i >tmp
        mv tmp "turn$n"
    done
    echo $i >tmp
    mv tmp last
done
W
on a ag-box track demo "$project"
on a ag-box park demo
lose_cache a # big is read from the store
on a ag-box up demo

on a ag-box exec -d demo -- sh "$project/write"
on a sh -c "while [ ! -e '$project/last' ]; do sleep 0.01; done"
for round in 1 2 3; do
    on a ag-box snapshot --json demo >"$WORK/said"
    cat "$WORK/said"
    [ "$(json_field "$WORK/said" one_instant)" = true ] || fail "not of one instant"
    [ "$(json_field "$WORK/said" frozen_ms)" -lt 1000 ] || fail "the box was still for too long"
    on a ag-box restore demo "$WORK/restored-$round"
    before=
    for n in $(seq 20); do
        now=$(cat "$WORK/restored-$round/turn$n")
        [ -z "$before" ] || [ "$before" = "$now" ] || [ "$before" = $((now + 1)) ] || fail "turn$n is $now, the one before $before"
        before=$now
    done
    [ "$before" -le $(($(cat "$WORK/restored-$round/last") + 1)) ] || fail "last is older than one turn"
done

# A process that waits for content which does not come holds the others up for no longer than the deadline.
fault delay 20000 --op GET --key 'box/demo/pack/*' --times 1
on a ag-box exec -d demo -- sh -c "cat '$project/big' >/dev/null"
fault await --op GET --key 'box/demo/pack/*' --timeout 30
was=$(on a cat "$project/last")
on a ag-box snapshot --json demo >"$WORK/said" || fail "the snapshot failed"
cat "$WORK/said"
[ "$(json_field "$WORK/said" frozen_ms)" -le 10000 ] || fail "the box was still beyond the deadline"
on a sh -c "while [ \"\$(cat '$project/last')\" = $was ]; do sleep 0.05; done" # it writes on

# What was sent counts as sent, also what went ahead while the box wrote on.
for command in snapshot park; do
    on a ag-box exec demo -- sh -c "head -c 24000000 /dev/urandom >'new-$command'"
    on a ag-box $command --json demo >"$WORK/said"
    cat "$WORK/said"
    sent=$(json_field "$WORK/said" sent_bytes)
    ((sent > 24000000 && sent < 30000000)) || fail "$command says that $sent bytes were sent"
done
