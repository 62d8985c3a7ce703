/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * backoff - how long to wait before an attempt is repeated: full jitter (a random time up to a bound that doubles), so
 * that clients that failed together do not come back together. A server's Retry-After is waited for, up to
 * BACKOFF_ASKED_MAX_S.
 */

#include "sync/store.h"

#define BACKOFF_ASKED_MAX_S 30

/* attempt: of the one that failed, from 1. first_ms: the bound after it; later ones double up to 10 s. asked_s: 0 if
 * not asked. */
unsigned backoff_ms(unsigned attempt, unsigned first_ms, unsigned asked_s, uint32_t random);
/* Sleeps. -ECANCELED ERROR_INTERRUPTED soon after store_cancel. */
int backoff_wait(const struct store *s, unsigned ms, struct error *e);
