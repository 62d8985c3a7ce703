/* SPDX-License-Identifier: MIT */
#include "tests/unit/world.h"

#include "index/base/mem.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void opened(const struct world *w, const struct buf *sealed, struct head *ret)
{
    _cleanup_(buf_release) struct buf body = { 0 };
    if (seal_open(w->seal, SEAL_HEAD, "head", 4, buf_bytes(sealed), HEAD_MAX, &body, NULL) < 0 ||
        head_decode_body(buf_bytes(&body), ret, NULL) < 0)
        abort();
}

void world_head(const struct world *w, struct head *ret)
{
    head_release(ret);
    if (w->version)
        opened(w, &w->body, ret);
}

static bool apply(struct world *w, const struct world_put *p)
{
    if (w->version != p->needs)
        return false;
    _cleanup_(head_releasep) struct head before = { 0 }, after = { 0 };
    world_head(w, &before);
    opened(w, &p->body, &after);
    buf_clear(&w->body);
    buf_add(&w->body, p->body.data, p->body.len);
    w->version++;
    w->modified_ns = w->now_ns;
    if (w->landed)
        w->landed(w, p->node, &before, &after);
    return true;
}

static void keep(struct world *w, const struct world_put *p)
{
    if (w->delayed_count == WORLD_DELAYED)
        return; /* never arrives */
    struct world_put *copy = &w->delayed[w->delayed_count++];
    *copy = (struct world_put){ .needs = p->needs, .node = p->node };
    buf_add(&copy->body, p->body.data, p->body.len);
}

void world_deliver(struct world *w, size_t i)
{
    struct world_put p = w->delayed[i];
    w->delayed[i] = w->delayed[--w->delayed_count];
    apply(w, &p);
    buf_release(&p.body);
}

void world_release(struct world *w)
{
    while (w->delayed_count > 0)
        buf_release(&w->delayed[--w->delayed_count].body);
    buf_release(&w->body);
}

static int unreachable(struct error *e)
{
    return error_say(e, ERROR_STORE, -EHOSTUNREACH, "no answer");
}

static void dies(struct world_node *n)
{
    if (n->world->died)
        n->world->died(n);
    n->dead = true;
}

static int get(struct store *s, const char *key, uint64_t offset, uint64_t length, size_t max, struct buf *ret,
               struct store_info *ret_info, struct error *e)
{
    struct world_node *n = (struct world_node *)s;
    struct world *w = n->world;
    if (w->before && !n->dead)
        w->before(n, false, (struct bytes){ 0 });
    enum world_fault f = w->choose && !n->dead ? w->choose(n, false) : WORLD_FINE;
    if (f == WORLD_DIES)
        dies(n);
    if (n->dead || f != WORLD_FINE)
        return unreachable(e);
    if (!w->version)
        return error_say(e, ERROR_UNKNOWN, -ENOENT, "no object");
    buf_clear(ret);
    buf_add(ret, w->body.data, w->body.len);
    *ret_info = (struct store_info){ .size = w->body.len, .modified_ns = w->modified_ns, .now_ns = w->now_ns };
    snprintf(ret_info->etag, sizeof(ret_info->etag), "%" PRIu64, w->version);
    return 0;
}

static int answer(struct world_node *n, const struct world_put *p, enum world_fault f, struct error *e)
{
    struct world *w = n->world;
    bool happens = f == WORLD_FINE || f == WORLD_LOST_ANSWER || f == WORLD_SENT_TWICE || f == WORLD_RESENT ||
                   f == WORLD_DIES_AFTER;
    bool done = happens && apply(w, p);
    if (f == WORLD_DELAYED_PUT || f == WORLD_SENT_TWICE)
        keep(w, p);
    if (f == WORLD_DIES_AFTER)
        dies(n);
    if (f == WORLD_RATE)
        return error_say(e, ERROR_STORE, -EBUSY, "slow down");
    if (f == WORLD_REFUSED)
        return error_say(e, ERROR_STORE, -EACCES, "refused");
    if (f == WORLD_CONFLICT || f == WORLD_RESENT || (happens && !done && !n->dead && f != WORLD_LOST_ANSWER))
        return error_say(e, ERROR_FAILED, -ESTALE, "the condition was not met");
    return done && (f == WORLD_FINE || f == WORLD_SENT_TWICE) ? 0 : unreachable(e);
}

static int put(struct store *s, const char *key, struct bytes data, enum store_condition condition, const char *etag,
               char *ret_etag, struct error *e)
{
    struct world_node *n = (struct world_node *)s;
    struct world *w = n->world;
    if (condition == STORE_ALWAYS)
        abort(); /* a head is never written without a condition */
    if (w->before && !n->dead)
        w->before(n, true, data);
    enum world_fault f = w->choose && !n->dead ? w->choose(n, true) : WORLD_FINE;
    if (f == WORLD_DIES)
        dies(n);
    if (n->dead)
        return unreachable(e);

    struct world_put p = { .needs = condition == STORE_IF_MATCH ? strtoull(etag, NULL, 10) : 0, .node = n->number };
    buf_add(&p.body, data.data, data.len);
    int r = answer(n, &p, f, e);
    buf_release(&p.body);
    if (r == 0)
        snprintf(ret_etag, STORE_ETAG_MAX, "%" PRIu64, w->version);
    return r;
}

static const struct store_operations operations = { .get = get, .put = put };

void world_node_init(struct world_node *n, struct world *w, int number)
{
    *n = (struct world_node){ .store = { .operations = &operations }, .world = w, .number = number };
}
