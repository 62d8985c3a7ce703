/* SPDX-License-Identifier: MIT */
#include "index/descent.h"

#include "index/base/mem.h"
#include "index/base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>

/*
 * A directory's subtree has its place at "name/", not at "name": "a-b" comes between "a" and "a/x". So directories wait
 * until no name before their "name/" is left. Those that wait are a stack: a name given while "D/" waits begins with D
 * and goes on with a byte before '/', so that its own subtree comes before D's.
 */
struct level {
    char **names; /* sorted */
    size_t count, next;
    size_t *waiting; /* indexes of names */
    size_t waiting_count;
    size_t path_len; /* of the directory's own path */
    dev_t device;
    ino_t inode;
};

struct descent {
    int dir; /* the deepest level's directory */
    struct level *levels;
    size_t depth;
    struct buf path;
};

static void level_release(struct level *l)
{
    for (size_t i = 0; i < l->count; i++)
        free(l->names[i]);
    free(l->names);
    free(l->waiting);
}

/* "read directory src/x", the path made readable. */
static int say_path(struct error *e, int code, const char *doing, struct bytes path)
{
    _cleanup_(buf_release) struct buf text = { 0 };
    text_escape(&text, path.data, path.len);
    return error_set(e, ERROR_FAILED, code, "%s %.300s", doing, path.len ? buf_string(&text) : ".");
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b); /* as unsigned char */
}

static void close_stream(DIR **stream)
{
    if (*stream)
        closedir(*stream);
}

static int read_names(int dir, struct level *l)
{
    int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    _cleanup_(close_stream) DIR *stream = fdopendir(fd);
    if (!stream) {
        int code = -errno;
        close(fd);
        return code;
    }

    size_t room = 0;
    for (;;) {
        errno = 0;
        struct dirent *entry = readdir(stream);
        if (!entry)
            break;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (l->count == room) {
            room = room ? 2 * room : 16;
            l->names = mem_grow(l->names, room, sizeof(*l->names));
        }
        l->names[l->count++] = mem_strdup(entry->d_name);
    }
    if (errno)
        return -errno;
    if (l->count)
        qsort(l->names, l->count, sizeof(*l->names), by_bytes);
    return 0;
}

/* Makes dir, whose path is d's, the deepest level. dir is taken. */
static int push_level(struct descent *d, int dir, struct error *e)
{
    struct level l = { .path_len = d->path.len };
    struct stat st;
    int r = fstat(dir, &st) < 0 ? -errno : read_names(dir, &l);
    if (r < 0) {
        level_release(&l);
        close(dir);
        return say_path(e, r, "read directory", buf_bytes(&d->path));
    }
    l.device = st.st_dev;
    l.inode = st.st_ino;
    mem_closep(&d->dir);
    d->dir = dir;
    d->levels = mem_grow(d->levels, d->depth + 1, sizeof(*d->levels));
    d->levels[d->depth++] = l;
    return 0;
}

static int pop_level(struct descent *d, struct error *e)
{
    level_release(&d->levels[--d->depth]);
    if (d->depth == 0)
        return 0;

    const struct level *up = &d->levels[d->depth - 1];
    d->path.len = up->path_len;
    int parent = openat(d->dir, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (parent < 0)
        return say_path(e, -errno, "go back to", buf_bytes(&d->path));
    mem_closep(&d->dir);
    d->dir = parent;

    struct stat st;
    if (fstat(parent, &st) < 0)
        return say_path(e, -errno, "go back to", buf_bytes(&d->path));
    if (st.st_dev != up->device || st.st_ino != up->inode)
        return say_path(e, -ESTALE, "go back to", buf_bytes(&d->path));
    return 0;
}

static void set_path(struct descent *d, const struct level *l, const char *name)
{
    d->path.len = l->path_len;
    if (d->path.len)
        buf_add(&d->path, "/", 1);
    buf_add(&d->path, name, strlen(name));
}

/* "<directory>/" before name. */
static bool subtree_is_before(const char *directory, const char *name)
{
    size_t len = strlen(directory);
    int order = strncmp(directory, name, len);
    return order ? order < 0 : '/' < (unsigned char)name[len];
}

int descent_new(int root, struct descent **ret, struct error *e)
{
    int dir = openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return error_set(e, ERROR_FAILED, -errno, "open directory");

    struct descent *d = mem_new(1, sizeof(*d));
    d->dir = -1;
    int r = push_level(d, dir, e);
    if (r < 0) {
        descent_free(d);
        return r;
    }
    *ret = d;
    return 0;
}

void descent_free(struct descent *d)
{
    if (!d)
        return;
    while (d->depth > 0)
        level_release(&d->levels[--d->depth]);
    mem_closep(&d->dir);
    buf_release(&d->path);
    free(d->levels);
    free(d);
}

static int enter_waiting(struct descent *d, struct level *l, struct error *e)
{
    const char *name = l->names[l->waiting[--l->waiting_count]];
    set_path(d, l, name);
    int dir = openat(d->dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0)
        return say_path(e, -errno, "open directory", buf_bytes(&d->path));
    return push_level(d, dir, e);
}

int descent_next(struct descent *d, struct descent_entry *ret, struct error *e)
{
    while (d->depth > 0) {
        struct level *l = &d->levels[d->depth - 1];
        const char *name = l->next < l->count ? l->names[l->next] : NULL;
        int r;
        if (l->waiting_count && (!name || subtree_is_before(l->names[l->waiting[l->waiting_count - 1]], name))) {
            r = enter_waiting(d, l, e);
        } else if (!name) {
            r = pop_level(d, e);
        } else {
            l->next++;
            set_path(d, l, name);
            *ret = (struct descent_entry){ .dir = d->dir, .name = name, .path = buf_bytes(&d->path) };
            if (fstatat(d->dir, name, &ret->st, AT_SYMLINK_NOFOLLOW) < 0)
                return say_path(e, -errno, "look at", ret->path);
            return 1;
        }
        if (r < 0)
            return r;
    }
    return 0;
}

void descent_enter(struct descent *d)
{
    struct level *l = &d->levels[d->depth - 1];
    l->waiting = mem_grow(l->waiting, l->waiting_count + 1, sizeof(*l->waiting));
    l->waiting[l->waiting_count++] = l->next - 1;
}
