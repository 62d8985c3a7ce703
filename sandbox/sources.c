/* SPDX-License-Identifier: MIT */
#include "sandbox/sources.h"

#include "sandbox/weaken.h"

#include <errno.h>
#include <sched.h>
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

int sources_detach(const struct words *argv)
{
#ifdef AGBOX_FAULT
    if (weaken_is("propagation"))
        return 0;
#endif
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
        return -errno;
    int r = 0;
    for (size_t i = 0; r == 0 && i + 2 < argv->count && strcmp(argv->items[i], "--") != 0; i++)
        if (is_bind(argv->items[i]))
            r = detach(argv->items[i + 1]);
    return r;
}
