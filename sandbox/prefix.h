/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * prefix - a file's first bytes, also of one that is compressed.
 *
 * Memory is bounded by max, and by what zstd takes for the windows that it allows (128 MiB).
 */

#include "index/base/buf.h"

#include <stdbool.h>

/* Replaces ret's bytes by the first max of what the file holds; zstd: of what it holds compressed, as far as that can
 * be read. ret_more: there may be more. -EINVAL: no plain file; else -errno of read(2). The offset of fd moves. */
int prefix_read(int fd, bool zstd, size_t max, struct buf *ret, bool *ret_more);
