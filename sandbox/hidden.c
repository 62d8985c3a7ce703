/* SPDX-License-Identifier: MIT */
#include "sandbox/hidden.h"

#include "index/base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

static int hide(struct hidden *h, struct words *list, const char *path, struct error *e)
{
    if (words_has(list, path)) /* each connection of a socket has its name */
        return 0;
    if (h->files->count + h->directories->count >= HIDDEN_MAX) {
        error_say(e, ERROR_FAILED, -E2BIG, "more than %d files must be hidden from a box, the next one %s", HIDDEN_MAX,
                  path);
        return error_hint(e, "move them out of what a box is shown");
    }
    words_add(list, path);
    return 0;
}

static int look_below(struct hidden *h, int directory, const char *from, const char *to, struct error *e);

static int look_at(struct hidden *h, int directory, const struct dirent *n, const char *from, const char *to,
                   struct error *e)
{
    struct stat st;
    if (n->d_type == DT_REG || n->d_type == DT_LNK || fstatat(directory, n->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
        S_ISREG(st.st_mode) || S_ISLNK(st.st_mode))
        return 0;
    if (!S_ISDIR(st.st_mode))
        return hide(h, h->files, to, e);
    if (h->ours && words_has(h->ours, from))
        return hide(h, h->directories, to, e);
    _cleanup_close_ int fd = openat(directory, n->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? 0 : look_below(h, mem_steal_fd(&fd), from, to, e);
}

/* Closes directory. */
static int look_below(struct hidden *h, int directory, const char *from, const char *to, struct error *e)
{
    DIR *d = fdopendir(directory);
    if (!d) {
        close(directory);
        return error_set(e, ERROR_FAILED, -errno, "read %s", from);
    }
    int r = 0;
    for (struct dirent *n; r == 0 && (n = readdir(d));) {
        if (strcmp(n->d_name, ".") == 0 || strcmp(n->d_name, "..") == 0)
            continue;
        _cleanup_free_ char *from_child = mem_printf("%s/%s", from, n->d_name);
        _cleanup_free_ char *to_child = mem_printf("%s/%s", to, n->d_name);
        r = look_at(h, dirfd(d), n, from_child, to_child, e);
    }
    closedir(d);
    return r;
}

/* The rest of path below `above`; NULL: it is not below. */
static const char *below(const char *above, const char *path)
{
    size_t n = strlen(above);
    return strncmp(above, path, n) == 0 && path[n] == '/' ? path + n : NULL;
}

/* "0000000000000000: 00000002 00000000 00010000 0001 01 12345 /path" */
static int look_at_bound(struct hidden *h, const char *from, const char *to, struct error *e)
{
    FILE *f = fopen("/proc/net/unix", "re");
    if (!f)
        return error_set(e, ERROR_FAILED, -errno, "read /proc/net/unix");
    char line[PATH_MAX];
    int r = 0;
    while (r == 0 && fgets(line, sizeof(line), f)) {
        int at = 0;
        struct stat st;
        line[strcspn(line, "\n")] = '\0';
        if (sscanf(line, "%*s %*s %*s %*s %*s %*s %*s %n", &at) < 0 || at == 0 || line[at] != '/')
            continue;
        const char *rest = below(from, line + at);
        if (!rest || lstat(line + at, &st) < 0 || !S_ISSOCK(st.st_mode))
            continue;
        _cleanup_free_ char *path = mem_printf("%s%s", to, rest);
        r = hide(h, h->files, path, e);
    }
    fclose(f);
    return r;
}

static int look_at_ours(struct hidden *h, const char *from, const char *to, struct error *e)
{
    int r = 0;
    for (size_t i = 0; r == 0 && h->ours && i < h->ours->count; i++) {
        const char *rest = below(from, h->ours->items[i]);
        struct stat st;
        if (!rest || lstat(h->ours->items[i], &st) < 0 || !S_ISDIR(st.st_mode))
            continue;
        _cleanup_free_ char *path = mem_printf("%s%s", to, rest);
        r = hide(h, h->directories, path, e);
    }
    return r;
}

int hidden_look(struct hidden *h, const char *from, const char *to, enum hidden_kind kind, struct error *e)
{
    _cleanup_free_ char *real = realpath(from, NULL);
    if (!real)
        return errno == ENOENT ? 0 : error_set(e, ERROR_FAILED, -errno, "%s", from);
    if (kind == HIDDEN_LISTENING) {
        int r = look_at_bound(h, real, to, e);
        return r < 0 ? r : look_at_ours(h, real, to, e);
    }
    int fd = open(real, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? error_set(e, ERROR_FAILED, -errno, "open %s", real) : look_below(h, fd, real, to, e);
}
