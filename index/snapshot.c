/* SPDX-License-Identifier: MIT */
#include "index/snapshot.h"

#include "index/base/mem.h"
#include "index/base/text.h"

#include <errno.h>

#define SNAPSHOT_VERSION 1

#define FLAG_ONE_INSTANT 0x01
#define FLAG_EMPTY 0x02
#define FLAGS (FLAG_ONE_INSTANT | FLAG_EMPTY)

void snapshot_pages_free(struct snapshot_page *pages, size_t count)
{
    for (size_t i = 0; i < count; i++)
        buf_release(&pages[i].bytes);
    free(pages);
}

void snapshot_release(struct snapshot *s)
{
    snapshot_pages_free(s->pages, s->page_count);
    free(s->meta);
    free(s->packs);
    free(s->links.frames);
    free(s->access.frames);
    *s = (struct snapshot){ 0 };
}

void snapshot_releasep(struct snapshot *s)
{
    snapshot_release(s);
}

static void put_frames(struct buf *to, const struct snapshot_frames *f)
{
    wire_put_varint(to, f->count);
    for (size_t i = 0; i < f->count; i++)
        locator_put(to, &f->frames[i]);
}

static void put_root(struct buf *to, const struct tree_root *root)
{
    if (root->empty)
        return;
    wire_put_u8(to, root->depth);
    locator_put(to, &root->page.frame);
    wire_put_varint(to, root->page.count);
}

void snapshot_encode(const struct snapshot *s, struct buf *to)
{
    wire_put_u8(to, SNAPSHOT_VERSION);
    wire_put_u8(to, (uint8_t)((s->one_instant ? FLAG_ONE_INSTANT : 0) | (s->root.empty ? FLAG_EMPTY : 0)));
    buf_add(to, s->id.b, sizeof(s->id.b));
    buf_add(to, s->parent.b, sizeof(s->parent.b));
    buf_add(to, s->incarnation, sizeof(s->incarnation));
    wire_put_string(to, s->box, strlen(s->box));
    wire_put_string(to, s->node, strlen(s->node));
    wire_put_varint(to, s->epoch);
    wire_put_signed(to, s->time_ns);
    wire_put_varint(to, s->files);
    wire_put_varint(to, s->directories);
    wire_put_varint(to, s->bytes);
    wire_put_varint(to, s->skipped_sockets);
    wire_put_string(to, s->meta, strlen(s->meta));
    put_root(to, &s->root);
    wire_put_varint(to, s->page_count);
    for (size_t i = 0; i < s->page_count; i++) {
        locator_put(to, &s->pages[i].frame);
        wire_put_string(to, s->pages[i].bytes.data, s->pages[i].bytes.len);
    }
    wire_put_varint(to, s->pack_count);
    for (size_t i = 0; i < s->pack_count; i++) {
        buf_add(to, &s->packs[i].name, sizeof(s->packs[i].name));
        wire_put_varint(to, s->packs[i].size);
    }
    put_frames(to, &s->links);
    put_frames(to, &s->access);
}

static void get_name(struct wire *w, bool (*valid)(const char *), char to[64])
{
    struct bytes name = wire_string(w, 63);
    if (name.len > 0)
        memcpy(to, name.data, name.len);
    to[name.len] = '\0';
    if (memchr(to, '\0', name.len) || !valid(to))
        w->bad = true;
}

static void get_head(struct wire *w, struct snapshot *s)
{
    wire_copy(w, s->id.b, sizeof(s->id.b));
    wire_copy(w, s->parent.b, sizeof(s->parent.b));
    wire_copy(w, s->incarnation, sizeof(s->incarnation));
    get_name(w, text_is_box, s->box);
    get_name(w, text_is_name, s->node);
    s->epoch = wire_varint(w);
    s->time_ns = wire_signed(w);
    s->files = wire_varint(w);
    s->directories = wire_varint(w);
    s->bytes = wire_varint(w);
    s->skipped_sockets = wire_varint(w);

    struct bytes meta = wire_string(w, SNAPSHOT_META_MAX);
    if (meta.len > 0 && memchr(meta.data, '\0', meta.len))
        w->bad = true;
    s->meta = mem_copy(meta.data, meta.len);
}

static void get_root(struct wire *w, struct tree_root *root)
{
    if (root->empty)
        return;
    root->depth = wire_u8(w);
    root->page.frame = locator_get(w);
    root->page.count = wire_bounded(w, PAGE_COUNT_MAX);
    if (root->depth > TREE_DEPTH_MAX || root->page.count == 0)
        w->bad = true;
}

static void get_pages(struct wire *w, struct snapshot *s)
{
    size_t count = (size_t)wire_bounded(w, SNAPSHOT_PAGES_MAX);
    s->pages = mem_new(count, sizeof(*s->pages));
    while (s->page_count < count && !w->bad) {
        struct snapshot_page *p = &s->pages[s->page_count++];
        p->frame = locator_get(w);
        struct bytes bytes = wire_string(w, FRAME_RAW_MAX);
        if (bytes.len != p->frame.raw)
            w->bad = true;
        buf_add(&p->bytes, bytes.data, bytes.len);
    }
}

static void get_packs(struct wire *w, struct snapshot *s)
{
    size_t count = (size_t)wire_bounded(w, SNAPSHOT_PACKS_MAX);
    s->packs = mem_new(count, sizeof(*s->packs));
    while (s->pack_count < count && !w->bad) {
        struct snapshot_pack *p = &s->packs[s->pack_count++];
        wire_copy(w, &p->name, sizeof(p->name));
        p->size = (uint32_t)wire_bounded(w, PACK_MAX);
    }
}

static void get_frames(struct wire *w, struct snapshot_frames *f)
{
    size_t count = (size_t)wire_bounded(w, SNAPSHOT_FRAMES_MAX);
    f->frames = mem_new(count, sizeof(*f->frames));
    while (f->count < count && !w->bad)
        f->frames[f->count++] = locator_get(w);
}

int snapshot_decode(struct bytes b, struct snapshot *ret, struct error *e)
{
    struct wire w = wire_reader(b.data, b.len);
    uint8_t version = wire_u8(&w), flags = wire_u8(&w);
    if (!w.bad && version > SNAPSHOT_VERSION) {
        error_say(e, ERROR_USAGE, -ENOTSUP, "the snapshot's format %u is newer than this program", version);
        error_hint(e, "install a newer ag-box on this node");
        return -ENOTSUP;
    }
    if (version != SNAPSHOT_VERSION || (flags & ~FLAGS) || b.len > SNAPSHOT_MAX || w.bad)
        return error_say(e, ERROR_DAMAGED, -EBADMSG, "the snapshot object has no true head");

    _cleanup_(snapshot_releasep) struct snapshot s = {
        .one_instant = flags & FLAG_ONE_INSTANT,
        .root.empty = flags & FLAG_EMPTY,
    };
    get_head(&w, &s);
    get_root(&w, &s.root);
    get_pages(&w, &s);
    get_packs(&w, &s);
    get_frames(&w, &s.links);
    get_frames(&w, &s.access);
    if (!wire_done(&w))
        return error_say(e, ERROR_DAMAGED, -EBADMSG, "the snapshot object is not one");
    *ret = s;
    s = (struct snapshot){ 0 };
    return 0;
}

void snapshot_id_text(const struct snapshot_id *id, char to[SNAPSHOT_ID_TEXT])
{
    text_hex(to, id->b, sizeof(id->b));
}

bool snapshot_id_equal(const struct snapshot_id *a, const struct snapshot_id *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

bool snapshot_id_none(const struct snapshot_id *id)
{
    static const struct snapshot_id none;
    return snapshot_id_equal(id, &none);
}
