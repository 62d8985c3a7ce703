/* SPDX-License-Identifier: MIT */
#include "cli/renewal.h"

#include "cli/place.h"
#include "cli/strays.h"
#include "index/base/log.h"
#include "index/base/mem.h"
#include "index/base/text.h"
#include "sync/lease.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#define RETRY_S 20
#define HEAD_LOCK_WAIT_MS 2000

struct renewal {
    struct stack *stack;
    struct journal *journal;
    struct box_record record;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool stop;
    _Atomic enum renewal_state state;
};

/* 0, -errno to be tried again, or -ENOLCK: there is nothing to renew any more. */
static int renew(struct renewal *n)
{
    struct stack *s = n->stack;
    struct error e = { 0 };
    int r = journal_load(n->journal, &n->record, &e);
    struct lease l = { .store = s->store,
                       .seal = s->seal,
                       .journal = n->journal,
                       .record = &n->record,
                       .box_dir = s->box_dir,
                       .node = &s->node,
                       .ttl_s = s->config->lease_ttl_s,
                       .wait_ms = HEAD_LOCK_WAIT_MS,
                       .daemon = true };
    if (r == 0)
        r = lease_renew(&l, &e);
    if (r == 0) {
        n->state = RENEWAL_HELD;
    } else if (r == -ENOLCK) {
        n->state = RENEWAL_ENDED;
    } else if (e.kind == ERROR_HELD) { /* a command may regain it (rule L5), or journal `fenced` */
        if (n->state != RENEWAL_LOST)
            log_warn("%s: the lease is lost: %s", s->name, e.text);
        n->state = RENEWAL_LOST;
        return 0;
    } else {
        log_info("%s: renew the lease: %s", s->name, e.text);
    }
    return r;
}

/* Rule S2, once: `up` has no round trip to spare for it. */
static void sweep(struct renewal *n)
{
    struct error e = { 0 };
    size_t count = 0;
    if (strays_remove(n->stack, &count, &e) < 0)
        log_info("%s: look for stray holds: %s", n->stack->name, e.text);
    else if (count)
        log_info("%s: removed %s", n->stack->name, TEXT_COUNT(count, "stray hold"));
}

static void wait_for(struct renewal *n, uint64_t seconds)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)seconds;
    pthread_mutex_lock(&n->lock);
    while (!n->stop && pthread_cond_timedwait(&n->wake, &n->lock, &until) == 0)
        ;
    pthread_mutex_unlock(&n->lock);
}

static void *run(void *arg)
{
    struct renewal *n = arg;
    uint64_t every = n->stack->config->lease_ttl_s / 8;
    uint64_t soon = every < RETRY_S ? every : RETRY_S;
    wait_for(n, soon); /* `up` has just written the head */
    bool swept = false;
    for (int r; !n->stop && (r = renew(n)) != -ENOLCK;) {
        if (r == 0 && !swept)
            sweep(n);
        swept |= r == 0;
        wait_for(n, r == 0 ? every : soon);
    }
    return NULL;
}

static void release(struct renewal *n)
{
    box_record_release(&n->record);
    journal_close(n->journal);
    pthread_mutex_destroy(&n->lock);
    pthread_cond_destroy(&n->wake);
    free(n);
}

int renewal_start(struct stack *s, struct renewal **ret, struct error *e)
{
    struct renewal *n = mem_new(1, sizeof(*n));
    n->stack = s;
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&n->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&n->lock, NULL);
    _cleanup_free_ char *path = place_box(s->config, s->name);
    int r = journal_open(s->box_dir, path, false, &n->journal, e);
    if (r == 0 && (r = -pthread_create(&n->thread, NULL, run, n)) < 0)
        error_set(e, ERROR_FAILED, r, "start a thread");
    if (r < 0) {
        release(n);
        return r;
    }
    *ret = n;
    return 0;
}

enum renewal_state renewal_get(struct renewal *r)
{
    return r->state;
}

void renewal_held(struct renewal *r)
{
    enum renewal_state before = RENEWAL_UNVERIFIED;
    atomic_compare_exchange_strong(&r->state, &before, RENEWAL_HELD);
}

const char *renewal_state_name(enum renewal_state s)
{
    static const char *const names[] = { "unverified", "held", "lost", "ended" };
    return names[s];
}

void renewal_stop(struct renewal *r)
{
    if (!r)
        return;
    pthread_mutex_lock(&r->lock);
    r->stop = true;
    pthread_cond_signal(&r->wake);
    pthread_mutex_unlock(&r->lock);
    pthread_join(r->thread, NULL);
    release(r);
}
