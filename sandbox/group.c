/* SPDX-License-Identifier: MIT */
#include "sandbox/group.h"

#include "index/base/clock.h"
#include "index/base/fd.h"
#include "index/base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define PREFIX "ag-box-"
#define LOOK_MS 2

void group_release(struct group *g)
{
    free(g->v2);
    free(g->v1);
    *g = (struct group){ 0 };
}

/* Where a hierarchy is mounted: cgroup2, or the v1 one with this controller; malloc'd, NULL: nowhere. */
static char *find_mount(const char *type, const char *controller)
{
    FILE *f = fopen("/proc/self/mountinfo", "re");
    char line[PATH_MAX], point[PATH_MAX], found_type[64], options[256];
    char *found = NULL;
    while (f && !found && fgets(line, sizeof(line), f)) {
        const char *rest = strstr(line, " - ");
        if (!rest || sscanf(line, "%*s %*s %*s / %4095s", point) != 1 ||
            sscanf(rest, " - %63s %*s %255s", found_type, options) != 2 || strcmp(found_type, type) != 0)
            continue;
        const char *at = controller ? strstr(options, controller) : options;
        if (at && (!controller || at == options || at[-1] == ','))
            found = mem_strdup(point);
    }
    if (f)
        fclose(f);
    return found;
}

/* The group that /proc/PID/cgroup names: "0::/path" of v2, "6:freezer:/path" of v1. */
static char *find_group(pid_t pid, bool v2)
{
    char name[64], line[PATH_MAX];
    snprintf(name, sizeof(name), "/proc/%d/cgroup", (int)pid);
    FILE *f = fopen(name, "re");
    char *found = NULL;
    while (f && !found && fgets(line, sizeof(line), f)) {
        line[strcspn(line, "\n")] = '\0';
        const char *path = strchr(line, '/');
        const char *controllers = strchr(line, ':');
        if (!path || !controllers)
            continue;
        bool is = v2 ? strncmp(line, "0::", 3) == 0
                     : strncmp(controllers, ":freezer:", 9) == 0 || strncmp(controllers, ":freezer,", 9) == 0;
        if (is)
            found = mem_strdup(strcmp(path, "/") == 0 ? "" : path);
    }
    if (f)
        fclose(f);
    return found;
}

static char *locate(pid_t pid, bool v2)
{
    _cleanup_free_ char *mount = v2 ? find_mount("cgroup2", NULL) : find_mount("cgroup", "freezer");
    _cleanup_free_ char *path = mount ? find_group(pid, v2) : NULL;
    return path ? mem_printf("%s%s", mount, path) : NULL;
}

/* The keepers of one name in one pid namespace (tests have many) have groups that begin alike. */
static char *name_prefix(const char *name, pid_t keeper)
{
    char link[64];
    struct stat st;
    snprintf(link, sizeof(link), "/proc/%d/ns/pid", (int)keeper);
    return mem_printf(PREFIX "%s.%llu.", name, stat(link, &st) == 0 ? (unsigned long long)st.st_ino : 0);
}

/* The box can make groups below its own: in a user namespace it mounts the hierarchy. what is called for each group and
 * the one at the top, when: FTS_D, before those below it, or FTS_DP, after them. fts(3) goes there itself, at any
 * depth: what is the group's name from where we are then. */
static void each_group(const char *path, int when, void (*what)(const char *name))
{
    char *const tops[] = { (char *)(uintptr_t)path, NULL };
    FTS *walk = fts_open(tops, FTS_PHYSICAL | FTS_XDEV, NULL);
    for (FTSENT *at; walk && (at = fts_read(walk));)
        if (at->fts_info == when)
            what(at->fts_accpath);
    if (walk)
        fts_close(walk);
}

static void remove_one(const char *name)
{
    rmdir(name); /* fails while anything is in it */
}

static void remove_group(const char *path)
{
    each_group(path, FTS_DP, remove_one);
}

static void sweep(const char *parent, const char *prefix)
{
    DIR *d = opendir(parent);
    for (struct dirent *n; d && (n = readdir(d));) {
        if (strncmp(n->d_name, prefix, strlen(prefix)) != 0)
            continue;
        pid_t keeper = (pid_t)strtol(n->d_name + strlen(prefix), NULL, 10);
        _cleanup_free_ char *path = mem_printf("%s/%s", parent, n->d_name);
        if (keeper > 0 && kill(keeper, 0) < 0 && errno == ESRCH)
            remove_group(path);
    }
    if (d)
        closedir(d);
}

static char *make_one(const char *name, bool v2)
{
    _cleanup_free_ char *parent = locate(getpid(), v2);
    if (!parent)
        return NULL;
    _cleanup_free_ char *prefix = name_prefix(name, getpid());
    sweep(parent, prefix);
    char *path = mem_printf("%s/%s%d", parent, prefix, (int)getpid());
    if (mkdir(path, 0755) == 0 || errno == EEXIST)
        return path;
    free(path);
    return NULL;
}

void group_make(const char *name, struct group *ret)
{
    *ret = (struct group){ .v2 = make_one(name, true), .v1 = make_one(name, false) };
}

static bool write_word(const char *directory, const char *file, const char *word)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof(path), "%s/%s", directory, file);
    int fd = n < 0 || n >= (int)sizeof(path) ? -1 : open(path, O_WRONLY | O_CLOEXEC);
    bool done = fd >= 0 && write(fd, word, strlen(word)) == (ssize_t)strlen(word);
    if (fd >= 0)
        close(fd);
    return done;
}

void group_enter(const struct group *g)
{
    if (g->v2)
        write_word(g->v2, "cgroup.procs", "0");
    if (g->v1)
        write_word(g->v1, "cgroup.procs", "0");
}

void group_remove(struct group *g)
{
    if (g->v2)
        remove_group(g->v2);
    if (g->v1)
        remove_group(g->v1);
    group_release(g);
}

static char *find_one(const char *name, pid_t keeper, bool v2)
{
    _cleanup_free_ char *parent = locate(keeper, v2);
    if (!parent)
        return NULL;
    _cleanup_free_ char *prefix = name_prefix(name, keeper);
    char *path = mem_printf("%s/%s%d", parent, prefix, (int)keeper);
    if (access(path, F_OK) == 0)
        return path;
    free(path);
    return NULL;
}

int group_find(const char *name, pid_t keeper, struct group *ret, struct error *e)
{
    struct group g = { .v2 = find_one(name, keeper, true), .v1 = find_one(name, keeper, false) };
    if (!g.v2 && !g.v1)
        return error_say(e, ERROR_FAILED, -ENOENT, "no freezer: neither cgroup v2 nor v1's can be used here");
    *ret = g;
    return 0;
}

static bool set_frozen(const struct group *g, bool frozen)
{
    return g->v2 ? write_word(g->v2, "cgroup.freeze", frozen ? "1" : "0")
                 : write_word(g->v1, "freezer.state", frozen ? "FROZEN" : "THAWED");
}

static void thaw_v1(const char *name)
{
    write_word(name, "freezer.state", "THAWED");
}

void group_wake(const struct group *g)
{
    if (g->v2)
        write_word(g->v2, "cgroup.freeze", "0");
    if (g->v1)
        each_group(g->v1, FTS_D, thaw_v1);
}

static bool is_frozen(const struct group *g)
{
    char text[256] = "", path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", g->v2 ? g->v2 : g->v1, g->v2 ? "cgroup.events" : "freezer.state");
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
        return false;
    return strstr(text, g->v2 ? "frozen 1" : "FROZEN") != NULL;
}

/* Until the other end of its socket is closed, or its time is over; says which: 'c' or 't'. */
static _Noreturn void guard(const struct group *g, int fd, int other, unsigned limit_ms)
{
    const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE };
    for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
        signal(ignored[i], SIG_IGN);
    close(other);
    struct pollfd p = { .fd = fd, .events = POLLIN };
    int64_t end = clock_boot_ns() + limit_ms * 1000000LL, left;
    int n = 0;
    while ((left = end - clock_boot_ns()) > 0 && (n = poll(&p, 1, (int)(left / 1000000) + 1)) <= 0)
        ;
    set_frozen(g, false);
    (void)!write(fd, n > 0 ? "c" : "t", 1);
    _exit(0);
}

/* Twice forked, so that it is nobody's child: whoever froze need not wait for it. */
static int start_guard(const struct group *g, unsigned limit_ms, int *ret, struct error *e)
{
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
        return error_set(e, ERROR_FAILED, -errno, "socketpair");
    pid_t pid = fork();
    if (pid == 0) {
        pid_t own = fork();
        if (own == 0)
            guard(g, fds[1], fds[0], limit_ms);
        _exit(own < 0);
    }
    int status = -1, number = pid < 0 ? errno : EAGAIN;
    close(fds[1]);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (status != 0) { /* nobody would thaw what is frozen now */
        close(fds[0]);
        return error_set(e, ERROR_FAILED, -number, "fork");
    }
    *ret = fds[0];
    return 0;
}

int group_freeze(const struct group *g, unsigned wait_ms, unsigned limit_ms, int *ret_guard, struct error *e)
{
    _cleanup_close_ int held = -1;
    int r = start_guard(g, limit_ms, &held, e);
    if (r < 0)
        return r;
    if (!set_frozen(g, true))
        r = error_set(e, ERROR_FAILED, -errno, "freeze %s", g->v2 ? g->v2 : g->v1);
    int64_t end = clock_boot_ns() + wait_ms * 1000000LL;
    while (r == 0 && !is_frozen(g)) {
        if (clock_boot_ns() > end)
            r = error_say(e, ERROR_BUSY, -ETIMEDOUT, "not every process has stopped within %u ms", wait_ms);
        else
            poll(NULL, 0, LOOK_MS); /* v1 says it to nobody; v2's notification comes to poll(2) of a file kept open */
    }
    if (r < 0) {
        group_thaw(mem_steal_fd(&held), NULL);
        return r;
    }
    *ret_guard = mem_steal_fd(&held);
    return 0;
}

int group_thaw(int guard_fd, struct error *e)
{
    _cleanup_close_ int fd = guard_fd;
    char said = 0;
    shutdown(fd, SHUT_WR);
    ssize_t n;
    while ((n = read(fd, &said, 1)) < 0 && errno == EINTR)
        ;
    if (n == 1 && said == 'c')
        return 0;
    return error_say(e, ERROR_FAILED, -ETIMEDOUT, "the box could not be kept still that long");
}
