/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * guess - has the page with a directory's first entries fetched while its name is still being looked up.
 *
 * A path is looked up name by name, and in a tree whose metadata is not here yet each name costs a round trip: the
 * page that holds the name, then the page with what is in it. Where the second lies does not depend on the first. So
 * whoever looks up "a/b" says so here, as if b were a directory, and both come at once. A guess that is wrong costs a
 * page that hydration would fetch a moment later; when all threads are busy it is dropped. Errors are left to whoever
 * needs the page. Safe from any thread.
 */

#include "index/tree.h"

struct guess;

int guess_new(struct tree *tree, struct guess **ret, struct error *e); /* tree is borrowed */
void guess_free(struct guess *g); /* waits for fetches under way: stop the source first; NULL is fine */
/* Something may soon be looked up in name, itself an entry of the directory at path. */
void guess_directory(struct guess *g, struct bytes path, const char *name);
void guess_end(struct guess *g); /* all metadata is here: from now on nothing is guessed */
