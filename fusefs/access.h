/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * access - the access list: which files were read first in this session (rule F6).
 *
 * Positions while the mount lives, paths in what outlives it. Content of FRAME_ACCESS: varint number of paths, then
 * each as a string (index/base/wire), in order of first touch, at most ACCESS_MAX and ACCESS_BYTES_MAX. Recording is
 * safe from any thread and costs an atomic test when the file is known.
 */

#include "index/tree.h"

#define ACCESS_MAX 100000u
#define ACCESS_BYTES_MAX (4u * 1024 * 1024) /* FRAME_RAW_MAX */

struct access;

int access_new(uint64_t positions, struct access **ret, struct error *e); /* tree_count */
void access_free(struct access *a);                                       /* NULL is fine */
void access_touch(void *a, uint64_t position); /* a struct access; fits serve_config's touched */
size_t access_count(struct access *a);

/* Appends the list's bytes; paths by the tree whose positions were recorded. */
int access_encode(struct access *a, struct tree *tree, struct buf *to, struct error *e);

struct access_list {
    char **paths;
    size_t count;
};
int access_decode(struct bytes b, struct access_list *ret, struct error *e); /* -EBADMSG ERROR_DAMAGED */
void access_list_release(struct access_list *l);
