/* SPDX-License-Identifier: MIT */
#include "sync/recent.h"

#include "index/base/mem.h"

#include <uthash.h>
#include <utlist.h>

struct recent_key {
    struct locator locator;
    uint32_t kind;
};
_Static_assert(sizeof(struct recent_key) == 48, "hashed as bytes: no padding");

struct recent_frame {
    struct recent_key key;
    struct frame *frame;
    struct recent_frame *prev, *next;
    UT_hash_handle hh;
};

static struct recent_frame *find(struct recent *r, const struct locator *l, enum frame_kind kind)
{
    struct recent_key key = { .locator = *l, .kind = kind };
    struct recent_frame *x = NULL;
    HASH_FIND(hh, r->table, &key, sizeof(key), x);
    return x;
}

struct frame *recent_find(struct recent *r, const struct locator *l, enum frame_kind kind)
{
    struct recent_frame *x = find(r, l, kind);
    if (!x)
        return NULL;
    DL_DELETE(r->oldest, x);
    DL_APPEND(r->oldest, x);
    return frame_hold(x->frame);
}

static void forget(struct recent *r, struct recent_frame *x)
{
    HASH_DEL(r->table, x);
    DL_DELETE(r->oldest, x);
    r->bytes -= x->frame->len;
    frame_drop(x->frame);
    free(x);
}

void recent_add(struct recent *r, const struct locator *l, enum frame_kind kind, struct frame *f)
{
    if (f->len > r->room || find(r, l, kind))
        return;
    while (r->oldest && r->bytes + f->len > r->room)
        forget(r, r->oldest);
    struct recent_frame *x = mem_new(1, sizeof(*x));
    x->key = (struct recent_key){ .locator = *l, .kind = kind };
    x->frame = frame_hold(f);
    r->bytes += f->len;
    HASH_ADD(hh, r->table, key, sizeof(x->key), x);
    DL_APPEND(r->oldest, x);
}

void recent_release(struct recent *r)
{
    while (r->oldest)
        forget(r, r->oldest);
}
