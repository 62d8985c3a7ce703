/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * pending - how much of a working tree was written since a moment: what `status` calls pending and `park` expects to
 * read.
 *
 * An estimate from sizes and change times; nothing is read, nothing decided by it. Of sparse files what they take
 * counts, so that metadata-only copies in an upper layer (metacopy) are nothing. Other file systems mounted below are
 * left out. What vanishes meanwhile is passed over.
 */

#include "index/base/error.h"

#include <stdint.h>

/* root: a directory that is there. Files whose ctime is after since_ns, in bytes; the last that a fill wrote may share
 * its end's tick. */
int pending_bytes(const char *root, int64_t since_ns, uint64_t *ret, struct error *e);
