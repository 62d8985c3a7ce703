/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * holders - which processes would still write into a tree: files open for writing, and shared writable mappings (rule
 * P1).
 *
 * Looks through /proc at every process, in every mount namespace, ours excepted. What goes away while we look is passed
 * over. For the message of a refused park; the refusal itself is the kernel's (P3) or, for a plain directory, this
 * list.
 */

#include "index/base/error.h"

#include <stddef.h>
#include <sys/types.h>

struct holder {
    pid_t pid;
    char program[64]; /* comm */
    char path[256];   /* the file, as the process sees it; cut at its end */
};

/*
 * below: a plain directory's path, only files under it count; NULL: every file of the device. except: not this process
 * and those it started, to any depth (a box); 0: none. Fills at most *count,
 * sets *count to how many there are in ret.
 */
int holders_find(dev_t device, const char *below, pid_t except, struct holder *ret, size_t *count, struct error *e);
