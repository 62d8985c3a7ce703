/* SPDX-License-Identifier: MIT */
#include "cli/visit.h"

#include "cli/view.h"
#include "fusefs/mount.h"
#include "index/base/crash.h"
#include "index/base/fd.h"
#include "index/base/lock.h"
#include "index/base/log.h"
#include "index/base/mem.h"
#include "index/base/remove.h"
#include "index/base/text.h"
#include "index/random.h"
#include "sync/hold.h"
#include "sync/snapshots.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#define RECORD_VERSION "1"
#define RECORD_MAX 8192
#define LOCK_WAIT_MS 10000
#define SERVED_WAIT_MS 5000
#define UNFINISHED_S 3600 /* a directory without its name yet is left alone so long */

static char *place_visits(const struct config *c)
{
    return mem_printf("%s/visits", c->state_dir);
}

void visit_release(struct visit *v)
{
    mem_closep(&v->lock);
    mem_closep(&v->dir);
    free(v->point);
    *v = (struct visit)VISIT_NONE;
}

char *visit_place(const struct config *c, const struct visit *v, const char *what)
{
    return mem_printf("%s/visits/%s/%s", c->state_dir, v->id, what);
}

int visit_serve(const struct visit *v, int *ret_lock, struct error *e)
{
    return lock_take(v->dir, "served", 0, ret_lock, e);
}

void visit_source(const struct visit *v, char to[128])
{
    snprintf(to, 128, "ag-box:%s:%s", v->box, v->id);
}

bool visit_mounted(const struct visit *v)
{
    struct mount_found m;
    char source[128];
    visit_source(v, source);
    return v->point && mount_find(v->point, &m, NULL) == 0 && strcmp(m.source, source) == 0;
}

/* --- the record */

static int write_record(const struct visit *v, struct error *e)
{
    char writer[WRITER_TEXT], snapshot[SNAPSHOT_ID_TEXT];
    _cleanup_(buf_release) struct buf text = { 0 };
    writer_text(&v->writer, writer);
    snapshot_id_text(&v->snapshot, snapshot);
    /* The path is last: it may hold any byte but NUL. */
    buf_printf(&text, RECORD_VERSION "\n%s\n%s\n%s\n%s", v->box, writer, snapshot, v->point ? v->point : "");
    return fd_replace(v->dir, "record", text.data, text.len, e);
}

static int parse_record(char *text, struct visit *v)
{
    char *fields[4];
    for (size_t i = 0; i < 4; i++) {
        char *end = strchr(text, '\n');
        if (!end)
            return -EBADMSG;
        *end = '\0';
        fields[i] = text;
        text = end + 1;
    }
    if (strcmp(fields[0], RECORD_VERSION) != 0 || !text_is_box(fields[1]) || writer_parse(fields[2], &v->writer) < 0 ||
        snapshots_parse_id(fields[3], &v->snapshot) < 0)
        return -EBADMSG;
    snprintf(v->box, sizeof(v->box), "%s", fields[1]);
    v->point = *text ? mem_strdup(text) : NULL;
    return 0;
}

int visit_load(const struct config *c, const char *id, struct visit *ret, struct error *e)
{
    struct visit v = VISIT_NONE;
    _cleanup_(buf_release) struct buf text = { 0 };
    _cleanup_free_ char *path = mem_printf("%s/visits/%s", c->state_dir, id);
    v.dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (v.dir < 0)
        return error_set(e, errno == ENOENT ? ERROR_UNKNOWN : ERROR_FAILED, -errno, "open %s", path);
    snprintf(v.id, sizeof(v.id), "%s", id);
    int r = fd_read_file(v.dir, "record", RECORD_MAX, &text, e);
    if (r == 0 && (r = parse_record((char *)(uintptr_t)buf_string(&text), &v)) < 0)
        error_say(e, ERROR_DAMAGED, r, "%s/record is damaged", path);
    if (r < 0) {
        visit_release(&v);
        return r;
    }
    *ret = v;
    return 0;
}

/* --- begin and end */

/* A directory with its lock taken before it has the name under which others find it. */
static int make_directory(const struct config *c, struct visit *v, struct error *e)
{
    _cleanup_free_ char *visits = place_visits(c);
    char unfinished[VISIT_ID + 1];
    random_hex(v->id, 8);
    snprintf(unfinished, sizeof(unfinished), ".%s", v->id);
    int r = fd_make_directories(visits, 0700, e);
    if (r < 0)
        return r;
    _cleanup_close_ int all = open(visits, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (all < 0 || mkdirat(all, unfinished, 0700) < 0)
        return error_set(e, ERROR_FAILED, -errno, "make a directory in %s", visits);
    v->dir = openat(all, unfinished, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (v->dir < 0)
        return error_set(e, ERROR_FAILED, -errno, "open %s/%s", visits, unfinished);
    r = lock_take(v->dir, "lock", 0, &v->lock, e);
    if (r == 0)
        r = write_record(v, e);
    if (r == 0 && (renameat(all, unfinished, all, v->id) < 0 || fsync(all) < 0))
        r = error_set(e, ERROR_FAILED, -errno, "name %s/%s", visits, v->id);
    return r;
}

int visit_begin_open(struct stack *s, const char *text, const char *point, struct visit *ret, struct error *e)
{
    struct visit v = VISIT_NONE;
    visit_sweep(s);
    snprintf(v.box, sizeof(v.box), "%s", s->name);
    hold_new_writer(&s->node, &v.writer);
    v.point = point ? mem_strdup(point) : NULL;
    int r = view_find(s, text, &v.snapshot, e);
    if (r == 0)
        r = make_directory(s->config, &v, e);
    crash_point("visit-record.after");
    if (r == 0) {
        r = hold_put(s->store, &s->seal, &v.writer, &s->node, &v.snapshot, e);
        crash_point("visit-hold.after");
        if (r == 0)
            r = view_check(s, &v.snapshot, e);
        if (r < 0)
            visit_end(s, &v, NULL);
    }
    if (r < 0) {
        visit_release(&v);
        return r;
    }
    *ret = v;
    return 0;
}

int visit_begin(struct stack *s, const struct config *c, struct ui *ui, const char *box, const char *text,
                const char *point, struct visit *ret, struct error *e)
{
    int r = stack_open(s, c, ui, e);
    if (r == 0)
        r = stack_store(s, e);
    if (r == 0)
        r = stack_peek(s, box, e);
    return r < 0 ? r : visit_begin_open(s, text, point, ret, e);
}

/* The caller has both locks, or made it. */
static int end(struct stack *s, const struct visit *v, struct error *e)
{
    int r = hold_remove(s->store, v->box, &v->writer, e);
    crash_point("visit-hold-removed.after");
    if (r < 0)
        return r;
    _cleanup_free_ char *visits = place_visits(s->config);
    _cleanup_close_ int all = open(visits, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return all < 0 ? error_set(e, ERROR_FAILED, -errno, "open %s", visits) : remove_tree(all, v->id, e);
}

int visit_end(struct stack *s, struct visit *v, struct error *e)
{
    _cleanup_close_ int served = -1;
    if (v->id[0] == '\0')
        return 0;
    int r = lock_take(v->dir, "served", SERVED_WAIT_MS, &served, e); /* its supervisor ends soon after the mount */
    if (r < 0)
        return r;
    store_resume(s->store);
    return end(s, v, e);
}

/* --- all of them */

/* Calls each with every id, in no order; of a directory whose making was cut off, long ago, nothing is left. */
static int each_visit(const struct config *c, int (*each)(void *arg, const char *id, struct error *e), void *arg,
                      struct error *e)
{
    _cleanup_free_ char *visits = place_visits(c);
    DIR *d = opendir(visits);
    if (!d)
        return errno == ENOENT ? 0 : error_set(e, ERROR_FAILED, -errno, "read %s", visits);
    int r = 0;
    for (struct dirent *n; r == 0 && (n = readdir(d));) {
        struct stat st;
        if (n->d_name[0] != '.')
            r = each(arg, n->d_name, e);
        else if (strlen(n->d_name) == VISIT_ID && fstatat(dirfd(d), n->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                 time(NULL) - st.st_mtime > UNFINISHED_S)
            remove_tree(dirfd(d), n->d_name, NULL);
    }
    closedir(d);
    return r;
}

struct search {
    const struct config *config;
    struct stack *stack;
    const char *what; /* point or box */
    struct visit *found;
    struct writer *writers;
    size_t count;
};

static int is_at(void *arg, const char *id, struct error *e)
{
    (void)e;
    struct search *q = arg;
    struct visit v;
    if (visit_load(q->config, id, &v, NULL) < 0)
        return 0;
    if (!v.point || strcmp(v.point, q->what) != 0 || (q->found->id[0] && !visit_mounted(&v))) {
        visit_release(&v);
        return 0;
    }
    visit_release(q->found); /* what is mounted goes before what was left over at the same place */
    *q->found = v;
    return 0;
}

int visit_at(const struct config *c, const char *point, struct visit *ret, struct error *e)
{
    struct visit v = VISIT_NONE;
    struct search q = { .config = c, .what = point, .found = &v };
    int r = each_visit(c, is_at, &q, e);
    if (r == 0 && !v.id[0])
        r = error_say(e, ERROR_UNKNOWN, -ENOENT, "%s: no snapshot is mounted there by ag-box", point);
    if (r == 0)
        r = lock_take(v.dir, "lock", LOCK_WAIT_MS, &v.lock, e);
    if (r < 0) {
        visit_release(&v);
        return r;
    }
    *ret = v;
    return 0;
}

struct telling {
    const struct config *config;
    int (*each)(void *arg, const struct visit *v);
    void *arg;
};

static int tell_mounted(void *arg, const char *id, struct error *e)
{
    (void)e;
    const struct telling *t = arg;
    struct visit v = VISIT_NONE;
    int r = visit_load(t->config, id, &v, NULL) == 0 && visit_mounted(&v) ? t->each(t->arg, &v) : 0;
    visit_release(&v);
    return r;
}

int visit_each_mounted(const struct config *c, int (*each)(void *arg, const struct visit *v), void *arg,
                       struct error *e)
{
    struct telling t = { c, each, arg };
    return each_visit(c, tell_mounted, &t, e);
}

static int sweep_one(void *arg, const char *id, struct error *e)
{
    (void)e;
    struct search *q = arg;
    struct visit v = VISIT_NONE;
    struct error why = { 0 };
    _cleanup_close_ int served = -1;
    int r = visit_load(q->config, id, &v, &why);
    if (r == 0 && lock_take(v.dir, "lock", 0, &v.lock, NULL) == 0 &&
        lock_take(v.dir, "served", 0, &served, NULL) == 0 && !visit_mounted(&v))
        r = end(q->stack, &v, &why);
    if (r < 0 && r != -ENOENT)
        log_info("what is left of %s/visits/%s stays for now: %s", q->config->state_dir, id, why.text);
    visit_release(&v);
    return 0;
}

void visit_sweep(struct stack *s)
{
    struct search q = { .config = s->config, .stack = s };
    each_visit(s->config, sweep_one, &q, NULL);
}

static int add_writer(void *arg, const char *id, struct error *e)
{
    (void)e;
    struct search *q = arg;
    struct visit v = VISIT_NONE;
    if (visit_load(q->config, id, &v, NULL) == 0 && strcmp(v.box, q->what) == 0) {
        q->writers = mem_grow(q->writers, q->count + 1, sizeof(*q->writers));
        q->writers[q->count++] = v.writer;
    }
    visit_release(&v);
    return 0;
}

int visit_writers(const struct config *c, const char *box, struct writer **ret, size_t *ret_count, struct error *e)
{
    struct search q = { .config = c, .what = box };
    int r = each_visit(c, add_writer, &q, e);
    if (r < 0) {
        free(q.writers);
        return r;
    }
    *ret = q.writers;
    *ret_count = q.count;
    return 0;
}
