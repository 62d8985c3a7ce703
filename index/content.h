/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * content - whether a live file still holds what an entry says, by the hashes of its extents: nothing is fetched but
 * long lists of extents. Reads the file once, from where it is open; stops at the first difference.
 */

#include "index/entry.h"
#include "index/source.h"

/* n: a file's entry. fd: open for reading. source: for lists (FRAME_EXTENTS); key: the store's content key. */
int content_same(int fd, const struct entry *n, struct source *source, const struct hash_key *key, bool *ret,
                 struct error *e);
