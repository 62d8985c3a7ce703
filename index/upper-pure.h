/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * upper-pure - entries of which the raw upper layer holds everything, so that they can be taken out of it by rename
 * (rule T4): a file with its data, a directory into which nothing of the base shows, at no depth.
 *
 * A file that has only its metadata there reads as zeros when taken so; a directory loses what the base shows in it.
 */

#include "index/tree.h"

/* path: of the merged tree, "project/…". *ret false also when the upper has nothing there. */
int upper_pure(int upper, struct tree *base, const char *path, bool *ret, struct error *e);

/* Makes what was taken out a plain tree: no trusted.overlay.* xattrs, no whiteouts. Times stay. */
int upper_plain(int directory, const char *name, struct error *e);
