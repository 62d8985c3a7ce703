/* SPDX-License-Identifier: MIT */
#include "index/straggler.h"

#include "index/base/mem.h"
#include "index/compare.h"
#include "index/walk.h"

#include <string.h>

struct finding {
    struct compare *compare;
    struct buf below; /* the key prefix of everything in project */
    int (*tell)(void *arg, char letter, const char *path, struct error *e);
    void *arg;
    size_t count;
};

static int tell_one(void *arg, char letter, const char *path, struct error *e)
{
    struct finding *f = arg;
    f->count++;
    return f->tell(f->arg, letter, path, e);
}

static int tell_excluded(void *arg, const char *path, bool directory, struct error *e)
{
    (void)directory;
    return tell_one(arg, 'A', path, e);
}

/* The walk is of both directories of a box; of home there is nothing here. */
static int in_project(void *arg, const struct change *c, struct error *e)
{
    struct finding *f = arg;
    if (c->key.len < f->below.len || memcmp(c->key.data, f->below.data, f->below.len) != 0)
        return 0;
    return compare_change(f->compare, c, e);
}

int straggler_find(const struct straggler_config *c,
                   int (*tell)(void *arg, char letter, const char *path, struct error *e), void *arg, size_t *ret_count,
                   struct error *e)
{
    static const struct entry no_home = { .type = ENTRY_DIRECTORY };
    struct finding f = { .tell = tell, .arg = arg };
    struct walk_stats stats;
    struct walk_config w = { .project = c->project,
                             .home = -1,
                             .home_entry = &no_home,
                             .rules = c->rules,
                             .journal = c->journal,
                             .live = true, /* a straggler may be at it now */
                             .excluded = tell_excluded,
                             .excluded_arg = &f };
    int r = key_subtree_prefix((struct bytes){ (const uint8_t *)"project", 7 }, &f.below);
    if (r < 0)
        return error_set(e, ERROR_FAILED, r, "make a key");
    _cleanup_(difference_freep) struct difference *d = difference_new(c->tree, c->source, c->key);
    f.compare = compare_new(c->tree, buf_bytes(&f.below), difference_change, d);
    r = walk_run(&w, in_project, &f, &stats, e);
    if (r == 0)
        r = compare_finish(f.compare, e);
    if (r == 0)
        r = difference_tell(d, tell_one, &f, e);
    compare_free(f.compare);
    buf_release(&f.below);
    if (r < 0)
        return error_prefix(e, "look for late writers"), r;
    *ret_count = f.count;
    return 0;
}
