/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * watch - one turn of a poll(2) loop: who waits for what, until when, and what came.
 *
 * Each turn begins with watch_begin; then everyone adds what it waits for and keeps the place it was given; after
 * watch_wait it asks for what came there. A place of -1 is no descriptor: nothing ever comes there.
 */

#include "index/base/error.h"

#include <poll.h>
#include <stdint.h>

#define WATCH_MAX 1024

struct watch {
    struct pollfd fds[WATCH_MAX];
    int count;
    int64_t now_ns, until_ns; /* CLOCK_BOOTTIME */
};

void watch_begin(struct watch *w);
/* events 0: not watched at all, so that a hangup that nobody can act on does not wake the loop again and again. */
int watch_add(struct watch *w, int fd, short events);
void watch_until(struct watch *w, int64_t ns);   /* wake up then at the latest */
int watch_wait(struct watch *w, struct error *e); /* sets now_ns; a signal with a handler ends the wait, too */
short watch_came(const struct watch *w, int place);
