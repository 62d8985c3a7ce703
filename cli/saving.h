/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * saving - the box's working tree as it stands, into a snapshot in the store: walker, compare and save put together.
 *
 * Needs the stack's store, box and content, and a hold (record.writer) that the packs can lie under. The head is not
 * touched.
 */

#include "cli/still.h"
#include "cli/view.h"
#include "index/exclude.h"
#include "index/meta.h"
#include "index/stash.h"
#include "sync/save.h"

#define SAVING_GONE "put the directory back, or make an empty one if its files are to go (snapshots keep them)"

struct saving_config {
    bool live;           /* others may write meanwhile: "not one instant"; what never holds still is named (rule V1) */
    struct still *still; /* the box is held while the tree is walked, and it says how that went; NULL: not */
    const char *project; /* full: the directory to walk (the project's path, or where it was moved aside) */
    struct meta *meta;   /* of the new snapshot; gets its pin when an .auth-secret is seen (rule T4) */
    const struct tidy_plan *avoid; /* packs that the new snapshot is not to refer to; NULL: none */
    struct stash_list *left_out;   /* gets what the walk that counts leaves out; NULL: nobody asks */
    bool tidy;                     /* a park: also what rule S4 has it write anew */
    bool rules_changed;            /* meta's exclude rules differ from the base's */
    struct tree *parent_tree;      /* of parent, where it is not base */
    const struct snapshot *parent; /* the head's root; NULL: the first snapshot */
    struct view *base;             /* what is walked against: the mounted base, or the parent; NULL: nothing */
    uint64_t epoch;
};

struct saved {
    struct snapshot_id id;    /* the parent's when nothing changed */
    struct snapshot snapshot; /* filled when changed */
    bool changed, pinned;     /* pinned: meta was given its pin here */
    struct push_stats stats;
    uint64_t sockets, excluded;
};

/* A record with an upper is walked as an overlay, otherwise the plain directories are. */
int saving_run(struct stack *s, const struct saving_config *c, struct saved *ret, struct error *e);
/* From when on a ctime in the working tree says that something was written since this snapshot (cli/pending): a box
 * that was filled from it has no older one. */
int64_t saving_since(struct stack *s, const struct snapshot *newest);
/* About how many bytes it would read (cli/pending). */
uint64_t saving_pending(struct stack *s, const struct saving_config *c);
/* Content alone, ahead of a walk that counts: that one need not read it again, nor wait until it is sent (rule V1). */
int saving_send(struct stack *s, const struct saving_config *c, uint64_t *ret_sent, struct error *e);
void saved_release(struct saved *s);

/* The rules of meta for a walker; NULL in *ret is "no rules". */
int saving_rules(const struct meta *m, struct exclude **ret, struct error *e);
/* The directories a walker of this box's overlay needs: the raw upper, and the merged root (-1 when not mounted). */
int saving_open_upper(struct stack *s, int *ret_upper, int *ret_merged, struct error *e);
