/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * fork - box/<name>/fork/<node>-<epoch>-<rand>: a snapshot of work whose lease was lost (rule L5). Immutable; one
 * object a snapshot, each naming the one before as parent. "fork:<node>-<epoch>" is the newest of them.
 *
 * Order: packs and snapshot object are in the store, fork_put, then the head is read and fork_verify says that every
 * pack is there to stay; only then may the upper go, and older forks of the same work.
 */

#include "index/snapshot.h"
#include "sync/condemned.h"
#include "sync/head.h"
#include "sync/node.h"

#define FORK_NAME_MAX 104 /* <node>-<epoch>-<rand>, NUL */
#define FORK_ID_MAX (FORK_NAME_MAX + 5) /* with "fork:" */

struct fork {
    char name[FORK_NAME_MAX];
    char node[64];
    uint64_t epoch; /* of the lease that was lost */
    struct snapshot_id snapshot, parent;
    uint8_t incarnation[16]; /* of the box it was taken from */
    struct writer writer;    /* whose packs it keeps, though its hold may be gone */
    int64_t time_s;          /* the node's wall clock, since 1970 */
    /* not in the body: */
    int64_t modified_ns, age_ns; /* by the store's clock */
    bool damaged;                /* only name, node and epoch are known; prune leaves such a box alone */
};

/* Fills name, node, epoch and time. epoch is not 0. */
void fork_name_new(struct fork *f, const struct node *n, uint64_t epoch);
int fork_name_parse(const char *name, struct fork *ret); /* name, node, epoch; -EINVAL */

/* If-None-Match *; a lost answer is looked up: 0 means that the fork is in the store. */
int fork_put(struct store *s, const struct seal_context *c, const struct fork *f, struct error *e);
int fork_remove(struct store *s, const char *box, const char *name, struct error *e); /* absent: 0 */
/* All of a box: by node, epoch, and youngest object first. malloc'd. -EBADMSG ERROR_DAMAGED: a key that is no fork's.
 */
int fork_list(struct store *s, const struct seal_context *c, struct fork **ret, size_t *ret_count, struct error *e);
/*
 * What a user calls id, "fork:" before it or not: a whole name; or "<node>-<epoch>", the newest of that work, which
 * none names as its parent (a store's clock may count in seconds). From fork_list's answer; borrowed. box: for
 * messages. -ENOENT ERROR_UNKNOWN; -EEXIST ERROR_USAGE: several are the newest of theirs (a clone's work is of the same
 * node and epoch): which, only the user knows, so they are named.
 */
int fork_find(const struct fork *all, size_t count, const char *box, const char *id, const struct fork **ret,
              struct error *e);
/* What to call f, so that fork_find finds it: fork:<node>-<epoch> where that is f alone, else fork: and its name. */
void fork_id(const struct fork *all, size_t count, const struct fork *f, char to[FORK_ID_MAX]);
/* Whether another one goes on from f. A clone's forks are of the same node and epoch, but neither is older. */
bool fork_is_older(const struct fork *all, size_t count, const struct fork *f);

struct fork_pack {
    struct pack_name name;
    uint32_t size; /* 0: any */
    bool missing;  /* set by fork_verify: absent, of another size, or condemned */
};

/*
 * Are these packs in the store, and not condemned by the list that h names? h was read after what refers to them (a
 * fork, a hold) was PUT. Returns how many are not, or -errno. Sorts packs. Also for commits after rule L5's regain.
 */
int fork_verify(struct store *s, const struct seal_context *c, const struct head *h, struct fork_pack *packs,
                size_t count, struct error *e);
/* The opened body; name, node and epoch of ret are what the body must agree with. For fuzzers. */
void fork_encode_body(const struct fork *f, struct buf *to);
int fork_decode_body(struct bytes json, struct fork *ret, struct error *e);
