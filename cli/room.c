/* SPDX-License-Identifier: MIT */
#include "cli/room.h"

#include "index/base/log.h"
#include "index/base/mem.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define LOOK_MS 1000

struct room {
    struct cache *cache;
    pthread_t thread;
    int stop; /* eventfd */
};

static void *run(void *arg)
{
    struct room *r = arg;
    struct pollfd p = { r->stop, POLLIN, 0 };
    for (int ready = 0; ready == 0 || (ready < 0 && errno == EINTR); ready = poll(&p, 1, LOOK_MS)) {
        struct error e = { 0 };
        if (cache_make_room(r->cache, &e) < 0)
            log_info("%s", e.text);
    }
    return NULL;
}

int room_start(struct cache *c, struct room **ret, struct error *e)
{
    struct room *r = mem_new(1, sizeof(*r));
    r->cache = c;
    r->stop = eventfd(0, EFD_CLOEXEC);
    int code = r->stop < 0 ? -errno : -pthread_create(&r->thread, NULL, run, r);
    if (code < 0) {
        if (r->stop >= 0)
            close(r->stop);
        free(r);
        return error_set(e, ERROR_FAILED, code, "start a thread");
    }
    *ret = r;
    return 0;
}

void room_stop(struct room *r)
{
    if (!r)
        return;
    eventfd_write(r->stop, 1);
    pthread_join(r->thread, NULL);
    close(r->stop);
    free(r);
}
