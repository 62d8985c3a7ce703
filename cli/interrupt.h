/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * interrupt - Ctrl-C and TERM as a flag that long work asks at its safe points.
 *
 * The handler sets the flag and cancels the store it was told of (its waits end with -ECANCELED). A second signal
 * changes nothing: the program stops at the next safe point, never between a commit and its outcome.
 */

#include "index/base/error.h"
#include "sync/store.h"

void interrupt_install(void);
void interrupt_watch(struct store *s); /* NULL: none */
int interrupt_check(struct error *e);  /* 0, or -EINTR ERROR_INTERRUPTED */
int interrupt_seen(void);
/* Until fd is readable, or has ended: 0. A signal ends it however long before it came: -EINTR ERROR_INTERRUPTED. */
int interrupt_wait(int fd, struct error *e);
