/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * requests - the memory in which requests outlive the daemon (rule O11).
 *
 * A memfd that the supervisor makes and every daemon maps: the kernel's first FUSE_INIT request, and one slot for each
 * thread of the daemon. A thread reads from /dev/fuse straight into its slot, so there is no moment between a request
 * being taken and being recorded; once it is answered the slot's unique is set to 0. What a new daemon finds in the
 * slots was taken by its predecessor and may not have been answered: it does it again. All our operations are reads,
 * and the kernel ignores a second answer.
 *
 * A slot holds REQUEST_MAX bytes: every request of a read-only mount fits. Only FUSE_BATCH_FORGET can be longer
 * (the kernel fills whatever buffer it is given); its tail goes to memory outside, as nobody reads it.
 * Each slot belongs to one thread at a time; the header is written by the supervisor before any daemon runs, but for
 * pids.
 */

#include "index/base/buf.h"
#include "index/base/error.h"

#include <sys/types.h>

#define REQUESTS_SLOTS 1024u /* at most so many requests at once */
#define REQUEST_MAX 8192u    /* FUSE_MIN_READ_BUFFER, two whole pages */
#define REQUEST_ATTEMPTS 20u /* then the request is answered with EIO: it may be what kills the daemon */

struct requests;

int requests_create(int *ret_fd, struct error *e);
int requests_open(int fd, struct requests **ret, struct error *e); /* maps; -EBADMSG ERROR_DAMAGED if it is not ours */
void requests_close(struct requests *s);                           /* unmaps; NULL is fine */

/* The saved FUSE_INIT request; empty before requests_save_init. */
int requests_save_init(struct requests *s, struct bytes request, struct error *e);
struct bytes requests_init(const struct requests *s);

/* For `status`: 0 when unknown. */
void requests_set_pids(struct requests *s, pid_t supervisor, pid_t daemon);
void requests_pids(const struct requests *s, pid_t *ret_supervisor, pid_t *ret_daemon);

/*
 * The memory of slot i: REQUEST_MAX bytes. requests_lock faults its pages in and locks them, because a SIGKILL while
 * the kernel copies into a page that is not there ends that request with EIO. Where locking is not allowed, touching
 * has to do.
 */
void *requests_slot(struct requests *s, unsigned i);
void requests_lock(struct requests *s, unsigned i);

uint64_t requests_pending(const struct requests *s, unsigned i); /* the unique of the request in slot i, 0: none */
unsigned requests_attempt(struct requests *s,
                          unsigned i); /* counts one more attempt at it; returns how many that makes */
void requests_done(struct requests *s, unsigned i);
