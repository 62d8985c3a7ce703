/* SPDX-License-Identifier: MIT */
#include "fusefs/hydrate.h"

#include "fusefs/lists.h"
#include "index/base/clock.h"
#include "index/base/log.h"
#include "index/base/mem.h"
#include "index/base/pool.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

#define POOL_THREADS 8u
#define BATCH_FRAMES 64u
#define BATCH_BYTES (8u * 1024 * 1024)
#define RETRY_FIRST_MS 1000
#define RETRY_MAX_MS 30000

struct batch {
    struct hydrate *hydrate;
    size_t count;
    uint64_t bytes, missing; /* missing: of those that had does not name */
    struct locator frames[BATCH_FRAMES];
    bool had[BATCH_FRAMES]; /* before it was asked for */
};

struct hydrate {
    struct hydrate_config config;
    struct lists *lists;
    struct pool *pool;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool stopped, full, again, ended; /* under lock, as the next six */
    unsigned running;                 /* batches being fetched */
    uint64_t missing;                 /* bytes that they bring */
    struct hydrate_progress progress;
    struct error error;  /* why it ended early */
    struct error lost;   /* the first of what is lost */
    uint64_t gone;       /* cache_gone when what is here was counted */
    int64_t since;       /* clock_wall_ns: what is used from then on shall stay */
    struct batch *next;  /* of the thread alone, as the rest */
    struct locator last; /* told or asked for just before: extents of one frame are neighbours */
    bool xattrs;         /* some entry has one */
    char *const *first;  /* the access list, once it is listed */
    size_t first_count;
    bool listed;
    uint64_t *asked; /* a bit a position: files fetched along the access list */
};

static bool same_frame(const struct locator *a, const struct locator *b)
{
    return a->offset == b->offset && pack_equal(&a->pack, &b->pack);
}

static void set_phase(struct hydrate *h, enum hydrate_phase phase)
{
    pthread_mutex_lock(&h->lock);
    h->progress.phase = phase;
    pthread_cond_broadcast(&h->changed);
    pthread_mutex_unlock(&h->lock);
    h->last = (struct locator){ 0 };
}

/* With the lock held. False: it has been stopped. */
static bool wait_for_turn(struct hydrate *h)
{
    while (!h->stopped && (h->progress.paused || h->running >= (h->full ? POOL_THREADS : 1)))
        pthread_cond_wait(&h->changed, &h->lock);
    return !h->stopped;
}

static int refused(struct error *e)
{
    return error_say(e, ERROR_INTERRUPTED, -ECANCELED, "hydration was stopped");
}

/* Until the time has come, or everything ends. */
static int wait_ms(struct hydrate *h, int ms, struct error *e)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += ms / 1000;
    until.tv_nsec += ms % 1000 * 1000000L;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    pthread_mutex_lock(&h->lock);
    while (!h->stopped && pthread_cond_timedwait(&h->changed, &h->lock, &until) == 0)
        ;
    bool stopped = h->stopped;
    pthread_mutex_unlock(&h->lock);
    return stopped ? refused(e) : 0;
}

static void lose(struct hydrate *h, const struct error *e)
{
    log_warn("hydrate: %s", e->text);
    pthread_mutex_lock(&h->lock);
    if (h->progress.lost++ == 0)
        h->lost = *e;
    pthread_mutex_unlock(&h->lock);
}

/* What is new is opened: bytes that the store has wrong are not here. */
static int open_new(struct hydrate *h, const struct batch *b, struct error *e)
{
    int r = 0;
    for (size_t i = 0; i < b->count && r == 0; i++) {
        _cleanup_(frame_dropp) struct frame *f = NULL;
        if (b->had[i] || source_opens(h->config.source, &b->frames[i], FRAME_DATA))
            continue;
        r = source_get(h->config.source, &b->frames[i], FRAME_DATA, &f, e);
        if (r < 0 && e->kind == ERROR_DAMAGED) {
            lose(h, e);
            r = 0;
        }
    }
    return r;
}

/* 0: here, or given up as lost. */
static int fetch_until_here(struct hydrate *h, const struct batch *b, struct error *e)
{
    for (int pause = RETRY_FIRST_MS;; pause = pause * 2 < RETRY_MAX_MS ? pause * 2 : RETRY_MAX_MS) {
        int r = source_warm(h->config.source, b->frames, b->count, SOURCE_BACKGROUND, e);
        if (r == 0)
            r = open_new(h, b, e);
        if (r == 0 || r == -ECANCELED || e->kind == ERROR_FAILED) /* the last: the cache takes no more */
            return r;
        if (e->kind == ERROR_DAMAGED) {
            lose(h, e);
            return 0;
        }
        r = wait_ms(h, pause, e);
        if (r < 0)
            return r;
    }
}

static int fetch(void *arg, struct error *e)
{
    _cleanup_free_ struct batch *b = arg;
    struct hydrate *h = b->hydrate;
    int r = fetch_until_here(h, b, e);
    pthread_mutex_lock(&h->lock);
    h->running--;
    h->missing -= b->missing;
    if (r == 0) {
        struct hydrate_progress *p = &h->progress;
        p->frames_done = p->frames_done + b->count < p->frames_total ? p->frames_done + b->count : p->frames_total;
        p->bytes_done = p->bytes_done + b->bytes < p->bytes_total ? p->bytes_done + b->bytes : p->bytes_total;
    }
    pthread_cond_broadcast(&h->changed);
    pthread_mutex_unlock(&h->lock);
    return r;
}

static void drop(void *arg)
{
    struct batch *b = arg;
    pthread_mutex_lock(&b->hydrate->lock);
    b->hydrate->running--;
    b->hydrate->missing -= b->missing;
    pthread_mutex_unlock(&b->hydrate->lock);
    free(b);
}

/* Waits for its turn here, before the pool, whose threads would take turns in any order. */
static int submit(struct hydrate *h, struct error *e)
{
    if (!h->next || h->next->count == 0)
        return 0;
    pthread_mutex_lock(&h->lock);
    bool go = wait_for_turn(h);
    uint64_t missing = h->next->missing + h->missing;
    pthread_mutex_unlock(&h->lock);
    int r = go && h->config.cache ? cache_room(h->config.cache, missing, h->since, e) : 0;
    if (r < 0)
        return r;
    pthread_mutex_lock(&h->lock);
    if (go) {
        h->running++;
        h->missing = missing;
    }
    pthread_mutex_unlock(&h->lock);
    return go ? pool_run(h->pool, fetch, drop, mem_steal(h->next), e) : refused(e);
}

static int ask_for(struct hydrate *h, const struct locator *frame, struct error *e)
{
    if (same_frame(frame, &h->last))
        return 0;
    h->last = *frame;
    if (!h->next) {
        h->next = mem_new(1, sizeof(*h->next));
        h->next->hydrate = h;
    }
    bool had = h->config.cache && cache_use(h->config.cache, frame);
    h->next->had[h->next->count] = had;
    h->next->frames[h->next->count++] = *frame;
    h->next->bytes += frame->sealed;
    h->next->missing += had ? 0 : frame->sealed;
    return h->next->count == BATCH_FRAMES || h->next->bytes >= BATCH_BYTES ? submit(h, e) : 0;
}

static int count_frame(struct hydrate *h, const struct extent *x, struct error *e)
{
    if (!same_frame(&x->frame, &h->last)) {
        h->last = x->frame;
        pthread_mutex_lock(&h->lock);
        h->progress.frames_total++;
        h->progress.bytes_total += x->frame.sealed;
        bool stopped = h->stopped;
        pthread_mutex_unlock(&h->lock);
        if (stopped)
            return refused(e);
    }
    return h->config.extent ? h->config.extent(h->config.arg, x, e) : 0;
}

static int ask_for_extent(struct hydrate *h, const struct extent *x, struct error *e)
{
    return ask_for(h, &x->frame, e);
}

/* Calls each for a file's extents, trying again while the store cannot be reached. */
static int each_extent(struct hydrate *h, uint64_t position, const struct entry *n,
                       int (*each)(struct hydrate *h, const struct extent *x, struct error *e), struct error *e)
{
    struct extents x;
    int r = n->type == ENTRY_FILE ? lists_get(h->lists, position, n, &x, e) : 1;
    if (r == 1)
        return 0;
    if (r < 0 && e->kind == ERROR_DAMAGED) {
        lose(h, e);
        return 0;
    }
    if (r < 0)
        return r;
    for (size_t i = 0; i < x.count && r == 0; i++)
        r = each(h, &x.at[i], e);
    lists_release(h->lists, &x);
    return r;
}

static int count_entry(void *arg, uint64_t position, struct bytes key, const struct entry *n, struct error *e)
{
    if (n->xattr_count > 0)
        ((struct hydrate *)arg)->xattrs = true;
    return each_extent(arg, position, n, count_frame, e);
}

static int ask_for_entry(void *arg, uint64_t position, struct bytes key, const struct entry *n, struct error *e)
{
    struct hydrate *h = arg;
    bool asked = h->asked[position / 64] >> (position % 64) & 1;
    return asked ? 0 : each_extent(h, position, n, ask_for_extent, e);
}

static int ask_for_path(struct hydrate *h, const char *path, struct error *e)
{
    _cleanup_(buf_release) struct buf key = { 0 };
    struct entry n = { 0 };
    uint64_t position;
    if (key_from_path((struct bytes){ (const uint8_t *)path, strlen(path) }, &key) < 0)
        return 0;
    int r = tree_find(h->config.tree, buf_bytes(&key), &position, &n, e);
    if (r == -ENOENT && e->kind == ERROR_UNKNOWN)
        return 0; /* gone since that session */
    if (r < 0)
        return r;
    r = ask_for_entry(h, position, buf_bytes(&key), &n, e);
    h->asked[position / 64] |= 1ull << (position % 64);
    entry_release(&n);
    return r;
}

static int page_is_here(void *arg, const struct locator *page, uint8_t level, struct error *e)
{
    struct hydrate *h = arg;
    pthread_mutex_lock(&h->lock);
    bool stopped = h->stopped;
    pthread_mutex_unlock(&h->lock);
    return stopped ? refused(e) : 0;
}

static int get_metadata(struct hydrate *h, struct error *e)
{
    return tree_pages(h->config.tree, true, page_is_here, h, e);
}

static int get_extents(struct hydrate *h, struct error *e)
{
    pthread_mutex_lock(&h->lock);
    h->progress.frames_total = h->progress.bytes_total = 0;
    h->progress.frames_done = h->progress.bytes_done = 0;
    pthread_mutex_unlock(&h->lock);
    int r = tree_scan(h->config.tree, (struct bytes){ 0 }, (struct bytes){ 0 }, count_entry, h, e);
    if (r == 0 && h->config.scanned)
        h->config.scanned(h->config.arg, h->xattrs);
    return r;
}

static int get_first(struct hydrate *h, struct error *e)
{
    int r = 0;
    if (!h->listed && h->config.first)
        h->first_count = h->config.first(h->config.arg, &h->first);
    h->listed = true;
    for (size_t i = 0; i < h->first_count && r == 0; i++)
        r = ask_for_path(h, h->first[i], e);
    return r == 0 ? submit(h, e) : r;
}

static int get_rest(struct hydrate *h, struct error *e)
{
    int r = tree_scan(h->config.tree, (struct bytes){ 0 }, (struct bytes){ 0 }, ask_for_entry, h, e);
    if (r == 0)
        r = submit(h, e);
    int waited = pool_wait(h->pool, r == 0 ? e : NULL);
    return r < 0 ? r : waited;
}

/* A phase begins again from its start after a store that could not be reached: what is here costs nothing. */
static int run_phase(struct hydrate *h, enum hydrate_phase phase, int (*get)(struct hydrate *h, struct error *e),
                     struct error *e)
{
    for (int pause = RETRY_FIRST_MS;; pause = pause * 2 < RETRY_MAX_MS ? pause * 2 : RETRY_MAX_MS) {
        set_phase(h, phase);
        int r = get(h, e);
        if (r == 0 || e->kind != ERROR_STORE)
            return r;
        r = wait_ms(h, pause, e);
        if (r < 0)
            return r;
    }
}

/* BOX_HYDRATE=off waits here for `hydrate`. */
static int wait_for_leave(struct hydrate *h, struct error *e)
{
    pthread_mutex_lock(&h->lock);
    while (h->config.metadata_only && !h->full && !h->stopped)
        pthread_cond_wait(&h->changed, &h->lock);
    bool stopped = h->stopped;
    pthread_mutex_unlock(&h->lock);
    return stopped ? refused(e) : 0;
}

static int count_if_here(struct hydrate *h, const struct extent *x, struct error *e)
{
    if (same_frame(&x->frame, &h->last))
        return 0;
    h->last = x->frame;
    bool here = cache_has(h->config.cache, &x->frame);
    pthread_mutex_lock(&h->lock);
    h->progress.frames_done += here;
    h->progress.bytes_done += here ? x->frame.sealed : 0;
    bool stopped = h->stopped;
    pthread_mutex_unlock(&h->lock);
    return stopped ? refused(e) : 0;
}

static int count_entry_here(void *arg, uint64_t position, struct bytes key, const struct entry *n, struct error *e)
{
    return each_extent(arg, position, n, count_if_here, e);
}

/* What has gone again, or never came, is not here. */
static int count_here(struct hydrate *h, struct error *e)
{
    if (!h->config.cache)
        return 0;
    h->last = (struct locator){ 0 };
    pthread_mutex_lock(&h->lock);
    h->gone = cache_gone(h->config.cache);
    h->progress.frames_done = h->progress.bytes_done = 0;
    pthread_mutex_unlock(&h->lock);
    return tree_scan(h->config.tree, (struct bytes){ 0 }, (struct bytes){ 0 }, count_entry_here, h, e);
}

static int run_phases(struct hydrate *h, struct error *e)
{
    int r = run_phase(h, HYDRATE_METADATA, get_metadata, e);
    if (r == 0)
        r = run_phase(h, HYDRATE_EXTENTS, get_extents, e);
    if (r == 0)
        r = wait_for_leave(h, e);
    h->since = clock_wall_ns();
    if (r == 0)
        r = run_phase(h, HYDRATE_FIRST, get_first, e);
    if (r == 0)
        r = run_phase(h, HYDRATE_REST, get_rest, e);
    return r;
}

/* With the lock held. */
static bool all_here(struct hydrate *h)
{
    const struct hydrate_progress *p = &h->progress;
    return p->lost == 0 &&
           (!h->config.cache || (p->frames_done >= p->frames_total && cache_gone(h->config.cache) == h->gone));
}

static void run_once(struct hydrate *h)
{
    struct error e = { 0 }, counting = { 0 };
    int r = pool_new(POOL_THREADS, 2, &h->pool, &e);
    if (r == 0)
        r = run_phases(h, &e);
    pool_free(mem_steal(h->pool)); /* one that has failed takes no more */
    free(mem_steal(h->next));      /* full, if there was no room for it */
    if (r != -ECANCELED && count_here(h, &counting) < 0 && r == 0) {
        r = counting.code;
        e = counting;
    }
    if (r < 0 && r != -ECANCELED)
        log_warn("hydration ends early: %s", e.text);
    pthread_mutex_lock(&h->lock);
    h->error = r < 0 ? e : (struct error){ 0 };
    h->progress.phase = r < 0 ? HYDRATE_STOPPED : HYDRATE_DONE;
    h->ended = true;
    pthread_cond_broadcast(&h->changed);
    pthread_mutex_unlock(&h->lock);
}

/* False: it has been stopped. */
static bool wait_for_again(struct hydrate *h)
{
    pthread_mutex_lock(&h->lock);
    while (!h->again && !h->stopped)
        pthread_cond_wait(&h->changed, &h->lock);
    bool again = !h->stopped;
    h->again = false;
    pthread_mutex_unlock(&h->lock);
    memset(h->asked, 0, (tree_count(h->config.tree) / 64 + 1) * sizeof(h->asked[0]));
    return again;
}

static void *work(void *arg)
{
    struct hydrate *h = arg;
    do
        run_once(h);
    while (wait_for_again(h));
    return NULL;
}

static void release(struct hydrate *h)
{
    lists_free(h->lists);
    free(h->next);
    free(h->asked);
    pthread_cond_destroy(&h->changed);
    pthread_mutex_destroy(&h->lock);
    free(h);
}

int hydrate_start(const struct hydrate_config *c, struct hydrate **ret, struct error *e)
{
    struct hydrate *h = mem_new(1, sizeof(*h));
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&h->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&h->lock, NULL);
    h->config = *c;
    h->asked = mem_new(tree_count(c->tree) / 64 + 1, sizeof(h->asked[0]));

    int r = lists_new(c->source, &h->lists, e);
    if (r == 0) {
        r = -pthread_create(&h->thread, NULL, work, h);
        if (r < 0)
            error_set(e, ERROR_FAILED, r, "start hydration");
    }
    if (r < 0) {
        release(h);
        return r;
    }
    *ret = h;
    return 0;
}

void hydrate_free(struct hydrate *h)
{
    if (!h)
        return;
    hydrate_stop(h);
    pthread_join(h->thread, NULL);
    release(h);
}

void hydrate_pause(struct hydrate *h, bool paused)
{
    pthread_mutex_lock(&h->lock);
    h->progress.paused = paused;
    pthread_cond_broadcast(&h->changed);
    pthread_mutex_unlock(&h->lock);
}

void hydrate_full_speed(struct hydrate *h)
{
    pthread_mutex_lock(&h->lock);
    h->full = true;
    h->progress.paused = false;
    if (h->ended && !all_here(h)) {
        h->again = true;
        h->ended = false;
        h->progress.lost = 0;
    }
    pthread_cond_broadcast(&h->changed);
    pthread_mutex_unlock(&h->lock);
}

void hydrate_stop(struct hydrate *h)
{
    pthread_mutex_lock(&h->lock);
    h->stopped = true;
    pthread_cond_broadcast(&h->changed);
    pthread_mutex_unlock(&h->lock);
}

void hydrate_get(struct hydrate *h, struct hydrate_progress *ret)
{
    pthread_mutex_lock(&h->lock);
    *ret = h->progress;
    if (h->ended && h->config.cache) {
        uint64_t gone = cache_gone(h->config.cache) - h->gone;
        ret->bytes_done -= gone < ret->bytes_done ? gone : ret->bytes_done;
    }
    pthread_mutex_unlock(&h->lock);
}

int hydrate_wait(struct hydrate *h, struct error *e)
{
    pthread_mutex_lock(&h->lock);
    while (!h->ended)
        pthread_cond_wait(&h->changed, &h->lock);
    struct error why = h->error, lost = h->lost;
    bool any_lost = h->progress.lost > 0, all = all_here(h);
    pthread_mutex_unlock(&h->lock);
    if (why.code)
        return error_pass(e, &why);
    if (any_lost)
        return error_say(e, ERROR_DAMAGED, -EIO, "some content is damaged or missing in the store: %s", lost.text);
    return all ? 0 : error_say(e, ERROR_FAILED, -EAGAIN, "something went from the cache again");
}
