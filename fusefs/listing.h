/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * listing - directories as the kernel reads them, with every entry's attributes (READDIRPLUS, rule O7).
 *
 * A directory's own entries are one run of the tree, so an offset is the position of the entry before, + 3 ("." is 1,
 * ".." is 2): right in any daemon, whatever was removed in the overlay meanwhile. Entries and attributes are cached by
 * the kernel without limit: the tree never changes.
 */

#include "fusefs/inode.h"

#include <fuse_lowlevel.h>

#define LISTING_FOREVER ((double)UINT32_MAX) /* seconds: the timeout of everything we say */

void listing_param(const struct inode *n, struct fuse_entry_param *ret);

/* Fills at most size bytes of `to` from offset on; *ret_len is 0 at the end of the directory. */
int listing_read(struct inode_map *i, fuse_req_t req, uint64_t directory, uint64_t offset, char *to, size_t size,
                 size_t *ret_len, struct error *e);
