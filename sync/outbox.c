/* SPDX-License-Identifier: MIT */
#include "sync/outbox.h"

#include "index/base/log.h"
#include "index/base/mem.h"
#include "index/base/pool.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

#define UPLOADERS 2
#define FRAMES_AHEAD 8 /* queued frames: bounds memory to 8 chunks and what the threads hold */
#define ATTEMPTS 6
#define PAUSE_MS 100 /* after the first failed PUT; three times as long after each further one */

/* A pack that takes frames, until it is closed and the last of its writers is done. */
struct filling {
    struct outbox *owner;
    struct pack *pack;
    bool metadata, closed;
    unsigned writers; /* threads that are sealing into their places */
};

struct outbox {
    struct outbox_config config;
    struct pool *sealers, *uploaders;
    pthread_mutex_t mutex;
    pthread_cond_t changed;     /* something was placed, or all has failed */
    struct filling *filling[2]; /* [metadata]; under mutex, as everything below */
    struct outbox_sent *sent;
    size_t sent_count, sent_room, told;
    uint64_t bytes;
    bool failed;
    struct error error;
};

/* A frame on its way to a sealing thread. */
struct sealing {
    struct outbox *owner;
    struct outbox_frame *frame;
};

struct placement *placement_new(const struct locator *at)
{
    struct placement *w = mem_new(1, sizeof(*w));
    atomic_init(&w->references, 1);
    if (at)
        w->at = *at;
    atomic_init(&w->placed, at != NULL);
    return w;
}

struct placement *placement_hold(struct placement *w)
{
    atomic_fetch_add_explicit(&w->references, 1, memory_order_relaxed);
    return w;
}

void placement_drop(struct placement *w)
{
    if (w && atomic_fetch_sub_explicit(&w->references, 1, memory_order_acq_rel) == 1)
        free(w);
}

struct outbox_frame *outbox_frame_new(void)
{
    struct outbox_frame *f = mem_new(1, sizeof(*f));
    f->where = placement_new(NULL);
    return f;
}

void outbox_frame_free(struct outbox_frame *f)
{
    if (!f)
        return;
    buf_release(&f->raw);
    free(f->extents);
    placement_drop(f->where);
    free(f);
}

void outbox_frame_add(struct outbox_frame *f, const struct hash *h, uint32_t length)
{
    if (f->count == f->room) {
        f->room = f->room ? f->room * 2 : 4;
        f->extents = mem_grow(f->extents, f->room, sizeof(*f->extents));
    }
    uint32_t within = f->count ? f->extents[f->count - 1].within + f->extents[f->count - 1].length : 0;
    f->extents[f->count++] = (struct pack_extent){ .hash = *h, .within = within, .length = length };
}

static void fail(struct outbox *o, int code, const struct error *e)
{
    pthread_mutex_lock(&o->mutex);
    if (!o->failed) {
        o->failed = true;
        o->error = *e;
        o->error.code = code;
    }
    pthread_cond_broadcast(&o->changed);
    pthread_mutex_unlock(&o->mutex);
}

int outbox_check(struct outbox *o, struct error *e)
{
    pthread_mutex_lock(&o->mutex);
    int r = o->failed ? error_pass(e, &o->error) : 0;
    pthread_mutex_unlock(&o->mutex);
    return r;
}

static bool has_failed(struct outbox *o)
{
    pthread_mutex_lock(&o->mutex);
    bool failed = o->failed;
    pthread_mutex_unlock(&o->mutex);
    return failed;
}

/* Waits in steps, so that a failure elsewhere and Ctrl-C end it soon. */
static void pause_ms(struct outbox *o, unsigned ms)
{
    const struct timespec step = { .tv_nsec = 20 * 1000000 };
    for (unsigned waited = 0; waited < ms && !has_failed(o) && !o->config.store->cancelled; waited += 20)
        nanosleep(&step, NULL);
}

static int put_pack(struct outbox *o, const char *key, struct bytes data, struct error *e)
{
    unsigned pause = PAUSE_MS;
    for (int attempt = 1;; attempt++, pause *= 3) {
        struct store_info info;
        int r = store_put(o->config.store, key, data, STORE_IF_ABSENT, NULL, NULL, e);
        if (r == 0 || r == -ECANCELED || r == -EACCES)
            return r;
        int there = store_stat(o->config.store, key, &info, NULL);
        if (there == 0 && info.size == data.len)
            return 0;
        if (there == 0)
            return error_say(e, ERROR_DAMAGED, -EBADMSG, "%s has %llu bytes in the store, not the %zu that were sent",
                             key, (unsigned long long)info.size, data.len);
        if (attempt == ATTEMPTS || has_failed(o))
            return r;
        log_debug("%s is sent again in %u ms", key, pause);
        pause_ms(o, pause);
    }
}

static void remember_sent(struct outbox *o, const struct filling *f)
{
    pthread_mutex_lock(&o->mutex);
    if (o->sent_count == o->sent_room) {
        o->sent_room = o->sent_room ? o->sent_room * 2 : 16;
        o->sent = mem_grow(o->sent, o->sent_room, sizeof(*o->sent));
    }
    o->sent[o->sent_count++] = (struct outbox_sent){
        .name = *pack_name(f->pack),
        .size = (uint32_t)pack_bytes(f->pack).len,
        .metadata = f->metadata,
    };
    o->bytes += pack_bytes(f->pack).len;
    pthread_mutex_unlock(&o->mutex);
}

/* The cache only saves time: what it cannot take is fetched or sent again. */
static void keep_in_cache(struct cache *c, const struct pack *p)
{
    const struct pack_frames *f = pack_contents(p);
    const struct locator *last = &f->frames[f->count - 1].at;
    _cleanup_free_ struct locator *at = mem_new(f->count, sizeof(*at));
    _cleanup_free_ struct known_extent *known = mem_new(f->extent_count + 1, sizeof(*known));
    size_t n = 0;
    struct error e = { 0 };
    for (size_t i = 0; i < f->count; i++) {
        at[i] = f->frames[i].at;
        for (size_t k = f->frames[i].first; k < f->frames[i].first + f->frames[i].count; k++)
            known[n++] = (struct known_extent){ .hash = f->extents[k].hash,
                                                .length = f->extents[k].length,
                                                .frame = at[i],
                                                .within = f->extents[k].within };
    }
    struct bytes bytes = { pack_bytes(p).data, last->offset + last->sealed };
    if (cache_put(c, pack_name(p), 0, bytes, at, f->count, false, &e) < 0)
        log_info("a sent pack is not kept in the cache: %s", e.text);
    if (cache_known_add(c, known, n, &e) < 0)
        log_info("what was sent is not remembered: %s", e.text);
}

static void filling_free(void *arg)
{
    struct filling *f = arg;
    pack_free(f->pack);
    free(f);
}

static int upload(void *arg, struct error *e)
{
    struct filling *f = arg;
    struct outbox *o = f->owner;
    char key[STORE_KEY_MAX];
    int r = -ECANCELED;
    pack_key(o->config.seal.box, pack_name(f->pack), key);
    if (!has_failed(o)) {
        r = put_pack(o, key, pack_bytes(f->pack), e);
        if (r == 0 && o->config.journal)
            r = journal_pack_add(o->config.journal, pack_name(f->pack), (uint32_t)pack_bytes(f->pack).len, f->metadata,
                                 e);
        if (r < 0)
            fail(o, r, e);
    }
    if (r == 0) {
        remember_sent(o, f);
        if (o->config.cache)
            keep_in_cache(o->config.cache, f->pack);
    }
    filling_free(f);
    return 0; /* o keeps the error: a pool's own would come out only where the pool is asked */
}

static void ship(struct outbox *o, struct filling *f)
{
    pack_finish(f->pack);
    pool_run(o->uploaders, upload, filling_free, f, NULL);
}

/* Finds a place in the current pack, seals into it without the lock, and ships the pack if this made it full. */
static void place(struct outbox *o, enum frame_kind kind, size_t raw_len, struct bytes prepared,
                  const struct pack_extent *extents, size_t count, struct locator *ret)
{
    bool metadata = kind != FRAME_DATA;
    pthread_mutex_lock(&o->mutex);
    struct filling *f = o->filling[metadata];
    if (!f) {
        f = o->filling[metadata] = mem_new(1, sizeof(*f));
        *f = (struct filling){ .owner = o, .metadata = metadata };
        f->pack = pack_new(&o->config.seal, &o->config.writer);
    }
    pack_reserve(f->pack, kind, raw_len, prepared.len, extents, count, ret);
    f->writers++;
    if (pack_full(f->pack)) {
        f->closed = true;
        o->filling[metadata] = NULL;
    }
    pthread_mutex_unlock(&o->mutex);

    pack_fill(f->pack, ret, kind, prepared);

    pthread_mutex_lock(&o->mutex);
    bool last = --f->writers == 0 && f->closed;
    pthread_mutex_unlock(&o->mutex);
    if (last)
        ship(o, f);
}

static void drop_sealing(void *arg)
{
    struct sealing *s = arg;
    outbox_frame_free(s->frame);
    free(s);
}

static int seal_frame(void *arg, struct error *e)
{
    struct sealing *s = arg;
    struct outbox *o = s->owner;
    struct outbox_frame *f = s->frame;
    _cleanup_(buf_release) struct buf prepared = { 0 };
    struct locator at;
    if (!has_failed(o)) {
        seal_prepare(buf_bytes(&f->raw), &prepared);
        place(o, FRAME_DATA, f->raw.len, buf_bytes(&prepared), f->extents, f->count, &at);
        pthread_mutex_lock(&o->mutex);
        f->where->at = at;
        atomic_store_explicit(&f->where->placed, true, memory_order_release);
        pthread_cond_broadcast(&o->changed);
        pthread_mutex_unlock(&o->mutex);
    }
    drop_sealing(s);
    return 0;
}

int outbox_send(struct outbox *o, struct outbox_frame *f, struct error *e)
{
    int r = outbox_check(o, e);
    if (r < 0) {
        outbox_frame_free(f);
        return r;
    }
    struct sealing *s = mem_new(1, sizeof(*s));
    *s = (struct sealing){ .owner = o, .frame = f };
    return pool_run(o->sealers, seal_frame, drop_sealing, s, e);
}

int outbox_send_meta(struct outbox *o, enum frame_kind kind, struct bytes raw, const struct hash *hash,
                     struct locator *ret, struct error *e)
{
    _cleanup_(buf_release) struct buf prepared = { 0 };
    struct pack_extent whole = { .hash = *hash, .length = (uint32_t)raw.len };
    int r = outbox_check(o, e);
    if (r < 0)
        return r;
    seal_prepare(raw, &prepared);
    place(o, kind, raw.len, buf_bytes(&prepared), &whole, 1, ret);
    return 0;
}

int outbox_wait(struct outbox *o, const struct placement *w, struct error *e)
{
    if (atomic_load_explicit(&w->placed, memory_order_acquire))
        return 0;
    pthread_mutex_lock(&o->mutex);
    while (!w->placed && !o->failed)
        pthread_cond_wait(&o->changed, &o->mutex);
    pthread_mutex_unlock(&o->mutex);
    return outbox_check(o, e);
}

int outbox_flush(struct outbox *o, struct error *e)
{
    pool_wait(o->sealers, NULL);
    for (int metadata = 0; metadata < 2; metadata++) {
        pthread_mutex_lock(&o->mutex);
        struct filling *f = o->filling[metadata];
        o->filling[metadata] = NULL;
        pthread_mutex_unlock(&o->mutex);
        if (f)
            ship(o, f);
    }
    pool_wait(o->uploaders, NULL);
    return outbox_check(o, e);
}

bool outbox_sent(struct outbox *o, struct outbox_sent *ret)
{
    pthread_mutex_lock(&o->mutex);
    bool more = o->told < o->sent_count;
    if (more)
        *ret = o->sent[o->told++];
    pthread_mutex_unlock(&o->mutex);
    return more;
}

uint64_t outbox_bytes(struct outbox *o)
{
    pthread_mutex_lock(&o->mutex);
    uint64_t bytes = o->bytes;
    pthread_mutex_unlock(&o->mutex);
    return bytes;
}

static unsigned processors(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > 4 ? 4 : (unsigned)n;
}

int outbox_new(const struct outbox_config *c, struct outbox **ret, struct error *e)
{
    struct outbox *o = mem_new(1, sizeof(*o));
    o->config = *c;
    pthread_mutex_init(&o->mutex, NULL);
    pthread_cond_init(&o->changed, NULL);
    int r = pool_new(c->threads ? c->threads : processors(), FRAMES_AHEAD, &o->sealers, e);
    if (r == 0)
        r = pool_new(UPLOADERS, 1, &o->uploaders, e);
    if (r < 0)
        outbox_free(o);
    else
        *ret = o;
    return r;
}

void outbox_free(struct outbox *o)
{
    if (!o)
        return;
    fail(o, -ECANCELED, &(struct error){ .kind = ERROR_INTERRUPTED, .text = "stopped" });
    pool_free(o->sealers); /* they ship to the uploaders, so they go first */
    pool_free(o->uploaders);
    for (int metadata = 0; metadata < 2; metadata++)
        if (o->filling[metadata])
            filling_free(o->filling[metadata]);
    pthread_cond_destroy(&o->changed);
    pthread_mutex_destroy(&o->mutex);
    free(o->sent);
    free(o);
}
