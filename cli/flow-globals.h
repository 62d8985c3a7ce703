/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * flow-globals - the user's configuration to the store, and from there (index/FORMAT.md, "globals"). Needs a stack whose
 * store and box TEXT_GLOBALS are open.
 */

#include "cli/globals.h"

/* -ESTALE ERROR_HELD: another node has pushed since this one last agreed with the store. force: all the same. */
int flow_globals_push(struct stack *s, bool force, struct error *e);
/* force: though the store was rolled back. *ret_none: nothing was ever pushed, and nothing is done. */
int flow_globals_pull(struct stack *s, bool force, bool *ret_none, struct error *e);
