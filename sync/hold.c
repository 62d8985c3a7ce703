/* SPDX-License-Identifier: MIT */
#include "sync/hold.h"

#include "index/base/clock.h"
#include "index/base/mem.h"
#include "sync/children.h"
#include "sync/fields.h"

#include <errno.h>
#include <stdio.h>

#include <sodium.h>

#define HOLD_VERSION 1

void hold_new_writer(const struct node *n, struct writer *ret)
{
    memcpy(ret->state, n->state, sizeof(ret->state));
    randombytes_buf(ret->rand, sizeof(ret->rand));
}

void hold_key(const char *box, const struct writer *w, char to[STORE_KEY_MAX])
{
    char text[WRITER_TEXT];
    writer_text(w, text);
    store_box_key(to, box, "hold/%s", text);
}

void hold_encode_body(const struct hold *h, struct buf *to)
{
    json_t *o = json_object();
    json_object_set_new(o, "v", json_integer(HOLD_VERSION));
    json_object_set_new(o, "node", json_string(h->node));
    json_object_set_new(o, "snapshot", fields_put_hex(&h->snapshot, sizeof(h->snapshot)));
    json_object_set_new(o, "time", json_integer(h->time_s));
    fields_write(o, to);
}

int hold_put(struct store *s, const struct seal_context *c, const struct writer *w, const struct node *n,
             const struct snapshot_id *snapshot, struct error *e)
{
    char name[WRITER_TEXT], key[STORE_KEY_MAX];
    _cleanup_(buf_release) struct buf body = { 0 }, sealed = { 0 };
    struct hold h = { .snapshot = *snapshot, .time_s = clock_wall_ns() / 1000000000 };
    snprintf(h.node, sizeof(h.node), "%s", n->name);
    hold_encode_body(&h, &body);
    writer_text(w, name);
    hold_key(c->box, w, key);
    seal(c, SEAL_HOLD, name, sizeof(name) - 1, buf_bytes(&body), &sealed);
    return store_put(s, key, buf_bytes(&sealed), STORE_ALWAYS, NULL, NULL, e);
}

int hold_remove(struct store *s, const char *box, const struct writer *w, struct error *e)
{
    char key[STORE_KEY_MAX];
    hold_key(box, w, key);
    return store_remove(s, key, e);
}

int hold_decode_body(struct bytes json, struct hold *ret, struct error *e)
{
    struct hold h = { 0 };
    uint64_t time_s = 0;
    json_t *o = NULL;
    int r = fields_open(json, HOLD_VERSION, "hold", &o, e);
    if (r < 0)
        return r;
    if (fields_name(o, "node", h.node) < 0 || fields_hex(o, "snapshot", &h.snapshot, sizeof(h.snapshot)) < 0 ||
        fields_number(o, "time", FIELDS_NUMBER_MAX, &time_s) < 0)
        r = error_say(e, ERROR_DAMAGED, -EBADMSG, "hold: impossible values");
    json_decref(o);
    if (r < 0)
        return r;
    h.time_s = (int64_t)time_s;
    *ret = h;
    return 0;
}

/* A children_get. What cannot be opened is a hold all the same. */
static int get(struct store *s, const struct seal_context *c, const char *name, void *ret, struct error *e)
{
    struct hold h = { 0 };
    struct writer w;
    struct store_info info;
    _cleanup_(buf_release) struct buf body = { 0 };
    char key[STORE_KEY_MAX];
    store_box_key(key, c->box, "hold/%s", name);
    if (writer_parse(name, &w) < 0)
        return error_say(e, ERROR_DAMAGED, -EBADMSG, "%s: not a hold's name", key);
    int r = children_open(s, c, "hold", SEAL_HOLD, name, &body, &info, e);
    if (r < 0)
        return r;
    h.damaged = r > 0 || hold_decode_body(buf_bytes(&body), &h, NULL) < 0;
    h.writer = w;
    h.age_ns = info.now_ns - info.modified_ns;
    *(struct hold *)ret = h;
    return 0;
}

int hold_list(struct store *s, const struct seal_context *c, struct hold **ret, size_t *ret_count, struct error *e)
{
    void *all = NULL;
    int r = children_list(s, c, "hold", get, sizeof(struct hold), &all, ret_count, e);
    if (r == 0)
        *ret = all;
    return r;
}

bool hold_is_stray(const struct hold *h, const struct node *n, const struct writer *known, size_t count)
{
    if (memcmp(h->writer.state, n->state, sizeof(n->state)) != 0)
        return false;
    for (size_t i = 0; i < count; i++)
        if (memcmp(&known[i], &h->writer, sizeof(h->writer)) == 0)
            return false;
    return true;
}
