/* SPDX-License-Identifier: MIT */
#include "index/base/pool.h"

#include "index/base/mem.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

struct job {
    int (*work)(void *arg, struct error *e);
    void (*drop)(void *arg);
    void *arg;
};

struct pool {
    pthread_mutex_t mutex;
    pthread_cond_t work;  /* a job came, or the end */
    pthread_cond_t space; /* a job was taken */
    pthread_cond_t idle;  /* nothing queued, nobody busy */
    pthread_t *threads;
    unsigned thread_count;
    struct job *ring; /* under mutex, as everything below */
    unsigned room, first, queued, busy;
    bool ending, failed;
    struct error error; /* the first */
};

static void drop_job(const struct job *j)
{
    if (j->drop)
        j->drop(j->arg);
}

static void finish_job(struct pool *p, int r, const struct error *e)
{
    p->busy--;
    if (r < 0 && !p->failed) {
        p->failed = true;
        p->error = *e;
        p->error.code = r;
        pthread_cond_broadcast(&p->space);
    }
    if (p->queued == 0 && p->busy == 0)
        pthread_cond_broadcast(&p->idle);
}

static void *worker(void *arg)
{
    struct pool *p = arg;
    pthread_mutex_lock(&p->mutex);
    for (;;) {
        while (p->queued == 0 && !p->ending)
            pthread_cond_wait(&p->work, &p->mutex);
        if (p->queued == 0)
            break;

        struct job j = p->ring[p->first];
        p->first = (p->first + 1) % p->room;
        p->queued--;
        p->busy++;
        bool dropped = p->failed;
        pthread_cond_signal(&p->space);
        pthread_mutex_unlock(&p->mutex);

        struct error e = { 0 };
        int r = 0;
        if (dropped)
            drop_job(&j);
        else
            r = j.work(j.arg, &e);

        pthread_mutex_lock(&p->mutex);
        finish_job(p, r, &e);
    }
    pthread_mutex_unlock(&p->mutex);
    return NULL;
}

int pool_new(unsigned threads, unsigned queue, struct pool **ret, struct error *e)
{
    struct pool *p = mem_new(1, sizeof(*p));
    pthread_mutex_init(&p->mutex, NULL);
    pthread_cond_init(&p->work, NULL);
    pthread_cond_init(&p->space, NULL);
    pthread_cond_init(&p->idle, NULL);
    p->threads = mem_new(threads, sizeof(*p->threads));
    p->ring = mem_new(queue, sizeof(*p->ring));
    p->room = queue;

    /* Signals are the main thread's. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int r = 0;
    while (r == 0 && p->thread_count < threads) {
        r = pthread_create(&p->threads[p->thread_count], NULL, worker, p);
        if (r == 0)
            p->thread_count++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (r != 0) {
        pool_free(p);
        return error_set(e, ERROR_FAILED, -r, "start %u threads", threads);
    }
    *ret = p;
    return 0;
}

int pool_run(struct pool *p, int (*work)(void *arg, struct error *e), void (*drop)(void *arg), void *arg,
             struct error *e)
{
    struct job j = { .work = work, .drop = drop, .arg = arg };
    int r = 0;
    pthread_mutex_lock(&p->mutex);
    while (p->queued == p->room && !p->failed)
        pthread_cond_wait(&p->space, &p->mutex);
    if (p->failed) {
        r = error_pass(e, &p->error);
    } else {
        p->ring[(p->first + p->queued) % p->room] = j;
        p->queued++;
        pthread_cond_signal(&p->work);
    }
    pthread_mutex_unlock(&p->mutex);
    if (r < 0)
        drop_job(&j);
    return r;
}

int pool_wait(struct pool *p, struct error *e)
{
    pthread_mutex_lock(&p->mutex);
    while (p->queued > 0 || p->busy > 0)
        pthread_cond_wait(&p->idle, &p->mutex);
    int r = p->failed ? error_pass(e, &p->error) : 0;
    pthread_mutex_unlock(&p->mutex);
    return r;
}

void pool_free(struct pool *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->mutex);
    p->ending = true;
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->mutex);
    for (unsigned i = 0; i < p->thread_count; i++)
        pthread_join(p->threads[i], NULL);

    pthread_cond_destroy(&p->idle);
    pthread_cond_destroy(&p->space);
    pthread_cond_destroy(&p->work);
    pthread_mutex_destroy(&p->mutex);
    free(p->ring);
    free(p->threads);
    free(p);
}
