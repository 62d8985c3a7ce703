/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * mounts - the mounts of one lazy box on this node: lower (FUSE), overlay, and the project's bind at its own path.
 *
 * What is mounted is never remembered, only read from mountinfo. mounts_up brings up lower and overlay over the
 * journal's base and upper (the sealed base lies in the box's directory); nobody sees the tree until mounts_show binds
 * it.
 */

#include "cli/stack.h"

#include <sys/types.h>

enum mounts_state {
    MOUNTS_NONE,   /* nothing is mounted */
    MOUNTS_PARTLY, /* something is, but the tree is not usable */
    MOUNTS_TREE,   /* lower and overlay, but not at the project's path */
    MOUNTS_SHOWN,
};

int mounts_look(struct stack *s, enum mounts_state *ret, struct error *e);
/* The journal's state for people: mounted, of which nothing is, is dirty-unmounted (a crash or reboot). */
const char *mounts_state_name(struct stack *s);
/* A hint: mounts_up will soon be called for a lazy tree, and its daemon may start now, and connect. */
void mounts_expect(struct stack *s);
int mounts_up(struct stack *s, bool fresh, struct error *e); /* fresh: the upper is made now */
int mounts_show(struct stack *s, struct error *e);
/* A lazy box's tree is mounted over its own base, if need be now; of a full box nothing is needed. */
int mounts_reach(struct stack *s, struct error *e);
/* Takes all of it away again, the box that runs in it first. detach: also when it is in use (what uses it keeps it
 * until it ends). Absent parts are fine. */
int mounts_down(struct stack *s, bool detach, struct error *e);

/*
 * mounts_down with detach, then mounts_used; where nobody uses the tree any more, its daemon and supervisor have ended
 * when this returns: what they were still fetching is for nobody.
 */
int mounts_end(struct stack *s, pid_t *ret_user, struct error *e);

/* The daemon was started by this command, which knows that the lease is held: `status` need not say "unverified". */
void mounts_tell_held(struct stack *s);

/* A process whose mount namespace still shows the overlay on the record's upper layer (rule P8); 0: none. */
int mounts_used(struct stack *s, pid_t *ret, struct error *e);

/* The empty directory that keeps people out of path (mount_point_guard) goes, if it is still that, and no other mount
 * namespace shows anything there; nothing else does. */
void mounts_leave_point(const char *path);

/* Before a lease is asked for: may the tree be shown at path? -EBUSY, ERROR_BUSY with the reason. */
int mounts_check_point(const char *path, struct error *e);
/* What a lazy tree needs and this machine has not ("/dev/fuse", "overlayfs"); NULL: nothing. */
const char *mounts_missing(void);
int mounts_ensure_daemon(struct stack *s, struct error *e); /* of a full box, unless it runs */
/* The daemon of a full box (renewal only). Returns when it runs. */
int mounts_start_daemon(struct stack *s, struct error *e);
int mounts_stop_daemon(struct stack *s, struct error *e); /* of a full box; none there: 0 */
