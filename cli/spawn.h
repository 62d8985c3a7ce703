/* SPDX-License-Identifier: MIT */
#pragma once

/* spawn - this program once more, away from the terminal, as a daemon that says when it is ready (fusefs/supervisor).
 */

#include "index/base/error.h"

#include <sys/types.h>

/*
 * Starts `ag-box command argument`, its messages appended to the file log, and waits until it is ready (0) or has
 * failed (its error). ret_pid: our child, for waitpid(2); may be NULL.
 */
int spawn_daemon(const char *command, const char *argument, const char *log, pid_t *ret_pid, struct error *e);

/* The same in two steps: a daemon that starts early and does no more than it may before the word (supervisor_await). */
struct spawned {
    pid_t pid; /* 0: none */
    int ready, word;
};
int spawn_early(const char *command, const char *argument, const char *log, struct spawned *ret, struct error *e);
int spawn_finish(struct spawned *s, const char *argument, const char *log,
                 struct error *e); /* s: none, also on errors */
/* Waits for its word (fusefs/supervisor_wait), and after a while says for what. */
int spawn_await(int ready, const char *what, const char *log, struct error *e);
/* Returns when it has ended; what does not end by itself within a second is killed. None is fine. */
void spawn_give_up(struct spawned *s);
