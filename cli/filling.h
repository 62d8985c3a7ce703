/* SPDX-License-Identifier: MIT */
#pragma once

/* filling - index/fill with what a command has: a view, progress on the terminal, Ctrl-C. */

#include "cli/view.h"
#include "index/fill.h"

/* from: "project" or "home". to: an open directory. lost: how many names are left out because the store has them
 * damaged, the first of which are warned of; NULL: the first one is an error. */
int filling_run(struct stack *s, struct view *v, const char *from, int to, bool resume, uint64_t *lost,
                struct fill_stats *ret, struct error *e);
