/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * linkset - which names are one inode, while a tree changes: from the base's link groups and the changes to the new
 * ones.
 *
 * Holds every later name with the first name it points to (as ENTRY_LINK records do); a group is a first name and all
 * names that point to it. Paths are copied. One thread.
 */

#include "index/links.h"

struct linkset;

struct linkset *linkset_new(void);
void linkset_free(struct linkset *s); /* NULL is fine */
void linkset_load(struct linkset *s, const struct link_group *g, size_t count);
void linkset_put(struct linkset *s, struct bytes path, const char *first); /* path is a later name of first's inode */
void linkset_remove(struct linkset *s, struct bytes path);                 /* path is no later name any more */
void linkset_remove_below(struct linkset *s, struct bytes key_prefix);     /* of every path whose key starts so */
/* Groups in key order of their first names, names in key order, first name first. links_free(*ret, *ret_count). */
void linkset_groups(const struct linkset *s, struct link_group **ret, size_t *ret_count);
