/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * outcome - what became of the head PUTs in the journal, decided against a head that was read (rule L2). No I/O.
 *
 * The rules, in their order, and why they suffice: FORMAT.md, "How an outcome is decided". An absent head is one with
 * seq 0. A head older than the newest decides nothing wrongly: what it leaves open a newer one decides.
 */

#include "index/journal.h"
#include "sync/head.h"

enum outcome { OUTCOME_OPEN, OUTCOME_DONE, OUTCOME_NEVER };

enum lease_standing {
    LEASE_OURS,     /* held in our epoch, written by us */
    LEASE_REGAIN,   /* not ours, but nobody has committed since, and it may be taken: rule L5's first half */
    LEASE_LOST,     /* another's, or somebody has committed */
    LEASE_REPLACED, /* the box was dropped, or is another of the same name */
};

enum outcome outcome_of(const struct journal_write *w, const struct box_record *r, const struct head *h);
enum lease_standing outcome_standing(const struct box_record *r, const struct head *h);

/*
 * Decides every pending write: what is decided leaves the record, what has happened changes it (state, epoch,
 * committed, own, freed) and is copied to ret_done, which has room for JOURNAL_WRITES_MAX. lease_only (the daemon):
 * only renewals and prunes are decided, nothing but the lease part changes. Returns whether the record changed.
 */
bool outcome_settle(struct box_record *r, const struct head *h, bool lease_only, struct journal_write *ret_done,
                    size_t *ret_count);
