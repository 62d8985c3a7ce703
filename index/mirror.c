/* SPDX-License-Identifier: MIT */
#include "index/mirror.h"

#include "index/apply.h"
#include "index/base/crash.h"
#include "index/base/fd.h"
#include "index/base/mem.h"
#include "index/base/remove.h"
#include "index/copy.h"
#include "index/excluded.h"
#include "index/key.h"
#include "index/names.h"
#include "index/stat-cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#define MIRROR_TEMPORARY ".agbox-new"

struct mirror {
    const struct mirror_config *config;
    struct mirror_stats *stats;
    struct excluded *secrets; /* of a directory in from; NULL: it is none */
    struct buf from, to;      /* paths of the entry at hand */
    size_t top;               /* length of from's path at the top */
};

enum spot_kind { SPOT_NOTHING, SPOT_FILE, SPOT_DIRECTORY, SPOT_LINK, SPOT_OTHER };

struct spot { /* one name of a directory */
    int dir;  /* -1: there is no such directory */
    char name[NAME_LEN_MAX + 1];
    enum spot_kind kind;
    struct attributes a;
};

#define SPOT_NONE                                                                                                      \
    {                                                                                                                  \
        .dir = -1                                                                                                      \
    }

static void spot_release(struct spot *s)
{
    mem_closep(&s->dir);
    attributes_release(&s->a);
    s->kind = SPOT_NOTHING;
}

static enum spot_kind kind_of(const struct attributes *a)
{
    if (a->socket || a->whiteout)
        return SPOT_OTHER;
    return a->entry.type == ENTRY_FILE        ? SPOT_FILE
           : a->entry.type == ENTRY_DIRECTORY ? SPOT_DIRECTORY
           : a->entry.type == ENTRY_SYMLINK   ? SPOT_LINK
                                              : SPOT_OTHER;
}

static const char *type_of(const struct attributes *a)
{
    return a->socket                                                          ? "a socket"
           : a->entry.type == ENTRY_FIFO                                      ? "a FIFO"
           : a->entry.type == ENTRY_CHARACTER || a->entry.type == ENTRY_BLOCK ? "a device"
                                                                              : "of no known type";
}

/* What is not there is no error. */
static int look(int root, const char *path, struct spot *ret, struct error *e)
{
    struct error why = { 0 };
    spot_release(ret);
    const char *name = "";
    int r = root < 0 ? -ENOENT : reach_parent(root, path, &ret->dir, &name);
    if (strlen(name) > NAME_LEN_MAX)
        return error_say(e, ERROR_FAILED, -ENAMETOOLONG, "a name of %zu bytes", strlen(name));
    strcpy(ret->name, name);
    if (r == -ELOOP) {
        error_say(e, ERROR_FAILED, r, "%s: a directory above it is a symbolic link", path);
        return error_hint(e, "links are not followed here: put a directory in its place"), r;
    }
    if (r == 0)
        r = attributes_read(ret->dir, ret->name, &ret->a, &why);
    if (r == 0)
        ret->kind = kind_of(&ret->a);
    if (r == 0 || r == -ENOENT || r == -ENOTDIR)
        return 0;
    if (why.code == 0)
        return error_set(e, ERROR_FAILED, r, "%s", path);
    error_pass(e, &why);
    return r;
}

static bool same(const struct spot *x, const struct spot *y)
{
    return x->kind != SPOT_NOTHING && y->kind != SPOT_NOTHING && entry_same(&x->a.entry, &y->a.entry);
}

/* Is it another one than was looked at? */
static bool is_other(const struct spot *s)
{
    _cleanup_(attributes_release) struct attributes now = { 0 };
    int r = s->dir < 0 ? -ENOENT : attributes_stat(s->dir, s->name, &now, NULL);
    if (r < 0 || s->kind == SPOT_NOTHING)
        return (r == 0) != (s->kind != SPOT_NOTHING);
    return now.device != s->a.device || now.inode != s->a.inode || now.entry.ctime_ns != s->a.entry.ctime_ns;
}

/* Made, and on disk: what comes into them is. */
static int make_parents(int root, const char *path, struct error *e)
{
    for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        _cleanup_free_ char *above = mem_copy(path, (size_t)(slash - path));
        _cleanup_close_ int dir = -1;
        const char *name;
        int r = reach_parent(root, above, &dir, &name);
        if (r == 0 && (mkdirat(dir, name, 0700) < 0 ? errno != EEXIST : fsync(dir) < 0))
            r = -errno;
        if (r < 0)
            return error_set(e, ERROR_FAILED, r, "make %s", above);
    }
    return 0;
}

static bool is_secret(const char *path)
{
    _cleanup_free_ char *whole = mem_printf("home/%s", path);
    return exclude_secret((struct bytes){ (const uint8_t *)whole, strlen(whole) });
}

static bool is_temporary(const char *name)
{
    return strcmp(name, MIRROR_TEMPORARY) == 0 || strcmp(name, COPY_TEMPORARY) == 0;
}

/* --- what is not to be lost */

/* Whether `other` has all that is in s but its attributes. */
static int holds(const struct spot *s, const struct spot *other, bool *ret, struct error *e)
{
    *ret = s->kind == other->kind && s->kind == SPOT_LINK && strcmp(s->a.entry.target, other->a.entry.target) == 0;
    bool compare = s->kind == other->kind && s->kind == SPOT_FILE && s->a.entry.size == other->a.entry.size;
    return compare ? copy_same_content(s->dir, s->name, other->dir, other->name, ret, e) : 0;
}

static int asked(void *arg, struct error *e)
{
    struct mirror *m = arg;
    return m->config->check ? m->config->check(m->config->arg, m->stats, e) : 0;
}

static int put_aside(struct mirror *m, const struct spot *to, struct error *e)
{
    const char *path = buf_string(&m->to), *name;
    _cleanup_close_ int dir = -1;
    int r = make_parents(m->config->kept, path, e);
    if (r == 0 && (r = reach_parent(m->config->kept, path, &dir, &name)) < 0)
        error_set(e, ERROR_FAILED, r, "open the directory of what is kept");
    if (r < 0)
        return r;
    bool replaces = unlinkat(dir, name, 0) == 0; /* an earlier try's */
    _cleanup_(copy_freep) struct copy *c = copy_new(to->dir, dir);
    copy_ask(c, asked, m);
    r = copy_entry(c, to->name, name, e);
    if (r == 0 && !replaces) {
        m->stats->kept++;
        if (m->config->told)
            m->config->told(m->config->arg, path);
    }
    return r;
}

/* to: a file or link that is about to go; from: what comes in its place, or SPOT_NOTHING. */
static int keep_changed(struct mirror *m, const struct spot *to, const struct spot *from, struct error *e)
{
    if (m->config->kept < 0 || is_temporary(to->name))
        return 0;
    bool known = false;
    _cleanup_(spot_release) struct spot last = SPOT_NONE;
    int r = look(m->config->last, buf_string(&m->to), &last, e);
    if (r == 0) /* by what they hold: times that are equal do not tell that nobody wrote */
        r = holds(to, &last, &known, e);
    if (r == 0 && !known)
        r = holds(to, from, &known, e);
    if (r == 0 && !known)
        r = put_aside(m, to, e);
    return r < 0 && is_other(to) ? -EAGAIN : r;
}

/* to goes, if it is still what was kept. */
static int keep_and_unlink(struct mirror *m, const struct spot *to, const struct spot *from, struct error *e)
{
    int r = keep_changed(m, to, from, e);
    if (r == 0 && is_other(to))
        return -EAGAIN;
    if (r == 0 && unlinkat(to->dir, to->name, 0) < 0)
        return error_set(e, ERROR_FAILED, -errno, "remove %s", buf_string(&m->to));
    return r;
}

static int go_on(struct mirror *m, const struct attributes *a, struct error *e)
{
    m->stats->entries++;
    m->stats->bytes += a->entry.type == ENTRY_FILE ? a->entry.size : 0;
    return asked(m, e);
}

/* --- one entry */

static int retry(struct mirror *m, int (*step)(struct mirror *m, struct error *e), struct error *e)
{
    struct error why;
    int r = -EAGAIN;
    for (unsigned i = 0; r == -EAGAIN && i < REACH_TRIES; i++) {
        why = (struct error){ 0 };
        r = step(m, &why);
    }
    if (r == -EAGAIN)
        return error_say(e, ERROR_BUSY, r, "%s: changed each time it was looked at", buf_string(&m->to));
    if (r < 0)
        error_pass(e, &why);
    return r;
}

static int go_down(struct mirror *m, const char *name, int (*step)(struct mirror *m, struct error *e), struct error *e)
{
    ssize_t from = reach_down(&m->from, name, e), to = from < 0 ? from : reach_down(&m->to, name, e);
    if (to < 0)
        return (int)to;
    int r = retry(m, step, e);
    reach_up(&m->from, from);
    reach_up(&m->to, to);
    return r;
}

static int names_of(const struct spot *s, struct names *ret, struct error *e)
{
    if (s->kind != SPOT_DIRECTORY)
        return 0;
    _cleanup_close_ int fd = openat(s->dir, s->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return is_other(s) ? -EAGAIN : error_set(e, ERROR_FAILED, -errno, "open %s", s->name);
    return names_read(fd, ret, e);
}

/* What is in `to` goes, but for what is left alone and the directories above it. */
static int take_away(struct mirror *m, struct error *e)
{
    static const struct spot nothing = SPOT_NONE;
    _cleanup_(spot_release) struct spot to = SPOT_NONE;
    int r = look(m->config->to, buf_string(&m->to), &to, e);
    if (r < 0 || to.kind == SPOT_NOTHING || to.kind == SPOT_OTHER || is_secret(buf_string(&m->to)))
        return r;
    r = go_on(m, &to.a, e);
    if (r == 0 && to.kind == SPOT_DIRECTORY) {
        _cleanup_(names_release) struct names l = { 0 };
        r = names_of(&to, &l, e);
        spot_release(&to); /* no descriptors while it goes down */
        for (size_t i = 0; r == 0 && i < l.count; i++)
            r = go_down(m, names_get(&l, i), take_away, e);
        r = r < 0 ? r : look(m->config->to, buf_string(&m->to), &to, e);
        if (r == 0 && to.dir >= 0 && unlinkat(to.dir, to.name, AT_REMOVEDIR) < 0 && errno != ENOTEMPTY &&
            errno != EEXIST && errno != ENOENT)
            r = error_set(e, ERROR_FAILED, -errno, "remove %s", buf_string(&m->to));
        return r;
    }
    if (r == 0)
        r = keep_and_unlink(m, &to, &nothing, e);
    m->stats->removed += r == 0;
    return r;
}

static int put(struct mirror *m, const struct spot *from, const struct spot *to, struct error *e)
{
    int r = remove_tree(to->dir, MIRROR_TEMPORARY, e);
    if (r < 0)
        return r;
    _cleanup_(copy_freep) struct copy *c = copy_new(from->dir, to->dir);
    copy_ask(c, asked, m);
    r = copy_entry(c, from->name, MIRROR_TEMPORARY, e);
    if (is_other(from) || is_other(to))
        r = -EAGAIN;
    crash_point("mirror-rename.before");
    if (r == 0 && renameat(to->dir, MIRROR_TEMPORARY, to->dir, to->name) < 0)
        r = error_set(e, ERROR_FAILED, -errno, "replace %s", buf_string(&m->to));
    crash_point("mirror-rename.after");
    if (r < 0)
        return remove_tree(to->dir, MIRROR_TEMPORARY, NULL), r;
    m->stats->changed++;
    return fsync(to->dir) < 0 ? error_set(e, ERROR_FAILED, -errno, "fsync the directory of %s", buf_string(&m->to)) : 0;
}

static int make_equal(struct mirror *m, struct error *e);

static int merge(struct mirror *m, const struct names *a, const struct names *b, struct error *e)
{
    int r = 0;
    for (size_t i = 0, k = 0; r == 0 && (i < a->count || k < b->count);) {
        int order = i == a->count ? 1 : k == b->count ? -1 : strcmp(names_get(a, i), names_get(b, k));
        const char *name = order > 0 ? names_get(b, k) : names_get(a, i);
        i += order <= 0;
        k += order >= 0;
        if (!is_temporary(name))
            r = go_down(m, name, make_equal, e);
        else if (order >= 0)
            r = go_down(m, name, take_away, e);
    }
    return r;
}

/* The directory's own attributes, its time last. */
static int finish(struct mirror *m, const struct entry *n, struct error *e)
{
    _cleanup_(spot_release) struct spot to = SPOT_NONE;
    int r = look(m->config->to, buf_string(&m->to), &to, e);
    if (r < 0 || to.kind != SPOT_DIRECTORY)
        return r < 0 ? r : -EAGAIN;
    if (entry_same(n, &to.a.entry))
        return 0;
    _cleanup_close_ int fd = openat(to.dir, to.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -EAGAIN;
    r = apply_attributes(fd, "", n, e);
    return r < 0 ? r : fsync(fd) < 0 ? error_set(e, ERROR_FAILED, -errno, "fsync %s", buf_string(&m->to)) : 0;
}

static int directory(struct mirror *m, struct spot *from, struct spot *to, struct error *e)
{
    _cleanup_(names_release) struct names ours = { 0 }, theirs = { 0 };
    _cleanup_(entry_release) struct entry attributes = { 0 };
    int r = 0;
    if (to->kind != SPOT_DIRECTORY && to->kind != SPOT_NOTHING)
        r = keep_and_unlink(m, to, from, e);
    if (r == 0 && to->kind != SPOT_DIRECTORY && mkdirat(to->dir, to->name, 0700) < 0)
        r = error_set(e, ERROR_FAILED, -errno, "make %s", buf_string(&m->to));
    if (r == 0)
        r = names_of(from, &theirs, e);
    if (r == 0)
        r = names_of(to, &ours, e);
    entry_copy(&from->a.entry, &attributes);
    spot_release(from); /* no descriptors while it goes down */
    spot_release(to);
    if (r == 0)
        r = merge(m, &theirs, &ours, e);
    return r < 0 ? r : finish(m, &attributes, e);
}

static bool left_alone(struct mirror *m, const struct spot *from, const struct spot *to)
{
    if (is_secret(buf_string(&m->to)))
        return true;
    if (from->kind == SPOT_OTHER || to->kind == SPOT_OTHER) {
        const struct attributes *a = from->kind == SPOT_OTHER ? &from->a : &to->a;
        if (from->kind != SPOT_NOTHING && m->config->left)
            m->config->left(m->config->arg, buf_string(&m->to), type_of(a));
        return true;
    }
    _cleanup_free_ char *below = mem_printf("home%s", buf_string(&m->from) + m->top);
    return m->secrets && from->kind != SPOT_NOTHING && below[4] &&
           excluded_ask(m->secrets, below, &from->a, false) != VERDICT_KEPT;
}

/*
 * Whether `to` need not be made anew. What nobody but us writes in `to` was read before its ctime: a change of `from`
 * that may be later, and left it the same time, is looked for in what both hold. In a tree that others write in, what
 * differs under equal times is theirs, and stays.
 */
static int is_equal(struct mirror *m, const struct spot *from, const struct spot *to, bool *ret, struct error *e)
{
    *ret = same(from, to);
    if (!*ret || from->kind != SPOT_FILE || m->config->kept >= 0 ||
        stat_cache_settled(&from->a.entry, to->a.entry.ctime_ns))
        return 0;
    int r = holds(from, to, ret, e);
    return r < 0 && is_other(from) ? -EAGAIN : r;
}

static int make_equal(struct mirror *m, struct error *e)
{
    _cleanup_(spot_release) struct spot from = SPOT_NONE, to = SPOT_NONE;
    int r = look(m->config->from, buf_string(&m->from), &from, e);
    if (r == 0)
        r = look(m->config->to, buf_string(&m->to), &to, e);
    if (r < 0 || left_alone(m, &from, &to))
        return r;
    if (from.kind == SPOT_NOTHING)
        return take_away(m, e);
    r = go_on(m, &from.a, e);
    bool equal = false;
    if (r == 0 && from.kind != SPOT_DIRECTORY)
        r = is_equal(m, &from, &to, &equal, e);
    if (r < 0 || equal)
        return r;
    if (from.kind != SPOT_DIRECTORY && to.kind == SPOT_DIRECTORY)
        r = take_away(m, e);
    if (r == 0 && to.dir < 0)
        r = make_parents(m->config->to, buf_string(&m->to), e);
    if (r == 0 && (to.dir < 0 || (from.kind != SPOT_DIRECTORY && to.kind == SPOT_DIRECTORY)))
        r = look(m->config->to, buf_string(&m->to), &to, e);
    if (r == 0 && to.dir < 0)
        r = error_set(e, ERROR_FAILED, -ENOTDIR, "make the directory of %s", buf_string(&m->to));
    if (r < 0)
        return r;
    if (from.kind == SPOT_DIRECTORY)
        return directory(m, &from, &to, e);
    r = to.kind == SPOT_FILE || to.kind == SPOT_LINK ? keep_changed(m, &to, &from, e) : 0;
    return r < 0 ? r : put(m, &from, &to, e);
}

/* A directory's secrets, by all names of their inodes. */
static int find_secrets(struct mirror *m, struct error *e)
{
    int fd = fd_open_beneath(m->config->from, buf_string(&m->from), O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (fd < 0)
        return 0; /* no directory: whoever looks at it says more */
    _cleanup_close_ int directory = fd;
    struct reach_root root = { "home", directory };
    return excluded_new(NULL, &root, 1, true, &m->secrets, e);
}

int mirror_run(const struct mirror_config *c, const char *from, const char *to, struct mirror_stats *stats,
               struct error *e)
{
    struct mirror m = { .config = c, .stats = stats };
    buf_add(&m.from, from, strlen(from));
    buf_add(&m.to, to, strlen(to));
    m.top = m.from.len;
    int r = find_secrets(&m, e);
    if (r == 0)
        r = retry(&m, make_equal, e);
    excluded_free(m.secrets);
    buf_release(&m.from);
    buf_release(&m.to);
    return r;
}
