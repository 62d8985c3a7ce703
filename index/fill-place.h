/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * fill-place - what an interrupted fill left under one name: index/fill's own use, when it resumes.
 *
 * name: one component of an open directory; nothing is followed.
 */

#include "index/content.h"

/* By stat alone: type, and of a file size and mtime. */
bool fill_place_looks_like(int directory, const char *name, const struct entry *n);
/*
 * 1: it is what n says, but for attributes that can be set again: type; a link's target; a device's number; of a file
 * size, mtime and content. 0: it is not there, or something else.
 */
int fill_place_matches(int directory, const char *name, const struct entry *n, struct source *source,
                       const struct hash_key *key, const struct content_ask *ask, struct error *e);
/* A directory that is to be filled again: nothing made in it inherits an ACL. */
int fill_place_open_up(int directory, const char *name, struct error *e);
