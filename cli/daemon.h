/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * daemon - what serves one box on this node while it is up: the lower's reads, hydration, the lease's renewal, and
 * answers on the box's socket.
 *
 * Runs under the supervisor for a lazy box; a full box has the same daemon without a file system (rule T2). It never
 * changes the box part of the journal. What it learns of first touches lies in box/NAME/access, for the next snapshot.
 *
 * Socket (fusefs/control): "status" answers hydrated (0-1), bytes_total, bytes_done, waiting_reads, cache_bytes,
 * daemon_pid, supervisor_pid, unreachable_s, lease ("held", "lost", "unverified"); "hydrate" answers when everything is
 * local; "stop" ends the daemon of a full box.
 */

#include "cli/view.h"

/* fuse: on the supervisor's descriptors; blocks until unmounted. Otherwise until "stop" or a signal. */
int daemon_run(struct stack *s, bool fuse, struct error *e);
