/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * visit - a snapshot in use on this node without a lease, by `restore` or `mount`: its hold in the store, and the
 * record that says so here (rule S2).
 *
 *     $AGBOX_STATE_DIR/visits/<id>/record   box, hold, snapshot, mount point
 *                                 /lock     kept by the command that makes, uses or ends it
 *                                 /served   kept by the supervisor of a mount
 *                                 /base     of a mount: the sealed snapshot object
 *                                 /daemon.log
 *
 * A record is written before its hold, and removed after it: so a visit whose locks nobody keeps, and that is not
 * mounted, is what a crash or reboot left, and visit_sweep ends it.
 */

#include "cli/stack.h"

#define VISIT_ID 17 /* 16 hex digits, NUL */

struct visit {
    char id[VISIT_ID]; /* "": none */
    int dir, lock;
    char box[64];
    struct writer writer;
    struct snapshot_id snapshot;
    char *point; /* where it is mounted; NULL: a restore */
};

#define VISIT_NONE                                                                                                     \
    {                                                                                                                  \
        .dir = -1, .lock = -1                                                                                          \
    }

/*
 * Opens the stack (STACK_NONE) for the box without its lock, sweeps, finds the snapshot that text names (view_find),
 * writes record and hold, and only then makes sure that it is not condemned (FORMAT.md, attack 12). point may be NULL.
 * ret holds the lock until visit_release.
 */
int visit_begin(struct stack *s, const struct config *c, struct ui *ui, const char *box, const char *text,
                const char *point, struct visit *ret, struct error *e);
/* The same with a stack that is open. */
int visit_begin_open(struct stack *s, const char *text, const char *point, struct visit *ret, struct error *e);
/* Removes hold and record; also after Ctrl-C. An unreachable store leaves both to visit_sweep: that is the error. */
int visit_end(struct stack *s, struct visit *v, struct error *e);
void visit_release(struct visit *v); /* memory and locks only */

/* By id; without its lock. -ENOENT ERROR_UNKNOWN. */
int visit_load(const struct config *c, const char *id, struct visit *ret, struct error *e);
/* The one mounted at point, with its lock. -ENOENT ERROR_UNKNOWN. */
int visit_at(const struct config *c, const char *point, struct visit *ret, struct error *e);
char *visit_place(const struct config *c, const struct visit *v, const char *what); /* in its directory; malloc'd */
/* Takes the lock that says that this process serves the mount, until it ends. */
int visit_serve(const struct visit *v, int *ret_lock, struct error *e);
/* Mountinfo's source of a visit's mount. */
void visit_source(const struct visit *v, char to[128]);
/* Is it mounted, as far as this mount namespace shows? */
bool visit_mounted(const struct visit *v);

/* Calls each for every snapshot that `mount` shows here, in no order, until it returns other than 0. */
int visit_each_mounted(const struct config *c, int (*each)(void *arg, const struct visit *v), void *arg,
                       struct error *e);

/* Ends what is left of visits of any box. What cannot be ended now stays for the next time. Needs the store. */
void visit_sweep(struct stack *s);
/* The holds of a box's visits, which are no strays (sync/hold): ask after the LIST of holds. *ret is malloc'd. */
int visit_writers(const struct config *c, const char *box, struct writer **ret, size_t *ret_count, struct error *e);
