/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * ways - the pages on the way from a tree's root to many entries, brought here together.
 *
 * Level by level, so that each level is one batch of merged requests (source_warm), and only pages on the way to one of
 * the entries are asked for.
 */

#include "index/links.h"
#include "index/tree.h"

/*
 * Before it is known which entries will be asked for: whole levels above the leaves, as long as they have at most so
 * many pages. A hint: what goes wrong here goes wrong again, and is said, where the page is read.
 */
#define WAYS_BEGIN_PAGES 64
void ways_begin(struct tree *t, struct source *s);
/* To every name of the groups and to each directory above it. -EBADMSG ERROR_DAMAGED: a page is none. */
int ways_to_links(struct tree *t, struct source *s, const struct link_group *groups, size_t count, struct error *e);
/*
 * The same pages for whoever does something else with them: told level by level from below the root down to `lowest`,
 * each once and in the order of keys. Those of a level must be readable when the next one is to be told.
 */
typedef int (*ways_level)(void *arg, const struct locator *pages, size_t count, struct error *e);
int ways_each(struct tree *t, const struct link_group *groups, size_t count, int lowest, ways_level each, void *arg,
              struct error *e);
