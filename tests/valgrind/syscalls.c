/* SPDX-License-Identifier: MIT */
/*
 * syscalls - preloaded under valgrind only, for what valgrind 3.19 does not know. openat2(2), which it answers with
 * ENOSYS, by means of openat(2), one component after the other: enough for what the product asks; whether the kernel's
 * own keeps its word is what all other runs of the same tests show. And /proc/self/exe, which would be valgrind itself
 * to exec(3).
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ARGUMENTS_MAX 16

static int is_link(int directory, const char *name)
{
    struct stat st;
    return fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode);
}

/* The last component; ELOOP for a symbolic link, unless O_PATH | O_NOFOLLOW asks for it itself. */
static int open_last(int directory, const char *name, const struct open_how *how)
{
    int flags = (int)how->flags;
    if (how->resolve & RESOLVE_NO_SYMLINKS && is_link(directory, name) && (flags & O_PATH) == 0) {
        errno = ELOOP;
        return -1;
    }
    return openat(directory, name, how->resolve & RESOLVE_NO_SYMLINKS ? flags | O_NOFOLLOW : flags, (mode_t)how->mode);
}

static int device_of(int fd, dev_t *ret)
{
    struct stat st;
    int r = fstat(fd, &st);
    *ret = st.st_dev;
    return r;
}

static int walk(int directory, const char *path, const struct open_how *how)
{
    char part[256];
    int at = directory;
    for (;;) {
        size_t n = strcspn(path, "/");
        const char *rest = path + n + strspn(path + n, "/");
        if (n >= sizeof(part)) {
            errno = ENAMETOOLONG;
            break;
        }
        memcpy(part, path, n);
        part[n] = '\0';
        if (how->resolve & RESOLVE_BENEATH && (n == 0 || strcmp(part, "..") == 0)) {
            errno = EXDEV;
            break;
        }
        int last = !*rest;
        int next = last ? open_last(at, part, how) : openat(at, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (next < 0 && !last && errno == ENOTDIR && is_link(at, part))
            errno = ELOOP;
        int code = errno;
        if (at != directory)
            close(at);
        errno = code;
        if (last || next < 0)
            return next;
        at = next;
        path = rest;
    }
    int code = errno;
    if (at != directory)
        close(at);
    errno = code;
    return -1;
}

static long open_how(int directory, const char *path, const struct open_how *how)
{
    dev_t from, to;
    int fd = how->resolve & RESOLVE_NO_SYMLINKS ? walk(directory, path, how) : open_last(directory, path, how);
    if (fd >= 0 && how->resolve & RESOLVE_NO_XDEV &&
        (device_of(directory, &from) < 0 || device_of(fd, &to) < 0 || from != to)) {
        close(fd);
        errno = EXDEV;
        return -1;
    }
    return fd;
}

long syscall(long number, ...)
{
    static long (*real)(long, ...);
    va_list args;
    long a[6];
    va_start(args, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(args, long);
    va_end(args);
    if (!real)
        real = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    long r = real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (number == SYS_openat2 && r < 0 && errno == ENOSYS)
        return open_how((int)a[0], (const char *)a[1], (const struct open_how *)a[2]);
    return r;
}

int execv(const char *path, char *const argv[])
{
    static char self[PATH_MAX];
    if (strcmp(path, "/proc/self/exe") == 0 && readlink(path, self, sizeof(self) - 1) > 0)
        path = self;
    return execve(path, argv, environ);
}

int execl(const char *path, const char *first, ...)
{
    char *argv[ARGUMENTS_MAX + 1] = { (char *)first };
    va_list args;
    va_start(args, first);
    for (int i = 1; argv[i - 1] && i < ARGUMENTS_MAX; i++)
        argv[i] = va_arg(args, char *);
    va_end(args);
    return execv(path, argv);
}
