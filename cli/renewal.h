/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * renewal - the thread that keeps a held lease alive (rule L3): once at its start, then every eighth of the time to
 * live (15 minutes of the default 2 hours), sooner again after a failure. It stops by itself when the lease is
 * freed; of a lost one it asks on, since a command may regain it (rule L5).
 */

#include "cli/stack.h"

struct renewal;

enum renewal_state { RENEWAL_UNVERIFIED, RENEWAL_HELD, RENEWAL_LOST, RENEWAL_ENDED };

/* The stack's store and box; the journal is opened anew for the thread. */
int renewal_start(struct stack *s, struct renewal **ret, struct error *e);
enum renewal_state renewal_get(struct renewal *r);
void renewal_held(struct renewal *r); /* somebody else has just verified it; until the first renewal here */
const char *renewal_state_name(enum renewal_state s);
void renewal_stop(struct renewal *r); /* waits; NULL is fine */
