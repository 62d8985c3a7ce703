/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * tools - the programs that agents work with, and which versions of them this node has, as they print them.
 *
 * A box shows the host's programs: a box's data can be where its tools are not. Asking a program takes its time, so
 * answers are kept in $AGBOX_STATE_DIR/tools.json, by path, size and time of the file.
 */

#include "cli/config.h"
#include "cli/ui.h"
#include "index/meta.h"

#include <stdbool.h>

#define TOOLS_COUNT 5
#define TOOLS_VERSION_MAX 96
#define TOOLS_UNKNOWN "?" /* it is here, but does not say */

struct tools_entry {
    const char *name;
    bool agent;                      /* else what agents use */
    char version[TOOLS_VERSION_MAX]; /* "": it is not here */
};

struct tools {
    struct tools_entry entries[TOOLS_COUNT];
};

void tools_look(const struct config *c, struct tools *ret);
/* What is here, into the meta of a snapshot. What is not here keeps what was said of it. */
void tools_record(const struct tools *t, struct meta *m);
/* What the box last ran with and this node lacks or has otherwise, for people; "": nothing. agents: only those. */
void tools_compare(const struct tools *t, const struct meta *m, bool agents, char to[256]);
/* A warning with that, of agents; asks only if there were any. */
void tools_warn(const struct config *c, const struct meta *m, struct ui *ui);
