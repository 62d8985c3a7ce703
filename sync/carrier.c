/* SPDX-License-Identifier: MIT */
#include "sync/carrier.h"

#include "index/base/clock.h"
#include "index/base/log.h"
#include "index/base/mem.h"
#include "sync/pack.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>

#define PAUSE_FIRST_NS 250000000ll /* of the back-off; doubles up to PAUSE_MAX_NS */
#define LOOK_AROUND_NS 100000000ll /* for store_cancel, which a signal handler may call */
#define PAUSE_MAX_NS 10000000000ll

void carrier_wait_slice(struct carrier *c, pthread_cond_t *cond, int64_t ns)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    int64_t at = t.tv_sec * 1000000000ll + t.tv_nsec + ns;
    t = (struct timespec){ .tv_sec = at / 1000000000, .tv_nsec = at % 1000000000 };
    pthread_cond_timedwait(cond, &c->lock, &t);
}

int carrier_open(const struct carrier *c, const struct locator *l, enum frame_kind kind, struct bytes sealed,
                 struct frame **ret, struct error *e)
{
    _cleanup_(buf_release) struct buf raw = { 0 };
    int r = pack_frame_open(&c->seal, l, kind, sealed, &raw, e);
    if (r < 0)
        return r;
    struct frame *f = frame_new(raw.len);
    if (raw.len > 0)
        memcpy(f->data, raw.data, raw.len);
    *ret = f;
    return 0;
}

static bool any_demand(const struct flight_range *r)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->flights[i]->demand)
            return true;
    return false;
}

static size_t count_waiters(const struct flight_range *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->count; i++)
        n += r->flights[i]->waiters;
    return n;
}

static void note_outage(struct carrier *c, const struct error *e)
{
    if (c->unreachable_since)
        return;
    c->unreachable_since = clock_boot_ns();
    log_warn("%s; reads of what is not here wait", e->text);
}

static void note_success(struct carrier *c, size_t bytes)
{
    if (c->unreachable_since)
        log_info("the store answers again");
    c->unreachable_since = 0;
    c->successes++;
    c->bytes += bytes;
    pthread_cond_broadcast(&c->work);
}

/* With lock held. successes: of all requests when the failed one began. False: give up, nobody waits or everything
 * stops. */
static bool back_off(struct carrier *c, const struct flight_range *r, unsigned attempt, uint64_t successes)
{
    int64_t pause = attempt < 6 ? PAUSE_FIRST_NS << attempt : PAUSE_MAX_NS;
    pause = pause / 2 + randombytes_uniform((uint32_t)(pause / 2000)) * 1000ll;
    int64_t start = clock_boot_ns(), now = start;
    size_t waiters = count_waiters(r), least = waiters;
    bool eager = false;
    while (!c->stopping && !store_cancelled(c->store) && waiters > 0) {
        /* Another request succeeded, or somebody new has come, perhaps with little time: early, but not at once,
         * because one poisoned object must not be tried as often as the others succeed. */
        eager = eager || c->successes != successes || waiters > least;
        int64_t until = start + (eager ? pause / 8 : pause);
        bool may_start = c->flights.demand == 0 || any_demand(r);
        if (now >= until && may_start)
            return true;
        int64_t slice = may_start && until - now < LOOK_AROUND_NS ? until - now : LOOK_AROUND_NS;
        carrier_wait_slice(c, &c->work, slice);
        now = clock_boot_ns();
        least = waiters < least ? waiters : least;
        waiters = count_waiters(r);
    }
    return false;
}

static int get_once(struct carrier *c, const struct flight_range *r, struct buf *ret, struct error *e)
{
    char key[STORE_KEY_MAX];
    size_t length = r->to - r->from;
    pack_key(c->seal.box, &r->flights[0]->frame.pack, key);
    int code = store_get(c->store, key, r->from, length, length, ret, NULL, e);
    if (code == 0 && ret->len != length)
        return error_say(e, ERROR_DAMAGED, -EBADMSG, "get %s: %zu bytes instead of %zu", key, ret->len, length);
    return code;
}

/* With lock held, which is dropped meanwhile. */
static int get_range(struct carrier *c, const struct flight_range *r, struct buf *ret, struct error *e)
{
    for (unsigned attempt = 0;; attempt++) {
        uint64_t successes = c->successes;
        c->gets++;
        pthread_mutex_unlock(&c->lock);
        int code = get_once(c, r, ret, e);
        pthread_mutex_lock(&c->lock);
        if (code == 0)
            note_success(c, ret->len);
        if (code == 0 || e->kind != ERROR_STORE)
            return code;
        note_outage(c, e);
        if (!back_off(c, r, attempt, successes))
            return error_say(e, ERROR_INTERRUPTED, -ECANCELED, "stopped while the store could not be reached");
    }
}

static struct bytes sealed_of(const struct flight_range *r, const struct flight *f, const struct buf *data)
{
    return (struct bytes){ data->data + (f->frame.offset - r->from), f->frame.sealed };
}

/* Opens one frame that somebody reads. With lock held, which is dropped meanwhile. */
static void open_flight(struct carrier *c, const struct flight_range *r, struct flight *f, const struct buf *data,
                        struct error *why)
{
    enum frame_kind kind = f->kind;
    struct frame *decoded = NULL;
    pthread_mutex_unlock(&c->lock);
    int code = carrier_open(c, &f->frame, kind, sealed_of(r, f, data), &decoded, why);
    pthread_mutex_lock(&c->lock);
    if (code < 0) {
        f->spoiled++;
        return;
    }
    f->decoded = decoded;
    recent_add(&c->recent, &f->frame, kind, decoded);
    pthread_cond_broadcast(&c->landed); /* readers go on while the cache is written */
}

static bool metadata(const struct flight *f)
{
    return f->kind != 0 && f->kind != FRAME_DATA;
}

/* Puts what is not known to be spoiled. bad: the flights that did not open. With lock held, which is dropped meanwhile.
 */
static void put_range(struct carrier *c, const struct flight_range *r, const bool *bad, const struct buf *data)
{
    _cleanup_free_ struct locator *frames = mem_new(r->count, sizeof(*frames));
    size_t n = 0;
    for (size_t i = 0; i < r->count; i++)
        if (!bad[i])
            frames[n++] = r->flights[i]->frame;
    if (!c->cache || n == 0)
        return;
    struct error e = { 0 };
    pthread_mutex_unlock(&c->lock);
    int kept = cache_put(c->cache, &frames[0].pack, r->from, buf_bytes(data), frames, n, false, &e);
    pthread_mutex_lock(&c->lock);
    if (kept < 0)
        log_info("not cached: %s", e.text);
    for (size_t i = 0; i < r->count; i++) {
        r->flights[i]->kept = kept;
        if (kept == 0 && c->keep_metadata && metadata(r->flights[i]))
            cache_keep(c->cache, &r->flights[i]->frame);
    }
}

/* With lock held: the flight is to be tried once more, by itself. */
static void try_alone(struct carrier *c, struct flight *f)
{
    f->alone = true;
    if (f->waiters > 0)
        flight_queue(&c->flights, f, true);
    else
        flight_land(&c->flights, f, 0, NULL);
}

/* With lock held. */
static void land_spoiled(struct carrier *c, struct flight *f, const struct error *why)
{
    struct error e = *why;
    if (f->spoiled < 2) {
        log_warn("%s; asking the store again", why->text);
        try_alone(c, f);
        return;
    }
    e.kind = ERROR_DAMAGED;
    e.code = -EIO;
    error_prefix(&e, "twice from the store");
    log_warn("%s", e.text);
    flight_land(&c->flights, f, -EIO, &e);
}

static void deliver(struct carrier *c, const struct flight_range *r, const struct buf *data)
{
    _cleanup_free_ bool *bad = mem_new(r->count, sizeof(*bad));
    struct error why = { 0 };
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < r->count; i++) {
            struct flight *f = r->flights[i];
            if (bad[i] || !f->kind || f->decoded)
                continue;
            unsigned before = f->spoiled;
            open_flight(c, r, f, data, &why);
            bad[i] = f->spoiled != before;
        }
        if (pass == 0)
            put_range(c, r, bad, data); /* meanwhile somebody may join: hence the second pass */
    }
    for (size_t i = 0; i < r->count; i++) {
        if (bad[i])
            land_spoiled(c, r->flights[i], &why);
        else
            flight_land(&c->flights, r->flights[i], 0, NULL);
    }
}

/* The store's answer was final, and not what was asked for. */
static void land_failed(struct carrier *c, const struct flight_range *r, int code, struct error *e)
{
    bool untrue = code == -EBADMSG || code == -EFBIG;
    if (code == -ENOENT) {
        e->kind = ERROR_DAMAGED;
        log_warn("%s", e->text);
    }
    for (size_t i = 0; i < r->count; i++) {
        struct flight *f = r->flights[i];
        if (untrue) { /* alone: one impossible locator must not spoil its neighbours */
            f->spoiled++;
            land_spoiled(c, f, e);
        } else {
            flight_land(&c->flights, f, code, e);
        }
    }
}

/* With lock held. */
static void carry(struct carrier *c, const struct flight_range *r)
{
    _cleanup_(buf_release) struct buf data = { 0 };
    struct error e = { 0 };
    int code = get_range(c, r, &data, &e);
    if (code == 0)
        deliver(c, r, &data);
    else
        land_failed(c, r, code, &e);
    pthread_cond_broadcast(&c->landed);
    pthread_cond_broadcast(&c->work);
}

static void *run(void *arg)
{
    struct carrier *c = arg;
    _cleanup_free_ struct flight_range *r = mem_new(1, sizeof(*r));
    pthread_mutex_lock(&c->lock);
    while (!c->stopping) {
        if (flight_take(&c->flights, true, r)) {
            carry(c, r);
        } else if (c->flights.demand == 0 && c->background_active < c->background_threads &&
                   flight_take(&c->flights, false, r)) {
            c->background_active++;
            carry(c, r);
            c->background_active--;
        } else {
            pthread_cond_wait(&c->work, &c->lock);
        }
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

int carrier_start(struct carrier *c, struct error *e)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->work, &monotonic);
    pthread_cond_init(&c->landed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    c->recent.room = RECENT_ROOM;
    unsigned count = CARRIER_DEMAND_THREADS + c->background_threads;
    c->threads = mem_new(count, sizeof(*c->threads));
    for (; c->thread_count < count; c->thread_count++) {
        int r = pthread_create(&c->threads[c->thread_count], NULL, run, c);
        if (r != 0) {
            carrier_release(c);
            return error_set(e, ERROR_FAILED, -r, "start a thread that fetches");
        }
    }
    return 0;
}

void carrier_stop(struct carrier *c)
{
    pthread_mutex_lock(&c->lock);
    c->stopping = true;
    pthread_cond_broadcast(&c->work);
    pthread_cond_broadcast(&c->landed);
    pthread_mutex_unlock(&c->lock);
}

void carrier_release(struct carrier *c)
{
    carrier_stop(c);
    for (unsigned i = 0; i < c->thread_count; i++)
        pthread_join(c->threads[i], NULL);
    free(c->threads);
    recent_release(&c->recent);
    pthread_cond_destroy(&c->work);
    pthread_cond_destroy(&c->landed);
    pthread_mutex_destroy(&c->lock);
}
