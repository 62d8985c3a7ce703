/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * retention - which snapshots of a box's line are kept (rule S3): its newest, and of each of the last so many hours,
 * days and weeks that have one, the last. Weeks begin on Monday; all in UTC, by the store's clock. No I/O.
 *
 * Not every snapshot object is on the line: parks that were killed, work that lost its lease and forks leave others
 * beside it. A snapshot is on the line if the head's root, or how one of the head's last leases ended, leads to it by
 * parents. Where prune has left gaps, parents lead nowhere; then it counts as on the line unless something speaks
 * against it: a fork names it, it is younger than the end of its own lease or than something of a later lease, or a
 * sibling (same parent) is on the line.
 * In doubt a snapshot is kept.
 */

#include "sync/head.h"

struct retention_policy {
    unsigned hourly, daily, weekly;
};

#define RETENTION_DEFAULT ((struct retention_policy){ 24, 7, 4 })

struct retention_item {
    struct snapshot_id id, parent;
    uint64_t epoch;
    int64_t time_ns; /* of its PUT, by the store's clock */
    bool fork;       /* a fork names it */
    bool condemned;  /* is no candidate any more, whatever the policy says now */
    /* set by retention_mark: */
    bool line, kept;
};

/* items: oldest first. */
void retention_mark(struct retention_item *items, size_t count, const struct head *h, const struct retention_policy *p);
