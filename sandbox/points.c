/* SPDX-License-Identifier: MIT */
#include "sandbox/points.h"

#include "index/base/fd.h"
#include "index/base/mem.h"
#include "sandbox/places.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

static const struct {
    const char *name, *target, *of_host;
} links[] = {
    { ".claude/CLAUDE.md", PLACES_COPIES "/claude/CLAUDE.md", ".claude/CLAUDE.md" },
    { ".claude/settings.json", PLACES_COPIES "/claude/settings.json", ".claude/settings.json" },
};

/* mkdir -p below home, where every part is a directory. -ENOTDIR: one is something else. */
static int make_beneath(int home, const char *path, int *ret_fd, struct error *e)
{
    _cleanup_close_ int at = fd_open_beneath(home, ".", O_RDONLY | O_DIRECTORY, 0);
    _cleanup_free_ char *parts = mem_strdup(path);
    char *rest = parts;
    for (char *part; at >= 0 && (part = strsep(&rest, "/"));) {
        if (mkdirat(at, part, 0755) < 0 && errno != EEXIST)
            return error_set(e, ERROR_FAILED, -errno, "make %s in the box's HOME", path);
        int next = fd_open_beneath(at, part, O_RDONLY | O_DIRECTORY, 0);
        close(at);
        at = next;
    }
    if (at == -ELOOP || at == -ENOTDIR)
        return error_say(e, ERROR_FAILED, -ENOTDIR, "%s in the box's HOME is no directory", path);
    if (at < 0)
        return error_set(e, ERROR_FAILED, at, "make %s in the box's HOME", path);
    if (ret_fd)
        *ret_fd = mem_steal_fd(&at);
    return 0;
}

static int make_projects(int home, const char *project, struct error *e)
{
    size_t n = strlen(PLACES_HOME);
    if (strncmp(project, PLACES_HOME, n) != 0 || project[n] != '/')
        return 0;
    int r = make_beneath(home, project + n + 1, NULL, e);
    if (r == -ENOTDIR)
        error_hint(e, "the project is shown there; move away what the box has put in its place");
    return r;
}

int points_track(int home, const char *project, struct error *e)
{
    int r = make_projects(home, project, e);
    for (size_t i = 0; r == 0 && i < HOST_CONFIGURATION_COUNT; i++)
        r = make_beneath(home, host_configuration[i], NULL, e);
    return r;
}

static int put_or_take_link(int at, const char *name, size_t i, bool has, struct error *e)
{
    char target[256] = "";
    bool linked = readlinkat(at, name, target, sizeof(target) - 1) > 0 && strcmp(target, links[i].target) == 0;
    if (linked && !has && unlinkat(at, name, 0) < 0)
        return error_set(e, ERROR_FAILED, -errno, "remove %s in the box's HOME", links[i].name);
    if (!linked && has && symlinkat(links[i].target, at, name) < 0 && errno != EEXIST)
        return error_set(e, ERROR_FAILED, -errno, "link %s in the box's HOME", links[i].name);
    return 0;
}

/* Programs replace the link by a file of their own. A link to what this host has not would only be in their way. The
 * link is no part of a snapshot (index/exclude), so its directory is as it was: starting a box changes nothing. */
static int make_link(int home, size_t i, const struct host *h, struct error *e)
{
    _cleanup_free_ char *of_host = mem_printf("%s/%s", h->home, links[i].of_host);
    _cleanup_free_ char *parent = mem_strdup(links[i].name);
    char *slash = strrchr(parent, '/');
    *slash = '\0';
    _cleanup_close_ int at = -1;
    bool has = access(of_host, R_OK) == 0;
    int r = make_beneath(home, parent, &at, e);
    if (r < 0)
        return r == -ENOTDIR ? 0 : r;
    struct stat before;
    if (fstat(at, &before) < 0)
        return error_set(e, ERROR_FAILED, -errno, "look at %s in the box's HOME", parent);
    r = put_or_take_link(at, slash + 1, i, has, e);
    const struct timespec times[] = { { .tv_nsec = UTIME_OMIT }, before.st_mtim };
    if (r == 0 && futimens(at, times) < 0)
        r = error_set(e, ERROR_FAILED, -errno, "keep the time of %s in the box's HOME", parent);
    return r;
}

int points_start(int home, const char *project, const struct host *h, bool ret[HOST_CONFIGURATION_COUNT],
                 struct words *left_out, struct error *e)
{
    bool shown[HOST_CONFIGURATION_COUNT] = { false };
    int r = make_projects(home, project, e);
    for (size_t i = 0; r == 0 && i < HOST_CONFIGURATION_COUNT; i++) {
        if (!h->configuration[i])
            continue;
        r = make_beneath(home, host_configuration[i], NULL, e);
        shown[i] = r == 0;
        if (r == -ENOTDIR) {
            words_add(left_out, host_configuration[i]);
            r = 0;
        }
    }
    for (size_t i = 0; r == 0 && i < sizeof(links) / sizeof(links[0]); i++)
        r = make_link(home, i, h, e);
    if (r == 0)
        memcpy(ret, shown, sizeof(shown));
    return r;
}
