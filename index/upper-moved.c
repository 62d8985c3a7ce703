/* SPDX-License-Identifier: MIT */
#include "index/upper-moved.h"

#include "index/base/mem.h"
#include "index/compare.h"
#include "index/cursor.h"
#include "index/names.h"

#include <errno.h>
#include <string.h>

/* One moved directory and everything below it. */
struct moving {
    struct upper_view *view;
    struct compare *compare;
};

/* One directory of it. */
struct moved_directory {
    int upper;         /* -1: the base's alone */
    const char *lower; /* NULL: the upper's alone */
    bool passage;
    struct upper_merged merged;
    struct upper_belows belows;
};

void upper_belows_add(struct upper_belows *b, struct upper_below item)
{
    if (b->count == b->room) {
        b->room = b->room ? 2 * b->room : 16;
        b->items = mem_grow(b->items, b->room, sizeof(*b->items));
    }
    b->items[b->count++] = item;
}

void upper_belows_release(struct upper_belows *b)
{
    for (size_t i = 0; i < b->count; i++) {
        free(b->items[i].name);
        free(b->items[i].lower);
    }
    free(b->items);
    *b = (struct upper_belows){ 0 };
}

int upper_merged_open(struct upper_view *v, struct upper_merged *m, int *ret_fd, struct error *e)
{
    if (!m->tried && v->config->merged >= 0) {
        int fd = reach_directory(&v->merged, -1, m->path, "");
        if (fd < 0 && !(v->config->live && reach_vanished(fd)))
            return error_set(e, ERROR_FAILED, fd, "open %s in the mounted tree", m->path);
        m->fd = fd < 0 ? -1 : fd;
    }
    m->tried = true;
    *ret_fd = m->fd;
    return 0;
}

static struct bytes string(const char *s)
{
    return (struct bytes){ (const uint8_t *)s, strlen(s) };
}

static int put(struct moving *m, struct change *c, struct error *e)
{
    struct upper_view *v = m->view;
    int r = key_from_path(buf_bytes(&v->path), &v->key);
    if (r < 0)
        return error_set(e, ERROR_FAILED, r, "make a key of %s", buf_string(&v->path));
    c->kind = CHANGE_PUT;
    c->key = buf_bytes(&v->key);
    return compare_change(m->compare, c, e);
}

/* The base's entry n, which is shown at v->path now. */
static int put_base_entry(struct moving *m, const char *from, const struct entry *n, struct error *e)
{
    struct change c = { .entry = n, .content_known = true, .fd = -1, .other_inode = true, .moved_from = from };
    if (n->type != ENTRY_LINK)
        return put(m, &c, e);
    /* A name that was never joined with the others in the upper layer shows as a file of its own. */
    _cleanup_(entry_release) struct entry own = { 0 };
    entry_copy(n, &own);
    int r = tree_resolve(m->view->config->base, &own, e);
    if (r == 0)
        r = upper_number(m->view, own.ino, &own.ino, e);
    c.entry = &own;
    return r < 0 ? r : put(m, &c, e);
}

static int tell_excluded(struct upper_view *v, bool directory, struct error *e)
{
    v->stats.excluded++;
    if (!v->config->excluded)
        return 0;
    int r = v->config->excluded(v->config->excluded_arg, buf_string(&v->path), directory, e);
    v->stopped |= r < 0;
    return r;
}

/* VERDICT_* of the base's entry n at v->path; told if it is left out. */
static int judge(struct upper_view *v, const struct entry *n, bool below, struct error *e)
{
    bool directory = n->type == ENTRY_DIRECTORY;
    enum verdict verdict = excluded_judge(v->excluded, buf_string(&v->path), directory, below);
    int r = verdict == VERDICT_EXCLUDED ? tell_excluded(v, directory, e) : 0;
    return r < 0 ? r : (int)verdict;
}

static int lower_name(struct moving *m, struct moved_directory *d, struct bytes name, const struct entry *n,
                      struct error *e)
{
    struct upper_view *v = m->view;
    char text[NAME_LEN_MAX + 1] = { 0 };
    memcpy(text, name.data, name.len);
    ssize_t up = reach_down(&v->path, text, e);
    if (up < 0)
        return (int)up;
    _cleanup_free_ char *from = d->lower && d->lower[0] ? mem_printf("%s/%s", d->lower, text) : mem_strdup(text);
    int verdict = judge(v, n, d->passage, e);
    int r = verdict < 0 ? verdict : verdict == VERDICT_EXCLUDED ? 0 : put_base_entry(m, from, n, e);
    if (r == 0 && verdict != VERDICT_EXCLUDED && n->type == ENTRY_DIRECTORY)
        upper_belows_add(&d->belows, (struct upper_below){ .name = mem_strdup(text),
                                                           .lower = mem_steal(from),
                                                           .passage = verdict == VERDICT_PASSAGE });
    reach_up(&v->path, up);
    return r;
}

static int put_found(struct moving *m, struct moved_directory *d, const struct upper_place *p, struct upper_found *f,
                     struct error *e)
{
    struct upper_view *v = m->view;
    int merged = -1;
    int r = upper_merged_open(v, &d->merged, &merged, e);
    if (r == 0)
        r = upper_entry_number(v, p, merged, NULL, f, e);
    if (r < 0)
        return r;
    struct change c = upper_entry_change(v, p, f);
    return put(m, &c, e);
}

static int upper_name(struct moving *m, struct moved_directory *d, const char *name, struct error *e)
{
    struct upper_view *v = m->view;
    ssize_t up = reach_down(&v->path, name, e);
    if (up < 0)
        return (int)up;
    struct upper_place p = { d->upper, name, string(buf_string(&v->path)), d->lower, d->passage };
    struct upper_found f = { .fd = -1 };
    int r = -ENOENT;
    for (int i = 0; i < REACH_TRIES; i++) {
        r = upper_entry(v, &p, &f, e);
        if (r == 0 && !f.nothing)
            r = put_found(m, d, &p, &f, e);
        if (r == 0 || !upper_passed_over(v, r, e))
            break;
        upper_found_release(&f);
    }
    if (r == 0 && !f.nothing && f.entry.type == ENTRY_DIRECTORY)
        upper_belows_add(&d->belows, (struct upper_below){ .name = mem_strdup(name),
                                                           .lower = mem_steal(f.lower),
                                                           .in_upper = true,
                                                           .passage = f.passage });
    upper_found_release(&f);
    if (r < 0 && upper_passed_over(v, r, e))
        r = 0;
    if (r < 0)
        error_prefix(e, "%s", buf_string(&v->path));
    reach_up(&v->path, up);
    return r;
}

/* The names of both layers in one order; the upper's stands where both have one. */
static int own_names(struct moving *m, struct moved_directory *d, const struct names *l, struct cursor *lower,
                     struct error *e)
{
    size_t i = 0;
    for (;;) {
        struct bytes key = { 0 };
        const struct entry *n = NULL;
        int has = cursor_peek(lower, &key, &n, e);
        if (has < 0 || (!has && i == l->count))
            return has;
        int order = !has ? -1 : i == l->count ? 1 : bytes_compare(string(names_get(l, i)), key_name(key));
        int r = order > 0 ? lower_name(m, d, key_name(key), n, e) : upper_name(m, d, names_get(l, i), e);
        if (r < 0)
            return r;
        i += order <= 0;
        if (order >= 0)
            cursor_next(lower);
    }
}

static int own_entries(struct moving *m, struct moved_directory *d, struct error *e)
{
    _cleanup_(names_release) struct names l = { 0 };
    int r = d->upper >= 0 ? names_read(d->upper, &l, e) : 0;
    if (r < 0)
        return upper_passed_over(m->view, r, e) ? 0 : r;
    _cleanup_(buf_release) struct buf prefix = { 0 };
    if (d->lower && key_directory_prefix(string(d->lower), &prefix) < 0)
        return error_say(e, ERROR_DAMAGED, -EIO, "the upper layer refers to %s, which is no path", d->lower);
    struct cursor *lower = cursor_new(d->lower ? m->view->config->base : NULL, buf_bytes(&prefix));
    r = own_names(m, d, &l, lower, e);
    cursor_free(lower);
    return r;
}

struct shifting {
    struct moving *moving;
    const char *from;
    struct buf to;   /* the directory's path now */
    struct buf path; /* the base's, of the entry at hand */
    struct buf directory;
    enum verdict above; /* on directory, the new path's parent */
};

/* What the rules say about the directory of v->path. */
static enum verdict verdict_above(struct shifting *s)
{
    struct upper_view *v = s->moving->view;
    const char *path = buf_string(&v->path), *slash = strrchr(path, '/');
    size_t len = (size_t)(slash - path);
    if (len != s->directory.len || memcmp(path, s->directory.data, len) != 0) {
        buf_clear(&s->directory);
        buf_add(&s->directory, path, len);
        s->above = excluded_directory(v->excluded, buf_string(&s->directory));
    }
    return s->above;
}

static int shift(void *arg, uint64_t position, struct bytes key, const struct entry *n, struct error *e)
{
    (void)position;
    struct shifting *s = arg;
    struct upper_view *v = s->moving->view;
    int r = key_to_path(key, &s->path);
    if (r < 0)
        return error_set(e, ERROR_DAMAGED, r, "a key of the base");
    buf_clear(&v->path);
    buf_add(&v->path, s->to.data, s->to.len);
    size_t old = strlen(s->from);
    if (s->to.len + s->path.len - old > PATH_LEN_MAX)
        return error_set(e, ERROR_FAILED, -ENAMETOOLONG, "a path below %.100s…", buf_string(&s->to));
    buf_add(&v->path, s->path.data + old, s->path.len - old);

    enum verdict above = verdict_above(s);
    if (above == VERDICT_EXCLUDED)
        return 0;
    int verdict = judge(v, n, above == VERDICT_PASSAGE, e);
    return verdict < 0                   ? verdict
           : verdict == VERDICT_EXCLUDED ? 0
                                         : put_base_entry(s->moving, buf_string(&s->path), n, e);
}

/* A directory of which the upper layer has nothing: the base's keys come in the order of the new ones. */
static int shift_subtree(struct moving *m, const char *from, struct error *e)
{
    struct upper_view *v = m->view;
    struct shifting s = { .moving = m, .from = from };
    buf_add(&s.to, v->path.data, v->path.len);
    _cleanup_(buf_release) struct buf prefix = { 0 };
    int r = key_subtree_prefix(string(from), &prefix);
    r = r < 0 ? error_set(e, ERROR_FAILED, r, "make a key of %s", from)
              : tree_scan(v->config->base, buf_bytes(&prefix), (struct bytes){ 0 }, shift, &s, e);
    buf_clear(&v->path);
    buf_add(&v->path, s.to.data, s.to.len);
    buf_release(&s.to);
    buf_release(&s.path);
    buf_release(&s.directory);
    return r;
}

static int moved_below(struct moving *m, int upper, unsigned depth, const struct upper_below *what, struct error *e);

static int go_down(struct moving *m, int upper, unsigned depth, const struct upper_below *b, struct error *e)
{
    struct upper_view *v = m->view;
    ssize_t up = reach_down(&v->path, b->name, e);
    if (up < 0)
        return (int)up;
    int r = 0;
    if (b->in_upper) {
        int fd = reach_directory(&v->upper, upper, buf_string(&v->path), b->name);
        if (fd >= 0)
            r = moved_below(m, fd, depth + 1, b, e);
        else if (!(v->config->live && reach_vanished(fd)))
            r = error_set(e, ERROR_FAILED, fd, "open %s", buf_string(&v->path));
    } else {
        r = shift_subtree(m, b->lower, e);
    }
    reach_up(&v->path, up);
    return r;
}

/* Takes upper. */
static int moved_below(struct moving *m, int upper, unsigned depth, const struct upper_below *what, struct error *e)
{
    struct upper_view *v = m->view;
    _cleanup_close_ int dir = upper;
    _cleanup_free_ char *path = mem_strdup(buf_string(&v->path));
    struct moved_directory d = { .upper = dir, .lower = what->lower, .passage = what->passage };
    d.merged = (struct upper_merged){ .path = path, .fd = -1 };
    int r = own_entries(m, &d, e);
    if (d.merged.fd >= 0)
        close(d.merged.fd);
    if (depth > REACH_OPEN_MAX)
        close(mem_steal_fd(&dir));
    for (size_t i = 0; r == 0 && i < d.belows.count; i++)
        r = go_down(m, dir, depth, &d.belows.items[i], e);
    upper_belows_release(&d.belows);
    return r;
}

int upper_moved(struct upper_view *v, int upper, unsigned depth, const struct upper_below *d, struct error *e)
{
    _cleanup_(buf_release) struct buf prefix = { 0 };
    int r = key_subtree_prefix(buf_bytes(&v->path), &prefix);
    if (r < 0) {
        close(upper);
        return error_set(e, ERROR_FAILED, r, "make a key of %s", buf_string(&v->path));
    }
    _cleanup_(compare_freep) struct compare *compare =
        compare_new(v->config->base, buf_bytes(&prefix), withdrawn_change, v->out);
    struct moving m = { v, compare };
    r = moved_below(&m, upper, depth, d, e);
    return r < 0 ? r : compare_finish(compare, e);
}
