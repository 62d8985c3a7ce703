/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * view - one snapshot opened for reading: the object, a source that answers its inlined pages itself, and its tree.
 *
 * `_cleanup_(view_close) struct view v = { 0 };`. The stack must outlive it. Used by the daemon, park, restore, mount,
 * check.
 */

#include "cli/stack.h"
#include "index/inline.h"
#include "index/links.h"
#include "index/meta.h"
#include "index/tree.h"
#include "sync/snapshots.h"

struct view {
    struct snapshot snapshot;
    struct snapshot_source *source;
    struct tree *tree;
    bool open;
};

/* Takes over s (it is released by view_close, or here on failure). */
int view_open(struct stack *stack, struct snapshot *s, struct view *ret, struct error *e);
/* What a user names: an id, a unique prefix of one, or fork:NODE-EPOCH (interface.md, "Names"); NULL: the head's root.
 * -ENOENT ERROR_UNKNOWN. A damaged head does not keep from what is named, and is warned of. Not of what is condemned:
 * -ENOENT ERROR_UNKNOWN, said (rule S3). */
int view_find(struct stack *stack, const char *text, struct snapshot_id *ret, struct error *e);
/* Again, once a hold protects it: head and condemned list are read; -ENOENT ERROR_UNKNOWN as above. */
int view_check(struct stack *stack, const struct snapshot_id *id, struct error *e);
int view_open_id(struct stack *stack, const struct snapshot_id *id, struct view *ret, struct error *e);
/* The mounted base, from the sealed copy kept in the box's directory: needs no network. */
int view_open_base(struct stack *stack, struct view *ret, struct error *e);
/* The last committed snapshot of this node: the base, the copy kept beside the journal, or fetched. */
int view_open_committed(struct stack *stack, struct view *ret, struct error *e);
/* The object alone of what is shown here: the base, or in full mode what was committed last. Needs no network. */
int view_shown(struct stack *stack, struct snapshot *ret, struct error *e);
/* The link groups; none: count 0. links_free. */
int view_links(struct view *v, struct link_group **ret, size_t *ret_count, struct error *e);
struct source *view_source(struct view *v);
/* The meta of a snapshot, decoded. */
int view_meta(const struct snapshot *s, struct meta *ret, struct error *e);
void view_close(struct view *v);
