/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * loop - the daemon's threads: take a request from /dev/fuse, have it processed, take the next (rule O11).
 *
 * The descriptor is the supervisor's, inherited and shared with whatever daemon comes next: it is never cloned, spliced
 * from, or made non-blocking. Every thread owns one slot (fusefs/requests) and reads straight into it.
 * Before anything else, every request that a predecessor left in a slot is done again (not forgets and interrupts).
 *
 * There is always a thread that listens: whoever takes a request and leaves nobody listening starts another one, up to
 * REQUESTS_SLOTS, and those beyond `threads` go when they are not needed. So reads that wait for an unreachable store,
 * however many, do not hold up what is in the cache.
 *
 * A task that waits for an answer cannot be killed by the kernel once its request was taken. So at FUSE_INTERRUPT, if
 * the waiting task has a SIGKILL pending, its request is answered with EINTR; other signals are no reason to fail a
 * call.
 */

#include "fusefs/requests.h"

#include <stdbool.h>

/* What the first answer to FUSE_INIT says and every later daemon must say too: the kernel keeps the first answer, and
 * refuses reads from /dev/fuse into less than 80 bytes more than this. It also bounds one read request. */
#define LOOP_MAX_WRITE (1024u * 1024)

struct loop_config {
    int fuse_fd;
    struct requests *requests;
    unsigned threads;                                            /* that stay; at least 1 */
    void (*process)(void *arg, const void *request, size_t len); /* answers; called from many threads */
    void (*ready)(void *arg);                                    /* threads listen; may be NULL */
    void (*ended)(void *arg); /* unmounted: end what still waits, so that all threads come home; may be NULL */
    void *arg;
};

/* Blocks until the file system is unmounted and every thread is back; 0. On an error (threads may be left) end the
 * process. */
int loop_run(const struct loop_config *c, struct error *e);

/* From within process: the request was not answered and is to stay in its slot, for the next daemon. */
void loop_keep_request(void);
