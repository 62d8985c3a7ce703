/* SPDX-License-Identifier: MIT */
#include "tests/fault/shape.h"

#include "index/base/clock.h"

#include <errno.h>
#include <time.h>

void shape_init(struct shape *s)
{
    *s = (struct shape){ 0 };
    pthread_mutex_init(&s->lock, NULL);
}

void shape_set(struct shape *s, uint64_t rtt_us, uint64_t bits_per_second)
{
    pthread_mutex_lock(&s->lock);
    s->rtt_us = rtt_us;
    s->bits_per_second = bits_per_second;
    s->free_at_ns[SHAPE_UP] = s->free_at_ns[SHAPE_DOWN] = 0;
    pthread_mutex_unlock(&s->lock);
}

void shape_sleep_until(int64_t boot_ns)
{
    struct timespec t = { .tv_sec = boot_ns / 1000000000, .tv_nsec = boot_ns % 1000000000 };
    while (clock_nanosleep(CLOCK_BOOTTIME, TIMER_ABSTIME, &t, NULL) == EINTR)
        ;
}

void shape_half_trip(struct shape *s)
{
    pthread_mutex_lock(&s->lock);
    uint64_t rtt_us = s->rtt_us;
    pthread_mutex_unlock(&s->lock);
    if (rtt_us)
        shape_sleep_until(clock_boot_ns() + (int64_t)rtt_us * 500);
}

void shape_carry(struct shape *s, enum shape_way way, size_t bytes)
{
    int64_t now = clock_boot_ns(), until = 0;
    pthread_mutex_lock(&s->lock);
    if (s->bits_per_second) {
        int64_t *free_at = &s->free_at_ns[way];
        if (*free_at < now)
            *free_at = now;
        *free_at += (int64_t)((double)bytes * 8e9 / (double)s->bits_per_second);
        until = *free_at;
    }
    pthread_mutex_unlock(&s->lock);
    if (until)
        shape_sleep_until(until);
}
