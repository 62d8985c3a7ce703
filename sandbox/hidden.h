/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * hidden - what of a host's directory a box must not see although it sees the directory:
 *
 *  - sockets, and whatever else is no file, directory or link: they would be alive in the box, and who listens there
 *    would take the box for the host's root (rule B4);
 *  - our own directories.
 *
 * Each hidden thing is a mount and words on a command line, so there is a limit, and going over it is an error: fewer
 * are never hidden. Secrets in files are no matter of this module: of /etc a box sees a copy (sandbox/etc).
 */

#include "index/base/error.h"
#include "sandbox/words.h"

#define HIDDEN_MAX 500

enum hidden_kind {
    HIDDEN_ALL,       /* everything above */
    HIDDEN_LISTENING, /* of sockets only those that somebody has bound now: for trees too large to walk */
};

struct hidden {
    struct words *files, *directories; /* what was found, as the box would see it */
    const struct words *ours;          /* directories of ours, on the host */
};

/* Looks below the directory `from` of the host, which the box sees at `to`. Links are not followed below it. -E2BIG
 * ERROR_FAILED: more than HIDDEN_MAX. */
int hidden_look(struct hidden *h, const char *from, const char *to, enum hidden_kind kind, struct error *e);
