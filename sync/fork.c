/* SPDX-License-Identifier: MIT */
#include "sync/fork.h"

#include "index/base/clock.h"
#include "index/base/mem.h"
#include "index/base/text.h"
#include "sync/children.h"
#include "sync/fields.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include <sodium.h>

#define FORK_VERSION 1
#define RAND_DIGITS 16
#define TRIES 4

void fork_name_new(struct fork *f, const struct node *n, uint64_t epoch)
{
    uint8_t random[RAND_DIGITS / 2];
    char hex[RAND_DIGITS + 1];
    randombytes_buf(random, sizeof(random));
    text_hex(hex, random, sizeof(random));
    snprintf(f->node, sizeof(f->node), "%s", n->name);
    f->epoch = epoch;
    f->time_s = clock_wall_ns() / 1000000000;
    snprintf(f->name, sizeof(f->name), "%s-%" PRIu64 "-%s", f->node, epoch, hex);
}

/* From the right: node names may hold dashes, too. */
int fork_name_parse(const char *name, struct fork *ret)
{
    struct fork f = { 0 };
    char text[FORK_NAME_MAX];
    uint8_t random[RAND_DIGITS / 2];
    size_t n = strlen(name);
    if (n >= sizeof(text) || n < RAND_DIGITS + 4)
        return -EINVAL;
    memcpy(text, name, n + 1);
    char *rand = text + n - RAND_DIGITS;
    if (rand[-1] != '-' || text_unhex(rand, RAND_DIGITS, random, sizeof(random)) < 0)
        return -EINVAL;
    rand[-1] = 0;
    char *epoch = strrchr(text, '-');
    if (!epoch || epoch[1] == '0' || text_parse_u64(epoch + 1, FIELDS_NUMBER_MAX, &f.epoch) < 0)
        return -EINVAL;
    *epoch = 0;
    if (!text_is_name(text))
        return -EINVAL;
    snprintf(f.node, sizeof(f.node), "%.63s", text);
    memcpy(f.name, name, n + 1);
    *ret = f;
    return 0;
}

static void fork_key(const char *box, const char *name, char to[STORE_KEY_MAX])
{
    store_box_key(to, box, "fork/%s", name);
}

void fork_encode_body(const struct fork *f, struct buf *to)
{
    char writer[WRITER_TEXT];
    writer_text(&f->writer, writer);
    json_t *o = json_object();
    json_object_set_new(o, "v", json_integer(FORK_VERSION));
    json_object_set_new(o, "node", json_string(f->node));
    json_object_set_new(o, "epoch", json_integer((json_int_t)f->epoch));
    json_object_set_new(o, "snapshot", fields_put_hex(&f->snapshot, sizeof(f->snapshot)));
    json_object_set_new(o, "parent", fields_put_hex(&f->parent, sizeof(f->parent)));
    json_object_set_new(o, "incarnation", fields_put_hex(f->incarnation, sizeof(f->incarnation)));
    json_object_set_new(o, "writer", json_string(writer));
    json_object_set_new(o, "time", json_integer(f->time_s));
    fields_write(o, to);
}

static int read_all(const json_t *o, struct fork *f)
{
    char writer[WRITER_TEXT], node[64];
    uint64_t time_s, epoch;
    if (fields_name(o, "node", node) < 0 || strcmp(node, f->node) != 0 ||
        fields_number(o, "epoch", FIELDS_NUMBER_MAX, &epoch) < 0 || epoch != f->epoch ||
        fields_number(o, "time", FIELDS_NUMBER_MAX, &time_s) < 0)
        return -1;
    if (fields_hex(o, "snapshot", &f->snapshot, sizeof(f->snapshot)) < 0 || snapshot_id_none(&f->snapshot) ||
        fields_hex(o, "parent", &f->parent, sizeof(f->parent)) < 0 ||
        fields_hex(o, "incarnation", f->incarnation, sizeof(f->incarnation)) < 0 ||
        fields_text(o, "writer", writer, sizeof(writer)) < 0 || writer_parse(writer, &f->writer) < 0)
        return -1;
    f->time_s = (int64_t)time_s;
    return 0;
}

int fork_decode_body(struct bytes json, struct fork *ret, struct error *e)
{
    struct fork f = *ret;
    json_t *o = NULL;
    int r = fields_open(json, FORK_VERSION, "fork", &o, e);
    if (r < 0)
        return r;
    r = read_all(o, &f);
    json_decref(o);
    if (r < 0)
        return error_say(e, ERROR_DAMAGED, -EBADMSG, "fork: impossible values");
    *ret = f;
    return 0;
}

/* A children_get. What cannot be opened is a fork all the same. */
static int get(struct store *s, const struct seal_context *c, const char *name, void *ret, struct error *e)
{
    struct fork f;
    struct store_info info;
    _cleanup_(buf_release) struct buf body = { 0 };
    char key[STORE_KEY_MAX];
    fork_key(c->box, name, key);
    if (fork_name_parse(name, &f) < 0)
        return error_say(e, ERROR_DAMAGED, -EBADMSG, "%s: not a fork's name", key);
    int r = children_open(s, c, "fork", SEAL_FORK, name, &body, &info, e);
    if (r < 0)
        return r;
    f.damaged = r > 0 || fork_decode_body(buf_bytes(&body), &f, NULL) < 0;
    f.modified_ns = info.modified_ns;
    f.age_ns = info.now_ns - info.modified_ns;
    *(struct fork *)ret = f;
    return 0;
}

int fork_put(struct store *s, const struct seal_context *c, const struct fork *f, struct error *e)
{
    char key[STORE_KEY_MAX];
    _cleanup_(buf_release) struct buf body = { 0 }, sealed = { 0 };
    fork_key(c->box, f->name, key);
    fork_encode_body(f, &body);
    seal(c, SEAL_FORK, f->name, strlen(f->name), buf_bytes(&body), &sealed);
    for (unsigned try = 0;; try++) {
        struct error why = { 0 };
        struct fork there;
        int r = store_put(s, key, buf_bytes(&sealed), STORE_IF_ABSENT, NULL, NULL, &why);
        if (r == 0)
            return 0;
        /* The name is random: what is there under it is ours, or nothing is. */
        r = why.code == -ECANCELED ? why.code : get(s, c, f->name, &there, NULL);
        if (r == 0 && !there.damaged && snapshot_id_equal(&there.snapshot, &f->snapshot))
            return 0;
        if (r != -ENOENT || try + 1 == TRIES) {
            error_pass(e, &why);
            return error_prefix(e, "write %s", key), why.code;
        }
    }
}

int fork_remove(struct store *s, const char *box, const char *name, struct error *e)
{
    char key[STORE_KEY_MAX];
    fork_key(box, name, key);
    return store_remove(s, key, e);
}

static bool same_work(const struct fork *a, const struct fork *b)
{
    return a->epoch == b->epoch && strcmp(a->node, b->node) == 0;
}

static int by_work(const void *a, const void *b)
{
    const struct fork *x = a, *y = b;
    int order = strcmp(x->node, y->node);
    if (order)
        return order;
    if (x->epoch != y->epoch)
        return x->epoch < y->epoch ? -1 : 1;
    if (x->modified_ns != y->modified_ns)
        return x->modified_ns > y->modified_ns ? -1 : 1;
    return strcmp(x->name, y->name);
}

int fork_list(struct store *s, const struct seal_context *c, struct fork **ret, size_t *ret_count, struct error *e)
{
    void *all = NULL;
    size_t count = 0;
    int r = children_list(s, c, "fork", get, sizeof(struct fork), &all, &count, e);
    if (r < 0)
        return r;
    qsort(all, count, sizeof(struct fork), by_work);
    *ret = all;
    *ret_count = count;
    return 0;
}

bool fork_is_older(const struct fork *all, size_t count, const struct fork *f)
{
    for (size_t i = 0; i < count; i++)
        if (!all[i].damaged && same_work(&all[i], f) && snapshot_id_equal(&all[i].parent, &f->snapshot))
            return true;
    return false;
}

static void short_name(const struct fork *f, char to[FORK_NAME_MAX])
{
    snprintf(to, FORK_NAME_MAX, "%s-%" PRIu64, f->node, f->epoch);
}

/* As many names as fit; what is cut off is still in `ls`. */
static int refuse_several(const struct fork *all, size_t count, const char *box, const struct fork *last,
                          struct error *e)
{
    _cleanup_(buf_release) struct buf names = { 0 };
    char name[FORK_NAME_MAX];
    for (size_t i = 0; i < count; i++)
        if (same_work(&all[i], last) && !fork_is_older(all, count, &all[i]))
            buf_printf(&names, "%sfork:%s", names.len ? ", " : "", all[i].name);
    short_name(last, name);
    error_say(e, ERROR_USAGE, -EEXIST, "fork:%s of %s may be any of these: %s", name, box, buf_string(&names));
    return error_hint(e, "say its whole name, fork:%s or another; `ag-box ls --snapshots %s` shows their times",
                      last->name, box),
           -EEXIST;
}

int fork_find(const struct fork *all, size_t count, const char *box, const char *id, const struct fork **ret,
              struct error *e)
{
    const char *name = strncmp(id, "fork:", 5) == 0 ? id + 5 : id;
    const struct fork *found = NULL;
    size_t newest = 0;
    for (size_t i = 0; i < count; i++) {
        char work[FORK_NAME_MAX];
        short_name(&all[i], work);
        if (strcmp(all[i].name, name) == 0) {
            *ret = &all[i];
            return 0;
        }
        if (strcmp(work, name) == 0 && !fork_is_older(all, count, &all[i])) {
            found = &all[i];
            newest++;
        }
    }
    if (newest > 1)
        return refuse_several(all, count, box, found, e);
    if (newest == 0) {
        error_say(e, ERROR_UNKNOWN, -ENOENT, "no fork %s of %s", name, box);
        return error_hint(e, "ag-box ls --snapshots %s lists them", box), -ENOENT;
    }
    *ret = found;
    return 0;
}

void fork_id(const struct fork *all, size_t count, const struct fork *f, char to[FORK_ID_MAX])
{
    char name[FORK_NAME_MAX];
    const struct fork *found = NULL;
    short_name(f, name);
    bool alone = fork_find(all, count, "", name, &found, NULL) == 0 && found == f;
    snprintf(to, FORK_ID_MAX, "fork:%s", alone ? name : f->name);
}

struct verifying {
    struct fork_pack *packs;
    size_t count;
    size_t skip; /* of a key, to the pack's text */
};

static int by_name(const void *a, const void *b)
{
    return memcmp(&((const struct fork_pack *)a)->name, &((const struct fork_pack *)b)->name, sizeof(struct pack_name));
}

static int found(void *arg, const char *key, const struct store_info *info, struct error *e)
{
    struct verifying *v = arg;
    struct fork_pack wanted = { 0 };
    if (pack_parse(key + v->skip, &wanted.name) < 0)
        return 0; /* nothing that we look for */
    struct fork_pack *p = bsearch(&wanted, v->packs, v->count, sizeof(*v->packs), by_name);
    /* The same pack may be named more than once. */
    while (p && p > v->packs && by_name(p - 1, &wanted) == 0)
        p--;
    for (; p && p < v->packs + v->count && by_name(p, &wanted) == 0; p++)
        p->missing = p->size != 0 && p->size != info->size;
    return 0;
}

int fork_verify(struct store *s, const struct seal_context *c, const struct head *h, struct fork_pack *packs,
                size_t count, struct error *e)
{
    _cleanup_(condemned_release) struct condemned condemned = { 0 };
    char prefix[STORE_KEY_MAX];
    struct verifying v = { packs, count, store_box_key(prefix, c->box, "pack/") };
    if (count == 0)
        return 0;
    qsort(packs, count, sizeof(*packs), by_name);
    for (size_t i = 0; i < count; i++)
        packs[i].missing = true;
    int r = condemned_get(s, c, h->condemned, &condemned, e);
    if (r == 0)
        r = store_list(s, prefix, found, &v, e);
    if (r < 0)
        return r;
    int missing = 0;
    for (size_t i = 0; i < count; i++) {
        if (condemned_find_pack(&condemned, &packs[i].name))
            packs[i].missing = true;
        missing += packs[i].missing;
    }
    return missing;
}
