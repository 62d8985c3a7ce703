/* SPDX-License-Identifier: MIT */
#include "fusefs/overlay.h"

#include "index/base/buf.h"
#include "index/base/crash.h"
#include "index/base/fd.h"
#include "index/base/log.h"
#include "index/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/mount.h>
#include <sys/stat.h>

#define FLAGS (MS_NOSUID | MS_NODEV)
#define REDIRECT_MAX "/sys/module/overlay/parameters/redirect_max"
#define OPTIONS_MAX 4095 /* mount(2) reads one page */

static int make_directory(const char *path, struct error *e)
{
    if (mkdir(path, 0755) < 0)
        return error_set(e, ERROR_FAILED, -errno, "make %s", path);
    if (chmod(path, 0755) < 0) /* whatever the umask */
        return error_set(e, ERROR_FAILED, -errno, "set the mode of %s", path);
    return 0;
}

int overlay_make_upper(const struct overlay *o, struct error *e)
{
    int r = make_directory(o->upper, e);
    if (r < 0)
        return r;
    r = make_directory(o->work, e);
    if (r < 0)
        rmdir(o->upper);
    return r;
}

/* The parameter exists once the module is loaded, which the first mount does. False: not there, or not ours to set. */
static bool raise_redirect_max(void)
{
    _cleanup_close_ int fd = open(REDIRECT_MAX, O_WRONLY | O_CLOEXEC);
    return fd >= 0 && fd_write_all(fd, "4096", 4, NULL) == 0;
}

/* The option parser splits at ',', and lowerdir at ':'; both can be escaped. */
static void add_path(struct buf *options, const char *name, const char *path)
{
    buf_printf(options, ",%s=", name);
    for (; *path; path++) {
        if (*path == ',' || *path == ':' || *path == '\\')
            buf_add(options, "\\", 1);
        buf_add(options, path, 1);
    }
}

int overlay_mount(const struct overlay *o, struct error *e)
{
    _cleanup_(buf_release) struct buf options = { 0 };
    buf_printf(&options, "index=off,redirect_dir=on,metacopy=on,xino=on");
    add_path(&options, "lowerdir", o->lower);
    add_path(&options, "upperdir", o->upper);
    add_path(&options, "workdir", o->work);
    if (options.len > OPTIONS_MAX)
        return error_say(e, ERROR_USAGE, -ENAMETOOLONG, "mount the overlay at %s: its paths are too long", o->target);

    bool raised = raise_redirect_max();
    if (mount(o->source, o->target, "overlay", FLAGS, buf_string(&options)) < 0)
        return error_set(e, ERROR_FAILED, -errno, "mount the overlay at %s", o->target);
    if (!raised && !raise_redirect_max())
        log_info("redirect_max of overlayfs cannot be raised: renames at deep paths will fail with EXDEV");
    return 0;
}

int overlay_sync(const char *target, struct error *e)
{
    _cleanup_close_ int fd = open(target, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return error_set(e, ERROR_FAILED, -errno, "open %s", target);
    if (syncfs(fd) < 0)
        return error_set(e, ERROR_FAILED, -errno, "write %s to disk", target);
    return 0;
}

int overlay_freeze(const char *target, struct error *e)
{
    if (mount(NULL, target, NULL, MS_REMOUNT | MS_RDONLY | FLAGS, NULL) < 0) {
        if (errno == EBUSY)
            return error_say(e, ERROR_BUSY, -EBUSY, "a file in %s is open for writing", target);
        return error_set(e, ERROR_FAILED, -errno, "make %s read-only", target);
    }
    crash_point("freeze.mounted");
    int r = overlay_sync(target, e);
    if (r < 0)
        overlay_thaw(target, NULL);
    return r;
}

int overlay_thaw(const char *target, struct error *e)
{
    crash_point("thaw.before");
    if (mount(NULL, target, NULL, MS_REMOUNT | FLAGS, NULL) < 0)
        return error_set(e, ERROR_FAILED, -errno, "make %s writable again", target);
    crash_point("thaw.after");
    return 0;
}
