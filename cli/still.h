/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * still - the box kept from writing while its tree is walked, for a snapshot of one instant (rule V1).
 *
 * `_cleanup_(still_end) struct still s = STILL_NONE;`. A small process of its own (sandbox/group) thaws the box after
 * STILL_LIMIT_MS, and if we are killed.
 */

#include "cli/stack.h"

#define STILL_LIMIT_MS 10000 /* all tries together hold the box no longer */

struct still {
    int guard;
    int64_t since_ns, held_ns;
    bool one_instant; /* it was frozen from still_begin to still_end */
};

#define STILL_NONE                                                                                                     \
    {                                                                                                                  \
        .guard = -1                                                                                                    \
    }

/* 0: it is frozen. -ENOENT: no box runs, or it has no freezer. -ETIMEDOUT: it could not be stopped in time (a process
 * waits in the kernel, for the store perhaps); it runs. e says it. */
int still_begin(struct stack *s, struct still *ret, struct error *e);
void still_end(struct still *s); /* it runs again; twice is fine */
