/* SPDX-License-Identifier: MIT */
#include "sandbox/sources.h"

#include "index/base/mem.h"
#include "sandbox/weaken.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

static int detach(const char *directory)
{
    struct stat st;
    if (stat(directory, &st) < 0)
        return errno == ENOENT ? 0 : -errno; /* bwrap says so where it is needed */
    if (!S_ISDIR(st.st_mode))
        return 0;
    if (mount(directory, directory, NULL, MS_BIND | MS_REC, NULL) < 0)
        return -errno;
    return mount(NULL, directory, NULL, MS_PRIVATE | MS_REC, NULL) < 0 ? -errno : 0;
}

static bool is_bind(const char *option)
{
    return strcmp(option, "--bind") == 0 || strcmp(option, "--ro-bind") == 0 || strcmp(option, "--ro-bind-try") == 0;
}

/* The kernel's "\\040" and the like, in place. */
static void unescape(char *s)
{
    char *to = s;
    unsigned byte;
    for (; *s; to++)
        if (s[0] == '\\' && sscanf(s + 1, "%3o", &byte) == 1) {
            *to = (char)byte;
            s += 4;
        } else
            *to = *s++;
    *to = '\0';
}

/* "36 35 98:0 ROOT POINT rw,noatime master:1 - fuse.ag-box SOURCE ro" */
static void add_others(char *line, const char *own, struct words *points)
{
    char *point = line, *end, *source = strstr(line, " - ");
    for (unsigned i = 0; i < 4 && point; i++)
        point = strchr(point, ' ') ? strchr(point, ' ') + 1 : NULL;
    source = source ? strchr(source + 3, ' ') : NULL;
    end = point ? strchr(point, ' ') : NULL;
    if (!source || !end)
        return;
    source++;
    source[strcspn(source, " \n")] = '\0';
    *end = '\0';
    unescape(point);
    if (strncmp(source, SOURCES_PREFIX, strlen(SOURCES_PREFIX)) == 0 && strcmp(source, own) != 0)
        words_add(points, point);
}

static int let_go_of_others(const char *own)
{
    _cleanup_(words_release) struct words points = { 0 };
    _cleanup_free_ char *line = NULL;
    size_t room = 0;
    FILE *f = fopen("/proc/self/mountinfo", "re");
    if (!f)
        return -errno;
    while (getline(&line, &room, f) > 0)
        add_others(line, own, &points);
    fclose(f);
    for (size_t i = points.count; i-- > 0;) /* what lies in another first */
        if (umount2(points.items[i], MNT_DETACH | UMOUNT_NOFOLLOW) < 0 && errno != EINVAL && errno != ENOENT)
            return -errno;
    return 0;
}

int sources_detach(const struct words *argv, const char *own)
{
#ifdef AGBOX_FAULT
    if (weaken_is("propagation"))
        return 0;
#endif
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
        return -errno;
    int r = let_go_of_others(own);
    for (size_t i = 0; r == 0 && i + 2 < argv->count && strcmp(argv->items[i], "--") != 0; i++)
        if (is_bind(argv->items[i]))
            r = detach(argv->items[i + 1]);
    return r;
}
