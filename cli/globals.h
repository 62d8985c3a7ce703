/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * globals - the user's configuration that all nodes share: which files it is, and how it gets out of HOME and into it.
 *
 *     $AGBOX_STATE_DIR/globals/journal.db, command, head   as a box has them (cli/place)
 *                             /home                        what the next push sends: HOME's places as they were found
 *                             /last                        as HOME and the store last agreed: by a push or a pull
 *                             /next                        what a pull is about to put into HOME
 *                             /kept/pull-NUMBER-TIME/      what pulls took away of what was changed here; for 30 days
 *                                                  by the store's clock, of the last 100 that did; the last one stays
 *
 * The places are those that a box sees read-only (sandbox/host), and the agents' settings. No login is among them, but
 * for gh's token: nodes that shared an agent's login would make it worthless for each other, as each refresh does. In
 * HOME links are followed to a place when it is read, as its user has made them; never when it is written.
 */

#include "cli/stack.h"
#include "index/mirror.h"

/* HOME's places to `home`. -ENOENT: a link to one leads nowhere, which is no removal. */
int globals_collect(struct stack *s, struct mirror_stats *ret, struct error *e);
/* from: a directory of globals/ to HOME, with what was changed here since `last` to `kept`, now_ns being the store's
 * time. One place's failure does not stop the others: the first is what is returned. *ret_kept: paths (objects of path,
 * path_b64), and where they are now, malloc'd; NULL: nothing was kept. */
int globals_apply(struct stack *s, const char *from, int64_t now_ns, struct mirror_stats *ret, json_t *ret_kept,
                  char **ret_where, struct error *e);
/* `last` becomes a copy of `home`. */
int globals_agree(struct stack *s, struct error *e);
/* `next`, empty; an open directory. */
int globals_begin(struct stack *s, struct error *e);
/* `next` takes the place of `last`. */
int globals_finish(struct stack *s, struct error *e);
/* What a pull that was killed had kept half of goes: the whole is still in its place. Under the `command` lock, before
 * anything else is done with globals. */
void globals_sweep(struct stack *s);
bool globals_have(struct stack *s, const char *directory); /* one of globals/ */
/* Makes an empty directory in globals/. */
int globals_make(struct stack *s, const char *directory, struct error *e);
