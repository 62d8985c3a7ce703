/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * slots - the `config` object as JSON: format version, store id and key slots, each the master key under one password.
 *
 * The object is not sealed (it is what leads to the keys), so everything in it is taken for hostile: sizes and Argon2
 * parameters are bounded before use, and a slot opens only if its keyed commitment, which covers every field, agrees.
 * Keys of the document that we do not know are kept through read-modify-write. FORMAT.md, "Config". No shared state.
 */

#include "index/base/buf.h"
#include "index/base/error.h"
#include "sync/keys.h"

#include <jansson.h>

#define SLOTS_MEMORY_MIN (8ull * 1024 * 1024) /* Argon2id's memory, bytes */
#define SLOTS_MEMORY_MAX (64ull * 1024 * 1024)
#define SLOTS_PASSES_MAX 10

struct slot {
    struct keys_slot_info info;
    uint64_t passes, memory;
    uint8_t salt[16];
    uint8_t wrapped[24 + 32 + 16]; /* nonce, sealed master key */
    uint8_t commitment[32];
};

struct slots {
    uint8_t store_id[16];
    struct slot slot[KEYS_SLOTS_MAX];
    size_t count;
    json_t *document; /* what was read; owned */
};

void slots_new(const uint8_t store_id[16], struct slots *ret); /* without a slot yet */
void slots_release(struct slots *s);
/* -ENOTSUP ERROR_USAGE: written by a newer version · -EBADMSG ERROR_DAMAGED. Any bytes may come (fuzzed). */
int slots_decode(struct bytes config, struct slots *ret, struct error *e);
void slots_encode(const struct slots *s, struct buf *to);

/* Appends a slot. -ENOSPC ERROR_USAGE: all are taken · -EINVAL ERROR_USAGE: empty password, or a label that is too
 * long. */
int slots_add(struct slots *s, const char *password, const char *label, const uint8_t master[32], struct error *e);
void slots_remove(struct slots *s, size_t which);
/* Tries the slots in order. -EKEYREJECTED ERROR_PASSWORD: none opens. */
int slots_unlock(const struct slots *s, const char *password, uint8_t ret_master[32], size_t *ret_which,
                 struct error *e);
