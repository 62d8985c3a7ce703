/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * group - the control groups that hold a box, so that it can be frozen: one made below the keeper's own in cgroup v2,
 * and in v1's freezer hierarchy where there is one.
 *
 * Below its own: what limits the keeper's unit limits the box. Where neither hierarchy can be written, a box has none,
 * and freezing says so. The names of what is left of a keeper that was killed do not stand in the way.
 */

#include "index/base/error.h"

#include <stdbool.h>
#include <sys/types.h>

struct group {
    char *v2, *v1; /* directories; NULL: none */
};

/* Makes the keeper's, as far as that can be done, and takes away those of keepers that were killed. */
void group_make(const char *name, struct group *ret);
void group_enter(const struct group *g);  /* the calling process, which may have been forked: no memory is allocated */
/* Whoever has frozen it: in a user namespace a box can freeze itself, and v1's groups that it has made below its own,
 * in which nothing dies of KILL until then. */
void group_wake(const struct group *g);
void group_remove(struct group *g);       /* it must be empty; frees */

/* Of a box that runs. -ENOENT ERROR_FAILED: it has none. */
int group_find(const char *name, pid_t keeper, struct group *ret, struct error *e);
void group_release(struct group *g);

/*
 * Freezes all that is in it; from then on the file descriptor *ret_guard keeps it so. It thaws when that is closed,
 * however that happens, and after limit_ms in any case: a small process of its own sees to that. -ETIMEDOUT ERROR_BUSY:
 * not everything has stopped within wait_ms (a task waits in the kernel); thawed again.
 */
int group_freeze(const struct group *g, unsigned wait_ms, unsigned limit_ms, int *ret_guard, struct error *e);
/* Closes the guard and waits until it is thawed. -ETIMEDOUT ERROR_FAILED: the guard had thawed it before, by its limit.
 */
int group_thaw(int guard, struct error *e);
