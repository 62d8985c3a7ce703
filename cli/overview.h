/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * overview - this node at a glance, for `status`: who it is, what it gives a box, whether the store answers and how
 * much is in it, whether the timers run.
 *
 * Nothing that is asked here may hold up the answer: the store is asked once, and what does not answer is said.
 */

#include "cli/config.h"
#include "cli/ui.h"

/* Prints its lines and adds their fields. */
void overview_print(const struct config *c, struct ui *ui);
