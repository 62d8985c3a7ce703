/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * lease - every change of a box's head, and the only code that makes one (rules L1 to L6).
 *
 * The protocol, its states and why it holds: FORMAT.md, "Head" and "Lease". Each change takes the box's `head` lock,
 * reads the head (or is handed one that was just read), journals a write, PUTs, and decides the outcome; record and
 * journal are in step when a function returns, whatever it returns. Refused and lost PUTs are looked at and tried again
 * here, 429 with a pause.
 *
 * Errors common to all: -ESTALE ERROR_HELD the lease is not ours any more (the caller asks outcome_standing and
 * regains, or journals `fenced`) · -EINPROGRESS ERROR_DOUBT the outcome is not known: the write stays in the journal ·
 * -ESTALE ERROR_DAMAGED rolled back (rule L6) · -EWOULDBLOCK ERROR_BUSY the lock · otherwise as the store's; then
 * nothing of this change was sent. ERROR_DOUBT always means that the next command calls lease_resolve first.
 *
 * One thread a struct lease; others may have their own for the same box.
 */

#include "index/journal.h"
#include "sync/node.h"
#include "sync/outcome.h"

struct lease { /* all borrowed */
    struct store *store;
    struct seal_context seal; /* seal.box names the box */
    struct journal *journal;
    struct box_record *record; /* as loaded from journal */
    int box_dir;               /* box/NAME, where the lock is */
    const struct node *node;
    uint64_t ttl_s;
    unsigned wait_ms; /* for the lock; 0: one try */
    bool daemon;      /* may only renew; stores the lease part only, and follows the journal's box part */
    const struct head_object *fetched; /* the head just fetched, for the next read instead of a GET; NULL none */
    void (*pause)(struct lease *l, unsigned ms); /* between tries; NULL: sleeps */
};

/* GET and the high-water check, without the lock. -ENOENT ERROR_UNKNOWN: no head, and none was ever seen here. accept:
 * rule L6's --accept-rollback; the head's numbers become the mark. */
int lease_read(struct lease *l, bool accept, struct head *ret, struct error *e);

/*
 * Decides what is pending by one GET (rule L2) and records it. Then record->state tells how things stand; what is still
 * in the record's writes may yet land, and outcome_standing(record, ret) says whose the lease is. ret->seq is 0 when
 * there is no head. With nothing pending it is lease_read.
 */
int lease_resolve(struct lease *l, struct head *ret, struct error *e);

/*
 * Makes sure that no PUT of ours can land any more and that the lease goes on: a renewal, after which local work may be
 * written again although a commit or free was in doubt. If the open write lands first, the record says so (and -ESTALE,
 * when it freed the lease).
 */
int lease_settle(struct lease *l, struct error *e);

struct lease_commit {
    struct snapshot_id root;
    const char *pin, *path; /* as in the snapshot's meta; NULL: as the head has it */
    bool frees;
    enum box_state then; /* BOX_STATE_COUNT: as it is */
};

/* The first commit of a box (track): record->incarnation is set. -EEXIST ERROR_FAILED: the box exists. */
int lease_create(struct lease *l, const struct lease_commit *c, struct error *e);

struct lease_take {
    bool force;                                                     /* a live foreign lease, too */
    enum box_state then;                                            /* BOX_STATE_COUNT: as it is (rule L5) */
    int (*check)(void *arg, const struct head *h, struct error *e); /* pin, path: before each PUT; NULL: none */
    void *arg;
};

/*
 * Takes a free, pruning or expired head, or with force any. h: as just read, or seq 0 to have it read; on success the
 * new head. Ours already: no PUT, unless something is open (then lease_settle). -EBUSY ERROR_HELD: held elsewhere,
 * named. -ENOENT ERROR_UNKNOWN: no such box, or dropped. Work here of another incarnation: -ESTALE ERROR_HELD.
 */
int lease_acquire(struct lease *l, struct head *h, const struct lease_take *t, struct error *e);
/* Rule L5: takes the lease again if nobody has committed since and it may be taken. The state stays. -ESTALE ERROR_HELD
 * otherwise. The caller then PUTs its hold again. */
int lease_regain(struct lease *l, struct head *h, struct error *e);

/* Only in our own epoch. The daemon gets -ENOLCK ERROR_FAILED when the journal holds no lease (freed, parked): it
 * stops. */
int lease_renew(struct lease *l, struct error *e);
/*
 * When a release of ours that was open lands first, a commit that frees is done with it: the tree was still all the
 * time, so it is the same. record->committed says which snapshot it was.
 */
int lease_commit(struct lease *l, const struct lease_commit *c, struct error *e);
/* Frees the lease, the root stays. */
int lease_free(struct lease *l, enum box_state then, struct error *e);

/*
 * Prune's three steps on a head that is free, pruning, or held by us: begin (condemned NULL), name a list (its id, ""
 * for none), end. h: the head that the step is based on; on success the new one. A free head becomes `pruning`, at the
 * end `free`; ours stays held. -ESTALE ERROR_HELD: somebody else wrote it since (nothing is tried again: what was
 * marked is out of date).
 */
int lease_prune(struct lease *l, struct head *h, const char *condemned, bool end, struct error *e);
/* Before each batch of deletes: the head is still the one prune made (or a renewal of ours). -ESTALE ERROR_HELD. */
int lease_prune_check(struct lease *l, const struct head *h, struct error *e);

/* Leaves a tombstone. force: an expired foreign lease, too; a live one never: -EBUSY ERROR_HELD. */
int lease_drop(struct lease *l, struct head *h, bool force, struct error *e);
