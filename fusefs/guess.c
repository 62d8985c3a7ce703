/* SPDX-License-Identifier: MIT */
#include "fusefs/guess.h"

#include "index/base/mem.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#define THREADS 3u

struct guesser {
    struct guess *guess;
    pthread_t thread;
    struct buf key; /* under lock; what to look for, empty: free */
};

struct guess {
    struct tree *tree;
    atomic_bool over;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool stopped;
    unsigned count;
    struct guesser guessers[THREADS];
};

static void *work(void *arg)
{
    struct guesser *w = arg;
    struct guess *g = w->guess;
    pthread_mutex_lock(&g->lock);
    while (!g->stopped) {
        if (w->key.len == 0) {
            pthread_cond_wait(&g->changed, &g->lock);
            continue;
        }
        struct bytes key = buf_bytes(&w->key); /* nobody touches it while it is not empty */
        pthread_mutex_unlock(&g->lock);
        tree_warm(g->tree, key);
        tree_find(g->tree, key, NULL, NULL, NULL);
        pthread_mutex_lock(&g->lock);
        buf_clear(&w->key);
    }
    pthread_mutex_unlock(&g->lock);
    return NULL;
}

int guess_new(struct tree *tree, struct guess **ret, struct error *e)
{
    struct guess *g = mem_new(1, sizeof(*g));
    g->tree = tree;
    pthread_mutex_init(&g->lock, NULL);
    pthread_cond_init(&g->changed, NULL);
    for (; g->count < THREADS; g->count++) {
        struct guesser *w = &g->guessers[g->count];
        w->guess = g;
        int r = pthread_create(&w->thread, NULL, work, w);
        if (r != 0) {
            guess_free(g);
            return error_set(e, ERROR_FAILED, -r, "start a thread that guesses");
        }
    }
    *ret = g;
    return 0;
}

void guess_free(struct guess *g)
{
    if (!g)
        return;
    pthread_mutex_lock(&g->lock);
    g->stopped = true;
    pthread_cond_broadcast(&g->changed);
    pthread_mutex_unlock(&g->lock);
    for (unsigned i = 0; i < g->count; i++) {
        pthread_join(g->guessers[i].thread, NULL);
        buf_release(&g->guessers[i].key);
    }
    pthread_cond_destroy(&g->changed);
    pthread_mutex_destroy(&g->lock);
    free(g);
}

void guess_directory(struct guess *g, struct bytes path, const char *name)
{
    if (g->over)
        return;
    _cleanup_(buf_release) struct buf whole = { 0 }, key = { 0 };
    buf_add(&whole, path.data, path.len);
    buf_printf(&whole, "%s%s", path.len ? "/" : "", name);
    if (key_directory_prefix(buf_bytes(&whole), &key) < 0)
        return;
    pthread_mutex_lock(&g->lock);
    for (unsigned i = 0; i < g->count; i++) {
        struct guesser *w = &g->guessers[i];
        if (w->key.len == 0) {
            buf_add(&w->key, key.data, key.len);
            pthread_cond_broadcast(&g->changed);
            break;
        }
    }
    pthread_mutex_unlock(&g->lock);
}

void guess_end(struct guess *g)
{
    g->over = true;
}
