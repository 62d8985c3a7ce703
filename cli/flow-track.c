/* SPDX-License-Identifier: MIT */
#include "cli/flow.h"

#include "cli/interrupt.h"
#include "cli/mounts.h"
#include "cli/place.h"
#include "cli/project.h"
#include "cli/stashing.h"
#include "index/base/crash.h"
#include "index/base/mem.h"
#include "index/base/remove.h"
#include "index/base/text.h"
#include "index/random.h"
#include "sandbox/import.h"
#include "sync/hold.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

/* What this node knows to be in the store was there for an earlier box of this name, or under an earlier hold. */
static int forget_earlier(struct stack *s, struct error *e)
{
    int r = stack_content(s, e);
    return r < 0 ? r : flow_forget_sent(s, e);
}

/* Somebody else made the box first. What was begun here stands in the way of up and of another name. */
static void hint_existing(const struct stack *s, struct error *e)
{
    if (s->record.state == BOX_TRACKING)
        error_hint(e,
                   "`ag-box drop %s` here forgets what was begun here, no more; then choose another name, or "
                   "`ag-box up %s`",
                   s->name, s->name);
    else
        error_hint(e, "choose another name, or `ag-box up %s`", s->name);
}

/* r: what reading the head came to. */
static int refuse_existing(const struct stack *s, int r, const struct head *head, struct error *e)
{
    if (r == -ENOENT || (r == 0 && head->state == HEAD_TOMBSTONE)) {
        error_clear(e);
        return 0;
    }
    if (r < 0)
        return r;
    error_say(e, ERROR_BUSY, -EEXIST, "box %s exists already (%s, last at %s)", s->name, head->path, head->node);
    return hint_existing(s, e), -EEXIST;
}

int flow_track_refuse(struct stack *s, const char *path, struct error *e)
{
    _cleanup_(head_releasep) struct head head = { 0 };
    int r = project_claim(s, path, e);
    return r < 0 ? r : refuse_existing(s, head_read(s->store, &s->seal, &head, e), &head, e);
}

/* Steps 1 and 2: nobody has a box of this name, and from here on the journal knows of the attempt. */
static int begin(struct stack *s, struct lease *l, const char *path, struct error *e)
{
    _cleanup_(head_releasep) struct head head = { 0 };
    int r = refuse_existing(s, lease_read(l, false, &head, e), &head, e);
    if (r < 0)
        return r;
    if (s->record.state == BOX_TRACKING && s->record.path && strcmp(s->record.path, path) == 0)
        return 0; /* goes on: the packs that were sent are known */
    if (s->record.state == BOX_TRACKING && box_record_in_doubt(&s->record)) {
        error_say(e, ERROR_DOUBT, -EINPROGRESS, "whether %s was created of %s is not known yet", s->name,
                  s->record.path);
        return flow_hint_track(s, e);
    }
    flow_drop_hold(s); /* of another directory's attempt */

    struct box_record *b = &s->record;
    r = remove_tree(s->box_dir, "home", e); /* of an earlier box: a command that was killed may have left it */
    if (r == 0)
        r = stashing_leave(s, NULL, e);
    if (r == 0)
        r = flow_aside_retire(s, e);
    if (r == 0)
        r = forget_earlier(s, e);
    if (r < 0)
        return r;
    free(b->path);
    b->path = mem_strdup(path);
    b->state = BOX_TRACKING;
    b->full = true;
    b->upper[0] = '\0';
    b->base = b->committed = b->fork = (struct snapshot_id){ 0 };
    random_bytes(b->incarnation, sizeof(b->incarnation));
    hold_new_writer(&s->node, &b->writer);
    return stack_save_record(s, e);
}

/* What the host's user has said to agents about this project. */
static int import(struct stack *s, const char *path, struct import_report *ret, struct error *e)
{
    _cleanup_free_ char *home = place_in_box(s->config, s->name, "home");
    _cleanup_close_ int fd = open(home, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return error_set(e, ERROR_FAILED, -errno, "open %s", home);
    int r = import_sessions(config_home(), fd, path, interrupt_check, ret, e);
    return r < 0 && r != -EINTR ? error_hint(e, "ag-box track --no-sessions does without them") : r;
}

static void tell_import(struct ui *ui, const struct import_report *i)
{
    static const char *const key[CREDENTIALS_AGENTS] = { "claude", "codex", "grok" };
    static const char *const agent[CREDENTIALS_AGENTS] = { "Claude Code", "Codex", "Grok" };
    _cleanup_(buf_release) struct buf said = { 0 };
    json_t *sessions = json_object();
    for (int a = 0; a < CREDENTIALS_AGENTS; a++) {
        unsigned long long n = i->sessions[a];
        json_object_set_new(sessions, key[a], json_integer((json_int_t)n));
        if (n && said.len)
            buf_printf(&said, ", %llu of %s", n, agent[a]);
        else if (n)
            buf_printf(&said, "%s of %s", TEXT_COUNT(n, "session"), agent[a]);
    }
    char size[16];
    text_size(size, i->bytes);
    if (said.len)
        ui_line(ui, "imported %s: %s, %s", buf_string(&said), TEXT_COUNT(i->files, "file"), size);
    if (i->left_out)
        ui_line(ui, "left out of the sessions, for no directory is told or it is no plain file: %s",
                TEXT_COUNT(i->left_out, "file"));
    ui_field(ui, "sessions", sessions);
    ui_field_integer(ui, "sessions_bytes", (int64_t)i->bytes);
    ui_field_integer(ui, "sessions_left_out", (int64_t)i->left_out);
}

static int save(struct stack *s, const char *path, struct saved *ret, struct meta *meta, struct error *e)
{
    meta->path = mem_strdup(path);
    memcpy(meta->incarnation, s->record.incarnation, sizeof(meta->incarnation));
    struct saving_config c = { .live = true, .project = path, .meta = meta, .epoch = 1 };
    return saving_run(s, &c, ret, e);
}

static int commit(struct stack *s, struct lease *l, const struct saved *saved, const struct meta *meta, struct error *e)
{
    struct lease_commit c = { .root = saved->id, .pin = meta->pin, .path = meta->path, .then = BOX_FULL_HELD };
    int r = lease_create(l, &c, e);
    if (r == -EEXIST)
        hint_existing(s, e);
    if (r < 0)
        return r;
    s->record.base = s->record.committed = saved->id;
    r = stack_save_record(s, e);
    if (r == 0)
        r = flow_keep_committed(s, &saved->snapshot, e);
    return r < 0 ? r : journal_packs_clear(s->journal, e);
}

static void tell(struct stack *s, const struct saved *saved)
{
    _cleanup_free_ char *git = project_git_outside(s->record.path);
    char id[SNAPSHOT_ID_TEXT];
    snapshot_id_text(&saved->id, id);
    ui_field_text(s->ui, "snapshot", id);
    ui_field_integer(s->ui, "files", (int64_t)saved->snapshot.files);
    ui_field_integer(s->ui, "bytes", (int64_t)saved->snapshot.bytes);
    ui_field_integer(s->ui, "sent_bytes", (int64_t)saved->stats.sent_bytes);
    ui_field_integer(s->ui, "skipped_sockets", (int64_t)saved->sockets);
    ui_line(s->ui, "%s is a box now: snapshot %.8s, %s; the directory stays as it is and in use", s->name, id,
            TEXT_COUNT(saved->snapshot.files, "file"));
    if (saved->sockets)
        ui_line(s->ui, "left out: %s", TEXT_COUNT(saved->sockets, "socket"));
    if (saved->pinned)
        ui_line(s->ui, "pinned to %s: an .auth-secret stays on its node", s->config->node);
    if (git)
        ui_warn(s->ui,
                "git will not work in the box: it needs %s, outside of the project; track a directory that has both",
                git);
}

int flow_track(struct stack *s, const char *path, bool sessions, struct error *e)
{
    enum box_state state = s->record.state;
    if (state == BOX_FULL_HELD && s->record.path && strcmp(s->record.path, path) == 0) {
        ui_line(s->ui, "%s is tracked already, here", s->name);
        return mounts_ensure_daemon(s, e);
    }
    if (!box_state_away(state) && state != BOX_TRACKING) {
        error_say(e, ERROR_BUSY, -EEXIST, "box %s is on this node already, at %s", s->name,
                  s->record.path ? s->record.path : "?");
        return error_hint(e, "choose another name");
    }
    struct import_report imported = { 0 };
    struct lease l;
    flow_lease(s, &l);
    int r = state == BOX_PARKED ? flow_clean_all(s, e) : 0;
    if (r == 0)
        r = begin(s, &l, path, e);
    if (r == 0 && (r = project_claim(s, path, e)) < 0 && state != BOX_TRACKING)
        flow_set_state(s, BOX_NONE, NULL); /* of two that begin at the same time each sees the other by now */
    if (r == 0)
        r = project_make_home(s, path, e);
    if (r == 0 && sessions)
        r = import(s, path, &imported, e);
    if (r == 0)
        r = hold_put(s->store, &s->seal, &s->record.writer, &s->node, &s->record.base, e);
    if (r == 0)
        r = stack_content(s, e);
    if (r < 0)
        return r;

    struct meta meta = { 0 };
    struct saved saved = { 0 };
    r = save(s, path, &saved, &meta, e);
    if (r == 0)
        r = commit(s, &l, &saved, &meta, e);
    if (r == 0) {
        tell(s, &saved);
        tell_import(s->ui, &imported);
        r = mounts_start_daemon(s, e);
    }
    if (r == 0)
        mounts_tell_held(s);
    meta_release(&meta);
    saved_release(&saved);
    return r;
}
