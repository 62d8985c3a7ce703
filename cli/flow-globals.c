/* SPDX-License-Identifier: MIT */
#include "cli/flow-globals.h"

#include "cli/filling.h"
#include "cli/flow.h"
#include "cli/place.h"
#include "cli/visit.h"
#include "index/base/crash.h"
#include "index/base/mem.h"
#include "index/base/text.h"
#include "index/compare.h"
#include "index/difference.h"
#include "index/names.h"
#include "index/random.h"
#include "index/walk.h"
#include "sync/hold.h"

#include <errno.h>
#include <fcntl.h>

#define SHOWN 20
#define LEASE_S 300 /* it lasts from one PUT to the next */

static void open_lease(struct stack *s, struct lease *ret)
{
    flow_lease(s, ret);
    ret->ttl_s = LEASE_S;
}

/* ret->seq is 0 where nothing was ever pushed. */
static int read_head(struct stack *s, struct lease *l, bool accept_rollback, struct head *ret, struct error *e)
{
    struct error why = { 0 };
    int r = lease_read(l, false, ret, &why);
    if (r == -ESTALE && accept_rollback) {
        ui_warn(s->ui, "%s; taken as it is", why.text);
        r = lease_read(l, true, ret, &why);
    }
    if (r == -ENOENT)
        return 0;
    if (r == -ESTALE && strstr(why.hint, "--accept-rollback"))
        error_hint(&why, "if the store was restored from a copy on purpose: `ag-box globals` with --accept-rollback");
    if (r < 0)
        error_pass(e, &why);
    return r;
}

/* What a push that was cut off has left: its outcome, the lease, its hold. */
static int settle(struct stack *s, struct lease *l, struct error *e)
{
    struct error why = { 0 };
    int r = flow_resolve(s, e);
    if (r == 0 && s->record.state != BOX_NONE) {
        r = lease_free(l, BOX_NONE, &why);
        if (r == -ESTALE) /* it went on without us */
            r = flow_set_state(s, BOX_NONE, &why);
        if (r < 0)
            error_pass(e, &why);
    }
    if (r < 0)
        return r;
    flow_drop_hold(s);
    return stack_save_record(s, e);
}

static bool is_root(const struct head *h, const struct snapshot_id *id)
{
    return h->seq > 0 && snapshot_id_equal(&h->root, id);
}

/* --- push */

/*
 * One way: what another node has pushed since the two agreed would be lost without a word. So would all of it, if a
 * node that was set up anew, with an empty HOME and its old name, pushed that.
 */
static int refuse_other(const struct stack *s, const struct head *h, bool force, struct error *e)
{
    if (h->seq == 0 || is_root(h, &s->record.base) || is_root(h, &s->record.committed))
        return 0;
    if (force) {
        ui_warn(s->ui, "what %s has pushed is replaced", h->node);
        return 0;
    }
    bool same_name = strcmp(h->node, s->config->node) == 0;
    error_say(e, ERROR_HELD, -ESTALE,
              same_name ? "%s has pushed what this machine's state does not know of"
                        : "%s has pushed since this node last pushed or pulled",
              h->node);
    return error_hint(e, "`ag-box globals pull --force` takes what it pushed, `push --force` replaces it"), -ESTALE;
}

/* What one HOME has not would go from all nodes: of a program that was started with another one, it is not meant. */
static int refuse_home(const struct stack *s, const struct head *h, bool force, struct error *e)
{
    if (h->seq == 0 || force || strcmp(h->node, s->config->node) != 0 || strcmp(h->path, config_home()) == 0)
        return 0;
    error_say(e, ERROR_USAGE, -EINVAL, "%s is the HOME that was pushed from here last, now it is %s", h->path,
              config_home());
    return error_hint(e, "set HOME as it was; `ag-box globals push --force` pushes this one instead"), -EINVAL;
}

/* As of a disk that is not mounted. */
static int refuse_nothing(struct stack *s, const struct head *h, bool force, struct error *e)
{
    _cleanup_free_ char *home = place_in_box(s->config, s->name, "home");
    _cleanup_close_ int fd = open(home, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    _cleanup_(names_release) struct names l = { 0 };
    int r = fd < 0 ? error_set(e, ERROR_FAILED, -errno, "open %s", home) : names_read(fd, &l, e);
    if (r < 0 || h->seq == 0 || force || l.count > 0)
        return r;
    error_say(e, ERROR_USAGE, -ENOENT, "there is nothing to push in %s, and what was pushed before would go",
              config_home());
    return error_hint(e, "`ag-box globals push --force` takes it from all nodes"), -ENOENT;
}

static int on_difference(void *arg, char letter, const char *path, struct error *e)
{
    (void)path;
    (void)e;
    *(bool *)arg |= letter != DIFFERENCE_TIME;
    return 0;
}

static int open_parts(struct stack *s, int *ret_project, int *ret_home, struct error *e)
{
    _cleanup_free_ char *project = place_in_box(s->config, s->name, "empty"),
                        *home = place_in_box(s->config, s->name, "home");
    *ret_project = open(project, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    *ret_home = open(home, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return *ret_project < 0 || *ret_home < 0 ? error_set(e, ERROR_FAILED, -errno, "open %s", home) : 0;
}

/* Asked before there is a hold, since a timer asks it every hour: mostly it costs no request. */
static int differs(struct stack *s, struct view *base, bool *ret, struct error *e)
{
    _cleanup_close_ int project = -1, home = -1;
    struct walk_stats stats;
    struct hash_key key;
    int r = open_parts(s, &project, &home, e);
    if (r < 0)
        return r;
    keys_identity(&s->keys, s->name, &key);
    struct walk_config c = { .project = project, .home = home, .journal = s->journal };
    _cleanup_(difference_freep) struct difference *d = difference_new(base->tree, view_source(base), &key);
    _cleanup_(compare_freep) struct compare *compare =
        compare_new(base->tree, (struct bytes){ 0 }, difference_change, d);
    r = walk_run(&c, compare_change, compare, &stats, e);
    if (r == 0)
        r = compare_finish(compare, e);
    *ret = false;
    return r < 0 ? r : difference_tell(d, on_difference, ret, e);
}

static int open_base(struct stack *s, const struct head *h, struct view *ret, struct error *e)
{
    return is_root(h, &s->record.committed) ? view_open_committed(s, ret, e) : view_open_id(s, &h->root, ret, e);
}

/*
 * A hold, and nothing known to be in the store but what the base has: packs of a push that was not committed, which the
 * stat cache tells of, too, may be gone since.
 */
static int take_hold(struct stack *s, const struct head *h, struct error *e)
{
    static const struct snapshot_id none = { { 0 } };
    if (h->seq > 0)
        memcpy(s->record.incarnation, h->incarnation, sizeof(h->incarnation));
    else
        random_bytes(s->record.incarnation, sizeof(s->record.incarnation));
    hold_new_writer(&s->node, &s->record.writer);
    int r = flow_forget_sent(s, e);
    if (r == 0)
        r = stack_save_record(s, e);
    return r < 0 ? r : hold_put(s->store, &s->seal, &s->record.writer, &s->node, h->seq ? &h->root : &none, e);
}

static int save(struct stack *s, const struct head *h, struct view *base, struct saved *ret, struct error *e)
{
    _cleanup_free_ char *project = place_in_box(s->config, s->name, "empty");
    struct meta meta = { 0 };
    int r = base->open ? view_meta(&base->snapshot, &meta, e) : 0;
    free(meta.path);
    meta.path = mem_strdup(config_home());
    memcpy(meta.incarnation, s->record.incarnation, sizeof(meta.incarnation));
    struct saving_config c = { .project = project,
                               .meta = &meta,
                               .parent = base->open ? &base->snapshot : NULL,
                               .base = base->open ? base : NULL,
                               .epoch = h->epoch + 1 };
    if (r == 0)
        r = saving_run(s, &c, ret, e);
    meta_release(&meta);
    return r;
}

static int still_there(void *arg, const struct head *h, struct error *e)
{
    if (snapshot_id_equal(&h->root, arg))
        return 0;
    error_say(e, ERROR_HELD, -EBUSY, "%s has pushed at the same time", h->node);
    return error_hint(e, "have one node with BOX_GLOBALS_ROLE=push; then try again"), -EBUSY;
}

/* The lease is held from one PUT to the next: for the outcome to be decided as a box's is (rule L2). */
static int commit(struct stack *s, struct lease *l, struct head *h, const struct saved *saved, struct error *e)
{
    struct snapshot_id before = h->root;
    struct lease_take take = { .then = BOX_ACQUIRED, .check = still_there, .arg = &before };
    struct lease_commit c = {
        .root = saved->id, .path = config_home(), .frees = h->seq > 0, .then = h->seq > 0 ? BOX_NONE : BOX_ACQUIRED
    };
    int r = h->seq == 0 ? lease_create(l, &c, e) : lease_acquire(l, h, &take, e);
    crash_point("globals-acquired.after");
    if (r < 0)
        return r;
    return h->seq == 0 ? lease_free(l, BOX_NONE, e) : lease_commit(l, &c, e);
}

/* HOME, `last`, the store's newest and the journal say the same. */
static int agree(struct stack *s, const struct snapshot_id *id, struct error *e)
{
    int r = globals_agree(s, e);
    s->record.base = s->record.committed = *id;
    return r < 0 ? r : stack_save_record(s, e);
}

/* saved NULL: nothing had changed. */
static void tell_push(struct stack *s, const struct snapshot_id *id, const struct saved *saved)
{
    char text[SNAPSHOT_ID_TEXT], size[16];
    snapshot_id_text(id, text);
    flow_tell_saved(s, id, saved);
    if (!saved || !saved->changed) {
        ui_line(s->ui, "globals: nothing has changed since snapshot %.8s", text);
        return;
    }
    text_size(size, saved->stats.sent_bytes);
    ui_line(s->ui, "globals: snapshot %.8s, %s, %s sent", text, TEXT_COUNT(saved->snapshot.files, "file"), size);
}

static int send(struct stack *s, struct lease *l, struct head *h, struct view *base, struct error *e)
{
    struct saved saved = { 0 };
    int r = take_hold(s, h, e);
    if (r == 0)
        r = save(s, h, base, &saved, e);
    if (r == 0 && saved.changed)
        r = commit(s, l, h, &saved, e);
    if (r < 0 && e && e->kind == ERROR_DOUBT) { /* the hold keeps what may be committed yet */
        saved_release(&saved);
        return r;
    }
    store_resume(s->store);
    flow_drop_hold(s);
    int stored = stack_save_record(s, r < 0 ? NULL : e);
    r = r < 0 ? r : stored;
    if (r == 0 && saved.changed)
        r = flow_keep_committed(s, &saved.snapshot, e);
    if (r == 0)
        r = agree(s, &saved.id, e);
    if (r == 0)
        tell_push(s, &saved.id, &saved);
    saved_release(&saved);
    return r;
}

int flow_globals_push(struct stack *s, bool force, bool accept_rollback, struct error *e)
{
    struct lease l;
    open_lease(s, &l);
    _cleanup_(head_releasep) struct head head = { 0 };
    _cleanup_(view_close) struct view base = { 0 };
    struct mirror_stats stats = { 0 };
    bool changed = true;
    int r = settle(s, &l, e);
    if (r == 0)
        r = read_head(s, &l, accept_rollback, &head, e);
    if (r == 0)
        r = refuse_other(s, &head, force, e);
    if (r == 0)
        r = refuse_home(s, &head, force, e);
    if (r == 0)
        r = globals_collect(s, &stats, e);
    if (r == 0)
        r = globals_make(s, "empty", e);
    if (r == 0)
        r = stack_content(s, e);
    if (r == 0 && head.seq > 0)
        r = open_base(s, &head, &base, e);
    if (r == 0 && head.seq > 0)
        r = differs(s, &base, &changed, e);
    if (r == 0 && changed)
        r = refuse_nothing(s, &head, force, e);
    if (r < 0 || changed)
        return r < 0 ? r : send(s, &l, &head, &base, e);

    tell_push(s, &head.root, NULL);
    return is_root(&head, &s->record.base) ? 0 : agree(s, &head.root, e);
}

/* --- pull */

/* The newest snapshot to `next`; a hold protects it meanwhile. */
static int fetch(struct stack *s, struct snapshot_id *ret, struct error *e)
{
    _cleanup_(visit_release) struct visit v = VISIT_NONE;
    _cleanup_(view_close) struct view view = { 0 };
    struct fill_stats stats = { 0 };
    struct error why = { 0 };
    _cleanup_close_ int to = globals_begin(s, e);
    if (to < 0)
        return to;
    int r = visit_begin_open(s, NULL, NULL, &v, e);
    if (r < 0)
        return r;
    r = stack_content(s, e);
    if (r == 0)
        r = view_open_id(s, &v.snapshot, &view, e);
    if (r == 0)
        r = filling_run(s, &view, "home", to, false, NULL, &stats, e);
    if (visit_end(s, &v, &why) < 0)
        ui_warn(s->ui, "the hold of this pull stays until the next command can remove it: %s", why.text);
    *ret = v.snapshot;
    crash_point("globals-fetched.after");
    return r;
}

static void tell_pull(struct stack *s, const struct head *h, const struct snapshot_id *id,
                      const struct mirror_stats *stats, json_t *kept, const char *where)
{
    char text[SNAPSHOT_ID_TEXT];
    snapshot_id_text(id, text);
    ui_field_text(s->ui, "snapshot", text);
    ui_field_text(s->ui, "from", h->node);
    ui_field(s->ui, "changed", json_boolean(stats->changed + stats->removed > 0));
    ui_field_integer(s->ui, "files_changed", (int64_t)stats->changed);
    ui_field_integer(s->ui, "files_removed", (int64_t)stats->removed);
    if (stats->changed + stats->removed > 0)
        ui_line(s->ui, "globals: as of snapshot %.8s by %s: %s changed, %llu removed", text, h->node,
                TEXT_COUNT(stats->changed, "file"), (unsigned long long)stats->removed);
    else
        ui_line(s->ui, "globals: all is as in snapshot %.8s by %s", text, h->node);
    if (!where)
        return;
    ui_field_text(s->ui, "kept_in", where);
    size_t count = json_array_size(kept);
    for (size_t i = 0; i < count && i < SHOWN; i++)
        ui_line(s->ui, "  ~/%s was changed here, and is kept in %s",
                json_string_value(json_object_get(json_array_get(kept, i), "path")), where);
    if (count > SHOWN)
        ui_line(s->ui, "  … and %zu more; --json names them", count - SHOWN);
}

static int pull(struct stack *s, const struct head *h, struct error *e)
{
    struct mirror_stats stats = { 0 };
    struct snapshot_id id = h->root;
    bool here = is_root(h, &s->record.base) && globals_have(s, "last");
    int r = here ? 0 : fetch(s, &id, e);
    if (r < 0)
        return r;
    json_t *kept = json_array();
    _cleanup_free_ char *where = NULL;
    r = globals_apply(s, here ? "last" : "next", h->now_ns, &stats, kept, &where, e);
    if (r == 0 && !here)
        r = globals_finish(s, e);
    if (r == 0 && !here) {
        s->record.base = id;
        r = stack_save_record(s, e);
    }
    if (r == 0)
        tell_pull(s, h, &id, &stats, kept, where);
    else if (where)
        ui_warn(s->ui, "what was changed here is kept in %s", where);
    ui_field(s->ui, "kept", kept);
    return r;
}

int flow_globals_pull(struct stack *s, bool accept_rollback, bool *ret_none, struct error *e)
{
    struct lease l;
    open_lease(s, &l);
    _cleanup_(head_releasep) struct head head = { 0 };
    *ret_none = false;
    int r = read_head(s, &l, accept_rollback, &head, e);
    if (r < 0)
        return r;
    *ret_none = head.seq == 0;
    return *ret_none ? 0 : pull(s, &head, e);
}
