/* SPDX-License-Identifier: MIT */
#include "cli/flow.h"

#include "cli/filling.h"
#include "cli/mounts.h"
#include "cli/place.h"
#include "cli/stashing.h"
#include "fusefs/mount.h"
#include "index/base/clock.h"
#include "index/base/crash.h"
#include "index/base/fd.h"
#include "index/base/mem.h"
#include "index/base/remove.h"
#include "index/base/text.h"
#include "index/content.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#define KNOWN_BATCH 1024

/* `up --full`, by its crash table in index/FORMAT.md. */

/* Where the project is filled: its hold's own bytes are in the name, so that the journal knows it. */
static char *filling_place(const struct stack *s)
{
    char id[17];
    text_hex(id, s->record.writer.rand, sizeof(s->record.writer.rand));
    return place_aside(s->record.path, id);
}

static int open_parent(const char *path, int *ret, const char **ret_name, struct error *e)
{
    const char *slash = strrchr(path, '/');
    _cleanup_free_ char *parent = slash == path ? mem_strdup("/") : mem_copy(path, (size_t)(slash - path));
    *ret_name = slash + 1;
    *ret = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return *ret < 0 ? error_set(e, ERROR_FAILED, -errno, "open %s", parent) : 0;
}

static int make_parent(const char *path, struct error *e)
{
    const char *slash = strrchr(path, '/');
    _cleanup_free_ char *parent = mem_copy(path, (size_t)(slash - path));
    return *parent ? fd_make_directories(parent, 0755, e) : 0;
}

static int make_directory(const char *path, struct error *e)
{
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return error_set(e, ERROR_FAILED, -errno, "make %s", path);
    return flow_sync_parent(path, e);
}

int flow_full_begin(struct stack *s, const struct snapshot_id *root, struct bytes sealed, struct error *e)
{
    _cleanup_free_ char *place = filling_place(s);
    int r = stack_content(s, e);
    if (r == 0)
        r = make_parent(s->record.path, e);
    if (r == 0)
        r = make_directory(place, e); /* before the journal: one that is not there was renamed into place */
    if (r == 0)
        r = fd_replace(s->box_dir, "base", sealed.data, sealed.len, e);
    if (r == 0)
        r = cache_known_clear(s->cache, e);
    if (r == 0)
        r = remove_tree(s->box_dir, "home", e);
    if (r == 0)
        r = flow_aside_retire(s, e);
    if (r < 0)
        return r;
    s->record.full = true;
    s->record.upper[0] = '\0';
    s->record.base = s->record.committed = *root;
    return flow_set_state(s, BOX_FILLING, e);
}

static bool is_empty_directory(const char *path)
{
    DIR *d = opendir(path);
    unsigned entries = 0;
    while (d && entries <= 2 && readdir(d))
        entries++;
    if (d)
        closedir(d);
    return d && entries <= 2;
}

int flow_full_settle(struct stack *s, struct error *e)
{
    if (s->record.state != BOX_FILLING)
        return 0;
    _cleanup_free_ char *place = filling_place(s);
    struct stat st;
    if (lstat(place, &st) == 0 || lstat(s->record.path, &st) < 0 || is_empty_directory(s->record.path))
        return 0;
    return flow_set_state(s, BOX_FULL_HELD, e);
}

/* What the store has of the base, for the next snapshot to refer to (rule S1): else all would be sent again. */
struct learning {
    struct stack *stack;
    struct view *view;
    struct known_extent known[KNOWN_BATCH];
    size_t count;
};

static int learn_batch(struct learning *l, struct error *e)
{
    int r = l->count ? cache_known_add(l->stack->cache, l->known, l->count, e) : 0;
    l->count = 0;
    return r;
}

static int learn_extent(void *arg, const struct extent *x, struct error *e)
{
    struct learning *l = arg;
    l->known[l->count++] = (struct known_extent){ x->hash, x->length, x->frame, x->within };
    return l->count == KNOWN_BATCH ? learn_batch(l, e) : 0;
}

static int learn_entry(void *arg, uint64_t position, struct bytes key, const struct entry *n, struct error *e)
{
    struct learning *l = arg;
    return n->type == ENTRY_FILE ? content_each(n, view_source(l->view), learn_extent, l, e) : 0;
}

static int learn(struct stack *s, struct view *v, struct error *e)
{
    _cleanup_free_ struct learning *l = mem_new(1, sizeof(*l));
    l->stack = s;
    l->view = v;
    int r = tree_scan(v->tree, (struct bytes){ 0 }, (struct bytes){ 0 }, learn_entry, l, e);
    return r < 0 ? r : learn_batch(l, e);
}

static int fill_one(struct stack *s, struct view *v, const char *from, const char *path, struct fill_stats *sum,
                    struct error *e)
{
    struct fill_stats stats = { 0 };
    int r = make_directory(path, e);
    if (r < 0)
        return r;
    _cleanup_close_ int to = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    r = to < 0 ? error_set(e, ERROR_FAILED, -errno, "open %s", path)
               : filling_run(s, v, from, to, true, NULL, &stats, e);
    sum->files += stats.files;
    sum->bytes += stats.bytes;
    sum->kept += stats.kept;
    return r < 0 ? error_prefix(e, "fill %s", path), r : 0;
}

/* What is at the path by now is nothing, or a mount point of ours. */
static int move_into_place(struct stack *s, const char *place, struct error *e)
{
    const char *path = s->record.path;
    struct stat st;
    int r = mounts_check_point(path, e);
    if (r == 0 && lstat(path, &st) == 0)
        r = mount_point_free(path, e);
    if (r < 0)
        return r;
    crash_point("fill-rename.before");
    if (renameat2(AT_FDCWD, place, AT_FDCWD, path, RENAME_NOREPLACE) < 0)
        return error_set(e, ERROR_BUSY, -errno, "move %s to %s", place, path);
    crash_point("fill-rename.after");
    return flow_sync_parent(path, e);
}

static void tell(struct stack *s, const struct snapshot *n, const struct fill_stats *stats)
{
    char id[SNAPSHOT_ID_TEXT], age[16], size[16];
    int64_t age_ns = clock_wall_ns() - n->time_ns;
    snapshot_id_text(&n->id, id);
    text_duration(age, (uint64_t)(age_ns > 0 ? age_ns : 0) / 1000000);
    text_size(size, stats->bytes);
    ui_line(s->ui, "%s is up at %s, in plain directories: snapshot %.8s by %s, %s ago; %s, %s", s->name, s->record.path,
            id, n->node, age, TEXT_COUNT(stats->files, "file"), size);
    flow_tell_shown(s, n);
    ui_field_integer(s->ui, "files", (int64_t)stats->files);
    ui_field_integer(s->ui, "bytes", (int64_t)stats->bytes);
    ui_field_integer(s->ui, "kept", (int64_t)stats->kept);
}

static int fill(struct stack *s, struct error *e)
{
    _cleanup_(view_close) struct view v = { 0 };
    _cleanup_free_ char *place = filling_place(s), *home = place_in_box(s->config, s->name, "home");
    struct fill_stats stats = { 0 };
    int64_t start = clock_boot_ns();
    int r = view_open_base(s, &v, e);
    if (r == 0)
        r = fill_one(s, &v, "home", home, &stats, e);
    if (r == 0)
        r = fill_one(s, &v, "project", place, &stats, e);
    if (r == 0)
        r = learn(s, &v, e);
    if (r == 0)
        r = move_into_place(s, place, e);
    if (r == 0 && utimensat(s->box_dir, "base", NULL, 0) < 0) /* saving_since */
        r = error_set(e, ERROR_FAILED, -errno, "set the time of %s's base", s->name);
    if (r < 0) {
        error_hint(e, "ag-box up %s goes on with it; ag-box park %s gives it up", s->name, s->name);
        return r;
    }
    ui_phase(s->ui, "fill", clock_boot_ns() - start);
    tell(s, &v.snapshot, &stats);
    return flow_set_state(s, BOX_FULL_HELD, e);
}

int flow_full_go_on(struct stack *s, struct error *e)
{
    int r = stack_content(s, e);
    if (r == 0)
        r = mounts_ensure_daemon(s, e); /* filling may take longer than a lease lives */
    if (r == 0)
        mounts_tell_held(s);
    if (r == 0)
        r = fill(s, e);
    return r < 0 ? r : stashing_return(s, e);
}

int flow_full_throw_away(struct stack *s, struct error *e)
{
    _cleanup_free_ char *place = filling_place(s);
    _cleanup_close_ int parent = -1;
    const char *name;
    int r = mounts_stop_daemon(s, e);
    if (r == 0) /* before anything goes: a place that is missing in `filling` was renamed into place */
        r = flow_set_state(s, BOX_ACQUIRED, e);
    if (r == 0)
        r = open_parent(place, &parent, &name, e);
    if (r == 0)
        r = remove_tree(parent, name, e);
    if (r == 0)
        r = remove_tree(s->box_dir, "home", e);
    if (r < 0)
        return r;
    s->record.full = false;
    s->record.base = (struct snapshot_id){ 0 };
    return stack_save_record(s, e);
}
