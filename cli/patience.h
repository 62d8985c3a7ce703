/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * patience - a command that waits for the daemon of a box says so, with whom it waits for and what to do about it.
 *
 * Whoever reads in a lazy tree waits in the kernel for the daemon's answers, however long, and hears no signal
 * meanwhile. So the daemon is asked beforehand, which Ctrl-C ends. A thread asks it again and again from then on: of
 * one that falls silent later Ctrl-C is heard once it, or the one that takes its place, has answered.
 */

#include "cli/stack.h"

struct patience;

/* Until the daemon of the stack's box answers. 0; 1: none is there; -EINTR ERROR_INTERRUPTED. */
int patience_ask(struct stack *s, struct error *e);
/* The same for whoever has more to do than this box: -ETIMEDOUT ERROR_BUSY after a few seconds. */
int patience_look(struct stack *s, struct error *e);
/* patience_ask, and the thread. `_cleanup_(patience_end) struct patience *p = NULL;`. */
int patience_begin(struct stack *s, struct patience **ret, struct error *e);
/* "the daemon of demo, pid 12, which is stopped: kill -CONT 12 lets it go on", malloc'd; daemon 0: not known. */
char *patience_whom(const char *box, pid_t daemon);
void patience_end(struct patience **p); /* NULL in it is fine */
