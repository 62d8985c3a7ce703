/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * pool - a bounded queue in front of a fixed number of threads.
 *
 * pool_run blocks while the queue is full, so memory stays bounded. The first job that fails ends the pool's useful
 * life: later jobs are dropped (their free function is called) and pool_wait returns that error. Jobs may be submitted
 * from any thread except from a job of the same pool.
 */

#include "index/base/error.h"

struct pool;

/* threads >= 1, queue >= 1. */
int pool_new(unsigned threads, unsigned queue, struct pool **ret, struct error *e);
/*
 * work(arg, e): 0 or -errno; it owns arg. drop(arg) is called instead of work when the pool has failed; may be NULL.
 * Returns the pool's first error once there is one (arg was dropped), so that a producer can stop.
 */
int pool_run(struct pool *p, int (*work)(void *arg, struct error *e), void (*drop)(void *arg), void *arg,
             struct error *e);
/* Until the queue is empty and all threads idle; 0 or the first error. */
int pool_wait(struct pool *p, struct error *e);
void pool_free(struct pool *p);                 /* waits, joins, frees; NULL is fine */
