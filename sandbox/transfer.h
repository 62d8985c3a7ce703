/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * transfer - files of the host's HOME into a box's, under the same paths.
 *
 * Programs may write what is read meanwhile: of a file that grows, its whole lines so far are taken, and one that is
 * compressed (.zst) is left out. What is no plain file or directory (links, pipes, sockets, devices), what cannot be
 * read, agents' logins and `.auth-secret` are left out and counted, and stop nothing; what cannot be written does.
 * Nothing is followed on either side (rule T5), nothing on the host is changed, and no file is in memory as a whole.
 * Files get the modification time that they had, and mode 0600 or 0700; they replace what an earlier attempt has left.
 * One thread.
 */

#include "index/base/error.h"

#include <stdint.h>

#define TRANSFER_DEPTH_MAX 32

struct transfer {
    int from, to;                    /* directories that paths begin at, borrowed */
    int (*check)(struct error *e);   /* asked now and then: whether to go on, else -errno; NULL: always */
    uint64_t files, bytes, left_out; /* so far */
};

/* path, and all that is below it. Not there: nothing. */
int transfer_entry(struct transfer *t, const char *path, struct error *e);
