/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * environment - what every process in a box finds in its environment: one table, so that attach, exec and the first
 * pane have the same. Nothing of the host's environment is in it, so no secret can be. Pure.
 *
 * A login shell (tmux's panes, the `bash -lc` of agents) reads /etc/profile, which begins PATH anew. What the box puts
 * in front and behind is put back by a file that profile reads last.
 */

#include "index/base/buf.h"
#include "sandbox/words.h"

#include <stdbool.h>

struct environment {
    const char *box, *node;
    bool nix;          /* /nix is there: its default profile is on the PATH */
    const char *tools; /* a directory whose bin/ comes before everything else; NULL: none */
};

/* Appends NAME and VALUE in turn. */
void environment_table(const struct environment *c, struct words *ret);
/* The same PATH for login shells: a script for sh, appended. */
void environment_profile(const struct environment *c, struct buf *ret);
