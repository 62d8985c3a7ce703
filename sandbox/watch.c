/* SPDX-License-Identifier: MIT */
#include "sandbox/watch.h"

#include "index/base/clock.h"

#include <errno.h>
#include <stdlib.h>

void watch_begin(struct watch *w)
{
    w->count = 0;
    w->now_ns = clock_boot_ns();
    w->until_ns = INT64_MAX;
}

int watch_add(struct watch *w, int fd, short events)
{
    if (fd < 0 || events == 0)
        return -1;
    if (w->count == WATCH_MAX)
        abort(); /* whoever watches is bounded well below */
    w->fds[w->count] = (struct pollfd){ .fd = fd, .events = events };
    return w->count++;
}

void watch_until(struct watch *w, int64_t ns)
{
    if (ns < w->until_ns)
        w->until_ns = ns;
}

int watch_wait(struct watch *w, struct error *e)
{
    struct timespec limit = { 0 };
    int64_t left = w->until_ns - w->now_ns;
    if (left > 0)
        limit = (struct timespec){ left / 1000000000, left % 1000000000 };
    int n = ppoll(w->fds, (nfds_t)w->count, w->until_ns == INT64_MAX ? NULL : &limit, NULL);
    if (n < 0 && errno != EINTR)
        return error_set(e, ERROR_FAILED, -errno, "wait");
    for (int i = 0; n <= 0 && i < w->count; i++)
        w->fds[i].revents = 0;
    w->now_ns = clock_boot_ns();
    return 0;
}

short watch_came(const struct watch *w, int place)
{
    return place < 0 ? 0 : w->fds[place].revents;
}
