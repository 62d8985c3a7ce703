/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * lock - one holder of a name among the processes of this node: flock(2) on a file that is never removed.
 *
 * The lock goes with the descriptor (and with the process, however it ends). Descriptors are O_CLOEXEC, so a child
 * does not keep it. Waiting polls with a growing pause, so that Ctrl-C and the limit both work;
 * signals are let in only during the pauses, so that none is lost between two.
 */

#include "index/base/error.h"

/*
 * Opens (mode 0600) dir/name and takes the exclusive lock, waiting at most wait_ms (0: one try). Returns the descriptor
 * in ret_fd. -EWOULDBLOCK, ERROR_BUSY when someone else keeps it; the text names the holder's pid and program where the
 * file tells (the holder writes "pid comm\n" into it). A signal with a handler ends the wait: -EINTR,
 * ERROR_INTERRUPTED.
 */
int lock_take(int dir, const char *name, unsigned wait_ms, int *ret_fd, struct error *e);
/* The same for a descriptor that is open, under whatever name; flock(fd, LOCK_UN) gives it back. */
int lock_wait(int fd, const char *name, unsigned wait_ms, struct error *e);
