/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * together - a few calls at once, each in a thread of its own: requests that do not depend on each other cost one round
 * trip instead of several. Every call runs to its end; each has its own error.
 */

#include "index/base/error.h"

#include <stddef.h>

struct together {
    int (*run)(void *arg, struct error *e);
    void *arg;
    int result; /* set by together_run */
    struct error error;
};

/* Runs calls[0 … count-1], the first in the calling thread. 0, or the result of the first in order that failed, with
 * its error in e. */
int together_run(struct together *calls, size_t count, struct error *e);
