/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * names - the names in one directory, each once, sorted bytewise: the order in which walkers go through it (index/key).
 *
 * Reads the descriptor from its beginning (and so moves its offset); "." and ".." are not in it. Memory is the names'
 * own size and 16 bytes each, so a directory of 100,000 entries is no trouble. It owns its memory; { 0 } is an
 * empty one.
 */

#include "index/base/buf.h"
#include "index/base/error.h"

struct names_item {
    size_t at;
    uint8_t type; /* DT_DIR …; DT_UNKNOWN: gone since */
};

struct names {
    struct buf text;
    struct names_item *items;
    size_t count, room;
};

int names_read(int directory, struct names *ret, struct error *e); /* replaces ret's names */
void names_release(struct names *l);
const char *names_get(const struct names *l, size_t i);
