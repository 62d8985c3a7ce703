/* SPDX-License-Identifier: MIT */
#include "fusefs/ahead.h"

#include "index/base/clock.h"
#include "index/base/mem.h"

#include <errno.h>
#include <pthread.h>

#define RUNS 64u             /* files watched at once */
#define SLACK (1024u * 1024) /* the kernel's requests of one reader overtake each other */
#define WINDOW_FIRST (1024u * 1024)
#define FRAMES_MAX 256u /* one hint */
#define NO_ROOM_NS (10 * INT64_C(1000000000))

struct run {
    uint64_t position, end;
    uint64_t warmed; /* up to here it was asked for */
    uint64_t window;
};

struct ahead {
    struct source *source;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool stopped;
    struct run runs[RUNS]; /* by position, later ones push out earlier ones */
    struct locator next[FRAMES_MAX];
    size_t next_count;     /* 0: the thread is free for a hint */
    int64_t no_room_until; /* the cache took no more: what is read ahead would be fetched twice */
};

static void *work(void *arg)
{
    struct ahead *a = arg;
    struct locator frames[FRAMES_MAX];
    pthread_mutex_lock(&a->lock);
    while (!a->stopped) {
        if (a->next_count == 0) {
            pthread_cond_wait(&a->changed, &a->lock);
            continue;
        }
        size_t count = a->next_count;
        memcpy(frames, a->next, count * sizeof(frames[0]));
        pthread_mutex_unlock(&a->lock);
        int r = source_prepare(a->source, frames, count, SOURCE_BACKGROUND, NULL);
        pthread_mutex_lock(&a->lock);
        a->next_count = 0;
        if (r > 0)
            a->no_room_until = clock_boot_ns() + NO_ROOM_NS;
    }
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

int ahead_new(struct source *source, struct ahead **ret, struct error *e)
{
    struct ahead *a = mem_new(1, sizeof(*a));
    a->source = source;
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->changed, NULL);
    for (unsigned i = 0; i < RUNS; i++)
        a->runs[i].position = UINT64_MAX;
    int r = pthread_create(&a->thread, NULL, work, a);
    if (r != 0) {
        free(a);
        return error_set(e, ERROR_FAILED, -r, "start the thread that reads ahead");
    }
    *ret = a;
    return 0;
}

void ahead_free(struct ahead *a)
{
    if (!a)
        return;
    pthread_mutex_lock(&a->lock);
    a->stopped = true;
    pthread_cond_signal(&a->changed);
    pthread_mutex_unlock(&a->lock);
    pthread_join(a->thread, NULL);
    pthread_cond_destroy(&a->changed);
    pthread_mutex_destroy(&a->lock);
    free(a);
}

/* Whether this read goes on with a run; keeps the run's account. */
static bool goes_on(struct run *run, uint64_t position, uint64_t offset, uint64_t end)
{
    bool same = run->position == position && offset + SLACK >= run->end && offset <= run->end + SLACK;
    if (!same) {
        *run = (struct run){ position, end, end, WINDOW_FIRST };
        return false;
    }
    if (end > run->end)
        run->end = end;
    if (run->window < AHEAD_MAX)
        run->window *= 2;
    return true;
}

/* The frames of [from, to), each once. */
static void hint(struct ahead *a, const struct extents *x, uint64_t from, uint64_t to)
{
    for (size_t i = extents_from(x, from); i < x->count && x->at[i].start < to && a->next_count < FRAMES_MAX; i++) {
        const struct locator *frame = &x->at[i].frame, *last = a->next_count ? &a->next[a->next_count - 1] : NULL;
        if (!last || last->offset != frame->offset || !pack_equal(&last->pack, &frame->pack))
            a->next[a->next_count++] = *frame;
    }
    if (a->next_count > 0)
        pthread_cond_signal(&a->changed);
}

void ahead_note(struct ahead *a, uint64_t position, const struct extents *x, uint64_t offset, uint64_t end)
{
    if (x->count < 2)
        return;
    pthread_mutex_lock(&a->lock);
    struct run *run = &a->runs[position % RUNS];
    if (goes_on(run, position, offset, end) && a->next_count == 0 && clock_boot_ns() >= a->no_room_until) {
        uint64_t from = run->warmed > run->end ? run->warmed : run->end, to = run->end + run->window;
        if (from < to) {
            hint(a, x, from, to);
            run->warmed = to;
        }
    }
    pthread_mutex_unlock(&a->lock);
}
