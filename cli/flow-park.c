/* SPDX-License-Identifier: MIT */
#include "cli/flow.h"

#include "cli/box.h"
#include "cli/holders.h"
#include "cli/mounts.h"
#include "cli/patience.h"
#include "cli/place.h"
#include "fusefs/mount.h"
#include "fusefs/overlay.h"
#include "index/base/clock.h"
#include "index/base/crash.h"
#include "index/base/mem.h"
#include "index/base/text.h"
#include "index/random.h"
#include "sync/pack.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#define HOLDERS_SHOWN 16

/* Names who would still write, the box excepted; -EBUSY. none: what to say if nobody is found. */
static int refuse_writers(struct stack *s, const char *root, const char *below, const char *none, struct error *e)
{
    struct stat st;
    if (stat(root, &st) < 0) {
        int r = error_set(e, ERROR_FAILED, -errno, "%s", root);
        if (r == -ENOENT)
            error_hint(e, SAVING_GONE);
        return r;
    }
    struct holder found[HOLDERS_SHOWN];
    size_t count = HOLDERS_SHOWN;
    int r = holders_find(st.st_dev, below, box_running(s), found, &count, e);
    if (r < 0 || (count == 0 && !none))
        return r;
    json_t *list = json_array();
    _cleanup_(buf_release) struct buf text = { 0 };
    for (size_t i = 0; i < count; i++) {
        json_t *one = json_pack("{s:i}", "pid", (int)found[i].pid);
        ui_path_into(one, "program", found[i].program, strlen(found[i].program)); /* the kernel cuts it anywhere */
        ui_path_into(one, "path", found[i].path, strlen(found[i].path));
        json_array_append_new(list, one);
        ui_note(s->ui, "  %d %s has %s open for writing", (int)found[i].pid, found[i].program, found[i].path);
    }
    ui_field(s->ui, "holders", list);
    if (count)
        error_say(e, ERROR_BUSY, -EBUSY, "%s is in use: %d %s writes %s%s", s->name, (int)found[0].pid,
                  found[0].program, found[0].path, count > 1 ? ", and others" : "");
    else
        error_say(e, ERROR_BUSY, -EBUSY, "%s is in use: %s", s->name, none);
    error_hint(e, "end what writes there, then park again; nothing has changed");
    return -EBUSY;
}

/* P3. */
static int freeze(struct stack *s, struct error *e)
{
    _cleanup_free_ char *tree = place_in_run(s->config, s->name, "tree");
    crash_point("remount-ro.before");
    int r = overlay_freeze(tree, e);
    crash_point("remount-ro.after");
    if (r != -EBUSY)
        return r;
    return refuse_writers(s, tree, NULL, "a file in it is open for writing, mapped, or open and deleted", e);
}

static int name_aside(struct stack *s, struct error *e)
{
    char id[17];
    if (s->record.aside)
        return 0;
    random_hex(id, 8);
    s->record.aside = place_aside(s->record.path, id);
    if (s->record.state == BOX_FULL_HELD)
        s->record.state = BOX_MOVING;
    return stack_save_record(s, e);
}

/* T3: the directory moves aside before it is walked, so that whoever comes by its path later finds nothing to write to.
 */
static int move_aside(struct stack *s, struct error *e)
{
    struct stat st;
    if (s->record.state == BOX_FULL_HELD)
        free(mem_steal(s->record.aside));
    if (s->record.aside && lstat(s->record.aside, &st) == 0)
        return 0;
    int r = refuse_writers(s, s->record.path, s->record.path, NULL, e);
    if (r == 0)
        r = name_aside(s, e);
    if (r < 0)
        return r;
    crash_point("rename-aside.before");
    if (rename(s->record.path, s->record.aside) < 0)
        return error_set(e, ERROR_FAILED, -errno, "move %s aside to %s", s->record.path, s->record.aside);
    crash_point("rename-aside.after");
    return flow_sync_parent(s->record.path, e);
}

/* P1: whoever writes and is not in the box would only be found once the box is stopped. */
static int refuse_others(struct stack *s, struct error *e)
{
    _cleanup_free_ char *tree = place_in_run(s->config, s->name, "tree");
    const char *path = s->record.path;
    return s->record.full ? refuse_writers(s, path, path, NULL, e) : refuse_writers(s, tree, NULL, NULL, e);
}

/* What is mounted in the project is in no snapshot, and would be gone with the tree (a tmpfs) or moved with it. */
static int refuse_mounts(struct stack *s, struct error *e)
{
    unsigned below = 0;
    char first[PATH_MAX] = "";
    int r = mount_count_below(s->record.path, &below, first, sizeof(first), e);
    if (r < 0 || below == 0)
        return r;
    _cleanup_free_ char *word = text_word(first);
    error_say(e, ERROR_BUSY, -EBUSY, "%s is in use: %s is mounted in it, and no snapshot holds what is there", s->name,
              first);
    return error_hint(e, "umount %s, then park again; nothing has changed", word), -EBUSY;
}

int flow_make_still(struct stack *s, struct error *e)
{
    int r = refuse_mounts(s, e);
    if (r == 0 && box_running(s))
        r = refuse_others(s, e);
    if (r == 0)
        r = box_stop(s, NULL, e);
    if (r < 0)
        return r;
    return s->record.full ? move_aside(s, e) : freeze(s, e);
}

static int thaw(struct stack *s, struct error *e)
{
    enum mounts_state mounted;
    _cleanup_free_ char *tree = place_in_run(s->config, s->name, "tree");
    int r = mounts_look(s, &mounted, e);
    return r == 0 && (mounted == MOUNTS_TREE || mounted == MOUNTS_SHOWN) ? overlay_thaw(tree, e) : r;
}

static int move_back(struct stack *s, struct error *e)
{
    struct stat st;
    if (s->record.aside && lstat(s->record.aside, &st) == 0) {
        int r = mounts_check_point(s->record.path, e);
        if (r < 0)
            return r;
        rmdir(s->record.path);
        crash_point("rename-back.before");
        if (rename(s->record.aside, s->record.path) < 0)
            return error_set(e, ERROR_FAILED, -errno, "move %s back to %s", s->record.aside, s->record.path);
        crash_point("rename-back.after");
        r = flow_sync_parent(s->record.path, e);
        if (r < 0)
            return r;
    }
    free(mem_steal(s->record.aside));
    return 0;
}

int flow_let_go(struct stack *s, struct error *e)
{
    return s->record.full ? move_back(s, e) : thaw(s, e);
}

static void tell(struct stack *s, const struct saved *saved, const char *pin)
{
    char id[SNAPSHOT_ID_TEXT], size[16];
    snapshot_id_text(&s->record.committed, id); /* an earlier release of ours may have landed first */
    text_size(size, saved->stats.sent_bytes);
    flow_tell_saved(s, &s->record.committed, saved);
    if (saved->changed)
        ui_line(s->ui, "%s is parked: snapshot %.8s, %s sent; %s%s may take it up", s->name, id, size,
                pin[0] ? "only " : "any node", pin);
    else
        ui_line(s->ui, "%s is parked: nothing had changed since snapshot %.8s", s->name, id);
    if (saved->sockets)
        ui_line(s->ui, "left out: %s", TEXT_COUNT(saved->sockets, "socket"));
}

/* P6 and P7, or just the lease when there is nothing new. */
static int commit(struct stack *s, const struct saved *saved, const struct meta *meta, struct error *e)
{
    struct lease l;
    flow_lease(s, &l);
    if (!saved->changed) {
        int freed = lease_free(&l, BOX_PARKED, e);
        return freed < 0 ? freed : journal_packs_clear(s->journal, e);
    }
    struct lease_commit c = {
        .root = saved->id, .pin = meta->pin, .path = meta->path, .frees = true, .then = BOX_PARKED
    };
    int r = flow_keep_committed(s, &saved->snapshot, e); /* of use only if its id is the committed one's */
    if (r == 0)
        r = lease_commit(&l, &c, e);
    return r < 0 ? r : journal_packs_clear(s->journal, e);
}

/* P4 to P7; the tree is still. */
static int save_and_commit(struct stack *s, uint64_t ahead, struct stash_list *ret_left_out, struct error *e)
{
    _cleanup_(flow_saving_close) struct flow_saving f = { 0 };
    struct saved saved = { 0 };
    int r = flow_saving_open(s, &f, e);
    f.config.tidy = true;
    f.config.left_out = ret_left_out;
    if (r == 0)
        r = saving_run(s, &f.config, &saved, e);
    saved.stats.sent_bytes += ahead;
    if (r == 0)
        r = commit(s, &saved, &f.meta, e);
    if (r == 0)
        tell(s, &saved, f.meta.pin);
    saved_release(&saved);
    return r;
}

/* P1: what fills packs is sent while the box runs, so that it is stopped for the rest only. */
static int send_ahead(struct stack *s, uint64_t *ret_sent, struct error *e)
{
    _cleanup_(flow_saving_close) struct flow_saving f = { 0 };
    int r = flow_saving_open(s, &f, e);
    f.config.live = true;
    if (r == 0 && saving_pending(s, &f.config) >= PACK_FULL)
        r = saving_send(s, &f.config, ret_sent, e);
    return r;
}

/* Nothing of a box is stopped for a store that is away: what is here goes on (rule L5). */
static int ask_store(struct stack *s, struct error *e)
{
    struct lease l;
    flow_lease(s, &l);
    _cleanup_(head_releasep) struct head head = { 0 };
    return lease_read(&l, false, &head, e);
}

/* The tree could not be made still: as it was before. Not while an earlier park may still land: then all stays stopped.
 */
static void call_off(struct stack *s, bool box_ran)
{
    struct error why = { 0 };
    if (box_record_in_doubt(&s->record))
        return;
    int r = s->record.state == BOX_MOVING ? move_back(s, &why) : 0;
    if (r == 0)
        r = flow_set_state(s, s->record.full ? BOX_FULL_HELD : BOX_MOUNTED, &why);
    if (r == 0 && box_ran)
        r = box_start(s, &why);
    if (r < 0)
        ui_warn(s->ui, "%s", why.text);
}

/* P1 to P3. *ret_sent: how much went ahead; else as it was. */
static int make_still(struct stack *s, uint64_t *ret_sent, struct error *e)
{
    bool box_ran = box_running(s) != 0;
    int r = mounts_reach(s, e);
    if (r == 0 && box_ran)
        r = refuse_others(s, e);
    if (r == 0 && box_ran)
        r = ask_store(s, e);
    if (r == 0 && box_ran)
        r = send_ahead(s, ret_sent, e);
    if (r == 0 && !s->record.full && s->record.state != BOX_PARKING)
        r = flow_set_state(s, BOX_PARKING, e);
    if (r < 0)
        return r;
    r = flow_make_still(s, e);
    if (r < 0)
        call_off(s, box_ran);
    return r;
}

int flow_park_held(struct stack *s, struct error *e)
{
    s->record.fork = (struct snapshot_id){ 0 }; /* of a time when the lease was thought to be lost */
    struct stash_list left_out = { 0 };
    uint64_t ahead = 0;
    _cleanup_(patience_end) struct patience *p = NULL;
    int r = patience_begin(s, &p, e);
    if (r == 0)
        r = stack_content(s, e);
    if (r == 0)
        r = make_still(s, &ahead, e);
    if (r == 0)
        r = save_and_commit(s, ahead, &left_out, e);
    if (r == 0) /* a plain directory may have been written to since it was walked */
        r = flow_clean_known(s, s->record.full ? NULL : &left_out, e);
    stash_list_release(&left_out);
    return r;
}
