/* SPDX-License-Identifier: MIT */
#include "tests/fault/objects.h"

#include "index/base/mem.h"
#include "index/base/text.h"

#include <nettle/md5.h>
#include <stdio.h>

void objects_add_bucket(struct objects *o, const char *bucket)
{
    if (objects_has_bucket(o, bucket))
        return;
    o->buckets = mem_grow(o->buckets, o->bucket_count + 1, sizeof(*o->buckets));
    o->buckets[o->bucket_count++] = mem_strdup(bucket);
}

bool objects_has_bucket(const struct objects *o, const char *bucket)
{
    for (size_t i = 0; i < o->bucket_count; i++)
        if (strcmp(o->buckets[i], bucket) == 0)
            return true;
    return false;
}

static int compare(const struct object *x, const char *bucket, const char *key)
{
    int r = strcmp(x->bucket, bucket);
    return r != 0 ? r : strcmp(x->key, key);
}

/* Of the first object that is not before bucket/key. */
static size_t place(const struct objects *o, const char *bucket, const char *key)
{
    size_t low = 0, high = o->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (compare(&o->all[middle], bucket, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct object *objects_find(const struct objects *o, const char *bucket, const char *key)
{
    size_t i = place(o, bucket, key);
    return i < o->count && compare(&o->all[i], bucket, key) == 0 ? &o->all[i] : NULL;
}

static void set_etag(struct object *x)
{
    struct md5_ctx c;
    uint8_t digest[MD5_DIGEST_SIZE];
    char hex[2 * MD5_DIGEST_SIZE + 1];
    md5_init(&c);
    if (x->data.len > 0)
        md5_update(&c, x->data.len, x->data.data);
    md5_digest(&c, sizeof(digest), digest);
    text_hex(hex, digest, sizeof(digest));
    snprintf(x->etag, sizeof(x->etag), "\"%s\"", hex);
}

struct object *objects_set(struct objects *o, const char *bucket, const char *key, struct bytes data, int64_t now_ms)
{
    struct object *x = objects_find(o, bucket, key);
    if (!x) {
        size_t i = place(o, bucket, key);
        o->all = mem_grow(o->all, o->count + 1, sizeof(*o->all));
        x = &o->all[i];
        memmove(x + 1, x, (o->count - i) * sizeof(*x));
        *x = (struct object){ .bucket = mem_strdup(bucket), .key = mem_strdup(key) };
        o->count++;
    }
    buf_clear(&x->data);
    buf_add(&x->data, data.data, data.len);
    set_etag(x);
    x->written_ms = now_ms;
    x->modified_s = now_ms / 1000;
    return x;
}

static void release(struct object *x)
{
    free(x->bucket);
    free(x->key);
    buf_release(&x->data);
}

bool objects_remove(struct objects *o, const char *bucket, const char *key)
{
    struct object *x = objects_find(o, bucket, key);
    if (!x)
        return false;
    release(x);
    memmove(x, x + 1, (size_t)(o->all + o->count - (x + 1)) * sizeof(*x));
    o->count--;
    return true;
}

struct object *objects_next(const struct objects *o, const char *bucket, const char *prefix, const char *after)
{
    bool skip = after && strcmp(after, prefix) >= 0;
    size_t i = place(o, bucket, skip ? after : prefix);
    if (skip && i < o->count && compare(&o->all[i], bucket, after) == 0)
        i++;
    if (i == o->count || strcmp(o->all[i].bucket, bucket) != 0 || strncmp(o->all[i].key, prefix, strlen(prefix)) != 0)
        return NULL;
    return &o->all[i];
}

void objects_release(struct objects *o)
{
    for (size_t i = 0; i < o->count; i++)
        release(&o->all[i]);
    for (size_t i = 0; i < o->bucket_count; i++)
        free(o->buckets[i]);
    free(o->all);
    free(o->buckets);
    *o = (struct objects){ 0 };
}
