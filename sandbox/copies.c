/* SPDX-License-Identifier: MIT */
#include "sandbox/copies.h"

#include "index/base/fd.h"
#include "index/base/log.h"
#include "index/base/mem.h"
#include "sandbox/etc.h"
#include "sandbox/places.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#define COPY_MAX (1024 * 1024)
#define GITCONFIG_HOST "gitconfig.host"
#define GITCONFIG_USER "gitconfig.user"
#define PROFILE "zz-ag-box.sh" /* they are read in the order of their names */

/* -ENOTDIR: something else is there, as a link, which may lead out of the copy. */
static int make_directory(int in, const char *name, int *ret, struct error *e)
{
    if (mkdirat(in, name, 0755) < 0 && errno != EEXIST)
        return error_set(e, ERROR_FAILED, -errno, "make %s", name);
    *ret = openat(in, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (*ret < 0 || fchmod(*ret, 0755) < 0)
        return error_set(e, ERROR_FAILED, -errno, "open %s", name);
    return 0;
}

/* For all users of the box: on the host nobody else enters the directory that these lie in. */
static int put(int to, const char *name, const void *text, size_t len, struct error *e)
{
    int r = fd_replace(to, name, text, len, e);
    if (r == 0 && fchmodat(to, name, 0644, 0) < 0)
        r = error_set(e, ERROR_FAILED, -errno, "chmod %s", name);
    return r;
}

/* What the host has not, or is larger than any configuration, or no file (a FIFO may have nobody at its other end), is
 * left out. */
static int copy(const char *from, int to, const char *name, struct error *e)
{
    _cleanup_(buf_release) struct buf text = { 0 };
    struct error why = { 0 };
    int r = fd_read_regular(AT_FDCWD, from, COPY_MAX, &text, &why);
    if (r == 0)
        return put(to, name, text.data, text.len, e);
    if (r != -ENOENT && r != -ENOTDIR)
        log_warn("%s: a box does not see it", why.text);
    return unlinkat(to, name, 0) < 0 && errno != ENOENT ? error_set(e, ERROR_FAILED, -errno, "remove %s", name) : 0;
}

/* In the box's /etc, around what the host has there. Git passes over what it includes and is not there. */
static int make_gitconfig(int etc, int copies, const struct host *h, struct error *e)
{
    /* Rule O9: inode numbers and ctimes of files change when they are first written, and git would read all again.
     * Owners are numbers that travel, and all in a box is its root's anyway: git's question whose a repository is says
     * nothing there. A worktree outside of the project is not to be seen in the box, and not gone. */
    static const char text[] = "[include]\n\tpath = " GITCONFIG_HOST "\n"
                               "[core]\n\tcheckStat = minimal\n\ttrustctime = false\n"
                               "[safe]\n\tdirectory = *\n"
                               "[gc]\n\tworktreePruneExpire = never\n"
                               "[include]\n\tpath = " PLACES_COPIES "/" GITCONFIG_USER "\n";
    _cleanup_free_ char *user = mem_printf("%s/.gitconfig", h->home);
    int r = copy(user, copies, GITCONFIG_USER, e);
    if (r == 0 && renameat(etc, "gitconfig", etc, GITCONFIG_HOST) < 0 && errno != ENOENT)
        r = error_set(e, ERROR_FAILED, -errno, "rename gitconfig");
    return r < 0 ? r : put(etc, "gitconfig", text, sizeof(text) - 1, e);
}

/* A line for each user, whom no password lets in: without one, PAM lets not even root become that user (Debian 13). */
static int make_shadow(int etc, struct error *e)
{
    _cleanup_(buf_release) struct buf users = { 0 }, text = { 0 };
    if (fd_read_file(etc, "passwd", COPY_MAX, &users, NULL) < 0)
        return 0;
    for (const char *line = buf_string(&users); *line; line += strcspn(line, "\n"), line += *line == '\n') {
        size_t name = strcspn(line, ":\n");
        if (name > 0 && line[name] == ':')
            buf_printf(&text, "%.*s:*:1:0:99999:7:::\n", (int)name, line);
    }
    int r = fd_replace(etc, "shadow", text.data, text.len, e);
    if (r == 0 && fchmodat(etc, "shadow", 0600, 0) < 0)
        r = error_set(e, ERROR_FAILED, -errno, "chmod shadow");
    return r;
}

static int make_profile(int etc, const struct environment *c, struct error *e)
{
    _cleanup_(buf_release) struct buf text = { 0 };
    _cleanup_close_ int directory = -1;
    environment_profile(c, &text);
    int r = make_directory(etc, "profile.d", &directory, e);
    if (r == -ENOTDIR) {
        log_warn("login shells in the box have the PATH of the host's: /etc/profile.d is no directory");
        return 0;
    }
    return r < 0 ? r : put(directory, PROFILE, text.data, text.len, e);
}

static int make_tmux(int copies, const char *name, const char *node, struct error *e)
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
               "source-file -q /etc/box/tmux.conf\n", /* the node's own */
               name, node);
    return put(copies, "tmux.conf", text.data, text.len, e);
}

static int make_claude(int copies, const struct host *h, struct error *e)
{
    static const char *const names[] = { "CLAUDE.md", "settings.json" };
    _cleanup_close_ int claude = -1;
    int r = make_directory(copies, "claude", &claude, e);
    for (size_t i = 0; r == 0 && i < sizeof(names) / sizeof(names[0]); i++) {
        _cleanup_free_ char *from = mem_printf("%s/.claude/%s", h->home, names[i]);
        r = copy(from, claude, names[i], e);
    }
    return r;
}

int copies_make(int run, const struct host *h, const struct environment *c, struct error *e)
{
    _cleanup_close_ int etc = openat(run, ETC_NAME, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), copies = -1;
    if (etc < 0)
        return error_set(e, ERROR_FAILED, -errno, "open " ETC_NAME);
    int r = make_directory(run, COPIES_NAME, &copies, e);
    if (r == 0)
        r = fd_replace(copies, "empty", "", 0, e);
    if (r == 0)
        r = make_gitconfig(etc, copies, h, e);
    if (r == 0)
        r = make_profile(etc, c, e);
    if (r == 0)
        r = make_shadow(etc, e);
    if (r == 0)
        r = make_tmux(copies, c->box, c->node, e);
    return r < 0 ? r : make_claude(copies, h, e);
}
