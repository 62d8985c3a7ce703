/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * descent - all entries below a directory, in the bytewise order of their whole paths ("a", "a-b", "a/x"), at any
 * depth.
 *
 * One descriptor is open at a time, whatever the depth: the way back is "..", checked against the directory we came
 * from (-ESTALE when the tree was moved meanwhile). Symbolic links are entries, never followed. "." and ".." are not
 * given. Only what descent_enter was called for is entered. Not shared between threads.
 */

#include "index/base/buf.h"
#include "index/base/error.h"

#include <sys/stat.h>

struct descent;

/* Valid until the next call. */
struct descent_entry {
    int dir;           /* holds the entry */
    const char *name;  /* in dir */
    struct bytes path; /* from the root, without "./" */
    struct stat st;    /* lstat */
};

/* root is a directory; its descriptor stays the caller's and need not be kept. */
int descent_new(int root, struct descent **ret, struct error *e);
void descent_free(struct descent *d);
static inline void descent_freep(struct descent **d) /* for _cleanup_ */
{
    descent_free(*d);
}
/* 1: *ret is the next entry; 0: there is none left. */
int descent_next(struct descent *d, struct descent_entry *ret, struct error *e);
/* The entry just given is a directory; what is in it will be given at its place. */
void descent_enter(struct descent *d);
