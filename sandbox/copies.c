/* SPDX-License-Identifier: MIT */
#include "sandbox/copies.h"

#include "index/base/fd.h"
#include "index/base/mem.h"
#include "sandbox/places.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#define COPY_MAX (1024 * 1024)

/* Rule O9: inode numbers and ctimes of files change when they are first written, and git would read them all again. */
static const char git_needs[] = "[core]\n\tcheckStat = minimal\n\ttrustctime = false\n";

static int make_directory(int in, const char *name, int *ret, struct error *e)
{
    if (mkdirat(in, name, 0755) < 0 && errno != EEXIST)
        return error_set(e, ERROR_FAILED, -errno, "make %s", name);
    *ret = openat(in, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*ret < 0 || fchmod(*ret, 0755) < 0)
        return error_set(e, ERROR_FAILED, -errno, "open %s", name);
    return 0;
}

/* For all users of the box: on the host nobody else enters the directory that etc lies in. */
static int put(int to, const char *name, const struct buf *text, struct error *e)
{
    int r = fd_replace(to, name, text->data, text->len, e);
    if (r == 0 && fchmodat(to, name, 0644, 0) < 0)
        r = error_set(e, ERROR_FAILED, -errno, "chmod %s", name);
    return r;
}

/* *ret_there: the host has such a file. What it has and is larger than any configuration is left out. */
static int copy(const char *from, int to, const char *name, bool *ret_there, struct error *e)
{
    _cleanup_(buf_release) struct buf text = { 0 };
    bool there = fd_read_file(AT_FDCWD, from, COPY_MAX, &text, NULL) == 0;
    if (ret_there)
        *ret_there = there;
    if (!there)
        return unlinkat(to, name, 0) < 0 && errno != ENOENT ? error_set(e, ERROR_FAILED, -errno, "remove %s", name) : 0;
    return put(to, name, &text, e);
}

static int make_gitconfig(int etc, const struct host *h, struct error *e)
{
    _cleanup_free_ char *user = mem_printf("%s/.gitconfig", h->home);
    bool has_system = false, has_user = false;
    int r = copy("/etc/gitconfig", etc, "gitconfig.system", &has_system, e);
    if (r == 0)
        r = copy(user, etc, "gitconfig.user", &has_user, e);
    if (r < 0)
        return r;
    _cleanup_(buf_release) struct buf text = { 0 };
    if (has_system)
        buf_printf(&text, "[include]\n\tpath = " PLACES_ETC "/gitconfig.system\n");
    buf_printf(&text, "%s", git_needs);
    if (has_user)
        buf_printf(&text, "[include]\n\tpath = " PLACES_ETC "/gitconfig.user\n");
    return put(etc, "gitconfig", &text, e);
}

static int make_tmux(int etc, const char *name, const char *node, struct error *e)
{
    _cleanup_(buf_release) struct buf text = { 0 };
    buf_printf(&text,
               "set -g default-terminal tmux-256color\n"
               "set -g status-style bg=green,fg=black\n"
               "set -g status-left-length 140\n"
               "set -g status-left '[box:%s@%s] '\n"
               "set -g history-limit 50000\n"
               "set -s escape-time 20\n"
               "set -g focus-events on\n"
               "source-file -q /etc/box/tmux.conf\n", /* the node's own, which a box sees with /etc */
               name, node);
    return put(etc, "tmux.conf", &text, e);
}

static int make_claude(int etc, const struct host *h, struct error *e)
{
    static const char *const names[] = { "CLAUDE.md", "settings.json" };
    _cleanup_close_ int claude = -1;
    int r = make_directory(etc, "claude", &claude, e);
    for (size_t i = 0; r == 0 && i < sizeof(names) / sizeof(names[0]); i++) {
        _cleanup_free_ char *from = mem_printf("%s/.claude/%s", h->home, names[i]);
        r = copy(from, claude, names[i], NULL, e);
    }
    return r;
}

static int make_resolver(int etc, const struct host *h, struct error *e)
{
    _cleanup_close_ int resolv = -1;
    int r = make_directory(etc, "resolv", &resolv, e);
    return r < 0 || !h->resolv ? r : copy(h->resolv, resolv, strrchr(h->resolv, '/') + 1, NULL, e);
}

int copies_make(const char *etc, const struct host *h, const char *name, const char *node, struct error *e)
{
    int r = fd_make_directories(etc, 0755, e);
    _cleanup_close_ int dir = r < 0 ? -1 : open(etc, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (r == 0 && (dir < 0 || fchmod(dir, 0755) < 0))
        r = error_set(e, ERROR_FAILED, -errno, "open %s", etc);
    if (r == 0)
        r = fd_replace(dir, "empty", "", 0, e);
    if (r == 0)
        r = make_resolver(dir, h, e);
    if (r == 0)
        r = make_gitconfig(dir, h, e);
    if (r == 0)
        r = make_tmux(dir, name, node, e);
    return r < 0 ? r : make_claude(dir, h, e);
}
