/* SPDX-License-Identifier: MIT */
#include "sync/snapshots.h"

#include "index/base/mem.h"
#include "index/base/text.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#define SNAPSHOTS_PREFIX_MIN 8
#define SNAPSHOTS_LIST_MAX (1u << 20)

void snapshots_key(const char *box, const struct snapshot_id *id, char to[STORE_KEY_MAX])
{
    char text[SNAPSHOT_ID_TEXT];
    snapshot_id_text(id, text);
    store_box_key(to, box, "snap/%s", text);
}

void snapshots_new_id(struct snapshot_id *ret)
{
    randombytes_buf(ret->b, sizeof(ret->b));
}

int snapshots_parse_id(const char *text, struct snapshot_id *ret)
{
    struct snapshot_id id;
    int r = text_unhex(text, strlen(text), id.b, sizeof(id.b));
    if (r == 0)
        *ret = id;
    return r;
}

void snapshots_seal(const struct snapshot *s, const struct seal_context *c, struct buf *ret)
{
    _cleanup_(buf_release) struct buf plain = { 0 };
    snapshot_encode(s, &plain);
    seal(c, SEAL_SNAPSHOT, s->id.b, sizeof(s->id.b), buf_bytes(&plain), ret);
}

int snapshots_open(struct bytes sealed, const struct seal_context *c, const struct snapshot_id *id,
                   struct snapshot *ret, struct error *e)
{
    char text[SNAPSHOT_ID_TEXT];
    snapshot_id_text(id, text);
    _cleanup_(buf_release) struct buf plain = { 0 };
    int r = seal_open(c, SEAL_SNAPSHOT, id->b, sizeof(id->b), sealed, SNAPSHOT_MAX, &plain, e);
    struct snapshot s = { 0 };
    if (r == 0)
        r = snapshot_decode(buf_bytes(&plain), &s, e);
    if (r == 0 && (strcmp(s.box, c->box) != 0 || memcmp(s.id.b, id->b, sizeof(id->b)) != 0))
        r = error_say(e, ERROR_DAMAGED, -EBADMSG, "holds snapshot of box '%s'", s.box);
    if (r < 0) {
        snapshot_release(&s);
        return error_prefix(e, "snapshot %.16s of %s", text, c->box), r;
    }
    *ret = s;
    return 0;
}

int snapshots_fetch(struct store *s, const char *box, const struct snapshot_id *id, struct buf *ret, struct error *e)
{
    char key[STORE_KEY_MAX];
    snapshots_key(box, id, key);
    return store_get(s, key, 0, 0, SNAPSHOT_MAX + SEAL_OVERHEAD + 64, ret, NULL, e);
}

int snapshots_get(struct store *s, const struct seal_context *c, const struct snapshot_id *id, struct snapshot *ret,
                  struct error *e)
{
    _cleanup_(buf_release) struct buf sealed = { 0 };
    int r = snapshots_fetch(s, c->box, id, &sealed, e);
    if (r < 0)
        return r;
    return snapshots_open(buf_bytes(&sealed), c, id, ret, e);
}

struct listing {
    size_t skip; /* length of the prefix before the id */
    struct snapshot_id *ids;
    size_t count, room;
};

static int add_listed(void *arg, const char *key, const struct store_info *info, struct error *e)
{
    (void)info;
    struct listing *l = arg;
    struct snapshot_id id;
    if (snapshots_parse_id(key + l->skip, &id) < 0)
        return 0; /* not ours: a stray object is no snapshot */
    if (l->count == SNAPSHOTS_LIST_MAX)
        return error_say(e, ERROR_DAMAGED, -EFBIG, "more than %u snapshots", SNAPSHOTS_LIST_MAX);
    if (l->count == l->room) {
        l->room = l->room ? l->room * 2 : 64;
        l->ids = mem_grow(l->ids, l->room, sizeof(*l->ids));
    }
    l->ids[l->count++] = id;
    return 0;
}

int snapshots_list(struct store *s, const char *box, struct snapshot_id **ret, size_t *ret_count, struct error *e)
{
    char prefix[STORE_KEY_MAX];
    struct listing l = { .skip = store_box_key(prefix, box, "snap/") };
    int r = store_list(s, prefix, add_listed, &l, e);
    if (r < 0) {
        free(l.ids);
        return r;
    }
    *ret = l.ids;
    *ret_count = l.count;
    return 0;
}

int snapshots_find(struct store *s, const char *box, const char *prefix, struct snapshot_id *ret, struct error *e)
{
    if (snapshots_parse_id(prefix, ret) == 0)
        return 0;
    size_t len = strlen(prefix);
    if (len < SNAPSHOTS_PREFIX_MIN || len >= SNAPSHOT_ID_TEXT || strspn(prefix, "0123456789abcdef") != len)
        return error_say(e, ERROR_USAGE, -EINVAL, "'%s' is no snapshot id: at least %d hex digits, or fork:NODE-EPOCH",
                         prefix, SNAPSHOTS_PREFIX_MIN);

    _cleanup_free_ struct snapshot_id *ids = NULL;
    size_t count = 0, matches = 0, match = 0;
    int r = snapshots_list(s, box, &ids, &count, e);
    if (r < 0)
        return r;
    for (size_t i = 0; i < count; i++) {
        char text[SNAPSHOT_ID_TEXT];
        snapshot_id_text(&ids[i], text);
        if (strncmp(text, prefix, len) == 0) {
            matches++;
            match = i;
        }
    }
    if (matches != 1) {
        error_say(e, matches ? ERROR_USAGE : ERROR_UNKNOWN, matches ? -EEXIST : -ENOENT,
                  "%s snapshot of %s begins with %s", matches ? "more than one" : "no", box, prefix);
        error_hint(e, "ag-box ls --snapshots %s lists them", box);
        return matches ? -EEXIST : -ENOENT;
    }
    *ret = ids[match];
    return 0;
}
