/* SPDX-License-Identifier: MIT */
#include "index/hash.h"

#include <sodium.h>
#include <stdlib.h>

void hash_bytes(const struct hash_key *key, const void *p, size_t n, struct hash *ret)
{
    /* It fails only for lengths out of range, and ours are constants. */
    if (crypto_generichash(ret->b, HASH_LEN, p, n, key->b, sizeof(key->b)) != 0)
        abort();
}
