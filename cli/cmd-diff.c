/* SPDX-License-Identifier: MIT */
#include "cli/commands.h"
#include "cli/flow.h"
#include "cli/interrupt.h"
#include "cli/mounts.h"
#include "cli/patience.h"
#include "cli/place.h"
#include "index/base/mem.h"
#include "index/base/text.h"
#include "index/compare.h"
#include "index/difference.h"
#include "index/upper.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

static int open_directory(const char *path, int *ret, struct error *e)
{
    *ret = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    return *ret < 0 ? error_set(e, ERROR_FAILED, -errno, "open %s", path) : 0;
}

static int walk_lazy(struct stack *s, struct view *base, const struct exclude *rules, bool rules_changed,
                     struct difference *d, struct error *e)
{
    _cleanup_close_ int upper = -1, merged = -1;
    enum mounts_state mounted;
    _cleanup_(patience_end) struct patience *p = NULL;
    int r = patience_begin(s, &p, e);
    if (r == 0)
        r = mounts_look(s, &mounted, e);
    if (r == 0 && (mounted == MOUNTS_TREE || mounted == MOUNTS_SHOWN)) {
        r = saving_open_upper(s, &upper, &merged, e);
    } else if (r == 0) { /* a crash or reboot: the upper says it all */
        _cleanup_free_ char *path = mem_printf("%s/box/%s/%s/upper", s->config->state_dir, s->name, s->record.upper);
        r = open_directory(path, &upper, e);
    }
    if (r < 0)
        return r;
    struct upper_config c = { .upper = upper,
                              .merged = merged,
                              .base = base->tree,
                              .rules = rules,
                              .rules_changed = rules_changed,
                              .journal = s->journal,
                              .live = true };
    struct walk_stats stats;
    return upper_run(&c, difference_change, d, &stats, e);
}

static int walk_full(struct stack *s, struct view *base, const struct exclude *rules, struct difference *d,
                     struct error *e)
{
    const struct box_record *b = &s->record;
    bool aside = b->aside && access(b->path, F_OK) < 0;
    _cleanup_close_ int project = -1, home = -1;
    _cleanup_free_ char *home_path = place_in_box(s->config, s->name, "home");
    int r = open_directory(aside ? b->aside : b->path, &project, e);
    if (r == 0)
        r = open_directory(home_path, &home, e);
    if (r < 0)
        return r;
    struct walk_config c = { .project = project, .home = home, .rules = rules, .journal = s->journal, .live = true };
    struct walk_stats stats;
    _cleanup_(compare_freep) struct compare *compare =
        compare_new(base->tree, (struct bytes){ 0 }, difference_change, d);
    r = walk_run(&c, compare_change, compare, &stats, e);
    return r < 0 ? r : compare_finish(compare, e);
}

struct telling {
    struct ui *ui;
    json_t *changes;
};

/* The project's paths plain, those of the home behind "home:". */
static void shown_path(const char *path, struct buf *to)
{
    bool home = strncmp(path, "home", 4) == 0 && (path[4] == '/' || !path[4]);
    const char *slash = strchr(path, '/'), *below = slash ? slash + 1 : "";
    if (home)
        buf_printf(to, "home:");
    else if (!*below)
        buf_printf(to, ".");
    else if (strncmp(below, "home:", 5) == 0)
        buf_printf(to, "./");
    buf_add(to, below, strlen(below));
}

static int tell(void *arg, char letter, const char *path, struct error *e)
{
    (void)e;
    struct telling *t = arg;
    letter = letter == DIFFERENCE_TIME ? 'M' : letter;
    _cleanup_(buf_release) struct buf line = { 0 };
    buf_printf(&line, "%c\t", letter);
    shown_path(path, &line);
    char change[2] = { letter };
    json_t *o = json_pack("{s:s}", "change", change);
    ui_path_into(o, "path", line.data + 2, line.len - 2);
    json_array_append_new(t->changes, o);
    /* Names are the box's to choose, and the terminal is the host's. */
    _cleanup_(buf_release) struct buf shown = { 0 };
    buf_add(&shown, line.data, 2);
    text_escape(&shown, line.data + 2, line.len - 2);
    buf_add(&shown, "\n", 1);
    ui_bytes(t->ui, shown.data, shown.len);
    return 0;
}

static int asked(void *arg, struct error *e)
{
    (void)arg;
    return interrupt_check(e);
}

/* The base's rules are what the base was saved by; the newest are those that the next snapshot goes by. */
static int compare_trees(struct stack *s, struct view *base, struct view *newest, struct error *e)
{
    struct meta meta = { 0 };
    struct exclude *rules = NULL;
    struct hash_key key;
    keys_identity(&s->keys, s->name, &key);
    _cleanup_(difference_freep) struct difference *d = difference_new(base->tree, view_source(base), &key);
    difference_ask(d, asked, NULL);
    int r = view_meta(&newest->snapshot, &meta, e);
    if (r == 0)
        r = saving_rules(&meta, &rules, e);
    if (r == 0 && s->record.upper[0])
        r = walk_lazy(s, base, rules, strcmp(base->snapshot.meta, newest->snapshot.meta) != 0, d, e);
    else if (r == 0)
        r = walk_full(s, base, rules, d, e);
    struct telling t = { s->ui, json_array() };
    if (r == 0)
        r = difference_tell(d, tell, &t, e);
    ui_field(s->ui, "changes", t.changes);
    exclude_free(rules);
    meta_release(&meta);
    return r;
}

static bool has_tree(const struct box_record *b)
{
    switch (b->state) {
    case BOX_FULL_HELD:
    case BOX_MOUNTED:
    case BOX_PARKING:
    case BOX_MOVING:
    case BOX_FENCED:
        return true;
    case BOX_NONE:
    case BOX_TRACKING:
    case BOX_ACQUIRED:
    case BOX_PREPARING:
    case BOX_FILLING:
    case BOX_PARKED:
    case BOX_MOVED_ASIDE:
    case BOX_STATE_COUNT:
        break;
    }
    return false;
}

static int run(struct cmd_context *c, struct error *e)
{
    _cleanup_(stack_close) struct stack s = STACK_NONE;
    int r = stack_open(&s, c->config, c->ui, e);
    if (r == 0)
        r = stack_peek(&s, c->arguments[0], e);
    if (r < 0)
        return r;
    if (!has_tree(&s.record)) {
        error_say(e, ERROR_UNKNOWN, -ENOENT, "box %s has no working tree here", s.name);
        return error_hint(e, "ag-box up %s", s.name);
    }
    _cleanup_(view_close) struct view newest = { 0 }, base = { 0 };
    r = stack_store(&s, e);
    if (r == 0)
        r = stack_content(&s, e);
    if (r == 0)
        r = view_open_committed(&s, &newest, e);
    if (r == 0 && s.record.upper[0])
        r = view_open_base(&s, &base, e);
    return r < 0 ? r : compare_trees(&s, s.record.upper[0] ? &base : &newest, &newest, e);
}

const struct cmd cmd_diff = {
    .name = "diff",
    .summary = "what differs between the working tree and its base",
    .arguments = "NAME",
    .details =
        "One line a change, a letter, a tab and a path: A added, M modified, D deleted, R renamed (its new path),\n"
        "T of another type. Paths are relative to the project; those of the box's home begin with `home:`.\n"
        "The base is the snapshot that was mounted; of a box in plain directories, the last snapshot.",
    .arguments_min = 1,
    .arguments_max = 1,
    .run = run,
};
