/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * push - from file bytes to packs in the store: cut, hash, deduplicate, compress, seal, pack, PUT (rules F1, F3, S1,
 * P4, P5).
 *
 * Small files of one directory share frames of about 64 KiB; files over CHUNK_WHOLE are cut by content, a frame a
 * chunk; all-zero runs found as holes (SEEK_HOLE) are not stored. Known content (of the base, of this run, of packs a
 * killed run has sent) is referenced, not sent. Packs are built in memory (16 to 20 MiB, padded, data and metadata
 * apart), PUT as they fill by a small pool, journalled each once the store has it, and handed to the cache. Memory is
 * bounded: a few packs and frames, whatever the tree. One thread calls push_*; compression, sealing and PUTs run on
 * threads inside. Where a frame will lie is not known when push_content returns, so content is a ticket that is
 * redeemed later; frames close when their directory changes.
 *
 * The cache's known table may hold content of the mounted base and of packs of this writer, nothing else: other packs
 * can be condemned. Whoever mounts another base or takes another hold clears it first (cache_known_clear).
 * The first error stops everything and is what every later call returns; only -EAGAIN is one file's own matter.
 */

#include "index/cache.h"
#include "index/chunk.h"
#include "index/entry.h"
#include "index/journal.h"
#include "sync/seal.h"
#include "sync/store.h"
#include "sync/tidy.h"

struct push;
struct push_ticket;

struct push_config {
    struct store *store;
    struct seal_context seal;
    struct cache *cache;     /* NULL: no deduplication against the base, nothing kept */
    struct journal *journal; /* NULL: packs are not journalled */
    struct writer writer;
    const struct tidy_plan *avoid; /* packs that nothing new is to refer to; NULL: none */
    unsigned threads;              /* compressing; 0: as many as processors, at most 4 */
    int (*progress)(void *arg, uint64_t files, uint64_t bytes,
                    uint64_t sent); /* non-zero stops with -ECANCELED ERROR_INTERRUPTED */
    void *progress_arg;
};

struct push_stats {
    uint64_t files, bytes;      /* read */
    uint64_t new_bytes;         /* not known before */
    uint64_t sent_bytes, packs; /* put into the store */
};

int push_new(const struct push_config *c, struct push **ret, struct error *e);
/* What the base has of the file that is pushed next, where the cache may have forgotten it; none: count 0. Takes x
 * (malloc'd) over. */
void push_before(struct push *p, struct extent *x, size_t count);
/* Reads fd (n->size bytes and no more; a file that shrank meanwhile is -EAGAIN ERROR_BUSY "changed while it was read";
 * at its end fstat must agree with what it said at its start). directory groups small files. n is only read. */
int push_content(struct push *p, int fd, const struct entry *n, struct bytes directory, struct push_ticket **ret,
                 struct error *e);
/*
 * The same of a file that does not hold still, in one pass and as it comes (rule V1): n gets size and times of when the
 * reading began; what the file lost before it was read is zeros. ret_torn: it changed while it was read.
 */
int push_as_it_is(struct push *p, int fd, struct entry *n, struct bytes directory, struct push_ticket **ret,
                  bool *ret_torn, struct error *e);
bool push_ticket_ready(const struct push_ticket *t);
/* Waits, sets n's extents (or its list frames), frees the ticket, also on error. */
int push_ticket_redeem(struct push *p, struct push_ticket *t, struct entry *n, struct error *e);
void push_ticket_free(struct push_ticket *t);
/* Moves the extents of a record that has more than it may hold into frames of their own. */
int push_extents(struct push *p, struct entry *n, struct error *e);
/* A pack that the snapshot refers to by what was not read here: push_finish looks for it, too. True: of this writer, so
 * it may be gone; what others have sent is the base's. */
bool push_rely(struct push *p, const struct pack_name *pack, bool metadata);
/* A metadata frame of 1 … FRAME_RAW_MAX bytes; where it lies is known at once. Equal bytes of this kind that are known
 * are not sent again. */
int push_meta(struct push *p, enum frame_kind kind, struct bytes raw, struct locator *ret, struct error *e);
int push_close_frames(struct push *p, struct error *e); /* so that every ticket becomes ready */
/* Everything PUT, then LIST of the writer's packs: all there, sizes right (P5). The metadata packs of this
 * writer that this run's locators name, newest first, in ret_packs (malloc'd). -ENODATA ERROR_STORE: one is missing. */
int push_finish(struct push *p, struct snapshot_pack **ret_packs, size_t *ret_count, struct push_stats *ret,
                struct error *e);
void push_free(struct push *p); /* waits for its threads; NULL is fine */
