/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * head - box/<name>/head: lease and snapshot id in one object, so that commit and fence are one CAS (section L).
 *
 * The object is sealed JSON. It is never deleted: a dropped box leaves a tombstone. Every change is a PUT with If-Match
 * built from the body just read, with a fresh write_id that was journalled before (rule L1).
 */

#include "index/snapshot.h"
#include "sync/seal.h"

#define HEAD_LAST 64
#define HEAD_MAX (64u * 1024)
#define HEAD_TTL_MAX (30u * 24 * 3600) /* seconds; a greater ttl is not believed */

enum head_state { HEAD_HELD, HEAD_FREE, HEAD_PRUNING, HEAD_TOMBSTONE };

struct write_id {
    uint8_t b[16];
};

struct head_last { /* how each of the last leases ended, so that a lost answer can be resolved weeks later (rule L2) */
    uint64_t epoch;
    struct snapshot_id root;
    struct write_id write;
};

struct head {
    char box[64];
    uint8_t incarnation[16];
    uint64_t epoch, seq; /* seq numbers the heads: every PUT adds one, across epochs */
    enum head_state state;
    char node[64]; /* who holds, or last held, the lease */
    char boot_id[40];
    char pin[64]; /* "": none; a copy of meta's, so that up can check it first (rule L4) */
    char *path;   /* a copy of meta's; owned */
    uint64_t ttl_s;
    struct snapshot_id root;
    char condemned[40];               /* id of the condemned list, "" none */
    struct head_last last[HEAD_LAST]; /* newest first */
    size_t last_count;
    struct write_id write;
    char *unknown; /* JSON object text of keys we do not know, kept; owned, may be NULL */
    /* not in the body: */
    char etag[STORE_ETAG_MAX];
    int64_t age_ns, now_ns; /* by the store's clock: since it was written, when it was read */
};

void head_release(struct head *h);
void head_releasep(struct head *h);
void head_copy(const struct head *from, struct head *to);
void head_key(const char *box, char to[STORE_KEY_MAX]);
int head_encode(const struct head *h, const struct seal_context *c, struct buf *ret, struct error *e);
int head_encode_body(const struct head *h, struct buf *ret, struct error *e); /* before sealing */
/* The opened JSON body: for fuzzers and `debug dump`. Replaces ret's content on success. -EBADMSG ERROR_DAMAGED,
 * -ENOTSUP ERROR_USAGE (newer version). */
int head_decode_body(struct bytes json, struct head *ret, struct error *e);
/* The object as the store gave it: fetched before the keys are at hand, opened when they are. */
struct head_object {
    struct buf sealed;
    struct store_info info;
};
int head_fetch(struct store *s, const char *box, struct head_object *ret, struct error *e);
int head_open(const struct seal_context *c, const struct head_object *o, struct head *ret, struct error *e);
/* Both. -ENOENT ERROR_UNKNOWN; -EBADMSG ERROR_DAMAGED when it does not open, is of another box, or has impossible
 * values. */
int head_read(struct store *s, const struct seal_context *c, struct head *ret, struct error *e);
/* One PUT: STORE_IF_ABSENT when h->etag is empty, else STORE_IF_MATCH. On success h->etag is the new one. Errors as
 * store_put. */
int head_write(struct store *s, const struct seal_context *c, struct head *h, struct error *e);
/* The PUT alone, of h as head_encode made it: so that nothing but the store can fail once a write is journalled. */
int head_send(struct store *s, struct head *h, struct bytes sealed, struct error *e);
/* held and older than its ttl, or free, or pruning: someone else may take it. */
bool head_expired(const struct head *h);
/* How an epoch that is over ended; NULL: not remembered any more, or not over. Borrowed. */
const struct head_last *head_ended(const struct head *h, uint64_t epoch);
/* Remembers the head's epoch, root and write in `last`: before the body is changed to one that begins the next epoch.
 */
void head_end_epoch(struct head *h);
const char *head_state_name(enum head_state s);
/* -ENOENT ERROR_UNKNOWN with a hint: the store has no such box, or (dropped) has it no more. */
int head_absent(const char *box, bool dropped, struct error *e);
