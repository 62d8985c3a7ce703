/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * hidden - what of a host's directory a box must not see although it sees the directory:
 *
 *  - in /etc, what an ordinary user could not read (sudo's configuration excepted), and what looks like a private key;
 *  - sockets, and whatever else is no file, directory or link: they would be alive in the box, and who listens there
 *    would take the box for the host's root (rule B4);
 *  - our own directories.
 *
 * A directory that an ordinary user cannot enter is hidden as one, everything else by itself. Each hidden thing is a
 * mount and words on a command line, so there is a limit, and going over it is an error: fewer are never hidden.
 */

#include "index/base/error.h"
#include "sandbox/words.h"

#define HIDDEN_MAX 500

enum hidden_kind {
    HIDDEN_SECRETS,   /* everything above */
    HIDDEN_SOCKETS,   /* all but files */
    HIDDEN_LISTENING, /* as sockets, but only those that somebody has bound now: for trees too large to walk */
};

struct hidden {
    struct words *files, *directories; /* what was found, as the box would see it */
    const struct words *ours;          /* directories of ours, on the host */
};

/* Looks below the directory `from` of the host, which the box sees at `to`. Links are not followed below it. -E2BIG
 * ERROR_FAILED: more than HIDDEN_MAX. */
int hidden_look(struct hidden *h, const char *from, const char *to, enum hidden_kind kind, struct error *e);
