/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * chunk - content-defined cuts of big files (rule F3): 256 KiB at least, 1 MiB on average, 4 MiB at most.
 *
 * A gear rolling hash with a table derived from the store's chunking key, normalised as in FastCDC (Xia et al., USENIX
 * ATC 2016): a stricter mask before the average, a looser one after. Equal runs of bytes are cut alike wherever they
 * stand. gear[4i] … gear[4i+3] are the four little-endian integers of the key's hash of "gear" and the byte 4i. Pure
 * functions.
 */

#include "index/hash.h"

#define CHUNK_WHOLE (1024u * 1024) /* a file up to this size is one extent */
#define CHUNK_MIN (256u * 1024)
#define CHUNK_AVERAGE (1024u * 1024)
#define CHUNK_MAX (4u * 1024 * 1024)

struct chunker {
    uint64_t gear[256];
};

void chunker_init(struct chunker *c, const struct hash_key *key);
/* The length of the chunk that begins at p, of n bytes at hand: 1 … CHUNK_MAX. last: nothing follows these n bytes;
 * otherwise n must be at least CHUNK_MAX. n is not 0. */
size_t chunker_cut(const struct chunker *c, const uint8_t *p, size_t n, bool last);
