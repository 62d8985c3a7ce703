/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * keys - the store's `config` object: format version and key slots, and what a password unlocks (rule F5).
 *
 * A random 32-byte master key is made once by keys_create. Each slot wraps it under Argon2id(password): the parameters
 * are bounded before use (8 to 64 MiB, 1 to 10 passes), and a keyed commitment makes a slot open under one key only.
 * From the master key come, by BLAKE2b with a context each, the sealing key, the identity key, the chunker's key and
 * the page-cut key; identity, chunk and cut keys are per box, so that equal files in two boxes do not look alike.
 * Secrets are wiped on keys_release. FORMAT.md, "Config", "Identity and subkeys". Safe from any thread.
 */

#include "index/hash.h"
#include "sync/store.h"

#define KEYS_OBJECT "config"
#define KEYS_OBJECT_MAX (64u * 1024)
#define KEYS_SLOTS_MAX 16
#define STORE_FORMAT 1

struct keys {
    uint8_t master[32];
    uint8_t store_id[16]; /* random, in every object's associated data */
};

struct keys_slot_info {
    char id[17];      /* 16 hex digits */
    char created[32]; /* RFC 3339 */
    char label[64];
};

void keys_release(struct keys *k); /* wipes */

/* PUTs config If-None-Match *. -EEXIST ERROR_FAILED: the store has one already (nothing is changed). */
int keys_create(struct store *s, const char *password, struct keys *ret, struct error *e);
/*
 * GETs config and unlocks it. -ENOENT ERROR_USAGE not initialised · -ENOTSUP ERROR_USAGE newer format · -EKEYREJECTED
 * ERROR_PASSWORD · -EBADMSG ERROR_DAMAGED. cache_dir (-1: none): a directory where the unwrapped key is kept 0600 in
 * "key", bound to a hash of password and slot, so that Argon2 runs once a node; a cached key that does not fit is
 * ignored, and a directory that cannot be written costs only time.
 */
int keys_open(struct store *s, const char *password, int cache_dir, struct keys *ret, struct error *e);
/* As keys_open, from config bytes that the caller has fetched already (mount's round trips). */
int keys_open_bytes(struct bytes config, const char *password, int cache_dir, struct keys *ret, struct error *e);

/* In a cache_dir: an unwrapped key that is kept there goes. */
int keys_forget(int cache_dir, struct error *e);

/* Two configs, of one store? What cannot be read is not held to be another's. */
bool keys_same_store(struct bytes a, struct bytes b);

/*
 * Slot changes rewrite config by If-Match; -ESTALE ERROR_FAILED: someone else changed it meanwhile. password proves the
 * right to do it; the last slot stays (-EBUSY ERROR_USAGE), and unless own is set the one that password opens (-EPERM
 * ERROR_USAGE). keys_change replaces the slot that password opens. keys_remove: if it was that slot ret_config gets
 * what config is now; else it is left as it was.
 */
int keys_slots(struct store *s, struct keys_slot_info *ret, size_t *count,
               struct error *e); /* count: room in, number out */
int keys_add(struct store *s, const char *password, const char *new_password, const char *label, struct error *e);
int keys_change(struct store *s, const char *password, const char *new_password, struct error *e);
int keys_remove(struct store *s, const char *password, const char *slot_id, bool own, struct buf *ret_config,
                struct error *e);

/* The recovery text: the master key in a form for paper, with a checksum; keys_import reads it back (case, spaces and
 * dashes do not count, O is 0, I and L are 1; -EINVAL ERROR_USAGE). */
int keys_export(const struct keys *k, struct buf *ret, struct error *e);
int keys_import(const char *text, struct keys *ret, struct error *e);
/* With an imported key, when every password is lost: adds a slot for new_password to the store's config, or makes the
 * config anew where it is gone. -EINVAL ERROR_USAGE: the store is another one. */
int keys_restore(struct store *s, const struct keys *k, const char *new_password, struct error *e);

void keys_sealing(const struct keys *k, uint8_t ret[32]);
void keys_identity(const struct keys *k, const char *box, struct hash_key *ret);
void keys_chunking(const struct keys *k, const char *box, struct hash_key *ret);
void keys_cutting(const struct keys *k, const char *box, struct hash_key *ret);
