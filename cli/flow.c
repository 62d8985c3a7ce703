/* SPDX-License-Identifier: MIT */
#include "cli/flow.h"

#include "cli/flake.h"
#include "cli/globals.h"
#include "cli/mounts.h"
#include "cli/stashing.h"
#include "cli/visit.h"
#include "fusefs/mount.h"
#include "index/base/clock.h"
#include "index/base/crash.h"
#include "index/base/fd.h"
#include "index/base/mem.h"
#include "index/base/remove.h"
#include "index/base/text.h"
#include "sync/hold.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#define HEAD_LOCK_WAIT_MS 10000

void flow_lease(struct stack *s, struct lease *ret)
{
    *ret = (struct lease){ .store = s->store,
                           .seal = s->seal,
                           .journal = s->journal,
                           .record = &s->record,
                           .box_dir = s->box_dir,
                           .node = &s->node,
                           .ttl_s = s->config->lease_ttl_s,
                           .wait_ms = HEAD_LOCK_WAIT_MS };
}

int flow_resolve(struct stack *s, struct error *e)
{
    if (!s->journal || !box_record_in_doubt(&s->record))
        return 0;
    struct lease l;
    flow_lease(s, &l);
    _cleanup_(head_releasep) struct head head = { 0 };
    return lease_resolve(&l, &head, e);
}

int flow_ended(const struct stack *s, const char *command, int r, struct error *e)
{
    if (r < 0 && e && e->kind == ERROR_INTERRUPTED && s->name[0] && s->journal)
        error_hint(e, "%s is in state %s here, and nothing is lost; `ag-box %s %s` goes on", s->name,
                   box_state_name(s->record.state), command, s->name);
    else if (r < 0 && e && !e->hint[0] && (s->record.state == BOX_PARKING || s->record.state == BOX_MOVING))
        error_hint(e, "nothing is lost: `ag-box park %s` goes on, `ag-box up %s` calls the park off", s->name, s->name);
    return r;
}

void flow_saving_close(struct flow_saving *f)
{
    meta_release(&f->meta);
    view_close(&f->base);
    view_close(&f->parent);
}

int flow_saving_open(struct stack *s, struct flow_saving *ret, struct error *e)
{
    const char *aside = s->record.state == BOX_MOVING ? s->record.aside : NULL;
    int r = view_open_committed(s, &ret->parent, e);
    if (r == 0 && !s->record.full)
        r = view_open_base(s, &ret->base, e);
    if (r == 0)
        r = view_meta(&ret->parent.snapshot, &ret->meta, e);
    if (r < 0)
        return r;
    ret->config = (struct saving_config){ .project = aside ? aside : s->record.path,
                                          .meta = &ret->meta,
                                          .parent = &ret->parent.snapshot,
                                          .parent_tree = s->record.full ? NULL : ret->parent.tree,
                                          .base = s->record.full ? &ret->parent : &ret->base,
                                          .epoch = s->record.epoch };
    ret->config.rules_changed = strcmp(ret->parent.snapshot.meta, ret->config.base->snapshot.meta) != 0;
    return 0;
}

int flow_hint_track(const struct stack *s, struct error *e)
{
    _cleanup_free_ char *word = text_word(s->record.path);
    return error_hint(e, "ag-box track %s %s goes on with it", s->name, word);
}

int flow_unfinished(const struct stack *s, struct error *e)
{
    error_say(e, ERROR_UNKNOWN, -ENOENT, "box %s does not exist yet: its first snapshot was not finished", s->name);
    flow_hint_track(s, e);
    return -ENOENT;
}

void flow_tell_shown(struct stack *s, const struct snapshot *n)
{
    char id[SNAPSHOT_ID_TEXT], time[32];
    int64_t age_ns = clock_wall_ns() - n->time_ns;
    snapshot_id_text(&n->id, id);
    text_time(time, n->time_ns);
    ui_field_text(s->ui, "snapshot", id);
    ui_field_text(s->ui, "from_node", n->node);
    ui_field_text(s->ui, "time", time);
    ui_field_integer(s->ui, "age_ms", age_ns > 0 ? age_ns / 1000000 : 0);
    if (s->record.full)
        ui_field(s->ui, "full", json_true());
}

void flow_tell_saved(struct stack *s, const struct snapshot_id *id, const struct saved *saved)
{
    char text[SNAPSHOT_ID_TEXT];
    snapshot_id_text(id, text);
    ui_field_text(s->ui, "snapshot", text);
    ui_field(s->ui, "changed", json_boolean(saved && saved->changed));
    ui_field_integer(s->ui, "sent_bytes", saved ? (int64_t)saved->stats.sent_bytes : 0);
}

int flow_set_state(struct stack *s, enum box_state state, struct error *e)
{
    s->record.state = state;
    return stack_save_record(s, e);
}

int flow_sync_parent(const char *path, struct error *e)
{
    const char *slash = strrchr(path, '/');
    _cleanup_free_ char *parent = slash == path ? mem_strdup("/") : mem_copy(path, (size_t)(slash - path));
    _cleanup_close_ int fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fsync(fd) < 0)
        return error_set(e, ERROR_FAILED, -errno, "fsync %s", parent);
    crash_point("fsync-parent.after");
    return 0;
}

int flow_show(struct stack *s, struct error *e)
{
    int r = stashing_return(s, e);
    return r < 0 ? r : mounts_show(s, e);
}

void flow_sweep(struct stack *s)
{
    flow_aside_sweep(s);
    visit_sweep(s);
    if (strcmp(s->name, TEXT_GLOBALS) == 0)
        globals_sweep(s);
}

int flow_keep_committed(struct stack *s, const struct snapshot *n, struct error *e)
{
    _cleanup_(buf_release) struct buf sealed = { 0 };
    snapshots_seal(n, &s->seal, &sealed);
    return fd_replace(s->box_dir, "committed", sealed.data, sealed.len, e);
}

static void forget_file(struct stack *s, const char *name)
{
    unlinkat(s->box_dir, name, 0);
}

void flow_drop_hold(struct stack *s)
{
    static const struct writer none = { { 0 }, { 0 } };
    struct error e = { 0 };
    if (memcmp(&s->record.writer, &none, sizeof(none)) == 0)
        return;
    if (hold_remove(s->store, s->name, &s->record.writer, &e) == 0)
        s->record.writer = none;
    else
        ui_warn(s->ui, "the hold of %s stays in the store until the next command here (%s)", s->name, e.text);
}

int flow_throw_away(struct stack *s, struct error *e)
{
    int r = mounts_down(s, true, e);
    if (r == 0 && s->record.full) /* the throwing away of a half filled place was cut off */
        r = flow_full_throw_away(s, e);
    if (r == 0 && s->record.upper[0])
        r = remove_tree(s->box_dir, s->record.upper, e);
    if (r == 0)
        s->record.upper[0] = '\0';
    return r;
}

static void tell_user(struct stack *s, pid_t pid)
{
    char name[32], program[32] = "?";
    snprintf(name, sizeof(name), "/proc/%d/comm", (int)pid);
    FILE *f = fopen(name, "re");
    if (f && fgets(program, sizeof(program), f))
        program[strcspn(program, "\n")] = '\0';
    if (f)
        fclose(f);
    ui_warn(s->ui,
            "%s is still mounted for %d %s, in another mount namespace: upper layer and hold stay until that ends",
            s->name, (int)pid, program);
}

/* What is half gone is no upper any more, from which the stash would take what it has, as it no longer is. */
static int remove_upper(struct stack *s, struct error *e)
{
    _cleanup_close_ int layers = openat(s->box_dir, s->record.upper, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (layers < 0 && errno == ENOENT)
        return 0;
    if (layers < 0 || (renameat(layers, "upper", layers, "removed") < 0 && errno != ENOENT))
        return error_set(e, ERROR_FAILED, -errno, "set %s aside", s->record.upper);
    crash_point("upper-removing.after");
    return remove_tree(s->box_dir, s->record.upper, e);
}

int flow_clean_known(struct stack *s, const struct stash_list *left_out, struct error *e)
{
    pid_t user = 0;
    int r = stashing_take(s, left_out, e);
    if (r == 0)
        r = flow_aside_settle(s, e);
    if (r == 0)
        r = s->record.upper[0] ? mounts_end(s, &user, e) : mounts_down(s, true, e);
    if (user) {
        tell_user(s, user);
        return stack_save_record(s, e);
    }
    if (r == 0 && s->record.upper[0])
        r = remove_upper(s, e);
    if (r == 0 && s->record.full)
        r = mounts_stop_daemon(s, e);
    if (r == 0 && s->record.full && s->record.path)
        r = mount_point_guard(s->record.path, e);
    if (r < 0)
        return r;
    flow_drop_hold(s);
    forget_file(s, "base");
    forget_file(s, "committed");
    flake_leave(s);
    s->record.upper[0] = '\0';
    s->record.base = s->record.fork = (struct snapshot_id){ 0 };
    bool full = s->record.full;
    s->record.full = false;
    r = flow_set_state(s, s->record.aside ? BOX_MOVED_ASIDE : BOX_NONE, e);
    crash_point("plain-home.before");
    /* A plain home was committed with the project, and only the box ever had it open. */
    return r == 0 && full ? remove_tree(s->box_dir, "home", e) : r;
}

int flow_clean(struct stack *s, struct error *e)
{
    return flow_clean_known(s, NULL, e);
}

int flow_clean_all(struct stack *s, struct error *e)
{
    int r = flow_clean(s, e);
    if (r < 0 || s->record.state == BOX_NONE || s->record.state == BOX_MOVED_ASIDE)
        return r;
    error_say(e, ERROR_BUSY, -EBUSY, "what was parked of %s is still mounted in another mount namespace", s->name);
    return error_hint(e, "end what uses it there, or take %s up on another node", s->name), -EBUSY;
}

const struct snapshot_id *flow_relied_on(const struct stack *s)
{
    const struct box_record *b = &s->record;
    return snapshot_id_none(&b->base) ? &b->committed : &b->base;
}

int flow_forget_sent(struct stack *s, struct error *e)
{
    int r = cache_known_clear(s->cache, e);
    if (r == 0)
        r = journal_stat_clear(s->journal, e);
    return r < 0 ? r : journal_packs_clear(s->journal, e);
}

bool flow_sent_is_gone(int r, const struct error *e)
{
    return r == -ENODATA && e->kind == ERROR_STORE;
}
