/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * packtable - the packs that one page, record or list refers to, each named once: a locator inside is then a small
 * number instead of a 32-byte name. Every page carries its own table, so that its bytes stay true in whatever snapshot
 * uses it.
 *
 * Encoding: varint count, then the names in the order of their first use. A reader borrows them from the encoded bytes.
 */

#include "index/locator.h"

struct pack_table {
    struct pack_name *names;
    size_t count, room;
};

void pack_table_release(struct pack_table *t);
void pack_table_clear(struct pack_table *t); /* empty, memory kept */
/* The place of p in the struct pack_table at table; p is added if it is new. Has the shape of entry.h's
 * entry_pack_index. */
uint64_t pack_table_index(void *table, const struct pack_name *p);
size_t pack_table_size(const struct pack_table *t); /* bytes that pack_table_put appends */
void pack_table_put(const struct pack_table *t, struct buf *to);
/* The names are borrowed from w's bytes; what the bytes at hand cannot hold makes w bad, with *ret_count 0. */
const struct pack_name *pack_table_get(struct wire *w, size_t *ret_count);

/* A locator whose pack is written as index, and read back through packs; an implausible one makes w bad. */
void locator_put_short(struct buf *to, const struct locator *l, uint64_t index);
struct locator locator_get_short(struct wire *w, const struct pack_name *packs, size_t pack_count);
