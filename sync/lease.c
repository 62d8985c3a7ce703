/* SPDX-License-Identifier: MIT */
#include "sync/lease.h"

#include "index/base/lock.h"
#include "index/base/mem.h"
#include "sync/transition.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include <sodium.h>

#define TRIES 8
#define READS 3
#define PAUSE_RATE_MS 1100 /* a key takes one write a second */
#define PAUSE_MS 100       /* doubled each time */

/* the journal's rows */

static int store_record(struct lease *l, struct error *e)
{
    return l->daemon ? journal_store_lease(l->journal, l->record, e) : journal_store_both(l->journal, l->record, e);
}

static bool same_change(const struct transition *t, const struct journal_write *w)
{
    return w->kind == t->kind && w->frees == t->frees && snapshot_id_equal(&w->root, &t->root);
}

/* An earlier release that happened is the release that is asked for: work that goes on in between settles first. */
static bool fulfils(const struct transition *t, const struct journal_write *w)
{
    return same_change(t, w) || (t->frees && w->frees && t->kind != WRITE_DROP && w->kind != WRITE_DROP);
}

/* Decides what it can with h. ret_done: this very change is among what has happened. */
static int settle(struct lease *l, const struct transition *t, const struct head *h, bool *ret_done, struct error *e)
{
    struct journal_write done[JOURNAL_WRITES_MAX];
    size_t count = 0;
    *ret_done = false;
    if (!outcome_settle(l->record, h, l->daemon, done, &count))
        return 0;
    for (size_t i = 0; t && i < count; i++)
        if (fulfils(t, &done[i])) {
            *ret_done = true;
            if (t->then != BOX_STATE_COUNT)
                l->record->state = t->then;
        }
    return store_record(l, e);
}

/*
 * The write id of this PUT. The same change over the same head has its row already: whichever copy lands, it is the
 * same head. One place is left to renewals, which settle all others.
 */
static int choose_write(const struct box_record *r, const struct transition *t, struct head *next, bool *ret_new,
                        struct error *e)
{
    *ret_new = false;
    for (size_t i = 0; i < r->write_count; i++)
        if (same_change(t, &r->writes[i]) && r->writes[i].seq == next->seq && r->writes[i].then == t->then) {
            memcpy(next->write.b, r->writes[i].write_id, WRITE_ID_LEN);
            return 0;
        }
    if (r->write_count >= JOURNAL_WRITES_MAX - (t->kind != WRITE_RENEW))
        return error_say(e, ERROR_DOUBT, -EINPROGRESS, "too many writes of unknown outcome");
    randombytes_buf(next->write.b, WRITE_ID_LEN);
    *ret_new = true;
    return 0;
}

static int add_row(struct lease *l, const struct transition *t, const struct head *next, struct error *e)
{
    struct box_record *r = l->record;
    struct journal_write w = {
        .kind = t->kind, .epoch = next->epoch, .seq = next->seq, .root = t->root, .frees = t->frees, .then = t->then
    };
    memcpy(w.write_id, next->write.b, WRITE_ID_LEN);
    r->writes = mem_grow(r->writes, r->write_count + 1, sizeof(w));
    r->writes[r->write_count++] = w;
    r->freed = r->freed || t->frees;
    return journal_store_lease(l->journal, r, e);
}

/* requests */

static int read_once(struct lease *l, bool accept, struct head *h, struct error *e)
{
    const struct head_object *fetched = l->fetched;
    l->fetched = NULL;
    int r = fetched ? head_open(&l->seal, fetched, h, e) : head_read(l->store, &l->seal, h, e);
    if (r == -ENOENT && !accept && l->record->seen_epoch > 0) {
        error_say(e, ERROR_DAMAGED, -ESTALE, "the head of %s is gone from the store; this node saw epoch %llu",
                  l->seal.box, (unsigned long long)l->record->seen_epoch);
        return error_hint(e, "a head is never deleted: look for what removed it, or at another bucket"), -ESTALE;
    }
    return r < 0 ? r : journal_saw(l->journal, h->epoch, h->seq, h->write.b, accept, e);
}

int lease_read(struct lease *l, bool accept, struct head *ret, struct error *e)
{
    _cleanup_(head_releasep) struct head h = { 0 };
    int r;
    /* Another process may have seen, between our GET and our look into the journal, what was written after it. */
    for (unsigned i = 0; i < READS && (r = read_once(l, accept, &h, e)) == -ESTALE; i++)
        ;
    if (r < 0)
        return r;
    if (h.epoch > l->record->seen_epoch)
        l->record->seen_epoch = h.epoch;
    if (h.seq > l->record->seen_seq)
        l->record->seen_seq = h.seq;
    head_release(ret);
    *ret = h;
    h = (struct head){ 0 };
    return 0;
}

/* As lease_read; no head is one with seq 0. */
static int read_any(struct lease *l, struct head *ret, struct error *e)
{
    int r = lease_read(l, false, ret, e);
    if (r != -ENOENT)
        return r;
    head_release(ret);
    return 0;
}

static void wait_a_little(struct lease *l, int refused, unsigned try)
{
    unsigned ms = refused == -EBUSY ? PAUSE_RATE_MS : PAUSE_MS << try;
    if (l->pause)
        l->pause(l, ms);
    else
        nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000L }, NULL);
}

static int say_doubt(const struct lease *l, const struct transition *t, const struct error *why, struct error *e)
{
    if (t->kind == WRITE_RENEW || t->kind == WRITE_PRUNE) {
        return error_pass(e, why);
    }
    error_say(e, ERROR_DOUBT, -EINPROGRESS, "whether it happened is not known: %.300s", why->text);
    return error_hint(e, "run the same command again when the store answers"), -EINPROGRESS;
}

/* After a PUT that did not say yes: h becomes the newest head. 0: look at it; -errno: nothing more to do now. */
static int look_again(struct lease *l, const struct transition *t, uint64_t seq, unsigned try, const struct error *why,
                      struct head *h, struct error *e)
{
    struct error failed = { 0 };
    int r = why->code == -ECANCELED ? -ECANCELED : read_any(l, h, &failed);
    if (r == -ESTALE) { /* rolled back */
        error_pass(e, &failed);
        return r;
    }
    if (r < 0)
        return say_doubt(l, t, why, e);
    if (h->seq >= seq)
        return 0;
    if (try + 1 >= TRIES || why->code == -EACCES || why->code == -EBADMSG)
        return say_doubt(l, t, why, e);
    wait_a_little(l, why->code, try);
    return 0;
}

/* next: the head to be, from h. h becomes the newest head. */
static int send(struct lease *l, const struct transition *t, struct head *next, unsigned try, struct head *h,
                bool *ret_done, struct error *e)
{
    _cleanup_(buf_release) struct buf sealed = { 0 };
    int r = l->store->cancelled ? error_say(e, ERROR_INTERRUPTED, -ECANCELED, "interrupted") : 0;
    bool new = false;
    if (r == 0)
        r = choose_write(l->record, t, next, &new, e);
    if (r == 0)
        r = head_encode(next, &l->seal, &sealed, e);
    if (r == 0 && new)
        r = add_row(l, t, next, e); /* from here on only the store can fail */
    if (r < 0)
        return r;

    struct error why = { 0 };
    uint64_t seq = next->seq;
    r = head_send(l->store, next, buf_bytes(&sealed), &why);
    if (r < 0)
        return look_again(l, t, seq, try, &why, h, e);
    head_release(h);
    *h = *next;
    *next = (struct head){ 0 };
    /* That another process has seen a newer one already is no rollback. */
    r = journal_saw(l->journal, h->epoch, h->seq, h->write.b, false, e);
    return r < 0 && r != -ESTALE ? r : settle(l, t, h, ret_done, e);
}

static int lock_and_load(struct lease *l, int *ret_lock, struct error *e)
{
    int r = lock_take(l->box_dir, "head", l->wait_ms, ret_lock, e);
    if (r < 0)
        return r;
    return l->daemon ? journal_load(l->journal, l->record, e) : journal_load_lease(l->journal, l->record, e);
}

/* An acquire of what is ours already is nothing, or, when something open could still take it away, a renewal. */
static int acquire_ours(struct lease *l, struct transition *t, bool *ret_done, struct error *e)
{
    if (box_record_in_doubt(l->record) || l->record->freed) {
        t->kind = WRITE_RENEW;
        return 0;
    }
    *ret_done = true;
    if (t->then == BOX_STATE_COUNT)
        return 0;
    l->record->state = t->then;
    return store_record(l, e);
}

/* One try on head h. fresh: h was read under the lock; else a refusal is only believed after reading it. */
static int try_once(struct lease *l, const struct transition *asked, struct head *h, unsigned try, bool *fresh,
                    bool *ret_done, struct error *e)
{
    struct transition t = *asked;
    int r = settle(l, &t, h, ret_done, e);
    /* A renewal or prune that landed before this call is not this one. */
    if (try == 0 && (t.kind == WRITE_RENEW || t.kind == WRITE_PRUNE))
        *ret_done = false;
    if (r == 0 && !*ret_done && t.kind == WRITE_ACQUIRE && outcome_standing(l->record, h) == LEASE_OURS)
        r = acquire_ours(l, &t, ret_done, e);
    if (r < 0 || *ret_done)
        return r;

    _cleanup_(head_releasep) struct head next = { 0 };
    struct transition_from from = { l->seal.box, l->record, l->node, l->ttl_s };
    head_copy(h, &next);
    r = transition_apply(&t, &from, &next, e);
    if (r < 0 && !*fresh) {
        *fresh = true;
        return read_any(l, h, e);
    }
    return r < 0 ? r : send(l, &t, &next, try, h, ret_done, e);
}

/* h: the head to begin with, or seq 0 to have it read; on success the new one. */
static int change(struct lease *l, const struct transition *t, struct head *h, struct error *e)
{
    _cleanup_close_ int lock = -1;
    bool done = false, fresh = h->seq == 0;
    int r = lock_and_load(l, &lock, e);
    if (r == 0 && fresh)
        r = read_any(l, h, e);
    for (unsigned try = 0; r == 0 && !done; try++)
        r = try_once(l, t, h, try, &fresh, &done, e);
    if (r < 0)
        error_prefix(e, "%s of the lease", transition_name(t));
    return r;
}

/* operations */

int lease_resolve(struct lease *l, struct head *ret, struct error *e)
{
    _cleanup_close_ int lock = -1;
    struct error why = { 0 };
    bool done = false;
    int r = lock_and_load(l, &lock, e);
    if (r < 0)
        return r;
    bool doubt = box_record_in_doubt(l->record);
    r = doubt ? read_any(l, ret, &why) : lease_read(l, false, ret, &why);
    if (r == 0)
        return settle(l, NULL, ret, &done, e);
    if (doubt && r != -ESTALE) {
        error_say(e, ERROR_DOUBT, -EINPROGRESS, "what became of an earlier change of %s is not known: %.300s",
                  l->seal.box, why.text);
        return error_hint(e, "run the command again when the store answers"), -EINPROGRESS;
    }
    error_pass(e, &why);
    return r;
}

int lease_create(struct lease *l, const struct lease_commit *c, struct error *e)
{
    _cleanup_(head_releasep) struct head h = { 0 };
    struct transition t = { .kind = WRITE_CREATE, .root = c->root, .then = c->then, .pin = c->pin, .path = c->path };
    return change(l, &t, &h, e);
}

int lease_acquire(struct lease *l, struct head *h, const struct lease_take *take, struct error *e)
{
    struct transition t = {
        .kind = WRITE_ACQUIRE, .then = take->then, .force = take->force, .check = take->check, .arg = take->arg
    };
    return change(l, &t, h, e);
}

int lease_regain(struct lease *l, struct head *h, struct error *e)
{
    struct transition t = { .kind = WRITE_ACQUIRE, .then = BOX_STATE_COUNT, .regain = true };
    return change(l, &t, h, e);
}

int lease_renew(struct lease *l, struct error *e)
{
    _cleanup_(head_releasep) struct head h = { 0 };
    struct transition t = { .kind = WRITE_RENEW, .then = BOX_STATE_COUNT, .daemon = l->daemon };
    return change(l, &t, &h, e);
}

int lease_settle(struct lease *l, struct error *e)
{
    return lease_renew(l, e);
}

int lease_commit(struct lease *l, const struct lease_commit *c, struct error *e)
{
    _cleanup_(head_releasep) struct head h = { 0 };
    struct transition t = {
        .kind = WRITE_COMMIT, .root = c->root, .frees = c->frees, .then = c->then, .pin = c->pin, .path = c->path
    };
    return change(l, &t, &h, e);
}

int lease_free(struct lease *l, enum box_state then, struct error *e)
{
    _cleanup_(head_releasep) struct head h = { 0 };
    struct transition t = { .kind = WRITE_FREE, .frees = true, .then = then };
    return change(l, &t, &h, e);
}

int lease_prune(struct lease *l, struct head *h, const char *condemned, bool end, struct error *e)
{
    struct transition t = { .kind = WRITE_PRUNE, .then = BOX_STATE_COUNT, .condemned = condemned, .end = end };
    memcpy(t.based_on, h->etag, sizeof(t.based_on));
    return change(l, &t, h, e);
}

int lease_prune_check(struct lease *l, const struct head *h, struct error *e)
{
    _cleanup_(head_releasep) struct head now = { 0 };
    int r = lease_read(l, false, &now, e);
    if (r == 0 && memcmp(&now.write, &h->write, sizeof(now.write)) != 0)
        r = journal_load_lease(l->journal, l->record, e);
    if (r < 0)
        return r;
    if (memcmp(&now.write, &h->write, sizeof(now.write)) == 0 || outcome_standing(l->record, &now) == LEASE_OURS)
        return 0;
    return error_say(e, ERROR_HELD, -ESTALE, "box %s was used by %s while it was pruned", now.box, now.node);
}

int lease_drop(struct lease *l, struct head *h, bool force, struct error *e)
{
    struct transition t = { .kind = WRITE_DROP, .frees = true, .then = BOX_NONE, .force = force };
    return change(l, &t, h, e);
}
