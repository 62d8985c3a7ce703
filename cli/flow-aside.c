/* SPDX-License-Identifier: MIT */
#include "cli/flow.h"

#include "index/base/clock.h"
#include "index/base/crash.h"
#include "index/base/fd.h"
#include "index/base/mem.h"
#include "index/base/remove.h"
#include "index/base/text.h"
#include "index/straggler.h"
#include "index/walk.h"
#include "sync/keys.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

/*
 * Directories that T3 moved aside. Each has a record box/NAME/aside-<id> (FORMAT.md, "park (full, T3)"); of the newest
 * the journal says path and time. The time is when it was seen unchanged, or one of these:
 */
#define KEPT (-1)  /* somebody wrote to it: it stays, and is named */
#define REMOVING 0 /* its removal has begun */
#define KEEP_NS (7 * 86400ll * 1000000000)
#define SHOWN 8
#define RECORD_MAX 8192
#define HASH_TEXT (2 * sizeof(struct hash) + 1)

static int open_aside(const char *path, int *ret, struct error *e)
{
    *ret = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (*ret < 0)
        return error_set(e, ERROR_FAILED, -errno, "open %s", path);
    /* A store into a mapping changes no time before it is written back (rule V2). */
    return syncfs(*ret) < 0 ? error_set(e, ERROR_FAILED, -errno, "syncfs %s", path) : 0;
}

static void name_kept(struct stack *s, const char *path)
{
    ui_warn(s->ui, "%s was written to after %s was parked: it is kept until you have looked at it and moved it away",
            path, s->name);
}

struct aside {
    char *path;
    int64_t ns;
    char mark[HASH_TEXT];      /* of what lay in it then; "": unknown */
    char record[NAME_MAX + 1]; /* its name in the box's directory */
    bool newest;               /* the journal has path and time */
};

/* --- has anything in it changed? */

static void add_to_mark(struct hash *mark, const void *p, size_t len)
{
    static const struct hash_key none;
    _cleanup_(buf_release) struct buf b = { 0 };
    buf_add(&b, mark, sizeof(*mark));
    buf_add(&b, p, len);
    hash_bytes(&none, b.data, b.len, mark);
}

/* Whatever becomes of an inode leaves a ctime, whatever clock it is by; of a name that goes, its directory's. */
static int mark_change(void *arg, const struct change *c, struct error *e)
{
    (void)e;
    const struct entry *n = c->entry;
    const uint64_t seen[] = { c->inode, (uint64_t)n->ctime_ns, (uint64_t)n->mtime_ns, n->size, n->type };
    add_to_mark(arg, c->key.data, c->key.len);
    add_to_mark(arg, seen, sizeof(seen));
    return 0;
}

static int mark_excluded(void *arg, const char *path, bool directory, struct error *e)
{
    (void)directory;
    (void)e;
    add_to_mark(arg, path, strlen(path));
    return 0;
}

static int make_mark(const char *path, char to[HASH_TEXT], struct error *e)
{
    _cleanup_close_ int project = -1;
    struct entry home = { .type = ENTRY_DIRECTORY };
    struct walk_stats stats;
    struct hash mark = { { 0 } };
    int r = open_aside(path, &project, e);
    struct walk_config c = { .project = project,
                             .home = -1,
                             .home_entry = &home,
                             .live = true,
                             .names_only = true,
                             .excluded = mark_excluded,
                             .excluded_arg = &mark };
    if (r == 0)
        r = walk_run(&c, mark_change, &mark, &stats, e);
    if (r == 0)
        text_hex(to, mark.b, sizeof(mark.b));
    return r;
}

/* --- records */

static void name_record(struct aside *a)
{
    const char *id = strrchr(a->path, '-');
    snprintf(a->record, sizeof(a->record), "aside-%.16s", id ? id + 1 : "0");
}

static int write_record(struct stack *s, const struct aside *a, struct error *e)
{
    _cleanup_(buf_release) struct buf text = { 0 };
    buf_printf(&text, "%lld\n%s\n%s", (long long)a->ns, a->mark, a->path);
    return fd_replace(s->box_dir, a->record, text.data, text.len, e);
}

static int read_record(struct stack *s, struct aside *a, struct error *e)
{
    _cleanup_(buf_release) struct buf text = { 0 };
    int r = fd_read_file(s->box_dir, a->record, RECORD_MAX, &text, e);
    if (r < 0)
        return r;
    char mark[HASH_TEXT] = "";
    long long ns;
    int path = 0;
    if (sscanf(buf_string(&text), "%lld\n%64[0-9a-f]\n%n", &ns, mark, &path) != 2 || text.data[path] != '/')
        return error_say(e, ERROR_DAMAGED, -EBADMSG, "%s/box/%s/%s is damaged", s->config->state_dir, s->name,
                         a->record);
    memcpy(a->mark, mark, sizeof(mark));
    a->ns = ns;
    free(a->path);
    a->path = mem_strdup((const char *)text.data + path);
    return 0;
}

static int store(struct stack *s, const struct aside *a, struct error *e)
{
    if (!a->newest)
        return write_record(s, a, e);
    s->record.aside_ns = a->ns;
    return stack_save_record(s, e);
}

static int forget(struct stack *s, const struct aside *a, struct error *e)
{
    if (unlinkat(s->box_dir, a->record, 0) < 0 && errno != ENOENT)
        return error_set(e, ERROR_FAILED, -errno, "remove %s", a->record);
    if (!a->newest)
        return 0;
    free(mem_steal(s->record.aside));
    s->record.aside_ns = 0;
    if (s->record.state == BOX_MOVED_ASIDE)
        s->record.state = BOX_NONE;
    return stack_save_record(s, e);
}

/* --- right after the park */

struct showing {
    struct ui *ui;
    size_t shown;
};

static int show(void *arg, char letter, const char *path, struct error *e)
{
    (void)e;
    struct showing *w = arg;
    if (w->shown++ < SHOWN)
        ui_note(w->ui, "  %c %s", letter, path);
    return 0;
}

static int find_stragglers(struct stack *s, size_t *ret, struct error *e)
{
    _cleanup_close_ int project = -1;
    _cleanup_(view_close) struct view v = { 0 };
    struct meta meta = { 0 };
    struct exclude *rules = NULL;
    struct hash_key key;
    keys_identity(&s->keys, s->name, &key);
    int r = open_aside(s->record.aside, &project, e);
    if (r == 0)
        r = snapshot_id_none(&s->record.fork) ? view_open_committed(s, &v, e) : view_open_id(s, &s->record.fork, &v, e);
    if (r == 0)
        r = view_meta(&v.snapshot, &meta, e);
    if (r == 0)
        r = saving_rules(&meta, &rules, e);
    if (r == 0) {
        struct straggler_config c = { .project = project,
                                      .tree = v.tree,
                                      .source = view_source(&v),
                                      .key = &key,
                                      .rules = rules,
                                      .journal = s->journal };
        struct showing w = { .ui = s->ui };
        r = straggler_find(&c, show, &w, ret, e);
        if (r == -EAGAIN) /* writing right now */
            *ret = 1, r = 0;
    }
    exclude_free(rules);
    meta_release(&meta);
    return r;
}

int flow_aside_settle(struct stack *s, struct error *e)
{
    struct stat st;
    if (!s->record.full || !s->record.aside)
        return 0;
    if (lstat(s->record.aside, &st) < 0 && errno == ENOENT) {
        free(mem_steal(s->record.aside));
        return 0;
    }
    /* The mark comes first: what is written while the content is looked at is seen there, or by the next mark. */
    struct aside a = { .path = s->record.aside, .ns = clock_wall_ns() };
    size_t count = 0;
    name_record(&a);
    int r = make_mark(a.path, a.mark, e);
    if (r == 0)
        r = find_stragglers(s, &count, e);
    if (r < 0)
        return error_prefix(e, "look for late writers in %s", a.path), r;
    if (count) {
        a.ns = KEPT;
        name_kept(s, a.path);
    }
    s->record.aside_ns = a.ns; /* stored with the state that follows */
    return write_record(s, &a, e);
}

/* --- later */

static int remove_aside(struct stack *s, struct aside *a, struct error *e)
{
    const char *slash = strrchr(a->path, '/');
    _cleanup_free_ char *parent = slash == a->path ? mem_strdup("/") : mem_copy(a->path, (size_t)(slash - a->path));
    _cleanup_close_ int fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return error_set(e, ERROR_FAILED, -errno, "open %s", parent);
    a->ns = REMOVING; /* what is half gone has changed, and must not be kept for that */
    int r = store(s, a, e);
    crash_point("aside-removing.after");
    if (r == 0)
        r = remove_tree(fd, slash + 1, e);
    crash_point("aside-removed.after");
    return r < 0 ? r : forget(s, a, e);
}

static int look_after(struct stack *s, struct aside *a, struct error *e)
{
    struct stat st;
    char mark[HASH_TEXT] = "";
    if (lstat(a->path, &st) < 0 && errno == ENOENT)
        return forget(s, a, e);
    if (a->ns == KEPT)
        return name_kept(s, a->path), 0;
    if (a->ns != REMOVING && clock_wall_ns() - a->ns < KEEP_NS)
        return 0;
    int r = a->ns == REMOVING ? 0 : make_mark(a->path, mark, e);
    if (r < 0)
        return r;
    if (a->ns == REMOVING || strcmp(mark, a->mark) == 0)
        return remove_aside(s, a, e);
    a->ns = KEPT;
    name_kept(s, a->path);
    return store(s, a, e);
}

static void look_after_record(struct stack *s, const char *name)
{
    struct aside a = { 0 };
    struct error e = { 0 };
    snprintf(a.record, sizeof(a.record), "%s", name);
    int r = read_record(s, &a, &e);
    a.newest = r == 0 && s->record.aside && strcmp(s->record.aside, a.path) == 0;
    if (a.newest)
        a.ns = s->record.aside_ns;
    if (r == 0 && !(a.newest && s->record.full)) /* a park that is not done with it yet */
        r = look_after(s, &a, &e);
    if (r < 0)
        ui_warn(s->ui, "%s", e.text);
    free(a.path);
}

void flow_aside_sweep(struct stack *s)
{
    int fd = s->journal ? fcntl(s->box_dir, F_DUPFD_CLOEXEC, 0) : -1;
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d)
        return;
    rewinddir(d);
    for (struct dirent *n; (n = readdir(d));)
        if (strncmp(n->d_name, "aside-", 6) == 0)
            look_after_record(s, n->d_name);
    closedir(d);
}

int flow_aside_retire(struct stack *s, struct error *e)
{
    if (!s->record.aside)
        return 0;
    struct aside a = { .path = mem_strdup(s->record.aside) };
    name_record(&a);
    int r = read_record(s, &a, e);
    a.ns = s->record.aside_ns;
    if (r == 0)
        r = write_record(s, &a, e);
    free(a.path);
    if (r < 0 && r != -ENOENT)
        return r;
    free(mem_steal(s->record.aside));
    s->record.aside_ns = 0;
    return 0; /* the caller stores the record */
}
