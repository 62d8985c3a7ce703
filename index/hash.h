/* SPDX-License-Identifier: MIT */
#pragma once

/* hash - the identity of content: keyed BLAKE2b-256 (rule F5). The key comes from the store's master key, so that a
 * digest tells nobody what the content was. Pure; safe from any thread. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HASH_LEN 32

struct hash {
    uint8_t b[HASH_LEN];
};

struct hash_key {
    uint8_t b[32];
};

void hash_bytes(const struct hash_key *key, const void *p, size_t n, struct hash *ret);

static inline bool hash_equal(const struct hash *a, const struct hash *b)
{
    return memcmp(a->b, b->b, HASH_LEN) == 0;
}
