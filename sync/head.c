/* SPDX-License-Identifier: MIT */
#include "sync/head.h"

#include "index/base/mem.h"
#include "index/base/text.h"
#include "sync/fields.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#define HEAD_VERSION 1
#define HEAD_PATH_MAX 4096

static const char *const state_names[] = {
    [HEAD_HELD] = "held",
    [HEAD_FREE] = "free",
    [HEAD_PRUNING] = "pruning",
    [HEAD_TOMBSTONE] = "tombstone",
};

static const char *const known_keys[] = { "v",     "box",  "incarnation", "epoch", "seq",
                                          "state", "node", "boot_id",     "pin",   "path",
                                          "ttl",   "root", "condemned",   "last",  "write" };

const char *head_state_name(enum head_state s)
{
    return (unsigned)s <= HEAD_TOMBSTONE ? state_names[s] : "unknown";
}

void head_release(struct head *h)
{
    free(h->path);
    free(h->unknown);
    *h = (struct head){ 0 };
}

void head_releasep(struct head *h)
{
    head_release(h);
}

void head_copy(const struct head *from, struct head *to)
{
    *to = *from;
    to->path = from->path ? mem_strdup(from->path) : NULL;
    to->unknown = from->unknown ? mem_strdup(from->unknown) : NULL;
}

void head_key(const char *box, char to[STORE_KEY_MAX])
{
    store_box_key(to, box, "head");
}

bool head_expired(const struct head *h)
{
    if (h->state != HEAD_HELD)
        return h->state == HEAD_FREE || h->state == HEAD_PRUNING;
    return h->age_ns > 0 && (uint64_t)h->age_ns / 1000000000u >= h->ttl_s;
}

const struct head_last *head_ended(const struct head *h, uint64_t epoch)
{
    for (size_t i = 0; i < h->last_count; i++)
        if (h->last[i].epoch == epoch)
            return &h->last[i];
    return NULL;
}

void head_end_epoch(struct head *h)
{
    size_t keep = h->last_count < HEAD_LAST ? h->last_count : HEAD_LAST - 1;
    memmove(h->last + 1, h->last, keep * sizeof(h->last[0]));
    h->last[0] = (struct head_last){ .epoch = h->epoch, .root = h->root, .write = h->write };
    h->last_count = keep + 1;
}

/* encoding */

static json_t *encode_last(const struct head *h)
{
    json_t *all = json_array();
    for (size_t i = 0; i < h->last_count; i++) {
        json_t *one = json_object();
        json_object_set_new(one, "epoch", json_integer((json_int_t)h->last[i].epoch));
        json_object_set_new(one, "root", fields_put_hex(&h->last[i].root, sizeof(h->last[i].root)));
        json_object_set_new(one, "write", fields_put_hex(&h->last[i].write, sizeof(h->last[i].write)));
        json_array_append_new(all, one);
    }
    return all;
}

/* What we know goes over what we do not: an unknown key cannot stand in for one of ours. */
static json_t *to_json(const struct head *h)
{
    json_t *o = h->unknown ? json_loads(h->unknown, 0, NULL) : json_object();
    if (!json_is_object(o)) {
        json_decref(o);
        o = json_object();
    }
    json_object_set_new(o, "v", json_integer(HEAD_VERSION));
    json_object_set_new(o, "box", json_string(h->box));
    json_object_set_new(o, "incarnation", fields_put_hex(h->incarnation, sizeof(h->incarnation)));
    json_object_set_new(o, "epoch", json_integer((json_int_t)h->epoch));
    json_object_set_new(o, "seq", json_integer((json_int_t)h->seq));
    json_object_set_new(o, "state", json_string(head_state_name(h->state)));
    json_object_set_new(o, "node", json_string(h->node));
    json_object_set_new(o, "boot_id", json_string(h->boot_id));
    json_object_set_new(o, "pin", json_string(h->pin));
    json_object_set_new(o, "path", json_string(h->path ? h->path : ""));
    json_object_set_new(o, "ttl", json_integer((json_int_t)h->ttl_s));
    json_object_set_new(o, "root", fields_put_hex(&h->root, sizeof(h->root)));
    json_object_set_new(o, "last", encode_last(h));
    json_object_set_new(o, "write", fields_put_hex(&h->write, sizeof(h->write)));
    if (h->condemned[0])
        json_object_set_new(o, "condemned", json_string(h->condemned));
    else
        json_object_del(o, "condemned");
    return o;
}

int head_encode_body(const struct head *h, struct buf *ret, struct error *e)
{
    if (h->path && (!text_is_utf8(h->path, strlen(h->path)) || strlen(h->path) > HEAD_PATH_MAX))
        return error_say(e, ERROR_USAGE, -EINVAL, "the project's path is not UTF-8, or too long");

    _cleanup_(buf_release) struct buf body = { 0 };
    fields_write(to_json(h), &body);
    if (body.len > HEAD_MAX)
        return error_say(e, ERROR_FAILED, -EOVERFLOW, "the head of %s does not fit into %u bytes", h->box, HEAD_MAX);

    /* A head that we could not read again must not be written. */
    _cleanup_(head_releasep) struct head again = { 0 };
    int r = head_decode_body(buf_bytes(&body), &again, e);
    if (r < 0) {
        error_prefix(e, "encode the head of %s", h->box);
        return r;
    }
    buf_add(ret, body.data, body.len);
    return 0;
}

int head_encode(const struct head *h, const struct seal_context *c, struct buf *ret, struct error *e)
{
    _cleanup_(buf_release) struct buf body = { 0 };
    int r = head_encode_body(h, &body, e);
    if (r == 0)
        seal(c, SEAL_HEAD, "head", 4, buf_bytes(&body), ret);
    return r;
}

/* decoding: each reader says 0 or -1; the caller makes one error of it */

static int read_state(const json_t *o, enum head_state *ret)
{
    char word[16];
    if (fields_text(o, "state", word, sizeof(word)) < 0)
        return -1;
    for (unsigned i = 0; i <= HEAD_TOMBSTONE; i++)
        if (strcmp(word, state_names[i]) == 0) {
            *ret = (enum head_state)i;
            return 0;
        }
    return -1;
}

/* Newest first, all older than the head's own epoch. */
static int read_last(const json_t *o, struct head *h)
{
    const json_t *all = json_object_get(o, "last");
    if (!json_is_array(all) || json_array_size(all) > HEAD_LAST)
        return -1;
    uint64_t before = h->epoch;
    for (size_t i = 0; i < json_array_size(all); i++) {
        const json_t *one = json_array_get(all, i);
        struct head_last *l = &h->last[i];
        if (fields_number(one, "epoch", FIELDS_NUMBER_MAX, &l->epoch) < 0 || l->epoch >= before ||
            fields_hex(one, "root", &l->root, sizeof(l->root)) < 0 ||
            fields_hex(one, "write", &l->write, sizeof(l->write)) < 0)
            return -1;
        before = l->epoch;
    }
    h->last_count = json_array_size(all);
    return 0;
}

static int read_path(const json_t *o, struct head *h)
{
    _cleanup_free_ char *path = mem_new(HEAD_PATH_MAX + 1, 1);
    if (fields_text(o, "path", path, HEAD_PATH_MAX + 1) < 0 || (path[0] != 0 && path[0] != '/'))
        return -1;
    h->path = mem_strdup(path);
    return 0;
}

static int read_condemned(const json_t *o, struct head *h)
{
    uint8_t id[16];
    if (!json_object_get(o, "condemned"))
        return 0;
    return fields_hex(o, "condemned", id, sizeof(id)) < 0
               ? -1
               : fields_text(o, "condemned", h->condemned, sizeof(h->condemned));
}

static void read_unknown(json_t *o, struct head *h)
{
    for (size_t i = 0; i < sizeof(known_keys) / sizeof(known_keys[0]); i++)
        json_object_del(o, known_keys[i]);
    if (json_object_size(o) > 0)
        h->unknown = json_dumps(o, JSON_COMPACT | JSON_SORT_KEYS);
}

static int read_all(const json_t *o, struct head *h)
{
    if (fields_text(o, "box", h->box, sizeof(h->box)) < 0 || !text_is_box(h->box) ||
        fields_hex(o, "incarnation", h->incarnation, sizeof(h->incarnation)) < 0 ||
        fields_number(o, "epoch", FIELDS_NUMBER_MAX, &h->epoch) < 0 || h->epoch == 0 ||
        fields_number(o, "seq", FIELDS_NUMBER_MAX, &h->seq) < 0 || h->seq == 0 || read_state(o, &h->state) < 0)
        return -1;
    if (fields_text(o, "node", h->node, sizeof(h->node)) < 0 || !text_is_name(h->node) ||
        fields_text(o, "boot_id", h->boot_id, sizeof(h->boot_id)) < 0 ||
        fields_text(o, "pin", h->pin, sizeof(h->pin)) < 0 || (h->pin[0] && !text_is_name(h->pin)) ||
        read_path(o, h) < 0 || fields_number(o, "ttl", HEAD_TTL_MAX, &h->ttl_s) < 0)
        return -1;
    if (fields_hex(o, "root", &h->root, sizeof(h->root)) < 0 || read_condemned(o, h) < 0 || read_last(o, h) < 0 ||
        fields_hex(o, "write", &h->write, sizeof(h->write)) < 0)
        return -1;
    return snapshot_id_none(&h->root) == (h->state == HEAD_TOMBSTONE) ? 0 : -1;
}

int head_decode_body(struct bytes json, struct head *ret, struct error *e)
{
    if (json.len > HEAD_MAX)
        return error_say(e, ERROR_DAMAGED, -EBADMSG, "head: %zu bytes are too many", json.len);
    json_t *o = NULL;
    int r = fields_open(json, HEAD_VERSION, "head", &o, e);
    if (r < 0)
        return r;
    struct head h = { 0 };
    r = read_all(o, &h);
    if (r == 0)
        read_unknown(o, &h);
    json_decref(o);
    if (r < 0) {
        head_release(&h);
        return error_say(e, ERROR_DAMAGED, -EBADMSG, "head: impossible values");
    }
    head_release(ret);
    *ret = h;
    return 0;
}

int head_fetch(struct store *s, const char *box, struct head_object *ret, struct error *e)
{
    char key[STORE_KEY_MAX];
    head_key(box, key);
    return store_get(s, key, 0, 0, HEAD_MAX + SEAL_OVERHEAD + 1024, &ret->sealed, &ret->info, e);
}

int head_open(const struct seal_context *c, const struct head_object *o, struct head *ret, struct error *e)
{
    _cleanup_(buf_release) struct buf body = { 0 };
    _cleanup_(head_releasep) struct head h = { 0 };
    int r = seal_open(c, SEAL_HEAD, "head", 4, buf_bytes(&o->sealed), HEAD_MAX, &body, e);
    if (r == 0)
        r = head_decode_body(buf_bytes(&body), &h, e);
    if (r == 0 && strcmp(h.box, c->box) != 0)
        r = error_say(e, ERROR_DAMAGED, -EBADMSG, "it is the head of box %s", h.box);
    if (r < 0) {
        error_prefix(e, "read the head of %s", c->box);
        return error_hint(
                   e, "ag-box ls --snapshots %s lists what it led to, ag-box restore %s DIR --snapshot ID writes it",
                   c->box, c->box),
               r;
    }
    memcpy(h.etag, o->info.etag, sizeof(h.etag));
    h.now_ns = o->info.now_ns;
    h.age_ns = h.now_ns - o->info.modified_ns;
    head_release(ret);
    *ret = h;
    h = (struct head){ 0 };
    return 0;
}

int head_read(struct store *s, const struct seal_context *c, struct head *ret, struct error *e)
{
    struct head_object o = { 0 };
    int r = head_fetch(s, c->box, &o, e);
    if (r == 0)
        r = head_open(c, &o, ret, e);
    buf_release(&o.sealed);
    return r;
}

int head_send(struct store *s, struct head *h, struct bytes sealed, struct error *e)
{
    char key[STORE_KEY_MAX], etag[STORE_ETAG_MAX] = "";
    head_key(h->box, key);
    int r = store_put(s, key, sealed, h->etag[0] ? STORE_IF_MATCH : STORE_IF_ABSENT, h->etag, etag, e);
    if (r < 0)
        return r;
    memcpy(h->etag, etag, sizeof(h->etag));
    h->age_ns = 0;
    return 0;
}

int head_write(struct store *s, const struct seal_context *c, struct head *h, struct error *e)
{
    _cleanup_(buf_release) struct buf sealed = { 0 };
    int r = head_encode(h, c, &sealed, e);
    return r < 0 ? r : head_send(s, h, buf_bytes(&sealed), e);
}

int head_absent(const char *box, bool dropped, struct error *e)
{
    error_say(e, ERROR_UNKNOWN, -ENOENT, dropped ? "box %s was dropped" : "no box %s", box);
    return error_hint(e, "ag-box ls shows the boxes of this store"), -ENOENT;
}
