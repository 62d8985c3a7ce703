/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * pagecache - the decoded pages that a tree used last, found by where they lie, up to a number of bytes.
 *
 * A page larger than the whole room is not kept. Safe from many threads; whoever got a page holds it on its own, so
 * that eviction never takes one out of someone's hands.
 */

#include "index/page.h"

struct pagecache;

struct pagecache *pagecache_new(size_t room);
void pagecache_free(struct pagecache *c);                                 /* NULL is fine */
struct page *pagecache_get(struct pagecache *c, const struct locator *l); /* held for the caller; NULL: not here */
void pagecache_put(struct pagecache *c, const struct locator *l, struct page *p);
