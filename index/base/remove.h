/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * remove - an entry and what is below it, gone.
 *
 * One descriptor at a time at any depth. Symbolic links are removed, never followed; the way back up is checked, so
 * that a tree that is moved meanwhile cannot lead us elsewhere (-ESTALE). Mount points inside stop it (-EBUSY) before
 * anything in them is touched.
 */

#include "index/base/error.h"

/* Removes dir/name, of any kind, and all below it; absent: 0. name is one component. -EPERM: something is immutable. */
int remove_tree(int dir, const char *name, struct error *e);
