/* SPDX-License-Identifier: MIT */
#include "sync/backoff.h"

#include "index/base/clock.h"

#include <errno.h>
#include <time.h>

#define BOUND_MAX_MS 10000
#define SLICE_MS 50 /* between looks at store_cancel, which cannot wake anyone from a signal handler */

unsigned backoff_ms(unsigned attempt, unsigned first_ms, unsigned asked_s, uint32_t random)
{
    unsigned bound = first_ms;
    for (unsigned i = 1; i < attempt && bound < BOUND_MAX_MS; i++)
        bound *= 2;
    if (bound > BOUND_MAX_MS)
        bound = BOUND_MAX_MS;
    unsigned asked_ms = 1000 * (asked_s < BACKOFF_ASKED_MAX_S ? asked_s : BACKOFF_ASKED_MAX_S);
    return asked_ms + random % (bound + 1);
}

int backoff_wait(const struct store *s, unsigned ms, struct error *e)
{
    int64_t until = clock_boot_ns() + (int64_t)ms * 1000000;
    for (;;) {
        if (store_cancelled(s))
            return error_say(e, ERROR_INTERRUPTED, -ECANCELED, "interrupted");
        int64_t left = until - clock_boot_ns();
        if (left <= 0)
            return 0;
        if (left > SLICE_MS * 1000000)
            left = SLICE_MS * 1000000;
        nanosleep(&(struct timespec){ .tv_nsec = (long)left }, NULL);
    }
}
