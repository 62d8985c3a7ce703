/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * seal - encryption of everything the store holds but `config`: XChaCha20-Poly1305 (libsodium), zstd inside (rule F5).
 *
 * A sealed run is: algorithm byte (1), 24-byte nonce, ciphertext and tag. The nonce is a keyed hash of random bytes, a
 * counter, the associated data and the plaintext, so that a cloned machine's generator cannot use one nonce twice. The
 * associated data is format|store|box|type|id: an object or frame that was swapped, renamed or moved does not open.
 * Compression before sealing is zstd level 3; the plaintext begins with its raw length, which is bounded before
 * anything is allocated. What zstd cannot shorten is kept as it is. Byte for byte: FORMAT.md, "Sealing". Safe from many
 * threads; each keeps its zstd contexts until it ends.
 */

#include "index/base/buf.h"
#include "index/base/error.h"
#include "sync/keys.h"

enum seal_type {
    SEAL_HEAD = 'H',
    SEAL_SNAPSHOT = 'S',
    SEAL_HOLD = 'L',
    SEAL_FORK = 'K',
    SEAL_CONDEMNED = 'C',
    SEAL_FOOTER = 'F',
    SEAL_FRAME = 'D', /* + frame kind in the id */
};

struct seal_context {
    const struct keys *keys;
    const char *box; /* "" for what belongs to the store */
};

#define SEAL_OVERHEAD (1 + 24 + 16) /* of a prepared plaintext */
#define SEAL_HEADER 5               /* what preparing adds at most */
#define SEAL_ID_MAX 128

/* Appends the sealed form of plain to ret. plain is shorter than 1 GiB, id_len at most SEAL_ID_MAX. */
void seal(const struct seal_context *c, enum seal_type type, const void *id, size_t id_len, struct bytes plain,
          struct buf *ret);
/* Appends the opened bytes to ret. -EBADMSG ERROR_DAMAGED if they are not what was sealed under this very name. max: of
 * opened bytes. */
int seal_open(const struct seal_context *c, enum seal_type type, const void *id, size_t id_len, struct bytes sealed,
              size_t max, struct buf *ret, struct error *e);

/*
 * The two halves of seal, for who must know the sealed length before the id (a frame's offset is part of its id):
 * seal_prepare appends the compressed plaintext, seal_prepared writes exactly prepared.len + SEAL_OVERHEAD bytes to
 * `to`.
 */
void seal_prepare(struct bytes plain, struct buf *ret);
void seal_prepared(const struct seal_context *c, enum seal_type type, const void *id, size_t id_len,
                   struct bytes prepared, uint8_t *to);
