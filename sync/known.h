/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * known - content that need not be sent: of this run, of packs that an interrupted run has sent, of the base (rule S1).
 *
 * This run's part is a table in memory, bounded (KNOWN_MAX; beyond it content is sent twice at worst); the base's part
 * is the cache's known table, and what the base has of the very file that is read. Also lists the packs that a run
 * counts on, so that P5's last look can miss none. One thread.
 */

#include "index/journal.h"
#include "sync/outbox.h"
#include "sync/tidy.h"

#define KNOWN_MAX (256u * 1024) /* extents of this run, about 30 MB */

struct known;

struct known_place {
    struct placement *where; /* a reference of the caller's */
    uint32_t within;
};

/* cache may be NULL. avoid: content in these packs is not known (sync/tidy); borrowed, may be NULL. */
struct known *known_new(struct cache *cache, const struct writer *w, const struct tidy_plan *avoid);
void known_free(struct known *k); /* NULL is fine */

/* Takes a reference of its own. */
void known_add(struct known *k, const struct hash *h, uint32_t length, struct placement *where, uint32_t within);
/* False: it has to be sent. */
bool known_find(struct known *k, const struct hash *h, uint32_t length, struct known_place *ret);

/* What the base has of the file that comes now, until the next one: so it is known to whoever lost the cache. Takes x
 * (malloc'd) over. */
void known_before(struct known *k, struct extent *x, size_t count);

/* Learns what the packs in the journal hold, from their footers. A pack that the store does not have is left out. */
int known_resume(struct known *k, struct journal *j, struct store *s, const struct seal_context *c, struct error *e);

/* A pack that this run refers to; size 0: not known. False: it is not this writer's, and nothing is noted. */
bool known_count_on(struct known *k, const struct pack_name *p, uint32_t size, bool metadata);
/*
 * LISTs the writer's packs: every pack counted on that is this writer's must be there, with its size (P5).
 * ret_packs: those among them that hold metadata, newest first; malloc'd, written on success only. -ENODATA
 * ERROR_STORE: one is missing or has another size.
 */
int known_verify(struct known *k, struct store *s, const char *box, struct snapshot_pack **ret_packs, size_t *ret_count,
                 struct error *e);
