/* SPDX-License-Identifier: MIT */
#include "sync/transition.h"

#include "index/base/mem.h"
#include "index/base/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

const char *transition_name(const struct transition *t)
{
    static const char *const names[] = {
        [WRITE_CREATE] = "creation", [WRITE_ACQUIRE] = "acquire", [WRITE_RENEW] = "renewal", [WRITE_COMMIT] = "commit",
        [WRITE_FREE] = "release",    [WRITE_PRUNE] = "prune",     [WRITE_DROP] = "drop",
    };
    return names[t->kind];
}

static int say_lost(const struct transition_from *f, const struct head *h, struct error *e)
{
    switch (outcome_standing(f->record, h)) {
    case LEASE_REPLACED:
        error_say(e, ERROR_HELD, -ESTALE, "box %s was dropped%s; the work here belongs to the old one", f->box,
                  h->state == HEAD_TOMBSTONE ? "" : " and made anew");
        break;
    case LEASE_OURS:
    case LEASE_REGAIN:
    case LEASE_LOST:
        if (h->epoch == f->record->epoch)
            error_say(e, ERROR_HELD, -ESTALE, "the lease of %s is used by another machine with this node's state",
                      h->box);
        else
            error_say(e, ERROR_HELD, -ESTALE, "the lease of %s was lost: epoch %llu is %s by %s, ours was %llu", h->box,
                      (unsigned long long)h->epoch, h->state == HEAD_HELD ? "held" : "left", h->node,
                      (unsigned long long)f->record->epoch);
        break;
    }
    return -ESTALE;
}

static int say_held(const struct transition_from *f, const struct head *h, struct error *e)
{
    char age[16];
    text_duration(age, h->age_ns > 0 ? (uint64_t)h->age_ns / 1000000 : 0);
    error_say(e, ERROR_HELD, -EBUSY, "box %s is held by %s, last renewed %s ago", h->box, h->node, age);
    if (strcmp(h->node, f->node->name) == 0)
        error_hint(e,
                   "this node's journal does not know that lease: the store was restored from a copy, the state "
                   "directory was lost, or another machine is named %s; up --force takes it",
                   h->node);
    else
        error_hint(e, "park it on %s, or take it with up --force: what %s did since then becomes a fork", h->node,
                   h->node);
    return -EBUSY;
}

static void begin_epoch(const struct transition_from *f, struct head *h)
{
    if (h->seq > 0)
        head_end_epoch(h);
    h->epoch = (h->epoch > f->record->seen_epoch ? h->epoch : f->record->seen_epoch) + 1;
}

static void sign(const struct transition_from *f, struct head *h)
{
    snprintf(h->node, sizeof(h->node), "%s", f->node->name);
    snprintf(h->boot_id, sizeof(h->boot_id), "%s", f->node->boot_id);
    h->ttl_s = f->ttl_s;
}

static void set_place(const struct transition *t, struct head *h)
{
    if (t->pin)
        snprintf(h->pin, sizeof(h->pin), "%s", t->pin);
    if (t->path) {
        free(h->path);
        h->path = mem_strdup(t->path);
    }
}

static int build_create(const struct transition *t, const struct transition_from *f, struct head *h, struct error *e)
{
    if (h->seq > 0 && h->state != HEAD_TOMBSTONE)
        return error_say(e, ERROR_BUSY, -EEXIST, "box %s exists, last used by %s", f->box, h->node);
    begin_epoch(f, h);
    snprintf(h->box, sizeof(h->box), "%s", f->box);
    memcpy(h->incarnation, f->record->incarnation, sizeof(h->incarnation));
    h->state = HEAD_HELD;
    h->root = t->root;
    h->condemned[0] = 0;
    sign(f, h);
    set_place(t, h);
    return 0;
}

static int build_acquire(const struct transition *t, const struct transition_from *f, struct head *h, struct error *e)
{
    if (h->state == HEAD_TOMBSTONE)
        return error_say(e, ERROR_UNKNOWN, -ENOENT, "box %s was dropped by %s", h->box, h->node);
    enum lease_standing is = outcome_standing(f->record, h);
    if (is == LEASE_REPLACED && !box_state_away(f->record->state))
        return say_lost(f, h, e);
    if (t->regain && is != LEASE_REGAIN)
        return say_lost(f, h, e);
    if (!head_expired(h) && !t->force)
        return say_held(f, h, e);
    int r = t->check ? t->check(t->arg, h, e) : 0;
    if (r < 0)
        return r;
    begin_epoch(f, h);
    h->state = HEAD_HELD;
    sign(f, h);
    return 0;
}

static bool holds(const struct box_record *r)
{
    return !r->freed && r->state >= BOX_ACQUIRED && r->state <= BOX_MOVING;
}

/* Renewals, commits and releases: only in an epoch of ours, over a head that we wrote. */
static int build_own(const struct transition *t, const struct transition_from *f, struct head *h, struct error *e)
{
    if (t->daemon && !holds(f->record))
        return error_say(e, ERROR_FAILED, -ENOLCK, "this node holds no lease of %s any more", f->box);
    if (outcome_standing(f->record, h) != LEASE_OURS)
        return say_lost(f, h, e);
    if (t->kind == WRITE_COMMIT)
        h->root = t->root;
    if (t->frees)
        h->state = HEAD_FREE;
    sign(f, h);
    set_place(t, h);
    return 0;
}

static int build_prune(const struct transition *t, const struct transition_from *f, struct head *h, struct error *e)
{
    bool ours = outcome_standing(f->record, h) == LEASE_OURS;
    if (strcmp(h->etag, t->based_on) != 0 || (!ours && h->state != HEAD_FREE && h->state != HEAD_PRUNING))
        return error_say(e, ERROR_HELD, -ESTALE, "box %s was used by %s while it was pruned", h->box, h->node);
    if (!ours)
        h->state = t->end ? HEAD_FREE : HEAD_PRUNING;
    if (t->condemned)
        snprintf(h->condemned, sizeof(h->condemned), "%s", t->condemned);
    return 0;
}

static int build_drop(const struct transition *t, const struct transition_from *f, struct head *h, struct error *e)
{
    if (h->state == HEAD_TOMBSTONE)
        return error_say(e, ERROR_UNKNOWN, -ENOENT, "box %s was dropped by %s", h->box, h->node);
    if (outcome_standing(f->record, h) != LEASE_OURS && (!head_expired(h) || (h->state == HEAD_HELD && !t->force)))
        return say_held(f, h, e);
    begin_epoch(f, h);
    h->state = HEAD_TOMBSTONE;
    h->root = (struct snapshot_id){ 0 };
    h->condemned[0] = 0;
    sign(f, h);
    return 0;
}

int transition_apply(const struct transition *t, const struct transition_from *f, struct head *h, struct error *e)
{
    static int (*const builders[])(const struct transition *, const struct transition_from *, struct head *,
                                   struct error *) = {
        [WRITE_CREATE] = build_create, [WRITE_ACQUIRE] = build_acquire, [WRITE_RENEW] = build_own,
        [WRITE_COMMIT] = build_own,    [WRITE_FREE] = build_own,        [WRITE_PRUNE] = build_prune,
        [WRITE_DROP] = build_drop,
    };
    if (h->seq == 0 && t->kind != WRITE_CREATE)
        return head_absent(f->box, false, e);
    int r = builders[t->kind](t, f, h, e);
    h->seq = (h->seq > f->record->seen_seq ? h->seq : f->record->seen_seq) + 1;
    return r;
}
