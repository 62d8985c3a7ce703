/* SPDX-License-Identifier: MIT */
#include "sync/fetch.h"

#include "index/base/clock.h"
#include "index/base/log.h"
#include "index/base/mem.h"
#include "sync/carrier.h"

#include <errno.h>

#define WARM_WINDOW 4096 /* frames in flight for one call, so that memory stays bounded */
#define LOOK_AROUND_NS 100000000ll

struct fetch {
    struct source source; /* first: source operations get a pointer to it */
    struct carrier carrier;
    unsigned timeout_s;
    uint64_t waiting_reads;
};

/* With lock held: until the flight has landed, or there is a frame of this kind (0: land only). 0, or why the wait was
 * given up. */
static int wait_for(struct fetch *f, struct flight *x, enum frame_kind kind, int64_t deadline, struct error *e)
{
    struct carrier *c = &f->carrier;
    while (x->state != FLIGHT_LANDED && !(kind && x->decoded && x->kind == kind)) {
        if (c->stopping)
            return error_say(e, ERROR_INTERRUPTED, -ECANCELED, "stopped");
        if (deadline && clock_boot_ns() >= deadline)
            return error_say(e, ERROR_STORE, -ETIMEDOUT, "no answer from the store in %u s", f->timeout_s);
        if (deadline)
            carrier_wait_slice(c, &c->landed, LOOK_AROUND_NS);
        else
            pthread_cond_wait(&c->landed, &c->lock);
    }
    return 0;
}

static int64_t deadline_of(const struct fetch *f)
{
    return f->timeout_s ? clock_boot_ns() + f->timeout_s * 1000000000ll : 0;
}

/* Without lock: from the cache, or NULL. */
static struct frame *from_cache(struct carrier *c, const struct locator *l, enum frame_kind kind)
{
    _cleanup_(buf_release) struct buf sealed = { 0 };
    struct frame *frame = NULL;
    struct error e = { 0 };
    if (!c->cache || cache_get(c->cache, l, &sealed, NULL) < 0)
        return NULL;
    if (carrier_open(c, l, kind, buf_bytes(&sealed), &frame, &e) < 0) {
        log_info("cache: %s; fetching it again", e.text);
        cache_forget(c->cache, l);
        return NULL;
    }
    if (c->keep_metadata && kind != FRAME_DATA)
        cache_keep(c->cache, l);
    return frame;
}

/* The caller made the flight: looks into the cache for all who join, then queues it. With lock held, which is dropped
 * meanwhile. */
static void check_cache(struct carrier *c, struct flight *x)
{
    enum frame_kind kind = x->kind;
    pthread_mutex_unlock(&c->lock);
    struct frame *frame = from_cache(c, &x->frame, kind);
    pthread_mutex_lock(&c->lock);
    if (frame) {
        x->decoded = frame;
        recent_add(&c->recent, &x->frame, kind, frame);
        flight_land(&c->flights, x, 0, NULL);
        pthread_cond_broadcast(&c->landed);
    } else {
        flight_queue(&c->flights, x, false);
        pthread_cond_broadcast(&c->work);
    }
}

/* With lock held. 1: it landed without what we need (another kind, or only warmed): look again. */
static int get_once(struct fetch *f, const struct locator *l, enum frame_kind kind, int64_t deadline,
                    struct frame **ret, struct error *e)
{
    struct carrier *c = &f->carrier;
    if ((*ret = recent_find(&c->recent, l, kind)))
        return 0;
    bool made = false;
    struct flight *x = flight_join(&c->flights, l, true, &made);
    flight_want(&c->flights, x, kind);
    if (made)
        check_cache(c, x);
    else
        pthread_cond_broadcast(&c->work); /* it may have become a demand */

    f->waiting_reads++;
    int r = wait_for(f, x, kind, deadline, e);
    f->waiting_reads--;
    if (r == 0 && x->kind != kind) {
        r = 1;
    } else if (r == 0 && x->decoded) {
        *ret = frame_hold(x->decoded);
    } else if (r == 0 && x->result < 0) {
        r = x->result;
        error_pass(e, x->error);
    } else if (r == 0) {
        r = 1;
    }
    flight_leave(&c->flights, x);
    if (r < 0)
        pthread_cond_broadcast(&c->work); /* the queues may have become shorter */
    return r;
}

static int get(struct source *s, const struct locator *l, enum frame_kind kind, struct frame **ret, struct error *e)
{
    struct fetch *f = (struct fetch *)s;
    struct frame *frame = NULL;
    if (!locator_plausible(l))
        return error_say(e, ERROR_DAMAGED, -EIO, "a frame that no pack can hold");
    int64_t deadline = deadline_of(f);
    pthread_mutex_lock(&f->carrier.lock);
    int r;
    do
        r = get_once(f, l, kind, deadline, &frame, e);
    while (r > 0);
    pthread_mutex_unlock(&f->carrier.lock);
    if (r == 0)
        *ret = frame;
    return r;
}

static int by_place(const void *a, const void *b)
{
    const struct locator *x = a, *y = b;
    int r = memcmp(&x->pack, &y->pack, sizeof(x->pack));
    return r != 0 ? r : (x->offset > y->offset) - (x->offset < y->offset);
}

struct window {
    const struct locator *frames;
    size_t count;
    bool demand;
    struct flight *flights[WARM_WINDOW];
    bool made[WARM_WINDOW];
    bool here[WARM_WINDOW];
};

static void join_window(struct carrier *c, struct window *w)
{
    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < w->count; i++)
        w->flights[i] = flight_join(&c->flights, &w->frames[i], w->demand, &w->made[i]);
    pthread_mutex_unlock(&c->lock);
    for (size_t i = 0; i < w->count; i++)
        w->here[i] = w->made[i] && cache_has(c->cache, &w->frames[i]);
}

/* With lock held. */
static void start_window(struct carrier *c, struct window *w)
{
    for (size_t i = 0; i < w->count; i++) {
        if (w->demand)
            flight_promote(&c->flights, w->flights[i]);
        if (w->here[i])
            flight_land(&c->flights, w->flights[i], 0, NULL);
        else if (w->made[i])
            flight_queue(&c->flights, w->flights[i], false);
    }
    pthread_cond_broadcast(&c->landed);
    pthread_cond_broadcast(&c->work);
}

/* With lock held: waits for all. ret_bad: the first frame that is damaged or gone. */
static int wait_window(struct fetch *f, struct window *w, int64_t deadline, int *ret_bad, struct error *bad,
                       struct error *e)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < w->count; i++) {
        const struct flight *x = w->flights[i];
        r = wait_for(f, w->flights[i], 0, deadline, e);
        if (r == 0 && x->result < 0 && x->error->kind != ERROR_DAMAGED)
            r = error_say(e, x->error->kind, x->result, "%s", x->error->text);
        else if (r == 0 && x->result < 0 && *ret_bad == 0)
            *ret_bad = x->result, *bad = *x->error;
        else if (r == 0 && x->kept < 0)
            r = error_say(e, ERROR_FAILED, x->kept, "the cache cannot take more: %s", strerror(-x->kept));
    }
    return r;
}

static int warm_window(struct fetch *f, struct window *w, int64_t deadline, int *ret_bad, struct error *bad,
                       struct error *e)
{
    struct carrier *c = &f->carrier;
    join_window(c, w);
    pthread_mutex_lock(&c->lock);
    start_window(c, w);
    int r = wait_window(f, w, deadline, ret_bad, bad, e);
    for (size_t i = 0; i < w->count; i++)
        flight_leave(&c->flights, w->flights[i]);
    pthread_cond_broadcast(&c->work);
    pthread_mutex_unlock(&c->lock);
    return r;
}

static int warm(struct source *s, const struct locator *l, size_t count, enum source_urgency urgency, struct error *e)
{
    struct fetch *f = (struct fetch *)s;
    if (!f->carrier.cache || count == 0)
        return 0;
    for (size_t i = 0; i < count; i++)
        if (!locator_plausible(&l[i]))
            return error_say(e, ERROR_DAMAGED, -EIO, "a frame that no pack can hold");
    _cleanup_free_ struct locator *sorted = mem_copy(l, count * sizeof(*l));
    qsort(sorted, count, sizeof(*sorted), by_place);

    _cleanup_free_ struct window *w = mem_new(1, sizeof(*w));
    struct error bad_error = { 0 };
    int bad = 0, r = 0;
    int64_t deadline = urgency == SOURCE_DEMAND ? deadline_of(f) : 0;
    for (size_t done = 0; r == 0 && done < count; done += w->count) {
        w->frames = sorted + done;
        w->count = count - done < WARM_WINDOW ? count - done : WARM_WINDOW;
        w->demand = urgency == SOURCE_DEMAND;
        r = warm_window(f, w, deadline, &bad, &bad_error, e);
    }
    if (r == 0 && bad < 0)
        error_pass(e, &bad_error);
    return r < 0 ? r : bad;
}

static bool opens(struct source *s, const struct locator *l, enum frame_kind kind)
{
    struct frame *frame = from_cache(&((struct fetch *)s)->carrier, l, kind);
    frame_drop(frame);
    return frame;
}

int fetch_new(const struct fetch_config *c, struct fetch **ret, struct error *e)
{
    struct fetch *f = mem_new(1, sizeof(*f));
    f->source = (struct source){ .get = get, .warm = warm, .opens = opens };
    f->timeout_s = c->timeout_s;
    f->carrier = (struct carrier){
        .store = c->store,
        .seal = c->seal,
        .cache = c->cache,
        .keep_metadata = c->keep_metadata && c->cache,
        .background_threads = c->background_threads ? c->background_threads : 4,
    };
    int r = carrier_start(&f->carrier, e);
    if (r < 0) {
        free(f);
        return r;
    }
    *ret = f;
    return 0;
}

void fetch_free(struct fetch *f)
{
    if (!f)
        return;
    carrier_release(&f->carrier);
    free(f);
}

void fetch_freep(struct fetch **f)
{
    fetch_free(*f);
}

struct source *fetch_source(struct fetch *f)
{
    return &f->source;
}

void fetch_stop(struct fetch *f)
{
    carrier_stop(&f->carrier);
}

void fetch_get_stats(struct fetch *f, struct fetch_stats *ret)
{
    struct carrier *c = &f->carrier;
    pthread_mutex_lock(&c->lock);
    *ret = (struct fetch_stats){ .waiting_reads = f->waiting_reads,
                                 .background_queue = c->flights.background_queued,
                                 .gets = c->gets,
                                 .bytes = c->bytes,
                                 .unreachable_since = c->unreachable_since };
    pthread_mutex_unlock(&c->lock);
}
