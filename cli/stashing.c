/* SPDX-License-Identifier: MIT */
#include "cli/stashing.h"

#include "cli/mounts.h"
#include "cli/place.h"
#include "cli/saving.h"
#include "index/base/mem.h"
#include "index/base/text.h"
#include "index/stash.h"
#include "index/upper.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

static int no_change(void *arg, const struct change *c, struct error *e)
{
    (void)arg;
    (void)c;
    (void)e;
    return 0;
}

static int open_below(const char *directory, const char *name, int *ret, struct error *e)
{
    _cleanup_free_ char *path = name ? mem_printf("%s/%s", directory, name) : mem_strdup(directory);
    *ret = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    return *ret < 0 ? error_set(e, ERROR_FAILED, -errno, "open %s", path) : 0;
}

/* What a walk of the raw upper leaves out. */
static int list_upper(struct view *base, struct view *committed, const struct exclude *rules, int upper,
                      struct stash_list *list, struct error *e)
{
    struct walk_stats stats;
    struct upper_config c = { .upper = upper,
                              .merged = -1,
                              .base = base->tree,
                              .rules = rules,
                              .rules_changed = strcmp(base->snapshot.meta, committed->snapshot.meta) != 0,
                              .names_only = true,
                              .excluded = stash_list_add,
                              .excluded_arg = list };
    return upper_run(&c, no_change, NULL, &stats, e);
}

static int take_upper(struct stack *s, struct view *committed, const struct exclude *rules,
                      const struct stash_list *left_out, struct stash_list *walked, struct error *e)
{
    const struct stash_list *list = left_out ? left_out : walked;
    _cleanup_free_ char *layers = place_in_box(s->config, s->name, s->record.upper);
    _cleanup_free_ char *tree = place_in_run(s->config, s->name, "tree");
    _cleanup_close_ int upper = -1, project = -1, home = -1;
    _cleanup_(view_close) struct view base = { 0 };
    int r = open_below(layers, "upper", &upper, e);
    if (r == -ENOENT) /* cleaned before: what was excluded went first */
        return 0;
    if (r == 0)
        r = view_open_base(s, &base, e);
    if (r == 0 && !left_out)
        r = list_upper(&base, committed, rules, upper, walked, e);
    if (r < 0 || list->count == 0)
        return r;
    r = mounts_reach(s, e);
    if (r == 0)
        r = open_below(tree, "project", &project, e);
    if (r == 0)
        r = open_below(tree, "home", &home, e);
    if (r < 0)
        return r;
    _cleanup_(stash_closep) struct stash *stash = NULL;
    struct stash_tree from = { .project = project, .home = home, .upper = upper, .base = base.tree };
    r = stash_open(s->box_dir, &stash, e);
    return r < 0 ? r : stash_take(stash, &from, list, e);
}

static int take_plain(struct stack *s, const struct exclude *rules, struct stash_list *list, struct error *e)
{
    _cleanup_free_ char *home_path = place_in_box(s->config, s->name, "home");
    _cleanup_close_ int project = -1, home = -1;
    int r = open_below(s->record.aside, NULL, &project, e);
    if (r == 0)
        r = open_below(home_path, NULL, &home, e);
    struct walk_stats stats;
    struct walk_config c = { .project = project,
                             .home = home,
                             .rules = rules,
                             .names_only = true,
                             .excluded = stash_list_add,
                             .excluded_arg = list };
    if (r == 0)
        r = walk_run(&c, no_change, NULL, &stats, e);
    if (r < 0 || list->count == 0)
        return r;
    _cleanup_(stash_closep) struct stash *stash = NULL;
    struct stash_tree from = { .project = project, .home = home, .upper = -1 };
    r = stash_open(s->box_dir, &stash, e);
    return r < 0 ? r : stash_take(stash, &from, list, e);
}

int stashing_take(struct stack *s, const struct stash_list *left_out, struct error *e)
{
    if ((!s->record.upper[0] && !(s->record.full && s->record.aside)) || (left_out && left_out->count == 0))
        return 0;
    _cleanup_(view_close) struct view committed = { 0 };
    struct meta meta = { 0 };
    struct exclude *rules = NULL;
    struct stash_list list = { 0 };
    int r = stack_content(s, e);
    if (r == 0)
        r = view_open_committed(s, &committed, e);
    if (r == 0)
        r = view_meta(&committed.snapshot, &meta, e);
    if (r == 0)
        r = saving_rules(&meta, &rules, e);
    if (r == 0 && s->record.full && s->record.aside)
        r = take_plain(s, rules, &list, e);
    else if (r == 0 && s->record.upper[0])
        r = take_upper(s, &committed, rules, left_out, &list, e);
    size_t count = left_out ? left_out->count : list.count;
    if (r == 0 && count)
        ui_line(s->ui, "kept on this node, not in the snapshot: %s", TEXT_COUNT(count, "excluded entry"));
    stash_list_release(&list);
    exclude_free(rules);
    meta_release(&meta);
    return r < 0 ? error_prefix(e, "put away what is excluded from %s", s->name) : 0;
}

int stashing_leave(struct stack *s, const uint8_t *next, struct error *e)
{
    if (next && memcmp(s->record.incarnation, next, sizeof(s->record.incarnation)) == 0)
        return 0;
    _cleanup_(stash_closep) struct stash *stash = NULL;
    int r = stash_open(s->box_dir, &stash, e);
    if (r < 0 || stash_count(stash) == 0)
        return r;
    char hex[2 * sizeof(s->record.incarnation) + 1];
    text_hex(hex, s->record.incarnation, sizeof(s->record.incarnation));
    _cleanup_free_ char *beside = mem_printf("stash-%s", hex);
    if (renameat(s->box_dir, "stash", s->box_dir, beside) < 0 || fsync(s->box_dir) < 0)
        return error_set(e, ERROR_FAILED, -errno, "put the stash of an earlier box %s aside", s->name);
    ui_warn(s->ui, "what was excluded from an earlier box %s stays in %s/box/%s/%s", s->name, s->config->state_dir,
            s->name, beside);
    return 0;
}

static int stays(void *arg, const char *path, const char *where, struct error *e)
{
    (void)e;
    struct stack *s = arg;
    ui_warn(s->ui, "%s was excluded from the snapshot and meets another entry: it stays in %s/box/%s/%s", path,
            s->config->state_dir, s->name, where);
    return 0;
}

int stashing_return(struct stack *s, struct error *e)
{
    _cleanup_(stash_closep) struct stash *stash = NULL;
    int r = stash_open(s->box_dir, &stash, e);
    if (r < 0 || stash_count(stash) == 0)
        return r;
    bool full = s->record.full;
    _cleanup_free_ char *tree = full ? place_box(s->config, s->name) : place_in_run(s->config, s->name, "tree");
    _cleanup_close_ int project = -1, home = -1;
    r = full ? open_below(s->record.path, NULL, &project, e) : open_below(tree, "project", &project, e);
    if (r == 0)
        r = open_below(tree, "home", &home, e);
    if (r == 0)
        r = stash_return(stash, project, home, stays, s, e);
    return r < 0 ? error_prefix(e, "bring back what was excluded from %s", s->name) : 0;
}
