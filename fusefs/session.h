/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * session - libfuse's half of the daemon: requests in, calls of lower's operations, answers out.
 *
 * Every daemon, the first too, feeds the saved FUSE_INIT to its session, without which libfuse answers EIO to
 * everything. The kernel takes the first answer and refuses later ones, which is as it should be: every daemon says the
 * same. That answer passes through our hands, since libfuse (3.14) knows FUSE_PARALLEL_DIROPS but never tells the
 * kernel: without it lookups in one directory wait for each other, for the store too.
 */

#include "fusefs/lower.h"

struct session;

int session_open(struct lower *lower, int fuse_fd, struct session **ret, struct error *e); /* fuse_fd is borrowed */
int session_init(struct session *s, struct bytes request, struct error *e);                /* first, once */
void session_process(struct session *s, const void *request, size_t len);                  /* many threads */
void session_close(struct session *s);                                                     /* NULL is fine */
