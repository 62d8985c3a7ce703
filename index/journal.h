/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * journal - what this node knows of its own work on one box: the authority that every command asks first.
 *
 * $AGBOX_STATE_DIR/box/NAME/journal.db: sqlite, WAL, synchronous=FULL; every call that stores is one durable
 * transaction. Written before the outside world is changed (before the first mount, before each PUT of a head), so that
 * after any crash it says at least what may have happened. The state table in index/FORMAT.md says what each state
 * allows.
 *
 * A record has two parts with a writer each: the box part belongs to whoever has the `command` lock, the lease part to
 * whoever has the `head` lock (sync/lease; the daemon renews). journal_store writes the box part alone, so that
 * a command's older copy of the lease part never overwrites a renewal. The high water has no owner: it only rises.
 * A handle is one thread's, except journal_pack_add, which any thread may call.
 *
 * stat.db beside it is the walker's stat cache: disposable, thrown away when damaged.
 */

#include "index/base/error.h"
#include "index/locator.h"
#include "index/snapshot.h"

#define WRITE_ID_LEN 16
#define JOURNAL_WRITES_MAX 32

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
    BOX_PARKED, /* committed, local data not yet cleaned */
    BOX_MOVED_ASIDE,
    BOX_FENCED,
    BOX_STATE_COUNT,
};
/* dirty-unmounted is BOX_MOUNTED whose mount is gone: derived from /proc/self/mountinfo. */

bool box_state_away(enum box_state s); /* nothing here depends on what the box was: none, parked, moved-aside */

enum journal_write_kind {
    WRITE_CREATE = 1,
    WRITE_ACQUIRE,
    WRITE_RENEW,
    WRITE_COMMIT,
    WRITE_FREE,
    WRITE_PRUNE,
    WRITE_DROP,
};

struct journal_write { /* a head PUT whose outcome is not known yet: FORMAT.md, "How an outcome is decided" */
    enum journal_write_kind kind;
    uint8_t write_id[WRITE_ID_LEN];
    uint64_t epoch, seq;     /* of the head it makes */
    struct snapshot_id root; /* create, commit; none otherwise */
    bool frees;              /* the PUT also frees the lease */
    enum box_state then;     /* the box's state once it is known to have happened; BOX_STATE_COUNT: as it is */
};

struct box_record {
    /* the box part */
    enum box_state state;
    uint8_t incarnation[16];
    struct snapshot_id base;      /* what the mount's lower shows (rule O4) */
    struct snapshot_id committed; /* the head's root when we took it or last committed to it (rule L5) */
    struct snapshot_id fork;      /* newest fork snapshot of this work */
    struct writer writer;         /* our hold; all zero: none */
    char upper[40];               /* name of the upper directory under box/NAME; "" none */
    char *path;                   /* the project's own path; owned, NULL none */
    char *aside;                  /* T3's moved directory; owned, NULL none */
    int64_t aside_ns;             /* wall clock when it was moved */
    bool full;                    /* plain directories, no overlay (rule T2) */
    /* the lease part */
    uint64_t epoch, seq;       /* of our lease and of our last write in it; 0: none */
    uint8_t own[WRITE_ID_LEN]; /* that write: another one in our epoch is a clone's */
    bool freed;                /* a PUT that frees the lease was journalled: the daemon must stop renewing (rule L1) */
    struct journal_write *writes; /* pending, oldest first; owned */
    size_t write_count;
    /* high water: an older head is a rollback (rule L6); read only, see journal_saw */
    uint64_t seen_epoch, seen_seq;
};

struct journal;

void box_record_release(struct box_record *r);
const char *box_state_name(enum box_state s);
/* Something is pending whose outcome decides what may be done: anything but renewals and prunes. */
bool box_record_in_doubt(const struct box_record *r);

/*
 * Opens (and, with create, makes) the journal in directory box/NAME. -ENOENT ERROR_UNKNOWN without create · -EBADMSG
 * ERROR_DAMAGED · -ENOTSUP ERROR_USAGE: made by a newer version.
 */
int journal_open(int box_dir, const char *box_path, bool create, struct journal **ret, struct error *e);
void journal_close(struct journal *j);
void journal_closep(struct journal **j);
int journal_load(struct journal *j, struct box_record *ret,
                 struct error *e); /* BOX_NONE when empty; replaces ret's content */
int journal_load_lease(struct journal *j, struct box_record *r,
                       struct error *e); /* the lease part and high water only */
int journal_store(struct journal *j, const struct box_record *r, struct error *e);       /* the box part */
int journal_store_lease(struct journal *j, const struct box_record *r, struct error *e); /* the lease part */
int journal_store_both(struct journal *j, const struct box_record *r, struct error *e);

/*
 * A head was seen. -ESTALE ERROR_DAMAGED when it is older than the high water, or has its numbers under another
 * write_id; else the high water rises to it. accept: it becomes the high water whatever it is, but the numbers in the
 * record (seen_*) never sink.
 */
int journal_saw(struct journal *j, uint64_t epoch, uint64_t seq, const uint8_t write_id[WRITE_ID_LEN], bool accept,
                struct error *e);

/* Packs that the store has and no committed snapshot names yet: a resumed park does not send them again. */
int journal_pack_add(struct journal *j, const struct pack_name *p, uint32_t size, bool metadata, struct error *e);
int journal_packs(struct journal *j,
                  int (*each)(void *arg, const struct pack_name *p, uint32_t size, bool metadata, struct error *e),
                  void *arg, struct error *e);
int journal_packs_clear(struct journal *j, struct error *e);

/* Stat cache of the walker (rule V2): path -> what lstat said when its content was last read, and the entry record that
 * resulted. */
struct stat_key {
    uint64_t dev, ino, size;
    int64_t mtime_ns, ctime_ns;
};
int journal_stat_find(struct journal *j, struct bytes path, const struct stat_key *k, struct buf *ret_record,
                      struct error *e); /* -ENOENT: unknown or changed */
int journal_stat_put(struct journal *j, struct bytes path, const struct stat_key *k, struct bytes record,
                     struct error *e);
/*
 * One transaction around the puts of a walk. A record names packs, and is true only once the store has them: the end
 * of a walk that failed (r < 0) takes its records back. Returns r, or what else failed.
 */
int journal_stat_begin(struct journal *j, struct error *e);
int journal_stat_end(struct journal *j, int r, struct error *e);
int journal_stat_clear(struct journal *j, struct error *e); /* on disk when it returns */
