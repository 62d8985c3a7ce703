/* SPDX-License-Identifier: MIT */
#include "cli/project.h"

#include "cli/place.h"
#include "fusefs/mount.h"
#include "index/base/fd.h"
#include "index/base/mem.h"
#include "index/base/text.h"
#include "index/meta.h"
#include "sandbox/points.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

/* a is b, or above b. */
static bool covers(const char *a, const char *b)
{
    size_t n = strlen(a);
    return strncmp(a, b, n) == 0 && (b[n] == '\0' || b[n] == '/');
}

/* With links resolved as far as it exists. malloc'd. */
static char *resolve(const char *path)
{
    _cleanup_free_ char *there = mem_strdup(path);
    for (;;) {
        _cleanup_free_ char *resolved = realpath(there, NULL);
        if (resolved)
            return mem_printf("%s%s", resolved, path + strlen(there));
        char *slash = strrchr(there, '/');
        if (!slash || slash == there) /* / itself is no link */
            return mem_strdup(path);
        *slash = '\0';
    }
}

/* What every box sees of its node, and what the kernel makes: no project's place. */
static int refuse_system(const char *path, const char *project, struct error *e)
{
    static const char *const system[] = { "/bin",   "/boot", "/dev",  "/etc",  "/lib", "/lib32",
                                          "/lib64", "/nix",  "/proc", "/sbin", "/sys", "/usr" };
    for (size_t i = 0; i < sizeof(system) / sizeof(system[0]); i++)
        if (covers(system[i], project))
            return error_say(e, ERROR_USAGE, -EINVAL, "%s: %s is the system's, and no place for a box", path,
                             system[i]);
    return 0;
}

int project_refuse_own(struct stack *s, const char *path, struct error *e)
{
    const struct config *c = s->config;
    const char *store = c->store && strncmp(c->store, "file://", 7) == 0 ? c->store + 7 : NULL;
    const struct {
        const char *path, *what;
    } own[] = {
        { c->state_dir, "state" }, { c->config_dir, "configuration" }, { c->run_dir, "run" }, { store, "store" }
    };
    _cleanup_free_ char *project = resolve(path);
    int r = refuse_system(path, project, e);
    if (r < 0)
        return r;
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        if (!own[i].path)
            continue;
        _cleanup_free_ char *at = resolve(own[i].path);
        if (covers(project, at) || covers(at, project))
            return error_say(e, ERROR_USAGE, -EINVAL,
                             "%s: ag-box's own %s directory %s is there, and cannot be in a box", path, own[i].what,
                             at);
    }
    return 0;
}

static int refuse_mounts(const char *path, struct error *e)
{
    struct mount_found m;
    if (mount_find(path, &m, NULL) == 0) {
        error_say(e, ERROR_USAGE, -EINVAL, "%s is a mount point (%s)", path, m.type);
        return error_hint(e, "track a directory inside it");
    }
    unsigned below = 0;
    char first[PATH_MAX] = "";
    int r = mount_count_below(path, &below, first, sizeof(first), e);
    if (r < 0 || below == 0)
        return r;
    error_say(e, ERROR_USAGE, -EINVAL, "%s: %s is mounted below it", path, first);
    return error_hint(e, "unmount it first: its content would not travel");
}

int project_resolve(struct stack *s, const char *dir, char **ret, struct error *e)
{
    _cleanup_free_ char *path = realpath(dir, NULL);
    if (!path)
        return error_set(e, ERROR_USAGE, -errno, "%s", dir);
    struct stat st;
    if (stat(path, &st) < 0)
        return error_set(e, ERROR_USAGE, -errno, "%s", path);
    if (!S_ISDIR(st.st_mode))
        return error_say(e, ERROR_USAGE, -ENOTDIR, "%s is not a directory", path);
    if ((st.st_mode & 07777) == 0) { /* mount_point_guard: it could never move aside */
        error_say(e, ERROR_USAGE, -EPERM, "%s is closed (mode 0000): a box that is parked comes up there", path);
        _cleanup_free_ char *word = text_word(path);
        return error_hint(e, "track another directory; if it is no box's any more: chattr -i %s; chmod 755 %s", word,
                          word);
    }
    if (!meta_path_valid(path))
        return error_say(e, ERROR_USAGE, -EINVAL, "%s cannot be a project's path", path);
    if (!text_is_utf8(path, strlen(path))) { /* known now, not when everything has been sent */
        error_say(e, ERROR_USAGE, -EILSEQ, "%s is not UTF-8, which a box's path must be", path);
        return error_hint(e, "rename the directory; the names below it may be any bytes");
    }
    int r = refuse_mounts(path, e);
    if (r < 0)
        return r;
    r = project_refuse_own(s, path, e);
    if (r < 0)
        return error_hint(e, "track a directory that holds none of ag-box's own"), r;
    *ret = mem_steal(path);
    return 0;
}

#define GIT_FILE_MAX 8192
#define GIT_FILE_BEGIN "gitdir: "

/* A worktree and a submodule have a file there that names the directory, absolute or from the project. */
static char *git_directory(const char *project)
{
    _cleanup_free_ char *path = mem_printf("%s/.git", project);
    _cleanup_(buf_release) struct buf text = { 0 };
    struct stat st;
    if (lstat(path, &st) < 0 || S_ISDIR(st.st_mode))
        return NULL;
    if (S_ISLNK(st.st_mode))
        return resolve(path);
    if (!S_ISREG(st.st_mode) || fd_read_file(AT_FDCWD, path, GIT_FILE_MAX, &text, NULL) < 0)
        return NULL;
    char *line = (char *)buf_string(&text);
    line[strcspn(line, "\n")] = '\0';
    size_t begin = strlen(GIT_FILE_BEGIN);
    if (strncmp(line, GIT_FILE_BEGIN, begin) != 0)
        return NULL;
    _cleanup_free_ char *at =
        line[begin] == '/' ? mem_strdup(line + begin) : mem_printf("%s/%s", project, line + begin);
    return resolve(at);
}

/* What a clone that shares its objects borrows from (gitrepository-layout(5)); of several one that is outside. */
static char *git_alternate(const char *project)
{
    _cleanup_free_ char *objects = mem_printf("%s/.git/objects", project);
    _cleanup_free_ char *path = mem_printf("%s/info/alternates", objects);
    _cleanup_(buf_release) struct buf text = { 0 };
    struct stat st;
    if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode) || fd_read_file(AT_FDCWD, path, GIT_FILE_MAX, &text, NULL) < 0)
        return NULL;
    char *rest = (char *)buf_string(&text);
    for (char *line; (line = strsep(&rest, "\n"));) {
        if (!line[0] || line[0] == '#')
            continue;
        _cleanup_free_ char *at = line[0] == '/' ? mem_strdup(line) : mem_printf("%s/%s", objects, line);
        _cleanup_free_ char *resolved = resolve(at);
        if (!covers(project, resolved))
            return mem_steal(resolved);
    }
    return NULL;
}

char *project_git_outside(const char *project)
{
    _cleanup_free_ char *at = git_directory(project);
    if (!at)
        return git_alternate(project);
    return covers(project, at) ? NULL : mem_steal(at);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int project_each_box(struct stack *s, int (*each)(void *arg, const char *name, struct error *e), void *arg,
                     struct error *e)
{
    _cleanup_free_ char *path = mem_printf("%s/box", s->config->state_dir);
    DIR *d = opendir(path);
    if (!d)
        return errno == ENOENT ? 0 : error_set(e, ERROR_FAILED, -errno, "read %s", path);
    char **names = NULL;
    size_t count = 0;
    for (struct dirent *n; (n = readdir(d));) {
        if (!text_is_name(n->d_name))
            continue;
        names = mem_grow(names, count + 1, sizeof(*names));
        names[count++] = mem_strdup(n->d_name);
    }
    closedir(d);
    if (count)
        qsort(names, count, sizeof(*names), compare_names);
    int r = 0;
    for (size_t i = 0; i < count; i++) {
        if (r == 0)
            r = each(arg, names[i], e);
        free(names[i]);
    }
    free(names);
    return r;
}

struct claim {
    struct stack *stack;
    const char *path;
};

static int refuse_other(void *arg, const char *name, struct error *e)
{
    struct claim *claim = arg;
    if (strcmp(name, claim->stack->name) == 0)
        return 0;
    struct stack other = STACK_NONE;
    other.config = claim->stack->config;
    struct error why = { 0 };
    int r = stack_peek(&other, name, &why);
    if (r < 0) { /* one damaged journal must not stop all others */
        ui_warn(claim->stack->ui, "box %s: %s", name, why.text);
        stack_close(&other);
        return 0;
    }
    const struct box_record *b = &other.record;
    bool in_use = !box_state_away(b->state);
    if (in_use && b->path && (covers(b->path, claim->path) || covers(claim->path, b->path))) {
        r = error_say(e, ERROR_BUSY, -EEXIST, "%s: box %s has %s on this node", claim->path, name, b->path);
        error_hint(e, "ag-box park %s first, or choose another directory", name);
    }
    stack_close(&other);
    return r;
}

int project_claim(struct stack *s, const char *path, struct error *e)
{
    struct claim claim = { s, path };
    return project_each_box(s, refuse_other, &claim, e);
}

int project_make_home(struct stack *s, const char *path, struct error *e)
{
    _cleanup_free_ char *home = place_in_box(s->config, s->name, "home");
    int r = fd_make_directories(home, 0700, e);
    if (r < 0)
        return r;
    _cleanup_close_ int fd = open(home, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? error_set(e, ERROR_FAILED, -errno, "open %s", home) : points_track(fd, path, e);
}
