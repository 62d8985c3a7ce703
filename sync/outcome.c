/* SPDX-License-Identifier: MIT */
#include "sync/outcome.h"

#include <string.h>

static bool written_by(const struct head *h, const uint8_t write_id[WRITE_ID_LEN])
{
    return h->seq > 0 && memcmp(h->write.b, write_id, WRITE_ID_LEN) == 0;
}

static bool written_by_us(const struct box_record *r, const struct head *h)
{
    if (written_by(h, r->own))
        return true;
    for (size_t i = 0; i < r->write_count; i++)
        if (written_by(h, r->writes[i].write_id))
            return true;
    return false;
}

static enum outcome of_commit(const struct journal_write *w, const struct head *h)
{
    if (h->epoch == w->epoch)
        return snapshot_id_equal(&h->root, &w->root) && (!w->frees || h->state != HEAD_HELD) ? OUTCOME_DONE
                                                                                             : OUTCOME_NEVER;
    const struct head_last *l = head_ended(h, w->epoch);
    if (!l) /* gone: as if it had never happened, which loses nothing but a name */
        return OUTCOME_NEVER;
    return snapshot_id_equal(&l->root, &w->root) || memcmp(l->write.b, w->write_id, WRITE_ID_LEN) == 0 ? OUTCOME_DONE
                                                                                                       : OUTCOME_NEVER;
}

/* A drop ends its epoch as a tombstone: without a root. */
static enum outcome of_drop(const struct journal_write *w, const struct head *h)
{
    static const struct snapshot_id none;
    if (h->epoch == w->epoch)
        return h->state == HEAD_TOMBSTONE ? OUTCOME_DONE : OUTCOME_NEVER;
    const struct head_last *l = head_ended(h, w->epoch);
    return l && snapshot_id_equal(&l->root, &none) ? OUTCOME_DONE : OUTCOME_NEVER;
}

enum outcome outcome_of(const struct journal_write *w, const struct box_record *r, const struct head *h)
{
    if (written_by(h, w->write_id))
        return OUTCOME_DONE;
    if (h->seq < w->seq)
        return OUTCOME_OPEN;
    switch (w->kind) {
    case WRITE_CREATE:
    case WRITE_COMMIT:
        return of_commit(w, h);
    case WRITE_FREE:
        return h->epoch > w->epoch || h->state != HEAD_HELD ? OUTCOME_DONE : OUTCOME_NEVER;
    case WRITE_ACQUIRE:
        return h->epoch == w->epoch && written_by_us(r, h) ? OUTCOME_DONE : OUTCOME_NEVER;
    case WRITE_DROP:
        return of_drop(w, h);
    case WRITE_RENEW:
    case WRITE_PRUNE:
        return OUTCOME_NEVER; /* or long ago: nothing depends on it */
    }
    return OUTCOME_NEVER;
}

enum lease_standing outcome_standing(const struct box_record *r, const struct head *h)
{
    if (h->seq == 0 || h->state == HEAD_TOMBSTONE ||
        memcmp(h->incarnation, r->incarnation, sizeof(h->incarnation)) != 0)
        return LEASE_REPLACED;
    if (h->state == HEAD_HELD && h->epoch == r->epoch && written_by_us(r, h))
        return LEASE_OURS;
    return snapshot_id_equal(&h->root, &r->committed) && head_expired(h) ? LEASE_REGAIN : LEASE_LOST;
}

static void happened(struct box_record *r, const struct journal_write *w, const struct head *h)
{
    if (written_by(h, w->write_id)) {
        memcpy(r->own, w->write_id, WRITE_ID_LEN);
        r->seq = w->seq;
    }
    switch (w->kind) {
    case WRITE_CREATE:
        r->epoch = w->epoch;
        r->base = r->committed = w->root;
        r->freed = false;
        break;
    case WRITE_ACQUIRE:
        r->epoch = w->epoch;
        r->committed = h->root;
        memcpy(r->incarnation, h->incarnation, sizeof(r->incarnation));
        r->freed = false;
        break;
    case WRITE_COMMIT:
        r->committed = w->root;
        r->freed = w->frees;
        break;
    case WRITE_FREE:
    case WRITE_DROP:
        r->freed = true;
        break;
    case WRITE_RENEW:
        r->freed = false; /* whatever would have freed it can no longer happen */
        break;
    case WRITE_PRUNE:
        break;
    }
    if (w->then != BOX_STATE_COUNT)
        r->state = w->then;
}

static bool lease_kind(enum journal_write_kind k)
{
    return k == WRITE_RENEW || k == WRITE_PRUNE;
}

bool outcome_settle(struct box_record *r, const struct head *h, bool lease_only, struct journal_write *ret_done,
                    size_t *ret_count)
{
    /* All are decided before any is taken out: who wrote the head is asked of the rows, too. */
    enum outcome is[JOURNAL_WRITES_MAX];
    size_t kept = 0, done = 0, before = r->write_count;
    for (size_t i = 0; i < before; i++)
        is[i] = lease_only && !lease_kind(r->writes[i].kind) ? OUTCOME_OPEN : outcome_of(&r->writes[i], r, h);

    bool open_free = false, failed_free = false;
    for (size_t i = 0; i < before; i++) {
        struct journal_write w = r->writes[i];
        if (is[i] == OUTCOME_OPEN) {
            open_free = open_free || w.frees;
            r->writes[kept++] = w;
        } else if (is[i] == OUTCOME_DONE) {
            happened(r, &w, h);
            ret_done[done++] = w;
        } else {
            failed_free = failed_free || w.frees;
        }
    }
    r->write_count = kept;
    if (failed_free && !open_free && outcome_standing(r, h) == LEASE_OURS)
        r->freed = false;
    *ret_count = done;
    return kept != before;
}
