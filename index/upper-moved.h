/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * upper-moved - the part of index/upper for directories whose place is not the base's: moved, opaque or new ones.
 *
 * Everything such a directory shows, from its upper directory and from the base's directory that shows through, in key
 * order, as PUTs into index/compare over what the base has under the new path: what is left there is deleted.
 */

#include "index/upper-entry.h"

/* A directory below v->path to go down into. Owns its strings. */
struct upper_below {
    char *name;
    char *lower;   /* the base's directory that shows through; NULL: none */
    bool in_upper; /* the upper layer has it too */
    bool in_place; /* lower is its own path: only what the upper names can have changed (index/upper) */
    bool gone;     /* no directory any more: delete what the base has below */
    bool passage;
};

struct upper_belows {
    struct upper_below *items;
    size_t count, room;
};
void upper_belows_add(struct upper_belows *b, struct upper_below item); /* takes item's strings */
void upper_belows_release(struct upper_belows *b);

/* One directory's place in the mounted overlay, opened when it is first asked for. */
struct upper_merged {
    const char *path;
    int fd; /* -1: not open */
    bool tried;
};
/* Reads fd's number and ctime there: a descriptor, or -1 where there is none; -errno in r. */
int upper_merged_open(struct upper_view *v, struct upper_merged *m, int *ret_fd, struct error *e);

/* The directory v->path. upper: its descriptor in the upper layer, taken. */
int upper_moved(struct upper_view *v, int upper, unsigned depth, const struct upper_below *d, struct error *e);
