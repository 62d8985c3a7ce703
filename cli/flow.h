/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * flow - the long commands, step by step as the crash tables of index/FORMAT.md have them.
 *
 * Each takes a stack whose store and box are open (and locked); the state table decides what it may begin with.
 */

#include "cli/saving.h"
#include "sync/lease.h"

/* How to see this node in the lease protocol. */
int flow_lease(struct stack *s, struct lease *ret, struct error *e);

struct flow_up_options {
    bool force, full, accept_rollback;
    const char *from; /* a snapshot id, prefix or fork:…; NULL: the head's */
};

int flow_track(struct stack *s, const char *path, struct error *e);
int flow_up(struct stack *s, const struct flow_up_options *o, struct error *e);
int flow_park(struct stack *s, struct error *e);
/* The live snapshot of one box. */
int flow_snapshot(struct stack *s, struct error *e);
/* Work of a lost lease: into a fork, verified (L5). The record is `fenced` before and has `fork` after. */
int flow_fork(struct stack *s, struct error *e);
/* Step P8: detach, stash, free the upper, drop the hold, journal none. Idempotent. */
int flow_clean(struct stack *s, struct error *e);
