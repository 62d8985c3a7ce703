/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * withdrawn - entries of the base that rules cover by now (rule T4), as deletions merged into a stream of changes.
 *
 * Left out of the list is what the upper layer holds under the same path: its walker judges that, links included.
 * Memory is that of the keys withdrawn. One thread.
 */

#include "index/change.h"
#include "index/excluded.h"
#include "index/tree.h"

struct withdrawn;

typedef int (*withdrawn_tell)(void *arg, const char *path, bool directory, struct error *e);

/* An empty list passes everything through. each, arg: where the merged stream goes. */
struct withdrawn *withdrawn_new(change_each each, void *arg);
void withdrawn_free(struct withdrawn *w); /* NULL is fine */
/* Fills the list from base; tell (may be NULL) hears of every topmost path. */
int withdrawn_collect(struct withdrawn *w, struct tree *base, int upper, struct excluded *rules, withdrawn_tell tell,
                      void *arg, struct error *e);

int withdrawn_change(void *withdrawn, const struct change *c, struct error *e); /* a change_each */
int withdrawn_finish(struct withdrawn *w, struct error *e);
