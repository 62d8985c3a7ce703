/* SPDX-License-Identifier: MIT */
#include "sync/retention.h"

#include <string.h>

#define HOUR_NS (3600 * 1000000000LL)
#define DAY_NS (24 * HOUR_NS)

static struct retention_item *find(struct retention_item *items, size_t count, const struct snapshot_id *id)
{
    for (size_t i = count; i-- > 0;)
        if (snapshot_id_equal(&items[i].id, id))
            return &items[i];
    return NULL;
}

/* Whatever leads from id to older ones by parents; ends at what is marked already, so that a ring of parents does. */
static void follow(struct retention_item *items, size_t count, const struct snapshot_id *id)
{
    struct retention_item *n = find(items, count, id);
    while (n && !n->line) {
        n->line = true;
        n = find(items, count, &n->parent);
    }
}

static bool younger_than_its_lease(struct retention_item *items, size_t count, const struct head *h,
                                   const struct retention_item *n)
{
    const struct snapshot_id *end = NULL;
    if (n->epoch == h->epoch)
        end = &h->root;
    for (size_t i = 0; !end && i < h->last_count; i++)
        if (h->last[i].epoch == n->epoch)
            end = &h->last[i].root;
    const struct retention_item *last = end ? find(items, count, end) : NULL;
    return last && n->time_ns > last->time_ns;
}

/* Epochs never fall along the line. */
static bool younger_than_a_later_lease(const struct retention_item *items, size_t count, const struct retention_item *n)
{
    for (size_t i = 0; i < count; i++)
        if (items[i].line && items[i].epoch > n->epoch && items[i].time_ns < n->time_ns)
            return true;
    return false;
}

static bool has_sibling_on_the_line(const struct retention_item *items, size_t count, const struct retention_item *n)
{
    if (snapshot_id_none(&n->parent))
        return false;
    for (size_t i = 0; i < count; i++)
        if (items[i].line && snapshot_id_equal(&items[i].parent, &n->parent))
            return true;
    return false;
}

static void mark_line(struct retention_item *items, size_t count, const struct head *h)
{
    follow(items, count, &h->root);
    for (size_t i = 0; i < h->last_count; i++)
        follow(items, count, &h->last[i].root);
    /* From young to old, so that what is judged later is judged by what is surely younger on the line. */
    for (size_t i = count; i-- > 0;) {
        struct retention_item *n = &items[i];
        if (!n->line && !n->fork && !younger_than_its_lease(items, count, h, n) &&
            !younger_than_a_later_lease(items, count, n) && !has_sibling_on_the_line(items, count, n))
            follow(items, count, &n->id);
    }
}

/* The youngest of each of the last `wanted` periods that have one. */
static void keep(struct retention_item *items, size_t count, unsigned wanted, int64_t period_ns, int64_t shift_ns)
{
    int64_t last = INT64_MIN;
    for (size_t i = count; wanted > 0 && i-- > 0;) {
        if (!items[i].line || items[i].condemned)
            continue;
        int64_t period = (items[i].time_ns + shift_ns) / period_ns;
        if (period == last)
            continue;
        last = period;
        items[i].kept = true;
        wanted--;
    }
}

void retention_mark(struct retention_item *items, size_t count, const struct head *h, const struct retention_policy *p)
{
    for (size_t i = 0; i < count; i++)
        items[i].line = items[i].kept = false;
    mark_line(items, count, h);
    keep(items, count, p->hourly, HOUR_NS, 0);
    keep(items, count, p->daily, DAY_NS, 0);
    keep(items, count, p->weekly, 7 * DAY_NS, 3 * DAY_NS); /* 1970 began on a Thursday */
    struct retention_item *root = find(items, count, &h->root);
    if (root)
        root->kept = true;
}
