/* SPDX-License-Identifier: MIT */
#include "sync/prune.h"

#include "index/base/crash.h"
#include "index/base/mem.h"
#include "sync/pack.h"
#include "sync/removal.h"
#include "sync/snapshots.h"

#include <errno.h>
#include <stdio.h>

#define TRIES 4

struct prune {
    const struct prune_config *config;
    struct lease *lease;
    struct head head; /* as this prune made it, or found it */
    bool ours;        /* held by this node: it stays held */
    struct condemned old;
    struct prune_result *result;
};

void prune_result_release(struct prune_result *p)
{
    marking_release(&p->marking);
}

static const char *box_of(const struct prune *p)
{
    return p->lease->seal.box;
}

/* Step 1. */
static int begin(struct prune *p, struct error *e)
{
    int r = lease_read(p->lease, false, &p->head, e);
    if (r == -ENOENT || (r == 0 && p->head.state == HEAD_TOMBSTONE))
        return head_absent(box_of(p), r == 0, e);
    if (r < 0)
        return r;
    p->ours = outcome_standing(p->lease->record, &p->head) == LEASE_OURS;
    if (!p->ours && p->head.state == HEAD_HELD) {
        error_say(e, ERROR_HELD, -EBUSY, "box %s is held by %s", box_of(p), p->head.node);
        return error_hint(e, "its holder prunes it: ag-box prune %s on %s", box_of(p), p->head.node), -EBUSY;
    }
    if (p->ours || p->config->dry_run)
        return 0;
    return lease_prune(p->lease, &p->head, NULL, false, e);
}

/* Steps 4, 5: based on our head, or, where the box is ours, on what our own renewals made of it since. */
static int end(struct prune *p, const char *list, struct error *e)
{
    if (p->ours && !list)
        return 0;
    for (unsigned try = 0;; try++) {
        int r = lease_prune(p->lease, &p->head, list, true, e);
        if (r != -ESTALE || !p->ours || try + 1 == TRIES)
            return r;
        _cleanup_(head_releasep) struct head now = { 0 };
        r = lease_read(p->lease, false, &now, e);
        if (r < 0)
            return r;
        if (outcome_standing(p->lease->record, &now) != LEASE_OURS || strcmp(now.condemned, p->head.condemned) != 0 ||
            !snapshot_id_equal(&now.root, &p->head.root))
            return error_say(e, ERROR_HELD, -ESTALE, "box %s was used by %s while it was pruned", now.box, now.node);
        head_release(&p->head);
        p->head = now;
        now = (struct head){ 0 };
    }
}

/* Before each batch the head is still ours to prune. */
static int remove_batch(struct prune *p, char (*keys)[STORE_KEY_MAX], size_t count, struct error *e)
{
    int r = count ? lease_prune_check(p->lease, &p->head, e) : 0;
    crash_point("prune-batch.before");
    if (r == 0)
        r = removal_run(p->lease->store, keys, count, e);
    crash_point("prune-batch.after");
    return r;
}

/* Step 3. Snapshots first: one that lacks packs is worse than packs without one. */
static int remove_due(struct prune *p, struct error *e)
{
    const struct condemned *due = &p->result->marking.due;
    _cleanup_free_ char(*keys)[STORE_KEY_MAX] = mem_new(REMOVAL_BATCH, sizeof(*keys));
    size_t n = 0, all = due->snapshot_count + due->pack_count;
    int r = 0;
    for (size_t i = 0; r == 0 && i < all; i++) {
        if (i < due->snapshot_count)
            snapshots_key(box_of(p), &due->snapshots[i].id, keys[n++]);
        else
            pack_key(box_of(p), &due->packs[i - due->snapshot_count].name, keys[n++]);
        if (n == REMOVAL_BATCH || i + 1 == due->snapshot_count || i + 1 == all) {
            r = remove_batch(p, keys, n, e);
            n = 0;
        }
    }
    if (r < 0)
        return r;
    p->result->deleted_snapshots = due->snapshot_count;
    p->result->deleted_packs = due->pack_count;
    return 0;
}

/* What is condemned and was not deleted. */
static void left_over(const struct marking *m, struct condemned *ret)
{
    for (size_t i = 0; i < m->next.pack_count; i++)
        if (!condemned_find_pack(&m->due, &m->next.packs[i].name))
            condemned_add_pack(ret, &m->next.packs[i].name, m->next.packs[i].since_ns);
    for (size_t i = 0; i < m->next.snapshot_count; i++)
        if (!condemned_find_snapshot(&m->due, &m->next.snapshots[i].id))
            condemned_add_snapshot(ret, &m->next.snapshots[i].id, m->next.snapshots[i].since_ns);
    condemned_sort(ret);
}

/* Steps 4 to 6. The list that the head names stays if nothing came and nothing went. */
static int name_list(struct prune *p, struct error *e)
{
    const struct marking *m = &p->result->marking;
    _cleanup_(condemned_release) struct condemned left = { 0 };
    char id[CONDEMNED_ID_TEXT] = "", old[sizeof(p->head.condemned)];
    left_over(m, &left);
    if (m->fresh == 0 && left.pack_count == p->old.pack_count && left.snapshot_count == p->old.snapshot_count)
        return end(p, NULL, e);
    memcpy(old, p->head.condemned, sizeof(old));
    int r = left.pack_count + left.snapshot_count ? condemned_put(p->lease->store, &p->lease->seal, &left, id, e) : 0;
    if (r == 0)
        r = end(p, id, e);
    if (r == 0 && old[0])
        r = condemned_remove(p->lease->store, box_of(p), old, e);
    return r;
}

struct old_lists {
    struct prune *prune;
    size_t skip; /* of a key, to the id */
    char (*keys)[STORE_KEY_MAX];
    size_t count;
};

static int note_list(void *arg, const char *key, const struct store_info *info, struct error *e)
{
    struct old_lists *l = arg;
    (void)e;
    if (info->now_ns - info->modified_ns < MARKING_GRACE_NS || l->count == REMOVAL_BATCH ||
        strcmp(key + l->skip, l->prune->head.condemned) == 0)
        return 0;
    snprintf(l->keys[l->count++], STORE_KEY_MAX, "%s", key);
    return 0;
}

/*
 * Lists that killed prunes left. Not one of them can be named any more: the look at the head between LIST and removal
 * shows that since this prune's first PUT nobody else wrote it, and who built on an older head is refused.
 */
static int remove_old_lists(struct prune *p, struct error *e)
{
    char prefix[STORE_KEY_MAX];
    _cleanup_free_ char(*keys)[STORE_KEY_MAX] = mem_new(REMOVAL_BATCH, sizeof(*keys));
    struct old_lists l = { p, store_box_key(prefix, box_of(p), "condemned/"), keys, 0 };
    int r = store_list(p->lease->store, prefix, note_list, &l, e);
    if (r == 0)
        r = remove_batch(p, keys, l.count, e);
    if (r == 0)
        p->result->old_lists = l.count;
    return r;
}

static int mark(struct prune *p, struct error *e)
{
    int r = condemned_get(p->lease->store, &p->lease->seal, p->head.condemned, &p->old, e);
    if (r < 0)
        return r;
    struct marking_config c = { .store = p->lease->store,
                                .seal = p->lease->seal,
                                .source = p->config->source,
                                .head = &p->head,
                                .condemned = &p->old,
                                .policy = p->config->policy };
    return marking_run(&c, &p->result->marking, e);
}

static int run(struct prune *p, struct error *e)
{
    int r = begin(p, e);
    if (r < 0)
        return r;
    r = mark(p, e);
    if (p->config->dry_run)
        return r;
    if (r == 0)
        r = remove_due(p, e);
    if (r == 0)
        r = remove_old_lists(p, e);
    if (r == 0)
        return name_list(p, e);
    if (!p->ours) /* for the eye only: a head left `pruning` counts as free */
        lease_prune(p->lease, &p->head, NULL, true, NULL);
    return r;
}

int prune_run(const struct prune_config *c, struct prune_result *ret, struct error *e)
{
    struct prune_result result = { 0 };
    struct prune p = { .config = c, .lease = c->lease, .result = &result };
    int r = run(&p, e);
    head_release(&p.head);
    condemned_release(&p.old);
    if (r < 0) {
        prune_result_release(&result);
        return error_prefix(e, "prune %s", box_of(&p)), r;
    }
    *ret = result;
    return 0;
}
