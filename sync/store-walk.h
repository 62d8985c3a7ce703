/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * store-walk - what lies in a directory store, in the order in which S3 lists it.
 */

#include "sync/store.h"

/*
 * Calls each for every object below root (borrowed) whose key starts with prefix, in order of whole keys: "a-b/x" comes
 * before "a/x". Names that no key can have are not objects. A symbolic link, device or socket is -EBADMSG
 * ERROR_DAMAGED: passing it over would shorten the list. each may change the store. Its non-zero result ends the walk
 * and is returned.
 */
int store_walk(int root, const char *prefix, int64_t now_ns,
               int (*each)(void *arg, const char *key, const struct store_info *info, struct error *e), void *arg,
               struct error *e);
/* The names of store_list_names. A directory without an object in it is not one: a killed writer can leave that. */
int store_walk_names(int root, const char *prefix, int (*each)(void *arg, const char *name, struct error *e), void *arg,
                     struct error *e);
