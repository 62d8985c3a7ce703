/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * apply - what an entry says about an inode (rule F4), made true of one on disk: the writing side of index/attributes.
 *
 * Owner, mode with set-id bits, xattrs with ACLs, and last the mtime. xattrs that are there already stay. Nothing is
 * followed: name is one component of a directory that the caller holds open, or "" for directory being the inode
 * itself.
 */

#include "index/entry.h"

int apply_attributes(int directory, const char *name, const struct entry *n, struct error *e);
/* Makes the symbolic link, fifo or device that n is, with its attributes; -EEXIST when something is there. */
int apply_special(int directory, const char *name, const struct entry *n, struct error *e);
