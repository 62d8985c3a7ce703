/* SPDX-License-Identifier: MIT */
#include "fusefs/loop.h"

#include "index/base/log.h"
#include "index/base/mem.h"

#include <errno.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/uio.h>

#define STACK_SIZE (512u * 1024)
#define OVERFLOW_SIZE (LOOP_MAX_WRITE + 4096)

struct loop {
    const struct loop_config *config;
    void *overflow;      /* where the tails of batch forgets go; shared, never read */
    atomic_uint idle;    /* threads that listen */
    atomic_bool stopped; /* unmounted, or failed */
    pthread_mutex_t lock;
    pthread_cond_t gone;
    unsigned running;           /* threads */
    bool taken[REQUESTS_SLOTS]; /* slots with a thread */
    struct error error;
};

struct worker {
    struct loop *loop;
    unsigned slot;
};

static _Thread_local bool keep_request;

void loop_keep_request(void)
{
    keep_request = true;
}

static int start_worker(struct loop *l, unsigned slot, struct error *e);

static void stop(struct loop *l, const struct error *why)
{
    pthread_mutex_lock(&l->lock);
    bool first = !l->stopped;
    l->stopped = true;
    if (first && why)
        l->error = *why;
    pthread_cond_broadcast(&l->gone);
    pthread_mutex_unlock(&l->lock);
    if (first && l->config->ended)
        l->config->ended(l->config->arg);
}

static void answer_error(struct loop *l, uint64_t unique, int code)
{
    struct fuse_out_header out = { .len = sizeof(out), .error = code, .unique = unique };
    if (write(l->config->fuse_fd, &out, sizeof(out)) < 0 && errno != ENOENT && errno != ENODEV)
        log_warn("answer %d to a request: %m", code);
}

/* Whether thread `tid` has a SIGKILL pending, by the two hexadecimal masks of its status. */
static bool being_killed(uint32_t tid)
{
    char path[40], line[128];
    snprintf(path, sizeof(path), "/proc/%u/status", tid);
    FILE *f = fopen(path, "re");
    if (!f)
        return false;
    bool killed = false;
    unsigned long long mask;
    while (!killed && fgets(line, sizeof(line), f))
        if (sscanf(line, "SigPnd: %llx", &mask) == 1 || sscanf(line, "ShdPnd: %llx", &mask) == 1)
            killed = mask >> (SIGKILL - 1) & 1;
    fclose(f);
    return killed;
}

static void interrupt(struct loop *l, const void *request)
{
    const struct fuse_interrupt_in *in = (const void *)((const uint8_t *)request + sizeof(struct fuse_in_header));
    for (unsigned i = 0; i < REQUESTS_SLOTS; i++) {
        if (requests_pending(l->config->requests, i) != in->unique || in->unique == 0)
            continue;
        uint32_t task = ((const struct fuse_in_header *)requests_slot(l->config->requests, i))->pid;
        if (requests_pending(l->config->requests, i) == in->unique && being_killed(task))
            answer_error(l, in->unique, -EINTR);
    }
}

/* Answers what is in the worker's slot and empties it. */
static void handle(struct worker *w)
{
    struct loop *l = w->loop;
    struct requests *s = l->config->requests;
    const struct fuse_in_header *in = requests_slot(s, w->slot);
    keep_request = false;

    if (in->opcode == FUSE_INTERRUPT)
        interrupt(l, in);
    else if (in->opcode == FUSE_FORGET || in->opcode == FUSE_BATCH_FORGET)
        ; /* node ids are positions: there is nothing to forget (rule O5) */
    else if (in->len > REQUEST_MAX)
        answer_error(l, in->unique, -EIO);
    else if (requests_attempt(s, w->slot) > REQUEST_ATTEMPTS) {
        log_warn("request %u for node %llu ended the daemon %u times: answered with EIO", in->opcode,
                 (unsigned long long)in->nodeid, REQUEST_ATTEMPTS);
        answer_error(l, in->unique, -EIO);
    } else
        l->config->process(l->config->arg, in, in->len);

    if (!keep_request)
        requests_done(s, w->slot);
}

/* The requests of a predecessor. Interrupts came for tasks that meanwhile may be gone; forgets mean nothing. */
static void replay(struct worker *w)
{
    const struct fuse_in_header *in = requests_slot(w->loop->config->requests, w->slot);
    if (in->unique && in->opcode != FUSE_INTERRUPT)
        handle(w);
    else if (in->unique)
        requests_done(w->loop->config->requests, w->slot);
}

/* False: there will be no more. */
static bool receive(struct worker *w)
{
    struct loop *l = w->loop;
    struct iovec to[2] = { { requests_slot(l->config->requests, w->slot), REQUEST_MAX },
                           { l->overflow, OVERFLOW_SIZE } };
    for (;;) {
        if (l->stopped)
            return false;
        if (readv(l->config->fuse_fd, to, 2) > 0)
            return true;
        if (errno == EINTR || errno == EAGAIN || errno == ENOENT) /* ENOENT: its task gave up before we took it */
            continue;

        struct error e = { 0 };
        if (errno != ENODEV)
            error_set(&e, ERROR_FAILED, -errno, "read from /dev/fuse");
        stop(l, &e);
        return false;
    }
}

static void listen_more(struct loop *l)
{
    unsigned slot = REQUESTS_SLOTS;
    pthread_mutex_lock(&l->lock);
    for (unsigned i = 0; i < REQUESTS_SLOTS && slot == REQUESTS_SLOTS; i++)
        if (!l->taken[i])
            slot = i;
    if (slot < REQUESTS_SLOTS)
        l->taken[slot] = true;
    pthread_mutex_unlock(&l->lock);

    struct error e = { 0 };
    if (slot < REQUESTS_SLOTS && start_worker(l, slot, &e) < 0)
        log_warn("%s", e.text); /* goes on with the threads there are */
}

static bool surplus(struct worker *w)
{
    return w->slot >= w->loop->config->threads && w->loop->idle >= w->loop->config->threads;
}

static void *work(void *arg)
{
    struct worker w = *(struct worker *)arg;
    struct loop *l = w.loop;
    free(arg);

    replay(&w);
    while (!keep_request && !surplus(&w)) {
        l->idle++;
        bool received = receive(&w);
        if (atomic_fetch_sub(&l->idle, 1) == 1 && received)
            listen_more(l);
        if (!received)
            break;
        handle(&w);
    }

    pthread_mutex_lock(&l->lock);
    l->running--;
    l->taken[w.slot] = keep_request; /* a kept request must not be overwritten */
    pthread_cond_broadcast(&l->gone);
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

/* The slot is marked as taken already. */
static int start_worker(struct loop *l, unsigned slot, struct error *e)
{
    requests_lock(l->config->requests, slot);
    struct worker *w = mem_new(1, sizeof(*w));
    *w = (struct worker){ l, slot };

    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);

    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_mutex_lock(&l->lock);
    int r = pthread_create(&thread, &attributes, work, w);
    if (r == 0)
        l->running++;
    else
        l->taken[slot] = false;
    pthread_mutex_unlock(&l->lock);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (r == 0)
        return 0;
    free(w);
    return error_set(e, ERROR_FAILED, -r, "start a thread for requests");
}

/* All slots are chosen before the first thread runs: from then on threads choose slots too. */
static int start_workers(struct loop *l, struct error *e)
{
    bool chosen[REQUESTS_SLOTS];
    for (unsigned i = 0; i < REQUESTS_SLOTS; i++)
        l->taken[i] = chosen[i] = i < l->config->threads || requests_pending(l->config->requests, i);
    for (unsigned i = 0; i < REQUESTS_SLOTS; i++) {
        int r = chosen[i] ? start_worker(l, i, e) : 0;
        if (r < 0)
            return r;
    }
    listen_more(l); /* what was left may all be waiting for the store */
    return 0;
}

int loop_run(const struct loop_config *c, struct error *e)
{
    struct loop *l = mem_new(1, sizeof(*l)); /* not freed on errors: threads may be left */
    l->config = c;
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->gone, NULL);
    l->overflow = mmap(NULL, OVERFLOW_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (l->overflow == MAP_FAILED)
        return error_set(e, ERROR_FAILED, -errno, "map memory for requests");

    int started = start_workers(l, e);
    if (started < 0)
        return started;
    if (c->ready)
        c->ready(c->arg);

    pthread_mutex_lock(&l->lock);
    while (!l->stopped || (l->running > 0 && !l->error.code))
        pthread_cond_wait(&l->gone, &l->lock);
    pthread_mutex_unlock(&l->lock);
    int r = l->error.code;
    if (r < 0) {
        error_pass(e, &l->error);
        return r;
    }
    munmap(l->overflow, OVERFLOW_SIZE);
    pthread_cond_destroy(&l->gone);
    pthread_mutex_destroy(&l->lock);
    free(l);
    return 0;
}
