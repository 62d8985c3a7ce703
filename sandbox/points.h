/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * points - mount points in a box's HOME (rule T1): the project's, where it lies below /root, and those of the host's
 * read-only configuration.
 *
 * They are part of home/ and travel with it. The box owns home/, so nothing here follows a link in it (rule T5), and
 * what it has put in the place of a mount point stays. Nothing of the box may run while these are called: bwrap mounts
 * over what was found.
 */

#include "sandbox/host.h"

/* Those that every box has from its beginning, whatever this host has of them. project: its own path. */
int points_track(int home, const char *project, struct error *e);

/*
 * Before a start: makes what is missing of those that the host has. ret: which of the host's configuration can be
 * shown; left_out: what was found in the place of others. Also links to what sandbox/copies has of the user's files,
 * where home/ has nothing of that name. -ENOTDIR ERROR_FAILED: the project's place is taken.
 */
int points_start(int home, const char *project, const struct host *h, bool ret[HOST_CONFIGURATION_COUNT],
                 struct words *left_out, struct error *e);
