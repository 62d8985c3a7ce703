/* SPDX-License-Identifier: MIT */
#include "index/base/clock.h"

#include <time.h>

static int64_t now_ns(clockid_t clock)
{
    struct timespec t = { 0 };
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t clock_boot_ns(void)
{
    return now_ns(CLOCK_BOOTTIME);
}

int64_t clock_wall_ns(void)
{
    return now_ns(CLOCK_REALTIME);
}
