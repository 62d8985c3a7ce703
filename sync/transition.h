/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * transition - whether a change may be made to a head, and the head it makes: the rows of FORMAT.md's "Transitions". No
 * I/O.
 */

#include "sync/node.h"
#include "sync/outcome.h"

struct transition {
    enum journal_write_kind kind;
    struct snapshot_id root; /* create, commit */
    bool frees;
    enum box_state then;    /* for the journal's row */
    const char *pin, *path; /* NULL: as they are */
    bool force;             /* acquire: a live foreign lease too; drop: an expired one */
    bool regain;            /* acquire: only while nobody has committed since (rule L5) */
    int (*check)(void *arg, const struct head *h, struct error *e); /* acquire: pin and path; may be NULL */
    void *arg;
    char based_on[STORE_ETAG_MAX]; /* prune: the one head it may change */
    const char *condemned;         /* prune: NULL: as it is */
    bool end;                      /* prune: to free, not to pruning */
    bool daemon;                   /* renew: only while the journal holds a lease */
};

struct transition_from { /* who changes it */
    const char *box;
    const struct box_record *record;
    const struct node *node;
    uint64_t ttl_s;
};

const char *transition_name(const struct transition *t);
/* Changes h, whose seq is 0 when there is none, into what is to be PUT, but for `write`; h is undefined on failure.
 * Errors: sync/lease.h. */
int transition_apply(const struct transition *t, const struct transition_from *f, struct head *h, struct error *e);
