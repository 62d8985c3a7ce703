/* SPDX-License-Identifier: MIT */
#include "cli/saving.h"

#include "cli/flake.h"
#include "cli/interrupt.h"
#include "cli/pending.h"
#include "cli/place.h"
#include "cli/tools.h"
#include "fusefs/control.h"
#include "index/access.h"
#include "index/base/fd.h"
#include "index/base/mem.h"
#include "index/compare.h"
#include "index/upper.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#define UNSETTLED_SHOWN 8
#define BIG_FILES 64
#define BIG_BYTES (1024u * 1024)
#define ACCESS_ANSWER_MS 3000

/* One walk: what its callbacks need. */
struct walking {
    struct stack *stack;
    const struct saving_config *config;
    struct save *save;
    uint64_t expected; /* bytes to read, for the progress line; 0: not known */
    struct tidy_plan plan;
    struct tidy *tidy;         /* NULL: nothing is written anew */
    int project, home, merged; /* where the live files are; merged: of an overlay, both */
    bool saw_secret, content_only;
    json_t *unsettled; /* files that may be torn */
    change_each next;
    void *next_arg;
    char *big[BIG_FILES]; /* written in this session */
    size_t big_count;
};

#define WALKING_NONE(stack_, config_)                                                                                  \
    {                                                                                                                  \
        .stack = (stack_), .config = (config_), .project = -1, .home = -1, .merged = -1                                \
    }

void saved_release(struct saved *s)
{
    snapshot_release(&s->snapshot);
}

int saving_rules(const struct meta *m, struct exclude **ret, struct error *e)
{
    *ret = NULL;
    if (m->exclude_count == 0)
        return 0;
    _cleanup_free_ struct bytes *rules = mem_new(m->exclude_count, sizeof(*rules));
    for (size_t i = 0; i < m->exclude_count; i++)
        rules[i] = (struct bytes){ (const uint8_t *)m->exclude[i], strlen(m->exclude[i]) };
    return exclude_new(rules, m->exclude_count, ret, e);
}

static int on_excluded(void *arg, const char *path, bool directory, struct error *e)
{
    struct walking *w = arg;
    const char *slash = strrchr(path, '/');
    if (strcmp(slash ? slash + 1 : path, EXCLUDE_AUTH_SECRET) == 0)
        w->saw_secret = true;
    struct stash_list *list = w->content_only ? NULL : w->config->left_out;
    return list ? stash_list_add(list, path, directory, e) : 0;
}

static void on_unsettled(void *arg, const char *path)
{
    struct walking *w = arg;
    json_t *one = json_object();
    ui_path_into(one, "path", path, strlen(path));
    json_array_append_new(w->unsettled, one);
    size_t count = json_array_size(w->unsettled);
    if (count <= UNSETTLED_SHOWN)
        ui_warn(w->stack->ui, "%s changed each time it was read: what is saved of it may be torn", path);
    else if (count == UNSETTLED_SHOWN + 1)
        ui_warn(w->stack->ui, "so did others (--json names them)");
}

static int on_progress(void *arg, uint64_t files, uint64_t bytes, uint64_t sent)
{
    (void)sent;
    struct walking *w = arg;
    ui_progress(w->stack->ui, "reading", files, bytes, w->expected);
    return interrupt_seen();
}

int64_t saving_since(struct stack *s, const struct snapshot *newest)
{
    struct stat st;
    if (!newest || !s->record.full || fstatat(s->box_dir, "base", &st, AT_SYMLINK_NOFOLLOW) < 0)
        return newest ? newest->time_ns : 0;
    int64_t filled = st.st_mtim.tv_sec * INT64_C(1000000000) + st.st_mtim.tv_nsec; /* flow-full */
    return filled > newest->time_ns ? filled : newest->time_ns;
}

uint64_t saving_pending(struct stack *s, const struct saving_config *c)
{
    _cleanup_free_ char *upper = mem_printf("%s/box/%s/%s/upper", s->config->state_dir, s->name, s->record.upper);
    uint64_t bytes = 0;
    pending_bytes(s->record.upper[0] ? upper : c->project, saving_since(s, c->parent), &bytes, NULL);
    return bytes;
}

static int open_directory(const char *path, int *ret, struct error *e)
{
    *ret = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    return *ret < 0 ? error_set(e, ERROR_FAILED, -errno, "open %s", path) : 0;
}

int saving_open_upper(struct stack *s, int *ret_upper, int *ret_merged, struct error *e)
{
    _cleanup_free_ char *upper = mem_printf("%s/box/%s/%s/upper", s->config->state_dir, s->name, s->record.upper);
    _cleanup_free_ char *tree = place_in_run(s->config, s->name, "tree");
    int r = open_directory(upper, ret_upper, e);
    if (r == 0)
        r = open_directory(tree, ret_merged, e);
    return r;
}

/* --- what is written anew (rule S4) */

static int open_live(void *arg, const char *path)
{
    const struct walking *w = arg;
    const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK;
    if (w->merged >= 0)
        return fd_open_beneath(w->merged, path, flags, 0);
    const char *below = strchr(path, '/');
    return below ? fd_open_beneath(strncmp(path, "project/", 8) == 0 ? w->project : w->home, below + 1, flags, 0)
                 : -ENOENT;
}

static int plan_tidy(struct walking *w, struct error *e)
{
    struct view *base = w->config->base;
    const struct tidy_plan *given = w->config->avoid;
    if (given && base) {
        w->plan = *given;
        w->plan.avoid = mem_copy(given->avoid, given->avoid_count * sizeof(*given->avoid));
    }
    if (given || !w->config->tidy || !base)
        return 0;
    return tidy_plan_make(w->stack->store, w->stack->name, &base->snapshot, base->tree, view_source(base), &w->plan, e);
}

/*
 * The next session's first write to such a file copies all of it (rule O8): session logs and databases are to be here
 * by then. In a lazy box what the upper holds is what this session wrote.
 */
static bool is_big_and_written(const struct change *c)
{
    const struct entry *n = c->entry;
    return c->kind == CHANGE_PUT && n->type == ENTRY_FILE && n->size >= BIG_BYTES &&
           (!c->content_known || !c->base || c->base->size != n->size || c->base->mtime_ns != n->mtime_ns);
}

static int note_big(void *arg, const struct change *c, struct error *e)
{
    struct walking *w = arg;
    _cleanup_(buf_release) struct buf path = { 0 };
    if (w->big_count < BIG_FILES && is_big_and_written(c) && key_to_path(c->key, &path) == 0)
        w->big[w->big_count++] = mem_strdup(buf_string(&path));
    return w->next(w->next_arg, c, e);
}

/* The first step behind the walker: *ret_arg is for the one that is returned. */
static change_each first_step(struct walking *w, void **ret_arg)
{
    struct tidy_config c = { .plan = &w->plan,
                             .tree = w->config->base ? w->config->base->tree : NULL,
                             .source = w->config->base ? view_source(w->config->base) : NULL,
                             .open = open_live,
                             .open_arg = w,
                             .each = save_change,
                             .each_arg = w->save };
    *ret_arg = w->save;
    if (w->plan.avoid_count == 0)
        return save_change;
    *ret_arg = w->tidy = tidy_new(&c);
    return tidy_change;
}

/* --- the walk */

static int walk_upper(struct walking *w, const struct exclude *rules, struct walk_stats *stats, struct error *e)
{
    _cleanup_close_ int upper = -1;
    int r = saving_open_upper(w->stack, &upper, &w->merged, e);
    if (r < 0)
        return r;
    struct upper_config c = { .upper = upper,
                              .merged = w->merged,
                              .base = w->config->base->tree,
                              .rules = rules,
                              .rules_changed = w->config->rules_changed,
                              .journal = w->stack->journal,
                              .live = w->config->live,
                              .excluded = on_excluded,
                              .excluded_arg = w };
    w->next = first_step(w, &w->next_arg);
    return upper_run(&c, note_big, w, stats, e);
}

static int walk_full(struct walking *w, const struct exclude *rules, struct walk_stats *stats, struct error *e)
{
    void *arg;
    _cleanup_free_ char *home_path = place_in_box(w->stack->config, w->stack->name, "home");
    int r = open_directory(w->config->project, &w->project, e);
    if (r == -ENOENT)
        error_hint(e, SAVING_GONE);
    if (r == 0)
        r = open_directory(home_path, &w->home, e);
    if (r < 0)
        return r;
    struct walk_config c = { .project = w->project,
                             .home = w->home,
                             .rules = rules,
                             .journal = w->stack->journal,
                             .live = w->config->live,
                             .excluded = on_excluded,
                             .excluded_arg = w };
    change_each each = first_step(w, &arg);
    _cleanup_(compare_freep) struct compare *compare =
        compare_new(w->config->base ? w->config->base->tree : NULL, (struct bytes){ 0 }, each, arg);
    r = walk_run(&c, compare_change, compare, stats, e);
    return r < 0 ? r : compare_finish(compare, e);
}

static int open_save(struct walking *w, struct error *e)
{
    struct stack *s = w->stack;
    const struct saving_config *c = w->config;
    struct save_config sc = {
        .push = { .store = s->store,
                  .seal = s->seal,
                  .cache = s->cache,
                  .journal = s->journal,
                  .writer = s->record.writer,
                  .avoid = &w->plan,
                  .progress = on_progress,
                  .progress_arg = w },
        .source = c->base ? view_source(c->base) : fetch_source(s->fetch),
        .base = c->base ? &c->base->snapshot : NULL,
        .base_tree = c->base ? c->base->tree : NULL,
        .parent = c->parent,
        .parent_tree = c->parent_tree,
        .node = s->config->node,
        .incarnation = s->record.incarnation,
        .epoch = c->epoch,
        .unsettled = c->live && !w->content_only ? on_unsettled : NULL,
        .unsettled_arg = w,
        .all_metadata = w->plan.metadata,
        .content_only = w->content_only,
    };
    keys_cutting(&s->keys, s->name, &sc.cut_key);
    return save_new(&sc, &w->save, e);
}

/* What this session touched first, from the daemon; a daemon that does not answer costs only the list. */
static void get_access_list(struct stack *s, struct buf *ret)
{
    if (!s->record.upper[0])
        return;
    _cleanup_free_ char *path = place_in_run(s->config, s->name, "socket");
    json_t *request = json_pack("{s:s}", "command", "access"), *answer = NULL;
    int r = control_call(path, request, ACCESS_ANSWER_MS, &answer, NULL);
    json_decref(request);
    if (r == 0 && json_is_true(json_object_get(answer, "written")))
        fd_read_file(s->box_dir, "access", ACCESS_MAX, ret, NULL);
    json_decref(answer);
}

/* Who is not in the box may have written all the same. */
static bool is_one_instant(struct walking *w)
{
    struct still *still = w->config->still;
    if (still && json_array_size(w->unsettled) > 0)
        still->one_instant = false;
    return !w->config->live || (still && still->one_instant);
}

static int finish(struct walking *w, const struct walk_stats *stats, struct saved *ret, struct error *e)
{
    const struct saving_config *c = w->config;
    if (w->saw_secret && !c->meta->pin[0]) {
        snprintf(c->meta->pin, sizeof(c->meta->pin), "%s", w->stack->config->node);
        ret->pinned = true;
    }
    _cleanup_free_ char *meta = NULL, *with_tools = NULL;
    int r = meta_encode(c->meta, &meta, e);
    if (r < 0)
        return r;
    struct tools tools;
    tools_look(w->stack->config, &tools);
    tools_record(&tools, c->meta); /* other tools alone are no reason for a snapshot */
    flake_record(w->stack, c->meta);
    r = meta_encode(c->meta, &with_tools, e);
    if (r < 0)
        return r;
    _cleanup_(buf_release) struct buf touched = { 0 }, access = { 0 };
    get_access_list(w->stack, &touched);
    r = touched.len ? access_put_first(buf_bytes(&touched), w->big, w->big_count, &access, e) : 0;
    if (r < 0)
        return r;
    struct save_end end = { .meta = meta,
                            .meta_then = with_tools,
                            .sockets = stats->sockets,
                            .one_instant = is_one_instant(w),
                            .access = buf_bytes(&access) };
    r = save_finish(w->save, &end, &ret->snapshot, &ret->changed, &ret->stats, e);
    ret->id = ret->snapshot.id;
    ret->sockets = stats->sockets;
    ret->excluded = stats->excluded;
    return r;
}

/* Without it the snapshot is none of one instant, which it says. */
static void hold(struct stack *s, struct still *still)
{
    struct error why = { 0 };
    if (still && still_begin(s, still, &why) < 0)
        ui_warn(s->ui, "%s writes on while it is read: %s", s->name, why.text);
}

static int walk(struct walking *w, const struct exclude *rules, struct walk_stats *stats, struct error *e)
{
    struct still *still = w->content_only ? NULL : w->config->still;
    hold(w->stack, still);
    int r = w->stack->record.upper[0] ? walk_upper(w, rules, stats, e) : walk_full(w, rules, stats, e);
    if (still)
        still_end(still);
    return r;
}

static int save_walk(struct stack *s, const struct saving_config *c, const struct exclude *rules, bool content_only,
                     struct saved *ret, struct error *e)
{
    struct walking w = WALKING_NONE(s, c);
    w.content_only = content_only;
    struct walk_stats stats = { 0 };
    w.unsettled = json_array();
    w.expected = ui_shows_progress(s->ui) ? saving_pending(s, c) : 0;
    int r = plan_tidy(&w, e);
    if (r == 0)
        r = open_save(&w, e);
    if (r == 0)
        r = journal_stat_begin(s->journal, e);
    if (r == 0) {
        r = walk(&w, rules, &stats, e);
        if (r == 0 && w.tidy)
            r = tidy_finish(w.tidy, e);
        if (r == 0)
            r = content_only ? save_content_end(w.save, &ret->stats, e) : finish(&w, &stats, ret, e);
        r = journal_stat_end(s->journal, r, e);
    }
    if (r == 0 && c->live)
        ui_field(s->ui, "unsettled", json_incref(w.unsettled));
    json_decref(w.unsettled);
    for (size_t i = 0; i < w.big_count; i++)
        free(w.big[i]);
    save_free(w.save);
    tidy_free(w.tidy);
    tidy_plan_release(&w.plan);
    mem_closep(&w.project);
    mem_closep(&w.home);
    mem_closep(&w.merged);
    return r;
}

static int save(struct stack *s, const struct saving_config *c, bool content_only, struct saved *ret, struct error *e)
{
    struct exclude *rules;
    *ret = (struct saved){ 0 };
    int r = saving_rules(c->meta, &rules, e);
    if (r < 0)
        return r;
    r = save_walk(s, c, rules, content_only, ret, e);
    exclude_free(rules);
    ui_progress_end(s->ui);
    return r;
}

int saving_send(struct stack *s, const struct saving_config *c, uint64_t *ret_sent, struct error *e)
{
    struct saved ahead;
    int r = save(s, c, true, &ahead, e);
    if (r == 0)
        *ret_sent = ahead.stats.sent_bytes;
    return r;
}

int saving_run(struct stack *s, const struct saving_config *c, struct saved *ret, struct error *e)
{
    return save(s, c, false, ret, e);
}
