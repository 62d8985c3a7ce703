/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * strays - holds that this node's state made and nothing here knows of any more: left by a crash between a hold's PUT
 * and the end of what it was for (rule S2).
 */

#include "cli/stack.h"

/*
 * Removes those of the stack's box. Needs store and name; the journal may be absent. The holds are listed first and
 * only then it is asked what is known here: whoever makes a hold has written that down before. ret_count may be NULL.
 */
int strays_remove(struct stack *s, size_t *ret_count, struct error *e);
