/* SPDX-License-Identifier: MIT */
#include "index/prefetch.h"

#include "index/base/mem.h"
#include "index/base/pool.h"
#include "index/content.h"

#include <errno.h>
#include <pthread.h>

#define AT_ONCE 2u /* batches under way: the next one's ranges start before the last one's tail has come */

struct place {
    uint64_t position, start;
};

struct batch {
    struct source *source;
    size_t count;
    uint64_t bytes;
    struct locator frames[PREFETCH_BATCH_FRAMES];
};

struct prefetch {
    struct prefetch_config config;
    struct pool *pool;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t moved;
    struct place reader; /* under lock, as stopped */
    bool stopped;
    struct batch *next;                  /* of the thread alone, as the rest */
    struct place ends[PREFETCH_BATCHES]; /* of the last batches, a ring */
    uint64_t batches;
    struct place at;
    struct locator last; /* extents of one frame are neighbours */
};

static bool before(const struct place *a, const struct place *b)
{
    return a->position != b->position ? a->position < b->position : a->start < b->start;
}

/* What the cache has no room for ends it: it would be fetched twice. */
static int warm(void *arg, struct error *e)
{
    _cleanup_free_ struct batch *b = arg;
    int r = source_warm(b->source, b->frames, b->count, SOURCE_BACKGROUND, e);
    return r < 0 && e->kind == ERROR_FAILED ? r : 0;
}

/* Until the reader has come to the end of the batch before the last ones. */
static int wait_for_reader(struct prefetch *p)
{
    const struct place *end = p->batches >= PREFETCH_BATCHES ? &p->ends[p->batches % PREFETCH_BATCHES] : NULL;
    pthread_mutex_lock(&p->lock);
    while (end && !p->stopped && before(&p->reader, end))
        pthread_cond_wait(&p->moved, &p->lock);
    int r = p->stopped ? -ECANCELED : 0;
    pthread_mutex_unlock(&p->lock);
    return r;
}

static int submit(struct prefetch *p, struct error *e)
{
    if (!p->next)
        return 0;
    int r = wait_for_reader(p);
    if (r < 0)
        return r;
    p->ends[p->batches++ % PREFETCH_BATCHES] = p->at;
    return pool_run(p->pool, warm, free, mem_steal(p->next), e);
}

static int add_extent(void *arg, const struct extent *x, struct error *e)
{
    struct prefetch *p = arg;
    p->at.start = x->start;
    if (x->frame.offset == p->last.offset && pack_equal(&x->frame.pack, &p->last.pack))
        return 0;
    p->last = x->frame;
    if (!p->next) {
        p->next = mem_new(1, sizeof(*p->next));
        p->next->source = p->config.source;
    }
    p->next->frames[p->next->count++] = x->frame;
    p->next->bytes += x->frame.sealed;
    bool full = p->next->count == PREFETCH_BATCH_FRAMES || p->next->bytes >= PREFETCH_BATCH_BYTES;
    return full ? submit(p, e) : 0;
}

static int add_entry(void *arg, uint64_t position, struct bytes key, const struct entry *n, struct error *e)
{
    struct prefetch *p = arg;
    if (n->type != ENTRY_FILE || (p->config.wanted && !p->config.wanted(p->config.arg, key, n)))
        return 0;
    p->at.position = position;
    return content_each(n, p->config.source, add_extent, p, e);
}

static void *run(void *arg)
{
    struct prefetch *p = arg;
    struct error ignored = { 0 }; /* the reader meets it, too */
    if (tree_scan(p->config.tree, p->config.below, (struct bytes){ 0 }, add_entry, p, &ignored) == 0)
        submit(p, &ignored);
    return NULL;
}

static void release(struct prefetch *p)
{
    pool_free(p->pool);
    free(p->next);
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->moved);
    free(p);
}

int prefetch_start(const struct prefetch_config *c, struct prefetch **ret, struct error *e)
{
    struct prefetch *p = mem_new(1, sizeof(*p));
    p->config = *c;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->moved, NULL);
    int r = pool_new(AT_ONCE, 1, &p->pool, e);
    if (r == 0 && (r = -pthread_create(&p->thread, NULL, run, p)) < 0)
        error_set(e, ERROR_FAILED, r, "start a thread");
    if (r < 0) {
        release(p);
        return r;
    }
    *ret = p;
    return 0;
}

void prefetch_reached(struct prefetch *p, uint64_t position, uint64_t start)
{
    pthread_mutex_lock(&p->lock);
    p->reader = (struct place){ position, start };
    pthread_cond_signal(&p->moved);
    pthread_mutex_unlock(&p->lock);
}

void prefetch_stop(struct prefetch *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->stopped = true;
    pthread_cond_signal(&p->moved);
    pthread_mutex_unlock(&p->lock);
    pthread_join(p->thread, NULL);
    release(p);
}
