/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * prefetch - has the content of a tree in the local cache a little before a reader that goes through it in key order
 * gets there.
 *
 * A thread of its own goes through the same entries, asks for their frames in big batches (source_warm merges what lies
 * together) and stays at most PREFETCH_BATCHES of them ahead, so that a small cache does not lose what was fetched
 * before it was used. What cannot be warmed is left to the reader, who gets the error, too; all of it once
 * the cache takes no more.
 */

#include "index/source.h"
#include "index/tree.h"

#define PREFETCH_BATCHES 3u
#define PREFETCH_BATCH_BYTES (32u * 1024 * 1024) /* sealed */
#define PREFETCH_BATCH_FRAMES 4096u

struct prefetch;

struct prefetch_config {
    struct tree *tree; /* borrowed, as source */
    struct source *source;
    struct bytes below; /* borrowed: a key prefix, as key_subtree_prefix makes it */
    /* Of a file: will the reader want its content? NULL: of all. Called from the thread. */
    bool (*wanted)(void *arg, struct bytes key, const struct entry *n);
    void *arg;
};

int prefetch_start(const struct prefetch_config *c, struct prefetch **ret, struct error *e);
/* The reader is at this byte of the file at position. */
void prefetch_reached(struct prefetch *p, uint64_t position, uint64_t start);
void prefetch_stop(struct prefetch *p); /* waits for requests under way, frees; NULL is fine */
