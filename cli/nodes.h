/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * nodes - the machines that boxes may come up on: $AGBOX_CONFIG_DIR/nodes, one `NAME ALIAS` a line.
 *
 * ALIAS is what ssh is given. The line of this node itself says `local`. # begins a comment. Each node has a file of
 * its own, with its own view. No file: this node alone.
 */

#include "cli/config.h"

#include <stdbool.h>

#define NODES_MAX 64

struct nodes_entry {
    char name[64];
    char alias[256]; /* "": this node */
};

struct nodes {
    struct nodes_entry entries[NODES_MAX];
    size_t count;
};

/* self: this node's name; where: the file's, for messages ("FILE:LINE: what"). -EINVAL ERROR_USAGE. Any bytes may come
 * (fuzzed). */
int nodes_parse(struct bytes text, const char *where, const char *self, struct nodes *ret, struct error *e);
bool nodes_alone(const struct nodes *n); /* no other node is named */
int nodes_load(const struct config *c, struct nodes *ret, struct error *e);
/* How a user here runs `ag-box COMMAND` on that node: over ssh where the nodes file has it. A terminal: ssh gives one.
 */
void nodes_say(const struct config *c, const char *node, const char *command, bool terminal, char to[512]);
/* -EINVAL ERROR_USAGE, and the names there are: there is no such node. */
int nodes_find(const struct nodes *n, const struct config *c, const char *name, const struct nodes_entry **ret,
               struct error *e);
