/* SPDX-License-Identifier: MIT */
#include "sync/hold.h"

#include "index/base/mem.h"

#include <sodium.h>
#include <stdio.h>

void hold_new_writer(const struct node *n, struct writer *ret)
{
    memcpy(ret->state, n->state, sizeof(ret->state));
    randombytes_buf(ret->rand, sizeof(ret->rand));
}

static void hold_key(const char *box, const struct writer *w, char to[STORE_KEY_MAX])
{
    char text[WRITER_TEXT];
    writer_text(w, text);
    snprintf(to, STORE_KEY_MAX, "box/%s/hold/%s", box, text);
}

int hold_put(struct store *s, const struct seal_context *c, const struct writer *w, const struct node *n,
             const struct snapshot_id *snapshot, struct error *e)
{
    char name[WRITER_TEXT], key[STORE_KEY_MAX], id[SNAPSHOT_ID_TEXT];
    writer_text(w, name);
    hold_key(c->box, w, key);
    snapshot_id_text(snapshot, id);
    _cleanup_(buf_release) struct buf body = { 0 }, sealed = { 0 };
    buf_printf(&body, "{\"v\":1,\"node\":\"%s\",\"snapshot\":\"%s\"}", n->name, id);
    seal(c, SEAL_HOLD, name, sizeof(name) - 1, buf_bytes(&body), &sealed);
    return store_put(s, key, buf_bytes(&sealed), STORE_ALWAYS, NULL, NULL, e);
}

int hold_remove(struct store *s, const char *box, const struct writer *w, struct error *e)
{
    char key[STORE_KEY_MAX];
    hold_key(box, w, key);
    return store_remove(s, key, e);
}
