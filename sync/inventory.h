/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * inventory - what of one box lies in the store, for ls, prune, check and drop: objects with their sizes and times by
 * the store's clock, and the snapshot objects opened.
 *
 * Each part is filled by its own call, because the order in which they are read is part of prune's argument (FORMAT.md,
 * "prune": snapshots and packs, then holds, then forks: work that becomes a fork has its fork before it lets its hold
 * go). Snapshot objects are read many at once. What is no name of ours is left out. One thread.
 */

#include "index/snapshot.h"
#include "sync/fork.h"
#include "sync/hold.h"

#define INVENTORY_PACKS_MAX (1u << 20)

struct inventory_snapshot {
    struct snapshot_id id;
    uint64_t size;
    int64_t modified_ns;
    struct snapshot *object; /* opened, without its inlined pages; NULL: gone since the LIST, or damaged */
    bool damaged;
};

struct inventory_pack {
    struct pack_name name;
    uint64_t size;
    int64_t modified_ns;
};

struct inventory {
    struct inventory_snapshot *snapshots; /* oldest first */
    size_t snapshot_count;
    struct inventory_pack *packs; /* by name */
    size_t pack_count;
    struct hold *holds;
    size_t hold_count;
    struct fork *forks;
    size_t fork_count;
    int64_t now_ns; /* the store's clock at the last LIST that found something */
};

void inventory_release(struct inventory *v);

int inventory_list_snapshots(struct inventory *v, struct store *s, const char *box, struct error *e);
/* Reads and opens them. Errors of the store end it; what is damaged is marked. */
int inventory_open_snapshots(struct inventory *v, struct store *s, const struct seal_context *c, struct error *e);
int inventory_list_packs(struct inventory *v, struct store *s, const char *box, struct error *e);
/* Holds, then forks. */
int inventory_list_users(struct inventory *v, struct store *s, const struct seal_context *c, struct error *e);

/* NULL: not there. */
const struct inventory_snapshot *inventory_find_snapshot(const struct inventory *v, const struct snapshot_id *id);
const struct inventory_pack *inventory_find_pack(const struct inventory *v, const struct pack_name *p);
/* A hold or a fork works under this writer's name: its packs stay. */
bool inventory_writer_lives(const struct inventory *v, const struct writer *w);
