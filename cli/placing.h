/* SPDX-License-Identifier: MIT */
#pragma once

/* placing - before a box comes up: is it for this node, and if not, up on the one that it is for (cli/scheduler). */

#include "cli/cmd.h"

/*
 * Of `up`. *ret_done: it was another node's, and that has said all there is to say. --local never looks further: it is
 * what the other node is called with, and the end of every chain.
 */
int placing_elsewhere(struct cmd_context *c, bool *ret_done, struct error *e);
