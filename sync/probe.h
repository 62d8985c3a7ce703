/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * probe - does this store keep its conditions when writers race? (rule L7)
 *
 * A lease is worth what the store's If-Match and If-None-Match are: some servers ignore them, others compare and
 * replace in two steps. PROBE_ROUNDS rounds of PROBE_WRITERS racing PUTs on each condition: exactly one must win, its
 * bytes must be the ones read back, and an If-Match of nothing must fail. A racy server gets through one round about
 * nine times in ten, hence so many. Keys are fresh for each round ("probe/…"), those to be matched are made a second
 * before (R2 takes one write a second of a key), all are removed at the end; what a killed probe left goes an hour
 * later.
 */

#include "sync/store.h"

#define PROBE_ROUNDS 50
#define PROBE_WRITERS 16

/*
 * -ENOTSUP ERROR_STORE: not fit to be a store. Rounds without a winner (429, 5xx) are repeated; if there is no end of
 * them: -EHOSTUNREACH ERROR_STORE. Other errors as the store's. Takes some seconds.
 */
int probe_conditions(struct store *s, struct error *e);
