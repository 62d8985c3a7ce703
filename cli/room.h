/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * room - the cache gives way to what the box writes on the same disk.
 *
 * The kernel writes there without asking us, and tells nobody before the disk is full: so a thread looks every second
 * (one statvfs), and lets the least recently used go once the cache's reserve is touched.
 */

#include "index/cache.h"

struct room;

int room_start(struct cache *c, struct room **ret, struct error *e); /* c must outlive it */
void room_stop(struct room *r);                                      /* NULL is fine */
