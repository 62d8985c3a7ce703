/* SPDX-License-Identifier: MIT */
#pragma once

/* objects - buckets full of objects, in memory. Not locked: the server's lock makes every call atomic. */

#include "index/base/buf.h"

#include <stdbool.h>

#define OBJECT_KEY_MAX 1024

struct object {
    char *bucket, *key;
    struct buf data;
    char etag[40]; /* quoted MD5, as of a single PUT: equal bytes have equal etags */
    int64_t modified_s;
    int64_t written_ms; /* for the limit of one write a second */
};

struct objects {
    struct object *all; /* sorted by bucket, then key */
    size_t count;
    char **buckets;
    size_t bucket_count;
};

void objects_add_bucket(struct objects *o, const char *bucket);
bool objects_has_bucket(const struct objects *o, const char *bucket);
struct object *objects_find(const struct objects *o, const char *bucket, const char *key);
/* Makes or replaces it. */
struct object *objects_set(struct objects *o, const char *bucket, const char *key, struct bytes data, int64_t now_ms);
bool objects_remove(struct objects *o, const char *bucket, const char *key);
/* The first object of the bucket whose key is > after (NULL: any) and starts with prefix; NULL: none. */
struct object *objects_next(const struct objects *o, const char *bucket, const char *prefix, const char *after);
void objects_release(struct objects *o);
