/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * access - the access list of a session: paths in the order in which they were first touched (rule F6).
 *
 * Encoded as one string of bytes that may be longer than a frame: cut into frames of FRAME_ACCESS, joined by
 * source_join.
 */

#include "index/base/buf.h"
#include "index/base/error.h"

#define ACCESS_PATHS_MAX 100000u
#define ACCESS_MAX (32u * 1024 * 1024) /* encoded bytes */

/* Paths behind ACCESS_PATHS_MAX, or behind ACCESS_MAX bytes, are left out: the list is a hint. */
void access_encode(char *const *paths, size_t count, struct buf *to);
/* An encoded list with these paths before all others, each path once. */
int access_put_first(struct bytes list, char *const *first, size_t count, struct buf *to, struct error *e);
/* -EBADMSG ERROR_DAMAGED. *ret is the caller's, for access_free. */
int access_decode(struct bytes b, char ***ret, size_t *ret_count, struct error *e);
void access_free(char **paths, size_t count);
