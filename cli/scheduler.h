/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * scheduler - which node a box comes up on, and `ag-box up` there.
 *
 * A pinned box goes to its node, one that is here or held by somebody stays what it is, any other goes where most
 * memory is available. Nodes are asked over ssh; one that does not answer within three seconds is out. Without a nodes
 * file, and with one that names this node alone, nothing is asked.
 */

#include "cli/nodes.h"
#include "cli/ui.h"

struct scheduler_candidate {
    const char *name;
    bool answered;
    uint64_t available; /* bytes of memory */
};

/*
 * Pure: the name of the node that is taken. pin: "" none. Most memory wins; self on a tie, and when nobody has
 * answered; else the first in order.
 */
const char *scheduler_pick(const struct scheduler_candidate *c, size_t count, const char *pin, const char *self);
/* MemAvailable of a /proc/meminfo in bytes. -EBADMSG: it has none. Any bytes may come (fuzzed). */
int scheduler_meminfo(struct bytes text, uint64_t *ret);

/* The node on which most memory is available now; NULL: this one. Says who does not answer. */
const struct nodes_entry *scheduler_look(const struct nodes *n, const char *self, struct ui *ui);

/* How many of the others do not answer; to: which, and why. */
size_t scheduler_missing(const struct nodes *n, char to[256]);

/* `ag-box up options…` on another node. Its output is the command's, and so is its exit code (ui_passed_on).
 * -EHOSTUNREACH: ssh did not get there. */
int scheduler_up_there(const struct nodes_entry *there, const char *const *options, struct ui *ui, struct error *e);
