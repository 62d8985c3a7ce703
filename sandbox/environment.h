/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * environment - what every process in a box finds in its environment: one table, so that attach, exec and the first pane
 * have the same. Nothing of the host's environment is in it, so no secret can be. Pure.
 */

#include "sandbox/words.h"

#include <stdbool.h>

struct environment {
    const char *box, *node;
    bool nix; /* /nix is there: its tools are on the PATH */
};

/* Appends NAME and VALUE in turn. */
void environment_table(const struct environment *c, struct words *ret);
