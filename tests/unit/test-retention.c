/* SPDX-License-Identifier: MIT */
#include "sync/retention.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define HOUR (3600 * 1000000000LL)
#define DAY (24 * HOUR)
#define MONDAY (4 * DAY) /* 1970-01-05 */
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static struct snapshot_id id(uint8_t n)
{
    return (struct snapshot_id){ { n } };
}

static struct retention_item item(uint8_t n, uint8_t parent, uint64_t epoch, int64_t time_ns)
{
    return (struct retention_item){ .id = id(n), .parent = id(parent), .epoch = epoch, .time_ns = time_ns };
}

static struct head head_of(uint8_t root, uint64_t epoch)
{
    return (struct head){ .root = id(root), .epoch = epoch, .state = HEAD_FREE };
}

/* "k" kept, "l" on the line, "-" beside it. */
static void expect(struct retention_item *items, size_t count, const struct head *h, unsigned hourly, unsigned daily,
                   unsigned weekly, const char *expected)
{
    char got[64] = "";
    retention_mark(items, count, h, &(struct retention_policy){ hourly, daily, weekly });
    for (size_t i = 0; i < count; i++)
        got[i] = items[i].kept ? 'k' : items[i].line ? 'l' : '-';
    assert_string_equal(got, expected);
}

static void the_last_of_each_period_is_kept(void **state)
{
    (void)state;
    struct retention_item n[] = {
        item(1, 0, 1, MONDAY),
        item(2, 1, 1, MONDAY + HOUR - 1),     /* the last of its hour */
        item(3, 2, 1, MONDAY + 2 * HOUR),     /* of its day */
        item(4, 3, 1, MONDAY + 7 * DAY - 1),  /* Sunday night: of its week */
        item(5, 4, 1, MONDAY + 7 * DAY),      /* the next Monday */
        item(6, 5, 1, MONDAY + 7 * DAY + 59), /* the same hour */
    };
    struct head h = head_of(6, 1);
    expect(n, COUNT(n), &h, 0, 0, 0, "lllllk"); /* the root, always */
    expect(n, COUNT(n), &h, 1, 0, 0, "lllllk");
    expect(n, COUNT(n), &h, 3, 0, 0, "llkklk");
    expect(n, COUNT(n), &h, 4, 0, 0, "lkkklk");
    expect(n, COUNT(n), &h, 0, 3, 0, "llkklk");
    expect(n, COUNT(n), &h, 0, 0, 2, "lllklk");
    expect(n, COUNT(n), &h, 24, 7, 4, "lkkklk");
}

static void what_is_condemned_is_no_candidate_and_takes_no_place(void **state)
{
    (void)state;
    struct retention_item n[] = { item(1, 0, 1, MONDAY), item(2, 1, 1, MONDAY + 1), item(3, 2, 1, MONDAY + DAY) };
    struct head h = head_of(3, 1);
    n[1].condemned = true;
    expect(n, COUNT(n), &h, 0, 2, 0, "klk");
}

/* A park that was killed after its snapshot object, and again: only what was committed is on the line. */
static void snapshots_that_were_never_committed_are_beside_the_line(void **state)
{
    (void)state;
    struct retention_item n[] = {
        item(1, 0, 1, MONDAY),       item(7, 1, 1, MONDAY + HOUR),    item(2, 1, 1, MONDAY + 2 * HOUR),
        item(3, 2, 2, MONDAY + DAY), item(8, 3, 2, MONDAY + 2 * DAY),
    };
    struct head h = head_of(3, 2);
    h.last_count = 1;
    h.last[0] = (struct head_last){ .epoch = 1, .root = id(2) };
    expect(n, COUNT(n), &h, 24, 7, 4, "k-kk-");
}

/* The gap is where prune has deleted; older ones are on the line although no parent leads to them. */
static void gaps_do_not_end_the_line(void **state)
{
    (void)state;
    struct retention_item n[] = { item(1, 0, 1, MONDAY), item(4, 3, 1, MONDAY + 2 * DAY),
                                  item(9, 8, 1, MONDAY + 9 * DAY) };
    struct head h = head_of(9, 1);
    expect(n, COUNT(n), &h, 24, 7, 4, "kkk");
}

/* Fails if a fork's snapshots were taken for the line's: then they push the line's own out of their places. */
static void work_of_a_lost_lease_is_beside_the_line(void **state)
{
    (void)state;
    struct retention_item n[] = {
        item(1, 0, 1, MONDAY),               /* */
        item(2, 1, 2, MONDAY + DAY),         /* the end of epoch 2 */
        item(5, 99, 2, MONDAY + 3 * DAY),    /* beside it: a fork since dropped, its parent is gone */
        item(3, 2, 3, MONDAY + 3 * DAY - 1), /* the taker's */
        item(6, 98, 1, MONDAY + 4 * DAY),    /* a fork that exists */
    };
    n[4].fork = true;
    struct head h = head_of(3, 3);
    h.last_count = 1;
    h.last[0] = (struct head_last){ .epoch = 2, .root = id(2) };
    struct retention_item sorted[] = { n[0], n[1], n[3], n[2], n[4] };
    expect(sorted, COUNT(sorted), &h, 0, 3, 0, "kkk--");
}

/* How its lease ended has been pruned, too: that a later lease's work is older tells. */
static void what_a_lost_lease_left_long_ago_is_beside_the_line(void **state)
{
    (void)state;
    struct retention_item n[] = { item(3, 99, 3, MONDAY), item(5, 98, 2, MONDAY + 1), item(4, 97, 4, MONDAY + DAY) };
    struct head h = head_of(4, 4);
    h.last_count = 2;
    h.last[0] = (struct head_last){ .epoch = 3, .root = id(3) };
    h.last[1] = (struct head_last){ .epoch = 2, .root = id(96) };
    expect(n, COUNT(n), &h, 24, 7, 4, "k-k");
}

static void a_ring_of_parents_ends(void **state)
{
    (void)state;
    struct retention_item n[] = { item(1, 2, 1, MONDAY), item(2, 1, 1, MONDAY + 1) };
    struct head h = head_of(2, 1);
    expect(n, COUNT(n), &h, 24, 0, 0, "lk");
    expect(NULL, 0, &h, 24, 7, 4, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_of_each_period_is_kept),
        cmocka_unit_test(what_is_condemned_is_no_candidate_and_takes_no_place),
        cmocka_unit_test(snapshots_that_were_never_committed_are_beside_the_line),
        cmocka_unit_test(gaps_do_not_end_the_line),
        cmocka_unit_test(work_of_a_lost_lease_is_beside_the_line),
        cmocka_unit_test(what_a_lost_lease_left_long_ago_is_beside_the_line),
        cmocka_unit_test(a_ring_of_parents_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
