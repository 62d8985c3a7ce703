/* SPDX-License-Identifier: MIT */
#pragma once

/* lookup - an entry of a tree by its path, with "there is none" told apart from "it cannot be read" (which may be
 * -ENOENT too). */

#include "index/tree.h"

/* 1 and ret (raw, links as such; the caller's to release), or 0: nothing is there. -EINVAL: not a path. */
int lookup_path(struct tree *t, const char *path, struct entry *ret, struct error *e);
