/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * tidy - what a park writes anew although nobody changed it, so that a box's store does not fill with packs that are
 * mostly dead, nor a mount's metadata come from ever more objects (rule S4).
 *
 * Content of packs of which less than a quarter is still in use is read from the live tree and sent again; where the
 * base's metadata spans more than TIDY_PACKS packs, all of it is written anew. Planned against the base before the
 * walk; then a tidy stands between the walker and sync/save and puts what the walker passes over. Costs a LIST of the
 * box's packs and a read of all metadata of the base; once done there is nothing to do the next time. One thread.
 */

#include "index/change.h"
#include "index/snapshot.h"
#include "sync/seal.h"

#define TIDY_PACKS 16
#define TIDY_SIZE_MIN (64u * 1024) /* smaller packs are left: they are all padding, and waste nothing */

struct tidy_plan {
    struct pack_name *avoid; /* packs that the new tree is not to refer to; sorted, owned */
    size_t avoid_count;
    size_t thin_count; /* of these, packs of content */
    bool metadata;     /* all of it is written anew */
};

int tidy_plan_make(struct store *s, const char *box, const struct snapshot *base, struct tree *tree,
                   struct source *source, struct tidy_plan *ret, struct error *e);
void tidy_plan_release(struct tidy_plan *p);
bool tidy_avoids(const struct tidy_plan *p, const struct pack_name *pack);

struct tidy_config {
    const struct tidy_plan *plan;
    struct tree *tree; /* the base's */
    struct source *source;
    /* The live file at a path of the tree, or -errno. What cannot be opened stays as it is. */
    int (*open)(void *arg, const char *path);
    void *open_arg;
    change_each each; /* where changes go */
    void *each_arg;
};

struct tidy;

struct tidy *tidy_new(const struct tidy_config *c);
void tidy_free(struct tidy *t);                                       /* NULL is fine */
int tidy_change(void *tidy, const struct change *c, struct error *e); /* a change_each: from the walker */
int tidy_finish(struct tidy *t, struct error *e);                     /* what lies behind the last change */
