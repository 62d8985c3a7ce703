/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * condemned - box/<name>/condemned/<id>: the packs and snapshots that prune may delete once they have been listed for
 * a day (rule S3). Immutable; the head names the one that counts. What is on it is never referenced, held or mounted
 * again. Both lists are sorted and without doubles. Encoding: FORMAT.md, "Hold, fork, condemned".
 */

#include "index/snapshot.h"
#include "sync/seal.h"

#define CONDEMNED_ID_TEXT 33
#define CONDEMNED_COUNT_MAX (1u << 18) /* of each */
#define CONDEMNED_MAX (CONDEMNED_COUNT_MAX * 80u)

struct condemned_pack {
    struct pack_name name;
    int64_t since_ns; /* by the store's clock, when it was first listed */
};

struct condemned_snapshot {
    struct snapshot_id id;
    int64_t since_ns;
};

struct condemned { /* owns its lists */
    struct condemned_pack *packs;
    size_t pack_count;
    struct condemned_snapshot *snapshots;
    size_t snapshot_count;
};

void condemned_release(struct condemned *c);
void condemned_add_pack(struct condemned *c, const struct pack_name *p,
                        int64_t since_ns); /* at the end: condemned_sort before use */
void condemned_add_snapshot(struct condemned *c, const struct snapshot_id *id, int64_t since_ns);
void condemned_sort(struct condemned *c); /* of doubles the earliest stays */

/* NULL: not listed. Borrowed. */
const struct condemned_pack *condemned_find_pack(const struct condemned *c, const struct pack_name *p);
const struct condemned_snapshot *condemned_find_snapshot(const struct condemned *c, const struct snapshot_id *id);

void condemned_encode(const struct condemned *c, struct buf *to);
int condemned_decode(struct bytes b, struct condemned *ret, struct error *e); /* -EBADMSG ERROR_DAMAGED */

/* id: a head's; "" is the empty list. -ENOENT: the head is out of date, read it again. */
int condemned_get(struct store *s, const struct seal_context *k, const char *id, struct condemned *ret,
                  struct error *e);
/* Under a new id. -EOVERFLOW ERROR_FAILED: more than CONDEMNED_COUNT_MAX. */
int condemned_put(struct store *s, const struct seal_context *k, const struct condemned *c,
                  char ret_id[CONDEMNED_ID_TEXT], struct error *e);
int condemned_remove(struct store *s, const char *box, const char *id, struct error *e);
