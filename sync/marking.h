/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * marking - what of a box must stay, what may be condemned, and what of the condemned may be deleted now (rule S3,
 * FORMAT.md "prune" and attacks 12 and 13). Reads only.
 *
 * Must stay: what retention keeps, what holds and forks name, snapshots beside the line younger than MARKING_GRACE_NS
 * (their fork or commit may be on its way), and every pack that one of these reaches; further all packs younger than
 * that, and those of a writer whose hold or fork exists. Times are the store's.
 *
 * Whoever lists a snapshot or pack as condemned never takes it off the list while it exists, not even when a hold
 * covers it: it is only not deleted as long as that lasts. So that whoever reads a head without it in the list, after
 * putting his hold, can be sure that no prune, suspended for however long, is about to delete it.
 *
 * A box with a damaged snapshot object, hold or fork is left alone: -EBADMSG ERROR_DAMAGED names it, because nobody
 * knows what it needs. Other errors are the store's and the source's.
 */

#include "index/reached.h"
#include "sync/condemned.h"
#include "sync/inventory.h"
#include "sync/retention.h"

#define MARKING_GRACE_NS (24 * 3600 * INT64_C(1000000000))

struct marking_config {
    struct store *store;
    struct seal_context seal;
    struct source *source;             /* for pages and lists of extents */
    const struct head *head;           /* read before anything is listed here */
    const struct condemned *condemned; /* what it names */
    struct retention_policy policy;
};

struct marking {
    struct inventory inventory;
    struct retention_item *items; /* one for each snapshot of the inventory */
    bool *stays;                  /* likewise: it is covered */
    uint64_t *held_bytes;         /* one for each hold: packs that nothing before it in this order keeps */
    struct condemned next; /* the list to be named: what is condemned already and still exists, and new garbage */
    struct condemned due;  /* of it: uncovered, and condemned for MARKING_GRACE_NS */
    uint64_t due_bytes, garbage_bytes; /* of due; of all in next that is uncovered */
    size_t fresh;                      /* entries of next that the old list does not have */
};

/* The snapshots of the inventory by retention (one for each, malloc'd): c is what h names. */
struct retention_item *marking_items(const struct inventory *v, const struct head *h, const struct condemned *c,
                                     const struct retention_policy *p);
int marking_run(const struct marking_config *c, struct marking *ret, struct error *e);
void marking_release(struct marking *m);
