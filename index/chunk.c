/* SPDX-License-Identifier: MIT */
#include "index/chunk.h"

#include "index/base/wire.h"

/* Two bits more and two bits less than the average's 20: FastCDC's normalisation level 2. The high bits of the hash are
 * the ones that have seen the most bytes. */
#define MASK_STRICT (~0ull << (64 - 22))
#define MASK_LOOSE (~0ull << (64 - 18))

void chunker_init(struct chunker *c, const struct hash_key *key)
{
    for (size_t i = 0; i < 256; i += HASH_LEN / 8) {
        struct hash h;
        uint8_t label[] = { 'g', 'e', 'a', 'r', (uint8_t)i };
        hash_bytes(key, label, sizeof(label), &h);
        struct wire w = wire_reader(h.b, HASH_LEN);
        for (size_t j = 0; j < HASH_LEN / 8; j++)
            c->gear[i + j] = wire_u64(&w);
    }
}

/* The first cut behind from, at most at to, where the hash meets mask; 0: there is none. The hash runs on. */
static size_t scan(const struct chunker *c, const uint8_t *p, size_t from, size_t to, uint64_t mask, uint64_t *hash)
{
    uint64_t h = *hash;
    for (size_t i = from; i < to; i++) {
        h = (h << 1) + c->gear[p[i]];
        if ((h & mask) == 0)
            return i + 1;
    }
    *hash = h;
    return 0;
}

size_t chunker_cut(const struct chunker *c, const uint8_t *p, size_t n, bool last)
{
    if (last && n <= CHUNK_MIN)
        return n;

    size_t end = n < CHUNK_MAX ? n : CHUNK_MAX;
    size_t middle = end < CHUNK_AVERAGE ? end : CHUNK_AVERAGE;
    uint64_t hash = 0;
    size_t cut = scan(c, p, CHUNK_MIN, middle, MASK_STRICT, &hash);
    if (!cut)
        cut = scan(c, p, middle, end, MASK_LOOSE, &hash);
    return cut ? cut : end;
}
