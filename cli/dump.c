/* SPDX-License-Identifier: MIT */
#include "cli/dump.h"

#include "index/access.h"
#include "index/base/mem.h"
#include "index/base/text.h"
#include "index/page.h"
#include "sync/condemned.h"
#include "sync/head.h"
#include "sync/pack.h"
#include "sync/snapshots.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct object {
    struct stack *stack;
    const char *key, *id; /* id: what follows the kind in the key */
    struct buf bytes;     /* as the store has them */
    json_t *json;
};

static void add_text(json_t *o, const char *key, const char *text)
{
    json_object_set_new(o, key, json_string(text));
}

static void add_number(json_t *o, const char *key, uint64_t n)
{
    json_object_set_new(o, key, json_integer((json_int_t)n));
}

static void add_snapshot_id(json_t *o, const char *key, const struct snapshot_id *id)
{
    char text[SNAPSHOT_ID_TEXT];
    snapshot_id_text(id, text);
    add_text(o, key, text);
}

static json_t *locator_json(const struct locator *l)
{
    char text[PACK_TEXT];
    pack_text(&l->pack, text);
    return json_pack("{s:s,s:I,s:I,s:I}", "pack", text, "offset", (json_int_t)l->offset, "sealed",
                     (json_int_t)l->sealed, "raw", (json_int_t)l->raw);
}

/* Adds what a JSON body says; its own text is the twin. */
static int add_body(struct object *o, struct bytes body, struct error *e)
{
    json_t *parsed = json_loadb((const char *)body.data, body.len, JSON_REJECT_DUPLICATES, NULL);
    if (!parsed)
        return error_say(e, ERROR_DAMAGED, -EBADMSG, "it is not JSON");
    json_object_set_new(o->json, "body", parsed);
    return 0;
}

static int dump_sealed_json(struct object *o, enum seal_type type, const char *id, struct error *e)
{
    _cleanup_(buf_release) struct buf body = { 0 };
    int r = seal_open(&o->stack->seal, type, id, strlen(id), buf_bytes(&o->bytes), HEAD_MAX, &body, e);
    return r < 0 ? r : add_body(o, buf_bytes(&body), e);
}

static int dump_config(struct object *o, struct error *e)
{
    return add_body(o, buf_bytes(&o->bytes), e);
}

static int dump_head(struct object *o, struct error *e)
{
    return dump_sealed_json(o, SEAL_HEAD, "head", e);
}

static int dump_hold(struct object *o, struct error *e)
{
    return dump_sealed_json(o, SEAL_HOLD, o->id, e);
}

static int dump_fork(struct object *o, struct error *e)
{
    return dump_sealed_json(o, SEAL_FORK, o->id, e);
}

static int dump_condemned(struct object *o, struct error *e)
{
    _cleanup_(buf_release) struct buf plain = { 0 };
    struct condemned c = { 0 };
    int r = seal_open(&o->stack->seal, SEAL_CONDEMNED, o->id, strlen(o->id), buf_bytes(&o->bytes), CONDEMNED_MAX,
                      &plain, e);
    if (r == 0)
        r = condemned_decode(buf_bytes(&plain), &c, e);
    if (r < 0)
        return r;
    json_t *packs = json_array(), *snapshots = json_array();
    char text[PACK_TEXT], since[32];
    for (size_t i = 0; i < c.pack_count; i++) {
        pack_text(&c.packs[i].name, text);
        text_time(since, c.packs[i].since_ns);
        json_array_append_new(packs, json_pack("{s:s,s:s}", "pack", text, "since", since));
    }
    for (size_t i = 0; i < c.snapshot_count; i++) {
        json_t *one = json_object();
        add_snapshot_id(one, "snapshot", &c.snapshots[i].id);
        text_time(since, c.snapshots[i].since_ns);
        add_text(one, "since", since);
        json_array_append_new(snapshots, one);
    }
    json_object_set_new(o->json, "packs", packs);
    json_object_set_new(o->json, "snapshots", snapshots);
    condemned_release(&c);
    return 0;
}

static json_t *frames_json(const struct snapshot_frames *f)
{
    json_t *list = json_array();
    for (size_t i = 0; i < f->count; i++)
        json_array_append_new(list, locator_json(&f->frames[i]));
    return list;
}

static void add_tree(json_t *o, const struct snapshot *s)
{
    json_t *pages = json_array(), *packs = json_array();
    for (size_t i = 0; i < s->page_count; i++)
        json_array_append_new(pages, locator_json(&s->pages[i].frame));
    for (size_t i = 0; i < s->pack_count; i++) {
        char text[PACK_TEXT];
        pack_text(&s->packs[i].name, text);
        json_array_append_new(packs, json_pack("{s:s,s:I}", "pack", text, "size", (json_int_t)s->packs[i].size));
    }
    json_object_set_new(o, "inline_pages", pages);
    json_object_set_new(o, "metadata_packs", packs);
    json_object_set_new(o, "links", frames_json(&s->links));
    json_object_set_new(o, "access", frames_json(&s->access));
    if (s->root.empty)
        return;
    json_object_set_new(o, "root", locator_json(&s->root.page.frame));
    add_number(o, "depth", s->root.depth);
    add_number(o, "entries", s->root.page.count);
}

static int dump_snapshot(struct object *o, struct error *e)
{
    struct snapshot_id id;
    if (snapshots_parse_id(o->id, &id) < 0)
        return error_say(e, ERROR_USAGE, -EINVAL, "'%s' is no snapshot id", o->id);
    _cleanup_(snapshot_releasep) struct snapshot s = { 0 };
    int r = snapshots_open(buf_bytes(&o->bytes), &o->stack->seal, &id, &s, e);
    if (r < 0)
        return r;
    char hex[33], time[32];
    add_snapshot_id(o->json, "id", &s.id);
    add_snapshot_id(o->json, "parent", &s.parent);
    text_hex(hex, s.incarnation, sizeof(s.incarnation));
    add_text(o->json, "incarnation", hex);
    add_text(o->json, "box", s.box);
    add_text(o->json, "node", s.node);
    add_number(o->json, "epoch", s.epoch);
    text_time(time, s.time_ns);
    add_text(o->json, "time", time);
    add_number(o->json, "files", s.files);
    add_number(o->json, "directories", s.directories);
    add_number(o->json, "bytes", s.bytes);
    add_number(o->json, "skipped_sockets", s.skipped_sockets);
    json_object_set_new(o->json, "one_instant", json_boolean(s.one_instant));
    json_object_set_new(o->json, "meta", json_loads(s.meta, 0, NULL));
    add_tree(o->json, &s);
    return 0;
}

static const char *const frame_names[] = { [FRAME_DATA] = "data",
                                           [FRAME_PAGE] = "page",
                                           [FRAME_EXTENTS] = "extents",
                                           [FRAME_LINKS] = "links",
                                           [FRAME_ACCESS] = "access" };
static const char *const entry_names[] = {
    [ENTRY_FILE] = "file", [ENTRY_DIRECTORY] = "directory", [ENTRY_SYMLINK] = "symlink",
    [ENTRY_FIFO] = "fifo", [ENTRY_CHARACTER] = "character", [ENTRY_BLOCK] = "block",
    [ENTRY_LINK] = "link"
};

static json_t *entry_json(const struct entry *n)
{
    json_t *o = json_pack("{s:s}", "type", entry_names[n->type]);
    if (n->target)
        ui_path_into(o, "target", n->target, strlen(n->target));
    if (n->type == ENTRY_LINK)
        return o;
    char mode[16], time[32];
    snprintf(mode, sizeof(mode), "%04o", n->mode);
    text_time(time, n->mtime_ns);
    add_text(o, "mode", mode);
    add_text(o, "mtime", time);
    add_number(o, "uid", n->uid);
    add_number(o, "gid", n->gid);
    add_number(o, "ino", n->ino);
    add_number(o, "size", n->size);
    add_number(o, "xattrs", n->xattr_count);
    json_t *extents = json_array();
    for (size_t i = 0; i < n->extent_count; i++) {
        json_t *one = locator_json(&n->extents[i].frame);
        add_number(one, "start", n->extents[i].start);
        add_number(one, "length", n->extents[i].length);
        add_number(one, "within", n->extents[i].within);
        json_array_append_new(extents, one);
    }
    json_object_set_new(o, "extents", extents);
    add_number(o, "extent_lists", n->list_count);
    return o;
}

static json_t *item_json(const struct page *p, const struct page_cursor *at)
{
    _cleanup_(buf_release) struct buf path = { 0 };
    json_t *o;
    if (p->level == 0) {
        struct entry n;
        page_entry(p, at->index, &n);
        o = entry_json(&n);
        entry_release(&n);
    } else {
        struct page_ref child = page_child(p, at->index);
        o = locator_json(&child.frame);
        add_number(o, "entries", child.count);
    }
    if (key_to_path(page_key(at), &path) == 0)
        ui_path_into(o, "path", path.data, path.len);
    return o;
}

static int add_page(struct object *o, json_t *frame, const struct locator *l, struct error *e)
{
    _cleanup_(buf_release) struct buf raw = { 0 };
    struct bytes sealed = { o->bytes.data + l->offset, l->sealed };
    int r = pack_frame_open(&o->stack->seal, l, FRAME_PAGE, sealed, &raw, e);
    if (r < 0)
        return r;
    struct frame *f = frame_new(raw.len);
    memcpy(f->data, raw.data, raw.len);
    struct page *p = NULL;
    r = page_decode(f, &p, e);
    frame_drop(f);
    if (r < 0)
        return r;
    json_t *items = json_array();
    struct page_cursor at;
    for (page_first(p, &at); !page_at_end(&at); page_next(&at))
        json_array_append_new(items, item_json(p, &at));
    add_number(frame, "level", p->level);
    json_object_set_new(frame, "items", items);
    page_drop(p);
    return 0;
}

/* A list that is cut into several frames is shown as their sizes alone. */
static int add_access(struct object *o, json_t *frame, const struct locator *l, struct error *e)
{
    _cleanup_(buf_release) struct buf raw = { 0 };
    char **paths = NULL;
    size_t count = 0;
    int r = pack_frame_open(&o->stack->seal, l, FRAME_ACCESS, (struct bytes){ o->bytes.data + l->offset, l->sealed },
                            &raw, e);
    if (r < 0 || access_decode(buf_bytes(&raw), &paths, &count, NULL) < 0)
        return r;
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        json_t *one = json_object();
        ui_path_into(one, "path", paths[i], strlen(paths[i]));
        json_array_append_new(list, one);
    }
    json_object_set_new(frame, "paths", list);
    access_free(paths, count);
    return 0;
}

static int add_frames(struct object *o, const struct pack_frames *frames, struct error *e)
{
    json_t *list = json_array();
    json_object_set_new(o->json, "frames", list);
    int r = 0;
    for (size_t i = 0; i < frames->count && r == 0; i++) {
        const struct pack_frame *f = &frames->frames[i];
        json_t *one = json_pack("{s:s,s:I,s:I,s:I,s:I}", "kind", frame_names[f->kind], "offset",
                                (json_int_t)f->at.offset, "sealed", (json_int_t)f->at.sealed, "raw",
                                (json_int_t)f->at.raw, "extents", (json_int_t)f->count);
        json_array_append_new(list, one);
        if (f->kind == FRAME_PAGE)
            r = add_page(o, one, &f->at, e);
        else if (f->kind == FRAME_ACCESS)
            r = add_access(o, one, &f->at, e);
    }
    return r;
}

static int dump_pack(struct object *o, struct error *e)
{
    struct pack_name name;
    struct pack_frames frames = { 0 };
    size_t need = 0;
    if (pack_parse(o->id, &name) < 0)
        return error_say(e, ERROR_USAGE, -EINVAL, "'%s' is no pack's name", o->id);
    int r = footer_open(&o->stack->seal, &name, o->bytes.len, buf_bytes(&o->bytes), &frames, &need, e);
    if (r == 0)
        r = add_frames(o, &frames, e);
    pack_frames_release(&frames);
    return r;
}

static const struct kind {
    const char *name;
    int (*dump)(struct object *o, struct error *e);
} kinds[] = {
    { "head", dump_head }, { "pack", dump_pack },           { "snap", dump_snapshot },
    { "hold", dump_hold }, { "condemned", dump_condemned }, { "fork", dump_fork },
};

/* Cuts "box/NAME/KIND[/ID]" or "globals/KIND[/ID]" and remembers box and id. NULL: no such kind. */
static const struct kind *parse_key(struct object *o, struct error *e)
{
    char kind[16] = "", name[64] = "";
    int end = 0;
    int got = sscanf(o->key, "box/%63[^/]/%15[^/]%n", name, kind, &end);
    bool of_box = got == 2 && text_is_name(name);
    if (!of_box && sscanf(o->key, TEXT_GLOBALS "/%15[^/]%n", kind, &end) == 1)
        snprintf(name, sizeof(name), TEXT_GLOBALS);
    else if (!of_box)
        return error_say(e, ERROR_USAGE, -EINVAL, "'%s' is no object's key", o->key), NULL;
    o->id = o->key + end + (o->key[end] == '/');
    snprintf(o->stack->name, sizeof(o->stack->name), "%s", name);
    o->stack->seal.box = o->stack->name;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(kinds[i].name, kind) == 0)
            return &kinds[i];
    return error_say(e, ERROR_USAGE, -EINVAL, "'%s': no kind of object", kind), NULL;
}

/* A file in a directory store is named by its path below the store. */
static const char *key_of(const struct stack *s, const char *what)
{
    static const char scheme[] = "file://";
    const char *store = s->config->store;
    size_t n = strlen(scheme);
    if (what[0] != '/' || strncmp(store, scheme, n) != 0)
        return what;
    store += n;
    n = strlen(store);
    while (n > 0 && store[n - 1] == '/')
        n--;
    return strncmp(what, store, n) == 0 && what[n] == '/' ? what + n + 1 : what;
}

int dump_object(struct stack *s, const char *what, json_t **ret, struct error *e)
{
    static const struct kind config = { KEYS_OBJECT, dump_config };
    struct object o = { .stack = s, .key = key_of(s, what) };
    const struct kind *k = strcmp(o.key, KEYS_OBJECT) == 0 ? &config : parse_key(&o, e);
    if (!k)
        return -EINVAL;
    o.json = json_pack("{s:s,s:s}", "key", o.key, "kind", k->name);
    int r = store_get(s->store, o.key, 0, 0, PACK_MAX, &o.bytes, NULL, e);
    if (r == 0)
        r = k->dump(&o, e);
    buf_release(&o.bytes);
    if (r < 0) {
        json_decref(o.json);
        return error_prefix(e, "%s", o.key), r;
    }
    *ret = o.json;
    return 0;
}
