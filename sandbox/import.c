/* SPDX-License-Identifier: MIT */
#include "sandbox/import.h"

#include "index/base/fd.h"
#include "index/base/mem.h"
#include "sandbox/origin.h"
#include "sandbox/prefix.h"
#include "sandbox/words.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define HEAD_FIRST (64 * 1024) /* nearly always enough */
#define CODEX_DEPTH 3          /* sessions/YYYY/MM/DD */

struct import {
    struct transfer transfer; /* from and to: the agent's directory on both sides */
    enum credentials_agent agent;
    const char *project;
    struct import_report report;
    struct words ids;    /* of Claude Code's sessions that were taken */
    unsigned own, other; /* sessions in the directory at hand */
};

typedef int each(struct import *i, const char *directory, const char *name, struct error *e);

/* Calls what for each name in the directory that does not begin with a dot. Not there, a link, or none: nothing. */
static int list(struct import *i, const char *directory, each *what, struct error *e)
{
    int fd = fd_open_beneath(i->transfer.from, directory, O_RDONLY | O_DIRECTORY, 0);
    if (fd == -ELOOP)
        i->report.left_out++;
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d) {
        mem_closep(&fd);
        return 0;
    }
    int r = 0;
    for (struct dirent *n; r == 0 && (n = readdir(d));)
        if (n->d_name[0] != '.')
            r = what(i, directory, n->d_name, e);
    closedir(d);
    return r;
}

static bool ends_with(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);
    return n > m && strcmp(name + n - m, end) == 0;
}

/* The first bytes tell, or those up to ORIGIN_HEAD_MAX. -ENOENT: nothing in the file does; -EINVAL: it cannot be read
 * or understood as a whole. */
static int read_origin(const struct import *i, const char *path, char **ret)
{
    _cleanup_close_ int fd = fd_open_beneath(i->transfer.from, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
    _cleanup_(buf_release) struct buf head = { 0 };
    for (size_t max = HEAD_FIRST;; max = ORIGIN_HEAD_MAX) {
        bool more = false;
        if (fd < 0 || prefix_read(fd, ends_with(path, ".zst"), max, &head, &more) < 0)
            return -EINVAL;
        int r = i->agent == CREDENTIALS_CLAUDE ? origin_of_claude(buf_bytes(&head), ret)
                                               : origin_of_codex(buf_bytes(&head), ret);
        if (r == 0 || !more)
            return r;
        if (max == ORIGIN_HEAD_MAX)
            return -EINVAL;
    }
}

/* Whether the session at path is the project's; one that does not tell is counted, and may be another's unless there is
 * nothing in it that could. */
static bool is_own(struct import *i, const char *path)
{
    _cleanup_free_ char *origin = NULL;
    int r = read_origin(i, path, &origin);
    if (r < 0) {
        i->report.left_out++;
        i->other += r != -ENOENT;
        return false;
    }
    bool own = origin_within(origin, i->project);
    i->own += own;
    i->other += !own;
    return own;
}

static int take(struct import *i, const char *directory, const char *name, struct error *e)
{
    _cleanup_free_ char *path = mem_printf("%s/%s", directory, name);
    return transfer_entry(&i->transfer, path, e);
}

static int claude_session(struct import *i, const char *directory, const char *name, struct error *e)
{
    if (!ends_with(name, ".jsonl"))
        return 0;
    _cleanup_free_ char *path = mem_printf("%s/%s", directory, name);
    _cleanup_free_ char *id = mem_copy(name, strlen(name) - strlen(".jsonl"));
    if (!is_own(i, path))
        return 0;
    int r = take(i, directory, name, e);
    if (strncmp(name, "agent-", strlen("agent-")) == 0) /* a part of another one, in early versions */
        return r;
    i->report.sessions[i->agent]++;
    words_add(&i->ids, id);
    return r < 0 ? r : take(i, directory, id, e);
}

static int claude_project(struct import *i, const char *directory, const char *name, struct error *e)
{
    _cleanup_free_ char *path = mem_printf("%s/%s", directory, name);
    i->own = i->other = 0;
    int r = list(i, path, claude_session, e);
    return r == 0 && i->own && !i->other ? take(i, path, "memory", e) : r;
}

static int claude_todo(struct import *i, const char *directory, const char *name, struct error *e)
{
    const char *end = strstr(name, "-agent-");
    _cleanup_free_ char *id = mem_copy(name, end ? (size_t)(end - name) : 0);
    return words_has(&i->ids, id) ? take(i, directory, name, e) : 0;
}

static int import_claude(struct import *i, struct error *e)
{
    int r = list(i, "projects", claude_project, e);
    for (size_t n = 0; r == 0 && n < i->ids.count; n++) {
        r = take(i, "file-history", i->ids.items[n], e);
        if (r == 0)
            r = take(i, "tasks", i->ids.items[n], e);
    }
    return r == 0 && i->ids.count ? list(i, "todos", claude_todo, e) : r;
}

static unsigned depth_of(const char *path)
{
    unsigned n = 0;
    for (; *path; path++)
        n += *path == '/';
    return n;
}

static int codex_entry(struct import *i, const char *directory, const char *name, struct error *e)
{
    _cleanup_free_ char *path = mem_printf("%s/%s", directory, name);
    if (name[strspn(name, "0123456789")] == '\0' && depth_of(path) <= CODEX_DEPTH)
        return list(i, path, codex_entry, e);
    if (strncmp(name, "rollout-", strlen("rollout-")) != 0 || !is_own(i, path))
        return 0;
    i->report.sessions[i->agent]++;
    return take(i, directory, name, e);
}

static int import_codex(struct import *i, struct error *e)
{
    int r = list(i, "sessions", codex_entry, e);
    return r < 0 ? r : list(i, "archived_sessions", codex_entry, e);
}

/* Without its summary Grok does not resume a session. */
static int grok_session(struct import *i, const char *directory, const char *name, struct error *e)
{
    _cleanup_free_ char *path = mem_printf("%s/%s", directory, name), *summary = mem_printf("%s/summary.json", path);
    _cleanup_close_ int is_directory = fd_open_beneath(i->transfer.from, path, O_PATH | O_DIRECTORY, 0);
    _cleanup_close_ int whole = fd_open_beneath(i->transfer.from, summary, O_PATH, 0);
    if (is_directory >= 0 && whole < 0) {
        i->report.left_out++;
        return 0;
    }
    i->report.sessions[i->agent] += is_directory >= 0;
    return take(i, directory, name, e);
}

static int grok_directory(struct import *i, const char *directory, const char *name, struct error *e)
{
    _cleanup_free_ char *path = mem_printf("%s/%s", directory, name), *origin = NULL;
    if (origin_of_grok(name, &origin) < 0) {
        i->report.left_out++;
        return 0;
    }
    return origin_within(origin, i->project) ? list(i, path, grok_session, e) : 0;
}

static int import_grok(struct import *i, struct error *e)
{
    return list(i, "sessions", grok_directory, e);
}

/* The agent's directory on both sides. 1: the host has none. */
static int open_sides(struct import *i, const char *user_home, int home, struct error *e)
{
    static const char *const names[CREDENTIALS_AGENTS] = { ".claude", ".codex", ".grok" };
    const char *name = names[i->agent];
    _cleanup_free_ char *from = mem_printf("%s/%s", user_home, name);
    i->transfer.from = open(from, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (i->transfer.from < 0)
        return 1;
    if (mkdirat(home, name, 0700) < 0 && errno != EEXIST)
        return error_set(e, ERROR_FAILED, -errno, "make %s", name);
    i->transfer.to = fd_open_beneath(home, name, O_RDONLY | O_DIRECTORY, 0);
    return i->transfer.to < 0 ? error_set(e, ERROR_FAILED, i->transfer.to, "open %s", name) : 0;
}

int import_sessions(const char *user_home, int home, const char *project, int (*check)(struct error *e),
                    struct import_report *ret, struct error *e)
{
    static int (*const one[CREDENTIALS_AGENTS])(struct import *, struct error *) = { import_claude, import_codex,
                                                                                     import_grok };
    struct import i = { .project = project, .transfer.check = check };
    int r = 0;
    for (int agent = 0; r == 0 && agent < CREDENTIALS_AGENTS; agent++) {
        i.agent = (enum credentials_agent)agent;
        i.transfer.from = i.transfer.to = -1;
        r = open_sides(&i, user_home, home, e);
        r = r == 0 ? one[agent](&i, e) : r < 0 ? r : 0;
        mem_closep(&i.transfer.from);
        mem_closep(&i.transfer.to);
    }
    words_release(&i.ids);
    if (r == 0 && i.transfer.files && syncfs(home) < 0)
        r = error_set(e, ERROR_FAILED, -errno, "sync the box's HOME");
    if (r < 0)
        return error_prefix(e, "import sessions"), r;
    i.report.files = i.transfer.files;
    i.report.bytes = i.transfer.bytes;
    i.report.left_out += i.transfer.left_out;
    *ret = i.report;
    return 0;
}
