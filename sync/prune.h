/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * prune - deletes what of a box nobody needs any more, in two steps a day apart (rule S3; the steps and what a crash
 * after each leaves: FORMAT.md, "prune"; the argument: attacks 12 and 13).
 *
 * A prune condemns what the marking finds uncovered, by a list that the head names, and deletes what an earlier prune
 * condemned more than 24 hours ago by the store's clock if this one's marking finds it uncovered still. Works on a head
 * that is free, or held by this very node, under the box's `command` lock. Deletes come in batches; before each the
 * head is read again. Whoever takes a free head meanwhile ends the prune (-ESTALE ERROR_HELD), without harm.
 */

#include "sync/lease.h"
#include "sync/marking.h"

struct prune_config {
    struct lease *lease;   /* its record is resolved: nothing is in doubt */
    struct source *source; /* over the same store */
    struct retention_policy policy;
    bool dry_run; /* nothing is written: what would be condemned and deleted */
};

struct prune_result {
    struct marking marking; /* as it was found, before anything was deleted */
    size_t deleted_snapshots, deleted_packs;
    size_t old_lists; /* condemned lists that no head named, removed */
};

/* Errors: those of marking and lease; -EBUSY ERROR_HELD: another node has the box · -ENOENT ERROR_UNKNOWN: no such box.
 */
int prune_run(const struct prune_config *c, struct prune_result *ret, struct error *e);
void prune_result_release(struct prune_result *p);
