/* SPDX-License-Identifier: MIT */
#include "fusefs/mount.h"

#include "index/base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <uthash.h>

static void unescape(char *s)
{
    char *to = s;
    for (; *s; s++, to++) {
        if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' && s[3] >= '0' && s[3] <= '7') {
            *to = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
            s += 3;
        } else
            *to = *s;
    }
    *to = '\0';
}

/* "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue", with any number of optional fields.
 */
static bool parse_line(char *line, struct mount_line *m)
{
    char *fields[6], *rest = strstr(line, " - "), *save = NULL;
    if (!rest)
        return false;
    *rest = '\0';
    for (unsigned i = 0; i < 6; i++)
        if (!(fields[i] = strtok_r(i ? NULL : line, " ", &save)))
            return false;
    char *tail[3] = { 0 };
    for (unsigned i = 0; i < 3; i++)
        tail[i] = strtok_r(i ? NULL : rest + 3, " \n", &save);
    unsigned major, minor;
    if (!tail[0] || !tail[1] || sscanf(fields[2], "%u:%u", &major, &minor) != 2)
        return false;

    unescape(fields[3]);
    unescape(fields[4]);
    unescape(tail[1]);
    *m = (struct mount_line){
        .id = atoi(fields[0]),
        .parent = atoi(fields[1]),
        .device = makedev(major, minor),
        .root = fields[3],
        .point = fields[4],
        .options = fields[5],
        .type = tail[0],
        .source = tail[1],
        .super_options = tail[2] ? tail[2] : "",
    };
    return true;
}

int mount_each(const char *path, mount_each_call each, void *arg, struct error *e)
{
    if (!path)
        path = "/proc/self/mountinfo";
    FILE *f = fopen(path, "re");
    if (!f)
        return error_set(e, ERROR_FAILED, -errno, "open %s", path);

    _cleanup_free_ char *line = NULL;
    size_t room = 0;
    int r = 0;
    while (r == 0 && getline(&line, &room, f) > 0) {
        struct mount_line m;
        if (parse_line(line, &m))
            r = each(arg, &m);
    }
    if (r == 0 && ferror(f))
        r = error_set(e, ERROR_FAILED, -EIO, "read %s", path);
    fclose(f);
    return r;
}

static bool has_option(const char *options, const char *word)
{
    size_t len = strlen(word);
    for (const char *p = options; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
        if (strncmp(p, word, len) == 0 && (p[len] == ',' || p[len] == '\0'))
            return true;
    return false;
}

struct search {
    const char *path;
    struct mount_found *found;
    unsigned count;
    char *first;
    size_t size;
};

/* Later lines are mounted over earlier ones at the same path. */
static int match_exactly(void *arg, const struct mount_line *m)
{
    struct search *s = arg;
    if (strcmp(m->point, s->path) != 0)
        return 0;
    s->count++;
    s->found->device = m->device;
    s->found->read_only = has_option(m->options, "ro") || has_option(m->super_options, "ro");
    snprintf(s->found->type, sizeof(s->found->type), "%s", m->type);
    snprintf(s->found->source, sizeof(s->found->source), "%s", m->source);
    return 0;
}

int mount_find(const char *path, struct mount_found *ret, struct error *e)
{
    struct mount_found found = { 0 };
    struct search s = { .path = path, .found = &found };
    int r = mount_each(NULL, match_exactly, &s, e);
    if (r < 0)
        return r;
    if (s.count == 0)
        return error_say(e, ERROR_UNKNOWN, -ENOENT, "nothing is mounted at %s", path);
    *ret = found;
    return 0;
}

static int match_below(void *arg, const struct mount_line *m)
{
    struct search *s = arg;
    size_t len = strlen(s->path);
    if (len == 1) /* "/": everything is below it */
        len = 0;
    if (strncmp(m->point, s->path, len) != 0 || m->point[len] != '/' || m->point[len + 1] == '\0')
        return 0;
    if (s->count++ == 0 && s->first)
        snprintf(s->first, s->size, "%s", m->point);
    return 0;
}

int mount_count_below(const char *path, unsigned *ret, char *ret_first, size_t size, struct error *e)
{
    struct search s = { .path = path, .first = ret_first, .size = size };
    int r = mount_each(NULL, match_below, &s, e);
    if (r == 0)
        *ret = s.count;
    return r;
}

struct sought {
    const char *type, *option;
};

static int match_option(void *arg, const struct mount_line *m)
{
    const struct sought *s = arg;
    return strcmp(m->type, s->type) == 0 && strstr(m->super_options, s->option) != NULL;
}

struct seen_namespace {
    ino_t ino;
    UT_hash_handle hh;
};

/* True at the first process of each mount namespace. */
static bool new_namespace(struct seen_namespace **seen, const char *pid)
{
    char path[64];
    struct stat st;
    snprintf(path, sizeof(path), "/proc/%.16s/ns/mnt", pid);
    if (stat(path, &st) < 0)
        return false; /* ended meanwhile, or a kernel thread */
    struct seen_namespace *known;
    HASH_FIND(hh, *seen, &st.st_ino, sizeof(st.st_ino), known);
    if (known)
        return false;
    known = mem_new(1, sizeof(*known));
    known->ino = st.st_ino;
    HASH_ADD(hh, *seen, ino, sizeof(known->ino), known);
    return true;
}

/* A process in whose mount namespace `is` says yes to a mount; 0: none. */
static int find_anywhere(mount_each_call is, void *arg, pid_t *ret, struct error *e)
{
    DIR *proc = opendir("/proc");
    if (!proc)
        return error_set(e, ERROR_FAILED, -errno, "open /proc");
    struct seen_namespace *seen = NULL, *n, *next;
    pid_t found = 0;
    for (struct dirent *d; !found && (d = readdir(proc));) {
        if (d->d_name[0] < '1' || d->d_name[0] > '9' || !new_namespace(&seen, d->d_name))
            continue;
        char path[64];
        snprintf(path, sizeof(path), "/proc/%.16s/mountinfo", d->d_name);
        if (mount_each(path, is, arg, NULL) > 0) /* an error: the process has ended */
            found = (pid_t)strtol(d->d_name, NULL, 10);
    }
    HASH_ITER (hh, seen, n, next) {
        HASH_DEL(seen, n);
        free(n);
    }
    closedir(proc);
    *ret = found;
    return 0;
}

int mount_seen_anywhere(const char *type, const char *option, pid_t *ret, struct error *e)
{
    struct sought sought = { type, option };
    return find_anywhere(match_option, &sought, ret, e);
}

static int match_point(void *arg, const struct mount_line *m)
{
    return strcmp(m->point, arg) == 0;
}

int mount_point_used(const char *path, pid_t *ret, struct error *e)
{
    return find_anywhere(match_point, (void *)(uintptr_t)path, ret, e);
}

int mount_fuse(int fd, const char *source, const char *path, struct error *e)
{
    char options[128];
    snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,default_permissions,allow_other", fd);
    if (mount(source, path, "fuse.ag-box", MS_RDONLY | MS_NOSUID | MS_NODEV, options) < 0)
        return error_set(e, ERROR_FAILED, -errno, "mount the lower at %s", path);
    return 0;
}

int mount_bind(const char *from, const char *to, bool read_only, struct error *e)
{
    if (mount(from, to, NULL, MS_BIND, NULL) < 0)
        return error_set(e, ERROR_FAILED, -errno, "bind %s at %s", from, to);
    unsigned long flags = MS_BIND | MS_REMOUNT | MS_NOSUID | MS_NODEV | (read_only ? MS_RDONLY : 0);
    if (mount(NULL, to, NULL, flags, NULL) < 0 || mount(NULL, to, NULL, MS_PRIVATE, NULL) < 0) {
        int r = error_set(e, ERROR_FAILED, -errno, "set the options of %s", to);
        umount2(to, MNT_DETACH);
        return r;
    }
    return 0;
}

int mount_unmount(const char *path, bool detach, struct error *e)
{
    if (umount2(path, UMOUNT_NOFOLLOW | (detach ? MNT_DETACH : 0)) == 0 || errno == EINVAL || errno == ENOENT)
        return 0;
    if (errno == EBUSY)
        return error_say(e, ERROR_BUSY, -EBUSY, "%s is in use", path);
    return error_set(e, ERROR_FAILED, -errno, "unmount %s", path);
}

/* File systems without the flag (tmpfs of older kernels, FUSE) say ENOTTY or EOPNOTSUPP: then mode 0000 has to do. */
static void set_immutable(int dir, bool on)
{
    int flags;
    if (ioctl(dir, FS_IOC_GETFLAGS, &flags) < 0)
        return;
    flags = on ? flags | FS_IMMUTABLE_FL : flags & ~FS_IMMUTABLE_FL;
    (void)ioctl(dir, FS_IOC_SETFLAGS, &flags);
}

static int check_empty(int dir, const char *path, struct error *e)
{
    DIR *d = fdopendir(dup(dir));
    if (!d)
        return error_set(e, ERROR_FAILED, -errno, "list %s", path);
    unsigned count = 0;
    while (count < 3 && readdir(d))
        count++;
    closedir(d);
    if (count > 2)
        return error_say(e, ERROR_BUSY, -ENOTEMPTY, "%s is not empty", path);
    return 0;
}

static int open_empty(const char *path, int *ret, struct error *e)
{
    _cleanup_close_ int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0)
        return error_set(e, ERROR_FAILED, -errno, "open %s", path);
    int r = check_empty(dir, path, e);
    if (r == 0)
        *ret = mem_steal_fd(&dir);
    return r;
}

int mount_point_guard(const char *path, struct error *e)
{
    if (mkdir(path, 0) < 0 && errno != EEXIST)
        return error_set(e, ERROR_FAILED, -errno, "make %s", path);
    _cleanup_close_ int dir = -1;
    int r = open_empty(path, &dir, e);
    if (r < 0)
        return r;
    set_immutable(dir, false);
    if (fchmod(dir, 0) < 0)
        return error_set(e, ERROR_FAILED, -errno, "set the mode of %s", path);
    set_immutable(dir, true);
    return 0;
}

int mount_point_free(const char *path, struct error *e)
{
    _cleanup_close_ int dir = -1;
    int r = open_empty(path, &dir, e);
    if (r < 0)
        return r;
    set_immutable(dir, false);
    if (rmdir(path) < 0)
        return error_set(e, ERROR_FAILED, -errno, "remove %s", path);
    return 0;
}
