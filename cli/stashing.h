/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * stashing - excluded entries into the box's stash at the end of a park, and back at the next up here (rule T4).
 *
 * Both may be cut off anywhere and called again.
 */

#include "cli/view.h"
#include "index/stash.h"

/* From a parked box's tree, which is still there: the overlay (mounted again if it must be) or the directory moved
 * aside. left_out: of an overlay, what a walk of the still tree has left out; NULL: it is walked now. */
int stashing_take(struct stack *s, const struct stash_list *left_out, struct error *e);
/* Before the record's incarnation becomes next (NULL: a new one): where that is another, what the stash has is an
 * earlier box's, and nothing for one that only has its name. It is put beside, and told. */
int stashing_leave(struct stack *s, const uint8_t *next, struct error *e);
/* Into the tree, before anyone sees it. What stays in the stash is told to the user. */
int stashing_return(struct stack *s, struct error *e);
