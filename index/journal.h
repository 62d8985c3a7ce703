/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * journal - what this node knows of its own work on one box: the authority that every command asks first.
 *
 * $AGBOX_STATE_DIR/box/NAME/journal.db: sqlite, WAL, synchronous=FULL; every journal_store is durable when it returns.
 * Written before the outside world is changed (before the first mount, before each PUT of a head), so that after any
 * crash it says at least what may have happened. The state table in index/FORMAT.md says what each state allows.
 * One command a box writes it (the `command` lock); the daemon reads it and stores only what journal_renewal_* allows.
 * Not shared between threads.
 */

#include "index/base/error.h"
#include "index/locator.h"
#include "index/snapshot.h"

enum box_state {
    BOX_NONE,
    BOX_TRACKING,
    BOX_ACQUIRED,
    BOX_PREPARING,
    BOX_FILLING,
    BOX_FULL_HELD,
    BOX_MOUNTED,
    BOX_PARKING,
    BOX_MOVING,
    BOX_PARKED,      /* committed, local data not yet cleaned */
    BOX_MOVED_ASIDE,
    BOX_FENCED,
    BOX_STATE_COUNT,
};
/* dirty-unmounted is BOX_MOUNTED whose mount is gone: derived from /proc/self/mountinfo. commit-in-doubt is any state with pending writes. */

struct journal_write { /* a head PUT whose outcome is not known yet */
    uint8_t write_id[16];
    uint64_t epoch;
    struct snapshot_id root; /* of a commit; none otherwise */
    bool frees;              /* the PUT also frees the lease */
};

struct box_record {
    enum box_state state;
    uint8_t incarnation[16];
    uint64_t epoch, seq;               /* of our lease */
    uint64_t seen_epoch, seen_seq;     /* high water: an older head is a rollback (rule L6) */
    struct snapshot_id base;           /* what the mount's lower shows (rule O4) */
    struct snapshot_id committed;      /* our last committed root (rule L5) */
    struct snapshot_id fork;           /* newest fork snapshot of this work */
    struct writer writer;              /* our hold; all zero: none */
    char upper[40];                    /* name of the upper directory under box/NAME; "" none */
    char *path;                        /* the project's own path; owned */
    char *aside;                       /* T3's moved directory; owned, NULL none */
    int64_t aside_ns;                  /* wall clock when it was moved */
    bool full;                         /* plain directories, no overlay (rule T2) */
    bool freed;                        /* a PUT that frees the lease was journalled: the daemon must stop renewing (rule L1) */
    struct journal_write *writes;      /* pending, oldest first; owned */
    size_t write_count;
};

struct journal;

void box_record_release(struct box_record *r);
const char *box_state_name(enum box_state s);

/* Opens (and, with create, makes) the journal in directory box/NAME. -ENOENT ERROR_UNKNOWN without create. Damage: ERROR_DAMAGED. */
int journal_open(int box_dir, const char *box_path, bool create, struct journal **ret, struct error *e);
void journal_close(struct journal *j);
void journal_closep(struct journal **j);
int journal_load(struct journal *j, struct box_record *ret, struct error *e); /* BOX_NONE when empty */
int journal_store(struct journal *j, const struct box_record *r, struct error *e);

/* Packs that the store has and no committed snapshot names yet: a resumed park does not send them again. */
int journal_pack_add(struct journal *j, const struct pack_name *p, uint32_t size, bool metadata, struct error *e);
int journal_packs(struct journal *j, int (*each)(void *arg, const struct pack_name *p, uint32_t size, bool metadata, struct error *e),
                  void *arg, struct error *e);
int journal_packs_clear(struct journal *j, struct error *e);

/* Stat cache of the walker (rule V2): path -> what lstat said when its content was last read, and the entry record that resulted. */
struct stat_key {
    uint64_t dev, ino, size;
    int64_t mtime_ns, ctime_ns;
};
int journal_stat_find(struct journal *j, struct bytes path, const struct stat_key *k, struct buf *ret_record, struct error *e); /* -ENOENT: unknown or changed */
int journal_stat_put(struct journal *j, struct bytes path, const struct stat_key *k, struct bytes record, struct error *e);
int journal_stat_begin(struct journal *j, struct error *e); /* one transaction around many puts, synchronous off inside */
int journal_stat_commit(struct journal *j, struct error *e);
int journal_stat_clear(struct journal *j, struct error *e);
