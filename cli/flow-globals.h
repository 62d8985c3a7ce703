/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * flow-globals - the user's configuration to the store, and from there (index/FORMAT.md, "globals"). Needs a stack
 * whose store and box TEXT_GLOBALS are open.
 */

#include "cli/globals.h"

/* -ESTALE ERROR_HELD: another node has pushed since this one last agreed with the store; force: all the same, which is
 * said. -ESTALE ERROR_DAMAGED: the store was rolled back, which accept_rollback takes as it is. */
int flow_globals_push(struct stack *s, bool force, bool accept_rollback, struct error *e);
/* accept_rollback: as above. *ret_none: nothing was ever pushed, and nothing is done. */
int flow_globals_pull(struct stack *s, bool accept_rollback, bool *ret_none, struct error *e);
