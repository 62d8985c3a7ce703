/* SPDX-License-Identifier: MIT */
#include "cli/holders.h"

#include "index/base/mem.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

struct search {
    dev_t device;
    const char *below;
    struct holder *found;
    size_t count, room;
};

static bool under(const char *path, const char *directory)
{
    size_t n = strlen(directory);
    return strncmp(path, directory, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

static void add(struct search *s, pid_t pid, const char *path)
{
    if (s->below && !under(path, s->below))
        return;
    if (s->count == s->room || (s->count > 0 && s->found[s->count - 1].pid == pid))
        return; /* one line a process is enough */
    struct holder *h = &s->found[s->count++];
    h->pid = pid;
    snprintf(h->path, sizeof(h->path), "%.255s", path);
    char name[64];
    snprintf(name, sizeof(name), "/proc/%d/comm", (int)pid);
    FILE *f = fopen(name, "re");
    if (!f || !fgets(h->program, sizeof(h->program), f))
        snprintf(h->program, sizeof(h->program), "?");
    h->program[strcspn(h->program, "\n")] = '\0';
    if (f)
        fclose(f);
}

/* Open for writing, as /proc/PID/fdinfo/N says: "flags:\t0100001", octal. */
static bool writes(int process, const char *number)
{
    char path[64], line[128];
    snprintf(path, sizeof(path), "fdinfo/%.20s", number);
    int fd = openat(process, path, O_RDONLY | O_CLOEXEC);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
    if (!f) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    unsigned flags = 0;
    while (fgets(line, sizeof(line), f))
        if (sscanf(line, "flags: %o", &flags) == 1)
            break;
    fclose(f);
    return (flags & O_ACCMODE) != O_RDONLY && !(flags & O_PATH);
}

static void look_at_files(struct search *s, pid_t pid, int process)
{
    int fd = openat(process, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d) {
        if (fd >= 0)
            close(fd);
        return;
    }
    for (struct dirent *n; (n = readdir(d));) {
        struct stat st;
        char target[PATH_MAX];
        if (!isdigit((unsigned char)n->d_name[0]) || fstatat(dirfd(d), n->d_name, &st, 0) < 0 || st.st_dev != s->device)
            continue;
        ssize_t len = readlinkat(dirfd(d), n->d_name, target, sizeof(target) - 1);
        if (len < 0 || !S_ISREG(st.st_mode) || !writes(process, n->d_name))
            continue;
        target[len] = '\0';
        add(s, pid, target);
    }
    closedir(d);
}

/* "7f…-7f… rw-s 00000000 00:2f 1234   /path" */
static void look_at_mappings(struct search *s, pid_t pid, int process)
{
    int fd = openat(process, "maps", O_RDONLY | O_CLOEXEC);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
    if (!f) {
        if (fd >= 0)
            close(fd);
        return;
    }
    char line[PATH_MAX + 128];
    while (fgets(line, sizeof(line), f)) {
        char rights[8];
        unsigned device_major, device_minor;
        int at = 0;
        if (sscanf(line, "%*s %7s %*s %x:%x %*s %n", rights, &device_major, &device_minor, &at) < 3 || !at)
            continue;
        if (rights[1] != 'w' || rights[3] != 's' || makedev(device_major, device_minor) != s->device)
            continue;
        line[strcspn(line, "\n")] = '\0';
        add(s, pid, line + at);
    }
    fclose(f);
}

/* What loses its parent gets PID 1 of its namespace, so whatever a box has started hangs below its keeper. */
static bool descends(pid_t pid, pid_t from)
{
    while (from > 0 && pid > 1 && pid != from) {
        char path[64], line[512];
        snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
        FILE *f = fopen(path, "re");
        const char *after = f && fgets(line, sizeof(line), f) ? strrchr(line, ')') : NULL;
        int parent = 0;
        if (!after || sscanf(after, ") %*c %d", &parent) != 1)
            parent = 0;
        if (f)
            fclose(f);
        pid = parent;
    }
    return from > 0 && pid == from;
}

int holders_find(dev_t device, const char *below, pid_t except, struct holder *ret, size_t *count, struct error *e)
{
    struct search s = { .device = device, .below = below, .found = ret, .room = *count };
    DIR *d = opendir("/proc");
    if (!d)
        return error_set(e, ERROR_FAILED, -errno, "read /proc");
    for (struct dirent *n; (n = readdir(d));) {
        pid_t pid = (pid_t)strtol(n->d_name, NULL, 10);
        if (pid <= 0 || pid == getpid() || descends(pid, except))
            continue;
        _cleanup_close_ int process = openat(dirfd(d), n->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (process < 0)
            continue;
        look_at_files(&s, pid, process);
        look_at_mappings(&s, pid, process);
    }
    closedir(d);
    *count = s.count;
    return 0;
}
