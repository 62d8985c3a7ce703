/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * links - which names of a snapshot are one inode (rule O2): for each inode with several names all its paths.
 *
 * Encoded as one string of bytes that may be longer than a frame: cut into frames of FRAME_LINKS, joined by
 * source_join.
 */

#include "index/base/buf.h"
#include "index/base/error.h"

/* Encoded bytes. Names are the box's to choose, and whoever saves or mounts has all of them in memory: short ones take
 * there many times what they take here. */
#define LINKS_MAX (32u * 1024 * 1024)

struct link_group {
    char **paths; /* in key order: the first name, where the record is, first */
    size_t count; /* at least 2 */
};

/* Groups in the key order of their first names. */
void links_encode(const struct link_group *g, size_t count, struct buf *to);
/* -EBADMSG ERROR_DAMAGED. *ret is the caller's, for links_free. */
int links_decode(struct bytes b, struct link_group **ret, size_t *ret_count, struct error *e);
void links_free(struct link_group *g, size_t count);
/* For people: the directory, a few levels down at most, that more than half of the names lie in; "" the top. */
void links_where(const struct link_group *g, size_t count, struct buf *ret);
