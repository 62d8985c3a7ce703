/* SPDX-License-Identifier: MIT */
#include "sync/marking.h"

#include "index/base/mem.h"
#include "sync/snapshots.h"

#include <errno.h>

struct run {
    const struct marking_config *config;
    struct marking *marking;
    struct reached *reached;
    bool *reached_packs; /* one for each pack of the inventory */
};

void marking_release(struct marking *m)
{
    inventory_release(&m->inventory);
    free(m->items);
    free(m->stays);
    free(m->held_bytes);
    condemned_release(&m->next);
    condemned_release(&m->due);
    *m = (struct marking){ 0 };
}

static int refuse(const struct run *r, const char *what, const char *name, struct error *e)
{
    char key[STORE_KEY_MAX];
    store_box_key(key, r->config->seal.box, "%s/%s", what, name);
    error_say(e, ERROR_DAMAGED, -EBADMSG, "%s is damaged: what it needs is not known, so nothing is pruned", key);
    return error_hint(e, "ag-box check %s says more", r->config->seal.box), -EBADMSG;
}

static int refuse_damaged(const struct run *r, struct error *e)
{
    const struct inventory *v = &r->marking->inventory;
    char name[WRITER_TEXT], id[SNAPSHOT_ID_TEXT];
    for (size_t i = 0; i < v->snapshot_count; i++)
        if (v->snapshots[i].damaged) {
            snapshot_id_text(&v->snapshots[i].id, id);
            return refuse(r, "snap", id, e);
        }
    for (size_t i = 0; i < v->hold_count; i++)
        if (v->holds[i].damaged) {
            writer_text(&v->holds[i].writer, name);
            return refuse(r, "hold", name, e);
        }
    for (size_t i = 0; i < v->fork_count; i++)
        if (v->forks[i].damaged)
            return refuse(r, "fork", v->forks[i].name, e);
    return 0;
}

/* The order is part of the argument: inventory.h. */
static int look(struct run *r, struct error *e)
{
    const struct marking_config *c = r->config;
    struct inventory *v = &r->marking->inventory;
    int res = inventory_list_snapshots(v, c->store, c->seal.box, e);
    if (res == 0)
        res = inventory_list_packs(v, c->store, c->seal.box, e);
    if (res == 0)
        res = inventory_list_users(v, c->store, &c->seal, e);
    if (res == 0)
        res = inventory_open_snapshots(v, c->store, &c->seal, e);
    if (res == 0)
        res = refuse_damaged(r, e);
    if (res == 0 && !inventory_find_snapshot(v, &c->head->root))
        res = error_say(e, ERROR_DAMAGED, -ENOENT, "the snapshot that the head of %s names is gone", c->seal.box);
    return res;
}

static bool named_by_fork(const struct inventory *v, const struct snapshot_id *id)
{
    for (size_t i = 0; i < v->fork_count; i++)
        if (snapshot_id_equal(&v->forks[i].snapshot, id))
            return true;
    return false;
}

struct retention_item *marking_items(const struct inventory *v, const struct head *h, const struct condemned *c,
                                     const struct retention_policy *p)
{
    struct retention_item *items = mem_new(v->snapshot_count + 1, sizeof(*items));
    for (size_t i = 0; i < v->snapshot_count; i++) {
        const struct inventory_snapshot *n = &v->snapshots[i];
        struct retention_item *t = &items[i];
        *t = (struct retention_item){ .id = n->id, .time_ns = n->modified_ns };
        if (n->object) {
            t->parent = n->object->parent;
            t->epoch = n->object->epoch;
        }
        t->fork = named_by_fork(v, &n->id);
        t->condemned = !n->object || condemned_find_snapshot(c, &n->id);
    }
    retention_mark(items, v->snapshot_count, h, p);
    return items;
}

static void choose(struct run *r)
{
    struct marking *m = r->marking;
    const struct inventory *v = &m->inventory;
    m->items = marking_items(v, r->config->head, r->config->condemned, &r->config->policy);
    m->stays = mem_new(v->snapshot_count + 1, sizeof(*m->stays));
    m->held_bytes = mem_new(v->hold_count + 1, sizeof(*m->held_bytes));
    r->reached_packs = mem_new(v->pack_count + 1, sizeof(*r->reached_packs));
}

static int reach(struct run *r, const struct snapshot *s, struct error *e)
{
    _cleanup_(tree_closep) struct tree *t = NULL;
    char id[SNAPSHOT_ID_TEXT];
    int res = tree_open(r->config->source, &s->root, 0, &t, e);
    if (res == 0)
        res = reached_add(r->reached, s, t, r->config->source, e);
    snapshot_id_text(&s->id, id);
    return res < 0 ? error_prefix(e, "snapshot %.8s", id), res : 0;
}

/* Marks what the snapshot reaches; one that is not there covers nothing. */
static int cover(struct run *r, const struct snapshot_id *id, struct error *e)
{
    struct marking *m = r->marking;
    const struct inventory_snapshot *n = inventory_find_snapshot(&m->inventory, id);
    size_t i = n ? (size_t)(n - m->inventory.snapshots) : 0;
    if (snapshot_id_none(id) || (n && m->stays[i]))
        return 0;
    if (n) {
        m->stays[i] = true;
        return n->object ? reach(r, n->object, e) : 0;
    }
    _cleanup_(snapshot_releasep) struct snapshot s = { 0 }; /* made after the LIST */
    int res = snapshots_get(r->config->store, &r->config->seal, id, &s, e);
    if (res == -ENOENT)
        return 0;
    return res < 0 ? res : reach(r, &s, e);
}

/* The bytes of packs that are reached now, and were not the last time. */
static uint64_t count_reached(struct run *r)
{
    const struct inventory *v = &r->marking->inventory;
    uint64_t bytes = 0;
    for (size_t i = 0; i < v->pack_count; i++)
        if (!r->reached_packs[i] && reached_has(r->reached, &v->packs[i].name)) {
            r->reached_packs[i] = true;
            bytes += v->packs[i].size;
        }
    return bytes;
}

/* Those that nothing reaches, but whose writer lives. */
static uint64_t writers_bytes(const struct run *r, const struct writer *w)
{
    const struct inventory *v = &r->marking->inventory;
    uint64_t bytes = 0;
    for (size_t i = 0; i < v->pack_count; i++)
        if (!r->reached_packs[i] && memcmp(&v->packs[i].name.writer, w, sizeof(*w)) == 0)
            bytes += v->packs[i].size;
    return bytes;
}

static bool young(const struct run *r, int64_t modified_ns)
{
    return r->marking->inventory.now_ns - modified_ns < MARKING_GRACE_NS;
}

static int mark(struct run *r, struct error *e)
{
    struct marking *m = r->marking;
    const struct inventory *v = &m->inventory;
    int res = 0;
    for (size_t i = 0; res == 0 && i < v->snapshot_count; i++)
        if (m->items[i].kept || (!m->items[i].line && !m->items[i].condemned && young(r, v->snapshots[i].modified_ns)))
            res = cover(r, &v->snapshots[i].id, e);
    for (size_t i = 0; res == 0 && i < v->fork_count; i++)
        res = cover(r, &v->forks[i].snapshot, e);
    if (res == 0)
        count_reached(r);
    for (size_t i = 0; res == 0 && i < v->hold_count; i++) {
        res = cover(r, &v->holds[i].snapshot, e);
        if (res == 0)
            m->held_bytes[i] = count_reached(r) + writers_bytes(r, &v->holds[i].writer);
    }
    return res;
}

/* Entries beyond what a list may hold wait for a later prune. */
static void condemn_snapshot(struct run *r, size_t i)
{
    struct marking *m = r->marking;
    const struct inventory_snapshot *n = &m->inventory.snapshots[i];
    const struct condemned_snapshot *old = condemned_find_snapshot(r->config->condemned, &n->id);
    if ((m->stays[i] && !old) || m->next.snapshot_count == CONDEMNED_COUNT_MAX)
        return;
    condemned_add_snapshot(&m->next, &n->id, old ? old->since_ns : m->inventory.now_ns);
    m->fresh += !old;
    if (m->stays[i])
        return;
    m->garbage_bytes += n->size;
    if (old && !young(r, old->since_ns)) {
        condemned_add_snapshot(&m->due, &n->id, old->since_ns);
        m->due_bytes += n->size;
    }
}

static void condemn_pack(struct run *r, size_t i)
{
    struct marking *m = r->marking;
    const struct inventory_pack *n = &m->inventory.packs[i];
    const struct condemned_pack *old = condemned_find_pack(r->config->condemned, &n->name);
    bool stays = r->reached_packs[i] || inventory_writer_lives(&m->inventory, &n->name.writer);
    if ((!old && (stays || young(r, n->modified_ns))) || m->next.pack_count == CONDEMNED_COUNT_MAX)
        return;
    condemned_add_pack(&m->next, &n->name, old ? old->since_ns : m->inventory.now_ns);
    m->fresh += !old;
    if (stays)
        return;
    m->garbage_bytes += n->size;
    if (old && !young(r, old->since_ns)) {
        condemned_add_pack(&m->due, &n->name, old->since_ns);
        m->due_bytes += n->size;
    }
}

int marking_run(const struct marking_config *c, struct marking *ret, struct error *e)
{
    struct marking m = { 0 };
    struct run r = { .config = c, .marking = &m, .reached = reached_new() };
    int res = look(&r, e);
    if (res == 0) {
        choose(&r);
        res = mark(&r, e);
    }
    for (size_t i = 0; res == 0 && i < m.inventory.snapshot_count; i++)
        condemn_snapshot(&r, i);
    for (size_t i = 0; res == 0 && i < m.inventory.pack_count; i++)
        condemn_pack(&r, i);
    reached_free(r.reached);
    free(r.reached_packs);
    if (res < 0) {
        marking_release(&m);
        return res;
    }
    condemned_sort(&m.next);
    condemned_sort(&m.due);
    *ret = m;
    return 0;
}
