/* SPDX-License-Identifier: MIT */
#include "cli/still.h"

#include "cli/box.h"
#include "index/base/clock.h"
#include "sandbox/group.h"

#include <errno.h>
#include <poll.h>

#define TRIES 2
#define WAIT_MS 2000
#define PAUSE_MS 500

int still_begin(struct stack *s, struct still *ret, struct error *e)
{
    pid_t keeper = box_running(s);
    if (keeper <= 0)
        return error_say(e, ERROR_FAILED, -ENOENT, "no box runs");
    struct group g = { 0 };
    int r = group_find(s->name, keeper, &g, e);
    if (r < 0)
        return r;
    for (int i = 0; i < TRIES; i++) {
        if (i > 0)
            poll(NULL, 0, PAUSE_MS); /* what waits for the store may get its answer */
        ret->since_ns = clock_boot_ns();
        r = group_freeze(&g, WAIT_MS, STILL_LIMIT_MS / TRIES, &ret->guard, e);
        if (r != -ETIMEDOUT)
            break;
    }
    group_release(&g);
    return r;
}

void still_end(struct still *s)
{
    if (s->guard < 0)
        return;
    s->one_instant = group_thaw(s->guard, NULL) == 0;
    s->guard = -1;
    s->held_ns = clock_boot_ns() - s->since_ns;
}
