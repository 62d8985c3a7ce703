/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * unit - starts what serves a box on this node: as a transient systemd service where that can be, else as a detached
 * child (cli/spawn). Both are the same hidden command, and say in the same way that they are ready or why not
 * (fusefs/supervisor).
 *
 * systemd is used only where it is the system's manager, in its own mount namespace, and with the built-in directories:
 * anything else is a test or a container, and units' names and mounts would be another one's.
 *
 * A service has nothing of its starter's environment. It connects to the starter's socket, $AGBOX_READY, is given the
 * environment over it (a password may be in there, and whoever can ask systemd sees a unit's properties) and answers on
 * it.
 */

#include "cli/config.h"
#include "sandbox/words.h"

#include <sys/types.h>

enum unit_kind { UNIT_TREE, UNIT_BOX }; /* boxfs-NAME, boxrun-NAME */

struct unit {
    enum unit_kind kind;
    const char *name;    /* of the box */
    uint64_t memory_max; /* UNIT_BOX: bytes, 0: no limit */
};

/* The command line of systemd-run. Pure. program: ours; ready: the starter's socket. */
void unit_argv(const struct unit *u, const char *program, const char *ready, struct words *ret);
bool unit_possible(const struct config *c);
/* Returns when it is ready. log: where a detached child's messages go; a service's go to the journal. */
int unit_start(const struct config *c, const struct unit *u, const char *log, struct error *e);
/* In the service, before anything else: the starter's environment, and its socket as SUPERVISOR_READY_FD. */
int unit_inherit(const char *ready, struct error *e);
bool unit_keeps(const struct unit *u, pid_t pid); /* is the process in this service? */
