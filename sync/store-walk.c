/* SPDX-License-Identifier: MIT */
#include "sync/store-walk.h"

#include "index/base/fd.h"
#include "index/base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

struct walk {
    const char *prefix;
    size_t prefix_len;
    int64_t now_ns;
    int (*each)(void *arg, const char *key, const struct store_info *info, struct error *e);
    void *arg;
    char key[STORE_KEY_MAX];
};

struct listed {
    char *name; /* a directory's ends in '/': so they sort as whole keys do */
    uint64_t size;
    int64_t modified_ns;
};

struct listing {
    struct listed *entries;
    size_t count, room;
};

static void listing_release(struct listing *l)
{
    for (size_t i = 0; i < l->count; i++)
        free(l->entries[i].name);
    free(l->entries);
}

static void closedirp(DIR **d)
{
    if (*d)
        closedir(*d);
}

static int64_t modified_ns(const struct stat *st)
{
    return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct listed *)a)->name, ((const struct listed *)b)->name);
}

static int unreadable(const struct walk *w, struct error *e)
{
    return error_set(e, ERROR_STORE, errno == EACCES || errno == EPERM ? -EACCES : -EHOSTUNREACH, "read directory /%s",
                     w->key);
}

/* Whether the key, or something below the directory, can start with the prefix. */
static bool concerns(const struct walk *w, const char *name, size_t len, bool directory)
{
    size_t have = strlen(w->key) + len, compared = strlen(w->key);
    if (have < w->prefix_len && !directory)
        return false;
    if (compared >= w->prefix_len)
        return true;
    size_t n = w->prefix_len - compared < len ? w->prefix_len - compared : len;
    return memcmp(w->prefix + compared, name, n) == 0;
}

static int take_entry(const struct walk *w, int fd, const char *name, struct listing *l, struct error *e)
{
    if (!store_key_valid(name) || strlen(w->key) + strlen(name) + 2 > sizeof(w->key))
        return 0;
    struct stat st;
    if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0) /* gone since readdir: removed, so not listed */
        return errno == ENOENT ? 0 : unreadable(w, e);
    bool directory = S_ISDIR(st.st_mode);
    _cleanup_free_ char *whole = mem_printf("%s%s", name, directory ? "/" : "");
    if (!concerns(w, whole, strlen(whole), directory))
        return 0;
    if (!directory && !S_ISREG(st.st_mode))
        return error_say(e, ERROR_DAMAGED, -EBADMSG, "%s%s is neither a file nor a directory", w->key, name);
    if (l->count == l->room)
        l->entries = mem_grow(l->entries, l->room = l->room * 2 + 16, sizeof(*l->entries));
    l->entries[l->count++] = (struct listed){ mem_steal(whole), (uint64_t)st.st_size, modified_ns(&st) };
    return 0;
}

static int read_directory(const struct walk *w, int fd, struct listing *l, struct error *e)
{
    _cleanup_close_ int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_(closedirp) DIR *dir = own < 0 ? NULL : fdopendir(own);
    if (!dir)
        return errno == ENOENT ? 0 : unreadable(w, e);
    mem_steal_fd(&own);
    for (;;) {
        errno = 0;
        const struct dirent *d = readdir(dir);
        if (!d && errno == 0)
            break;
        int r = d ? take_entry(w, fd, d->d_name, l, e) : unreadable(w, e);
        if (r < 0)
            return r;
    }
    if (l->count > 0)
        qsort(l->entries, l->count, sizeof(*l->entries), by_name);
    return 0;
}

static int walk(struct walk *w, int fd, struct error *e)
{
    _cleanup_(listing_release) struct listing l = { 0 };
    int r = read_directory(w, fd, &l, e);
    size_t len = strlen(w->key);
    for (size_t i = 0; r == 0 && i < l.count; i++) {
        const struct listed *n = &l.entries[i];
        strcpy(w->key + len, n->name);
        size_t end = strlen(w->key);
        if (w->key[end - 1] != '/') {
            struct store_info info = { .size = n->size, .modified_ns = n->modified_ns, .now_ns = w->now_ns };
            r = w->each(w->arg, w->key, &info, e);
        } else {
            _cleanup_close_ int below = openat(fd, n->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
            if (below >= 0)
                r = walk(w, below, e);
            else if (errno != ENOENT) /* an emptied directory goes with its last object */
                r = unreadable(w, e);
        }
        w->key[len] = '\0';
    }
    return r;
}

int store_walk(int root, const char *prefix, int64_t now_ns,
               int (*each)(void *arg, const char *key, const struct store_info *info, struct error *e), void *arg,
               struct error *e)
{
    struct walk w = { .prefix = prefix, .prefix_len = strlen(prefix), .now_ns = now_ns, .each = each, .arg = arg };
    return walk(&w, root, e);
}

static int first_found(void *arg, const char *key, const struct store_info *info, struct error *e)
{
    (void)arg;
    (void)key;
    (void)info;
    (void)e;
    return 1;
}

int store_walk_names(int root, const char *prefix, int (*each)(void *arg, const char *name, struct error *e), void *arg,
                     struct error *e)
{
    struct walk w = { .prefix = prefix, .prefix_len = strlen(prefix) };
    _cleanup_(listing_release) struct listing l = { 0 };
    strcpy(w.key, prefix);
    _cleanup_free_ char *directory = w.prefix_len ? mem_copy(prefix, w.prefix_len - 1) : mem_strdup(".");
    _cleanup_close_ int fd = fd_open_beneath(root, directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd == -ENOENT || fd == -ENOTDIR)
        return 0;
    errno = -fd;
    int r = fd < 0 ? unreadable(&w, e) : read_directory(&w, fd, &l, e);
    for (size_t i = 0; r == 0 && i < l.count; i++) {
        char *name = l.entries[i].name;
        size_t len = strlen(name);
        if (name[len - 1] != '/')
            continue;
        _cleanup_free_ char *below = mem_printf("%s%s", prefix, name);
        r = store_walk(root, below, 0, first_found, NULL, e);
        name[len - 1] = '\0';
        if (r == 1)
            r = each(arg, name, e);
    }
    return r;
}
