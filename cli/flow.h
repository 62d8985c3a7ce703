/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * flow - the long commands, step by step as the crash tables of index/FORMAT.md have them.
 *
 * Each takes a stack whose store and box are open (and locked). flow_track, flow_up, flow_park and flow_snapshot look
 * at the state table first: they resolve what is in doubt and go on from wherever an earlier command was stopped.
 */

#include "cli/saving.h"
#include "sync/fork.h"
#include "sync/lease.h"
#include "sync/prune.h"

struct flow_up_options {
    bool force, full, accept_rollback;
    const struct head_object *fetched; /* the head, if it has just been fetched; NULL: it is read */
    const char *from;                  /* a snapshot id, prefix or fork:…; NULL: the head's */
};

/* -EEXIST ERROR_BUSY: the path is another box's here, or the store has a box of this name. Asked before anything of it
 * is made; flow_track asks again. */
int flow_track_refuse(struct stack *s, const char *path, struct error *e);
int flow_track(struct stack *s, const char *path, bool sessions, struct error *e); /* sessions: the host's, too */
int flow_up(struct stack *s, const struct flow_up_options *o, struct error *e);
int flow_park(struct stack *s, struct error *e);
int flow_snapshot(struct stack *s, struct error *e); /* live */

int flow_set(struct stack *s, char *const *assignments, int count, struct error *e);
/* Strays, then sync/prune. *ret describes it, for JSON. */
int flow_prune(struct stack *s, const struct retention_policy *policy, bool dry_run, json_t **ret, struct error *e);

struct flow_drop_options {
    bool yes, force;
    const char *fork, *hold; /* only this one; NULL */
};

int flow_drop(struct stack *s, const struct flow_drop_options *o, struct error *e);

/* The end of a command: of one that was interrupted the hint says what state it left. Returns r. */
int flow_ended(const struct stack *s, const char *command, int r, struct error *e);

/* What a save of the work here needs, opened. `= { 0 }`, flow_saving_close. */
struct flow_saving {
    struct view parent, base; /* the newest snapshot of this node; what a lazy box's upper lies over */
    struct meta meta;
    struct saving_config config; /* borrows the above; what differs is for the caller to add */
};

int flow_saving_open(struct stack *s, struct flow_saving *ret, struct error *e);
void flow_saving_close(struct flow_saving *f);

/* Parts that several of them use. */
void flow_lease(struct stack *s, struct lease *ret); /* this node's view of the protocol, borrowed from the stack */
int flow_resolve(struct stack *s,
                 struct error *e); /* what is in doubt, decided or ERROR_DOUBT; nothing pending: no request */
int flow_up_fresh(struct stack *s, const struct flow_up_options *o, struct error *e);
int flow_up_acquired(struct stack *s, const struct flow_up_options *o,
                     struct error *e);                    /* from acquired or preparing */
int flow_park_held(struct stack *s, struct error *e);     /* from mounted, parking, full-held or moving */
int flow_snapshot_held(struct stack *s, struct error *e); /* from mounted or full-held */
/* Fenced work into a verified fork. still: nothing may change it any more, before it is taken away: then the state is
 * parked. Else live. What fails leaves the work as usable as it was. */
int flow_fork(struct stack *s, bool still, struct error *e);
/*
 * The forks that newest goes on from, back to a snapshot that is none of its work (all zeros: not known), are removed,
 * and counted. By their snapshots: a clone of this machine makes forks of the same node and epoch, which hold other
 * work (FORMAT.md, attack 4).
 */
int flow_remove_older(struct stack *s, const struct fork *newest, const struct snapshot_id *until, size_t *ret_removed,
                      struct error *e);
/* The snapshot that the work here is relative to, which its hold keeps: the stack's. */
const struct snapshot_id *flow_relied_on(const struct stack *s);
/* What is known to have been sent may be gone, since a hold kept it: it is sent anew. Content is open. */
int flow_forget_sent(struct stack *s, struct error *e);
bool flow_sent_is_gone(int r, const struct error *e); /* a save says so */
/* Excluded entries back from the stash, then the tree at the project's path. */
int flow_show(struct stack *s, struct error *e);
/* Nothing can write to the tree any more: P3 for a lazy box, T3's move aside for a full one. -EBUSY names the writers.
 */
int flow_make_still(struct stack *s, struct error *e);
/* Undoes it: writable again, at its path. The state is the caller's. */
int flow_let_go(struct stack *s, struct error *e);
/* Rule S5: the box of the work here is no more. A park that was under way is called off, the work named: -ESTALE. */
int flow_refuse_replaced(struct stack *s, struct error *e);
int flow_hint_track(const struct stack *s, struct error *e); /* the same track goes on; returns the code */
int flow_unfinished(const struct stack *s, struct error *e); /* -ENOENT: of a box that is still tracking, so hinted */
/*
 * Every pack that the snapshot reaches is in the store, and not condemned (fork step 5; rule L5). -EIO ERROR_DAMAGED:
 * then ret_missing, which may be NULL, names those that are not.
 */
int flow_verify(struct stack *s, const struct snapshot_id *id, struct tidy_plan *ret_missing, struct error *e);
/* The hold goes, or stays in the record for the next command to remove. Does not store the record. */
void flow_drop_hold(struct stack *s);
/* An upper that nobody has seen yet (acquired, preparing), and its mounts. Does not store the record. */
int flow_throw_away(struct stack *s, struct error *e);
/* P8, from parked; idempotent. While another mount namespace shows the overlay, the state, the upper and the hold stay;
 * that is said, and no error. */
int flow_clean(struct stack *s, struct error *e);
int flow_clean_known(struct stack *s, const struct stash_list *left_out,
                     struct error *e); /* the same, where it is known what the overlay is to give to the stash */
int flow_clean_all(struct stack *s, struct error *e); /* then it is -EBUSY ERROR_BUSY: before the box comes up anew */
/* n becomes a snapshot of its own with the same tree: new id, this parent and meta, this node and lease; PUT, not
 * committed. */
int flow_derive(struct stack *s, const struct snapshot_id *parent, const struct meta *meta, struct snapshot *n,
                struct error *e);
/* `up --full`. begin: from acquired to filling the tree of root, whose sealed object is given. */
int flow_full_begin(struct stack *s, const struct snapshot_id *root, struct bytes sealed, struct error *e);
/* From filling, however far it had come, to full-held. A failure leaves filling, and the lease. */
int flow_full_go_on(struct stack *s, struct error *e);
/* Filling that was already renamed into place is full-held; any other state stays. */
int flow_full_settle(struct stack *s, struct error *e);
/* From filling to acquired; again from acquired while record.full says that it was cut off. */
int flow_full_throw_away(struct stack *s, struct error *e);

/* Directories that T3 moved aside. settle: at the end of a park, looks for writers that were late. */
int flow_aside_settle(struct stack *s, struct error *e);
/* The journal's moved-aside directory goes to the older ones, so that the journal can name another. */
int flow_aside_retire(struct stack *s, struct error *e);
/* Removes those of this box that have been kept for their time, and names those that must be kept. */
void flow_aside_sweep(struct stack *s);
/* What a command does last: the sweep above, and leftovers of visits and of pulls. */
void flow_sweep(struct stack *s);

/* The fields that up has of the snapshot that is shown here. */
void flow_tell_shown(struct stack *s, const struct snapshot *n);
/* Those of park, snapshot and a push of globals; id: the newest snapshot that is known here. saved NULL: there was
 * nothing to send. */
void flow_tell_saved(struct stack *s, const struct snapshot_id *id, const struct saved *saved);
int flow_set_state(struct stack *s, enum box_state state, struct error *e);
int flow_sync_parent(const char *path, struct error *e); /* fsync of the directory that holds path */
int flow_keep_committed(struct stack *s, const struct snapshot *n,
                        struct error *e); /* beside the journal, for the next save */
