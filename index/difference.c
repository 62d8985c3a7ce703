/* SPDX-License-Identifier: MIT */
#include "index/difference.h"

#include "index/base/mem.h"
#include "index/content.h"
#include "index/lookup.h"

#include <errno.h>
#include <string.h>
#include <uthash.h>

/* A path that may be told. */
struct item {
    char letter; /* 0: not told */
    char *path;
    char *moved_from;   /* an 'A' that may turn out to be an 'R' */
    struct entry entry; /* of an 'A': to compare with where it came from */
    bool known;         /* entry's content */
    UT_hash_handle hh;  /* in `by_path` */
};

struct difference {
    struct tree *base;
    struct source *source;
    const struct hash_key *key;
    struct item **items;
    size_t count, room;
    struct item *by_path;
    struct content_ask ask; /* check NULL: nobody */
};

struct difference *difference_new(struct tree *base, struct source *source, const struct hash_key *key)
{
    struct difference *d = mem_new(1, sizeof(*d));
    d->base = base;
    d->source = source;
    d->key = key;
    return d;
}

void difference_ask(struct difference *d, int (*check)(void *arg, struct error *e), void *arg)
{
    d->ask = (struct content_ask){ check, arg };
}

void difference_free(struct difference *d)
{
    if (!d)
        return;
    HASH_CLEAR(hh, d->by_path);
    for (size_t i = 0; i < d->count; i++) {
        free(d->items[i]->path);
        free(d->items[i]->moved_from);
        entry_release(&d->items[i]->entry);
        free(d->items[i]);
    }
    free(d->items);
    free(d);
}

void difference_freep(struct difference **d)
{
    difference_free(*d);
}

static struct item *add(struct difference *d, char letter, const char *path)
{
    if (d->count == d->room) {
        d->room = d->room ? 2 * d->room : 64;
        d->items = mem_grow(d->items, d->room, sizeof(struct item *));
    }
    struct item *i = mem_new(1, sizeof(*i));
    i->letter = letter;
    i->path = mem_strdup(path);
    d->items[d->count++] = i;
    HASH_ADD_KEYPTR(hh, d->by_path, i->path, strlen(i->path), i);
    return i;
}

static int add_deleted(void *arg, uint64_t position, struct bytes key, const struct entry *n, struct error *e)
{
    (void)position;
    (void)n;
    _cleanup_(buf_release) struct buf path = { 0 };
    int r = key_to_path(key, &path);
    if (r < 0)
        return error_set(e, ERROR_DAMAGED, r, "a key of the base");
    add(arg, 'D', buf_string(&path));
    return 0;
}

/* All but content and times: what a chmod or chown changes. */
static bool same_attributes(const struct entry *a, const struct entry *b, bool mtime)
{
    struct entry x = *a, y = *b;
    x.extents = y.extents = NULL;
    x.list = y.list = NULL;
    x.extent_count = y.extent_count = x.list_count = y.list_count = 0;
    if (!mtime)
        x.mtime_ns = y.mtime_ns;
    return entry_same(&x, &y);
}

/* The letter of a path that both have, DIFFERENCE_TIME or 0 for none; was: the base's, resolved. */
static int judge(struct difference *d, const struct entry *now, bool known, int fd, const struct entry *was,
                 struct error *e)
{
    if (now->type != was->type)
        return 'T';
    if (now->type == ENTRY_DIRECTORY)
        return !same_attributes(now, was, false) ? 'M' : now->mtime_ns != was->mtime_ns ? DIFFERENCE_TIME : 0;
    if (now->type != ENTRY_FILE || entry_same(now, was))
        return entry_same(now, was) ? 0 : 'M';
    if (!same_attributes(now, was, true) || (!known && fd < 0))
        return 'M';
    bool same = false;
    int r = known ? content_equal(now, was, d->source, &same, e)
                  : content_same(fd, was, d->source, d->key, d->ask.check ? &d->ask : NULL, &same, e);
    return r < 0 ? r : same ? 0 : 'M';
}

static struct item *find(struct difference *d, const char *path)
{
    struct item *i;
    HASH_FIND_STR(d->by_path, path, i);
    return i;
}

/* The base's first name of the inode that stands at path; path itself where the base has one name or none of it. */
static int origin(struct difference *d, const char *path, char **ret, struct error *e)
{
    struct item *i = find(d, path);
    if (i && i->moved_from) {
        *ret = mem_strdup(i->moved_from);
        return 0;
    }
    _cleanup_(entry_release) struct entry n = { 0 };
    int r = lookup_path(d->base, path, &n, e);
    if (r < 0)
        return r;
    *ret = mem_strdup(r && n.type == ENTRY_LINK ? n.target : path);
    return 0;
}

/* Another name of a file: 0 if it was one of the same file before. What changed about the file is told at its first
 * name. */
static int judge_link(struct difference *d, const char *path, const char *first, struct error *e)
{
    _cleanup_free_ char *before = NULL, *now = NULL;
    int r = origin(d, path, &before, e);
    if (r == 0)
        r = origin(d, first, &now, e);
    return r < 0 ? r : strcmp(before, now) == 0 ? 0 : 'M';
}

static int add_put(struct difference *d, const struct change *c, const char *path, struct error *e)
{
    if (!c->base) {
        struct item *i = add(d, 'A', path);
        i->moved_from = c->moved_from ? mem_strdup(c->moved_from) : NULL;
        i->known = c->content_known;
        entry_copy(c->entry, &i->entry);
        return 0;
    }
    int letter = c->entry->type == ENTRY_LINK ? judge_link(d, path, c->entry->target, e)
                                              : judge(d, c->entry, c->content_known, c->fd, c->base, e);
    if (letter > 0)
        add(d, (char)letter, path);
    return letter < 0 ? error_prefix(e, "%s", path), letter : 0;
}

int difference_change(void *difference, const struct change *c, struct error *e)
{
    struct difference *d = difference;
    if (c->kind == CHANGE_DELETE_PREFIX)
        return tree_scan(d->base, c->key, (struct bytes){ 0 }, add_deleted, d, e);
    _cleanup_(buf_release) struct buf path = { 0 };
    int r = d->ask.check ? d->ask.check(d->ask.arg, e) : 0;
    if (r < 0)
        return r;
    r = key_to_path(c->key, &path);
    if (r < 0)
        return error_set(e, ERROR_FAILED, r, "a walker's key");
    if (c->kind == CHANGE_PUT)
        return add_put(d, c, buf_string(&path), e);
    add(d, 'D', buf_string(&path));
    return 0;
}

/* i is new, in a directory that was moved from where old lay, and old is gone: it came along. */
static int came_along(struct difference *d, struct item *i, struct item *old, struct error *e)
{
    int r;
    if (i->entry.type == ENTRY_LINK) {
        r = judge_link(d, old->path, i->entry.target, e);
    } else {
        _cleanup_(entry_release) struct entry was = { 0 };
        r = lookup_path(d->base, old->path, &was, e);
        if (r == 1)
            r = tree_resolve(d->base, &was, e);
        r = r < 0 ? r : judge(d, &i->entry, i->known, -1, &was, e);
    }
    if (r < 0)
        return r;
    i->letter = (char)r;
    free(i->moved_from);
    i->moved_from = mem_strdup(old->path); /* for what lies below it */
    old->letter = 0;
    return 0;
}

/* Where the directory of i was moved from, with i's name; NULL: it was not. */
static char *path_before(struct difference *d, const struct item *i)
{
    char *slash = strrchr(i->path, '/');
    if (!slash)
        return NULL;
    *slash = '\0';
    struct item *directory = find(d, i->path);
    *slash = '/';
    return directory && directory->moved_from && directory->letter != 'A' && directory->entry.type == ENTRY_DIRECTORY
               ? mem_printf("%s%s", directory->moved_from, slash)
               : NULL;
}

/* Directories come before what lies in them, so theirs is settled already. */
static int settle(struct difference *d, struct item *i, struct error *e)
{
    _cleanup_free_ char *before = path_before(d, i);
    struct item *old = before ? find(d, before) : NULL;
    bool elsewhere = i->moved_from && before && strcmp(i->moved_from, before) != 0;
    if (old && old->letter == 'D' && !elsewhere)
        return came_along(d, i, old, e);
    old = i->moved_from ? find(d, i->moved_from) : NULL;
    if (old && old->letter == 'D') {
        i->letter = 'R';
        old->letter = 0;
    }
    return 0;
}

int difference_tell(struct difference *d, int (*tell)(void *arg, char letter, const char *path, struct error *e),
                    void *arg, struct error *e)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < d->count; i++)
        if (d->items[i]->letter == 'A')
            r = settle(d, d->items[i], e);
    size_t told = 0;
    for (size_t i = 0; r == 0 && i < d->count; i++)
        if (d->items[i]->letter && d->items[i]->letter != DIFFERENCE_TIME) {
            r = tell(arg, d->items[i]->letter, d->items[i]->path, e);
            told++;
        }
    for (size_t i = 0; r == 0 && told == 0 && i < d->count; i++)
        if (d->items[i]->letter == DIFFERENCE_TIME)
            r = tell(arg, DIFFERENCE_TIME, d->items[i]->path, e);
    return r;
}
