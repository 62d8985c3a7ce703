/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * sources - the directories of the host that a box shows, as they are when it starts.
 *
 * bwrap's mounts would go on receiving what the host mounts below those directories, and that arrives as the host has
 * it: writable. One access of the box is enough where the host has an automount: /proc/sys/fs/binfmt_misc, of which
 * root in the box could make the host run a program as root.
 */

#include "sandbox/words.h"

/*
 * In the calling process, which then starts bwrap with argv: a mount namespace of its own, in which each directory that
 * is bound is a mount that receives nothing. All else follows the host's, so that nothing that the host unmounts is
 * kept; where the host's mounts are private nothing follows, so what is mounted of boxes and snapshots (source
 * SOURCES_PREFIX…) is taken away at once, unless its source is own. -errno. The process has no other threads.
 */
#define SOURCES_PREFIX "ag-box:"
int sources_detach(const struct words *argv, const char *own);
