/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * shape - how long things take on a line that is not there: half the round-trip time each way, and one bandwidth for
 * all connections, per direction. Safe from many threads; the calls sleep.
 */

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

enum shape_way { SHAPE_UP, SHAPE_DOWN };

struct shape {
    pthread_mutex_t lock;
    uint64_t rtt_us;          /* 0: none */
    uint64_t bits_per_second; /* 0: unlimited */
    int64_t free_at_ns[2];    /* when the line has sent what it has taken, per direction */
};

void shape_init(struct shape *s);
void shape_set(struct shape *s, uint64_t rtt_us, uint64_t bits_per_second);
void shape_half_trip(struct shape *s);
void shape_carry(struct shape *s, enum shape_way way, size_t bytes); /* until they are through */
void shape_sleep_until(int64_t boot_ns);
