/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * promises - what sync/store.h promises of every store, as cmocka tests over any open one.
 *
 * The state that each test gets is a struct promises. Keys are used below "box/promises-<random>/" and removed by the
 * test that made them.
 */

#include "sync/store.h"

struct promises {
    struct store *store;
    char area[64]; /* "box/promises-…/" */
    bool many;
};

/* Runs all of them on s; the number of failed tests. many: also what takes more than a thousand objects. */
int promises_run(struct store *s, bool many);
