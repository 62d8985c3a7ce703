/* SPDX-License-Identifier: MIT */
#include "sync/condemned.h"

#include "index/base/mem.h"
#include "index/base/text.h"
#include "index/base/wire.h"

#include <errno.h>
#include <stdio.h>

#include <sodium.h>

#define CONDEMNED_VERSION 1

void condemned_release(struct condemned *c)
{
    free(c->packs);
    free(c->snapshots);
    *c = (struct condemned){ 0 };
}

/* Grows by doubling: count is the number of elements in use. */
static void *room(void *list, size_t count, size_t size)
{
    return (count & (count - 1)) == 0 ? mem_grow(list, count ? 2 * count : 1, size) : list;
}

void condemned_add_pack(struct condemned *c, const struct pack_name *p, int64_t since_ns)
{
    c->packs = room(c->packs, c->pack_count, sizeof(*c->packs));
    c->packs[c->pack_count++] = (struct condemned_pack){ *p, since_ns };
}

void condemned_add_snapshot(struct condemned *c, const struct snapshot_id *id, int64_t since_ns)
{
    c->snapshots = room(c->snapshots, c->snapshot_count, sizeof(*c->snapshots));
    c->snapshots[c->snapshot_count++] = (struct condemned_snapshot){ *id, since_ns };
}

static int by_pack(const void *a, const void *b)
{
    const struct condemned_pack *x = a, *y = b;
    int order = memcmp(&x->name, &y->name, sizeof(x->name));
    return order ? order : (x->since_ns > y->since_ns) - (x->since_ns < y->since_ns);
}

static int by_snapshot(const void *a, const void *b)
{
    const struct condemned_snapshot *x = a, *y = b;
    int order = memcmp(&x->id, &y->id, sizeof(x->id));
    return order ? order : (x->since_ns > y->since_ns) - (x->since_ns < y->since_ns);
}

static int pack_name_order(const void *a, const void *b)
{
    return memcmp(a, &((const struct condemned_pack *)b)->name, sizeof(struct pack_name));
}

static int snapshot_id_order(const void *a, const void *b)
{
    return memcmp(a, &((const struct condemned_snapshot *)b)->id, sizeof(struct snapshot_id));
}

void condemned_sort(struct condemned *c)
{
    size_t kept = 0;
    if (c->pack_count)
        qsort(c->packs, c->pack_count, sizeof(*c->packs), by_pack);
    for (size_t i = 0; i < c->pack_count; i++)
        if (!kept || !pack_equal(&c->packs[kept - 1].name, &c->packs[i].name))
            c->packs[kept++] = c->packs[i];
    c->pack_count = kept;

    kept = 0;
    if (c->snapshot_count)
        qsort(c->snapshots, c->snapshot_count, sizeof(*c->snapshots), by_snapshot);
    for (size_t i = 0; i < c->snapshot_count; i++)
        if (!kept || snapshot_id_order(&c->snapshots[kept - 1].id, &c->snapshots[i]) != 0)
            c->snapshots[kept++] = c->snapshots[i];
    c->snapshot_count = kept;
}

const struct condemned_pack *condemned_find_pack(const struct condemned *c, const struct pack_name *p)
{
    return c->pack_count ? bsearch(p, c->packs, c->pack_count, sizeof(*c->packs), pack_name_order) : NULL;
}

const struct condemned_snapshot *condemned_find_snapshot(const struct condemned *c, const struct snapshot_id *id)
{
    return c->snapshot_count ? bsearch(id, c->snapshots, c->snapshot_count, sizeof(*c->snapshots), snapshot_id_order)
                             : NULL;
}

void condemned_encode(const struct condemned *c, struct buf *to)
{
    wire_put_u8(to, CONDEMNED_VERSION);
    wire_put_varint(to, c->pack_count);
    for (size_t i = 0; i < c->pack_count; i++) {
        buf_add(to, &c->packs[i].name, sizeof(c->packs[i].name));
        wire_put_signed(to, c->packs[i].since_ns);
    }
    wire_put_varint(to, c->snapshot_count);
    for (size_t i = 0; i < c->snapshot_count; i++) {
        buf_add(to, &c->snapshots[i].id, sizeof(c->snapshots[i].id));
        wire_put_signed(to, c->snapshots[i].since_ns);
    }
}

/* Appends while the reader is good: a count from outside makes no memory that its bytes do not pay for. */
static void decode_lists(struct wire *w, struct condemned *c)
{
    uint64_t count = wire_bounded(w, CONDEMNED_COUNT_MAX);
    for (uint64_t i = 0; i < count && !w->bad; i++) {
        struct pack_name name;
        wire_copy(w, &name, sizeof(name));
        int64_t since_ns = wire_signed(w);
        if (i > 0 && memcmp(&c->packs[i - 1].name, &name, sizeof(name)) >= 0)
            w->bad = true;
        if (!w->bad)
            condemned_add_pack(c, &name, since_ns);
    }
    count = wire_bounded(w, CONDEMNED_COUNT_MAX);
    for (uint64_t i = 0; i < count && !w->bad; i++) {
        struct snapshot_id id;
        wire_copy(w, &id, sizeof(id));
        int64_t since_ns = wire_signed(w);
        if (i > 0 && memcmp(&c->snapshots[i - 1].id, &id, sizeof(id)) >= 0)
            w->bad = true;
        if (!w->bad)
            condemned_add_snapshot(c, &id, since_ns);
    }
}

int condemned_decode(struct bytes b, struct condemned *ret, struct error *e)
{
    struct wire w = wire_reader(b.data, b.len);
    struct condemned c = { 0 };
    uint8_t version = wire_u8(&w);
    if (!w.bad && version > CONDEMNED_VERSION)
        return error_say(e, ERROR_USAGE, -ENOTSUP, "condemned list: version %u is newer than this ag-box", version);
    decode_lists(&w, &c);
    if (version != CONDEMNED_VERSION || !wire_done(&w)) {
        condemned_release(&c);
        return error_say(e, ERROR_DAMAGED, -EBADMSG, "condemned list: not what one looks like");
    }
    condemned_release(ret);
    *ret = c;
    return 0;
}

static void condemned_key(const char *box, const char *id, char to[STORE_KEY_MAX])
{
    store_box_key(to, box, "condemned/%s", id);
}

int condemned_get(struct store *s, const struct seal_context *k, const char *id, struct condemned *ret, struct error *e)
{
    if (!id[0]) {
        condemned_release(ret);
        return 0;
    }
    char key[STORE_KEY_MAX];
    condemned_key(k->box, id, key);
    _cleanup_(buf_release) struct buf sealed = { 0 }, plain = { 0 };
    int r = store_get(s, key, 0, 0, CONDEMNED_MAX, &sealed, NULL, e);
    if (r == 0)
        r = seal_open(k, SEAL_CONDEMNED, id, strlen(id), buf_bytes(&sealed), CONDEMNED_MAX, &plain, e);
    if (r == 0)
        r = condemned_decode(buf_bytes(&plain), ret, e);
    if (r < 0)
        error_prefix(e, "read %s", key);
    return r;
}

int condemned_put(struct store *s, const struct seal_context *k, const struct condemned *c,
                  char ret_id[CONDEMNED_ID_TEXT], struct error *e)
{
    if (c->pack_count > CONDEMNED_COUNT_MAX || c->snapshot_count > CONDEMNED_COUNT_MAX)
        return error_say(e, ERROR_FAILED, -EOVERFLOW, "too much to condemn at once");
    char key[STORE_KEY_MAX], id[CONDEMNED_ID_TEXT];
    uint8_t random[16];
    _cleanup_(buf_release) struct buf plain = { 0 }, sealed = { 0 };
    randombytes_buf(random, sizeof(random));
    text_hex(id, random, sizeof(random));
    condemned_key(k->box, id, key);
    condemned_encode(c, &plain);
    seal(k, SEAL_CONDEMNED, id, strlen(id), buf_bytes(&plain), &sealed);
    int r = store_put(s, key, buf_bytes(&sealed), STORE_ALWAYS, NULL, NULL, e);
    if (r == 0)
        memcpy(ret_id, id, sizeof(id));
    return r;
}

int condemned_remove(struct store *s, const char *box, const char *id, struct error *e)
{
    char key[STORE_KEY_MAX];
    condemned_key(box, id, key);
    return store_remove(s, key, e);
}
