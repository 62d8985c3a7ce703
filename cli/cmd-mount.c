/* SPDX-License-Identifier: MIT */
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/mounts.h"
#include "cli/spawn.h"
#include "cli/view.h"
#include "cli/visit.h"
#include "fusefs/mount.h"
#include "index/base/crash.h"
#include "index/base/fd.h"
#include "index/base/mem.h"
#include "index/base/text.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define READERS_MS 2000 /* then it is said that they are waited for */

static int check_point(const char *dir, char **ret, struct error *e)
{
    _cleanup_free_ char *point = realpath(dir, NULL);
    if (!point) {
        error_set(e, ERROR_USAGE, -errno, "%s", dir);
        _cleanup_free_ char *word = text_word(dir);
        return error_hint(e, "mkdir %s: the mount point must be there, and empty", word);
    }
    int r = mounts_check_point(point, e);
    if (r == 0)
        *ret = mem_steal(point);
    return r;
}

/* The snapshot object beside the record, so that a daemon that is started again needs no network. */
static int keep_base(struct stack *s, const struct visit *v, struct error *e)
{
    _cleanup_(buf_release) struct buf sealed = { 0 };
    int r = snapshots_fetch(s->store, s->name, &v->snapshot, &sealed, e);
    return r < 0 ? r : fd_replace(v->dir, "base", sealed.data, sealed.len, e);
}

static int start(struct stack *s, const struct visit *v, pid_t *ret_pid, struct error *e)
{
    _cleanup_free_ char *log = visit_place(s->config, v, "daemon.log");
    int r = keep_base(s, v, e);
    if (r == 0)
        r = interrupt_check(e);
    if (r == 0)
        r = spawn_daemon("mountfs", v->id, log, ret_pid, e);
    crash_point("visit-mounted.after");
    return r;
}

static void tell(struct cmd_context *c, const struct visit *v)
{
    char id[SNAPSHOT_ID_TEXT];
    snapshot_id_text(&v->snapshot, id);
    _cleanup_free_ char *word = text_word(v->point);
    ui_line(c->ui, "snapshot %.8s of %s is at %s, read-only; ag-box umount %s ends it", id, v->box, v->point, word);
    ui_field_text(c->ui, "snapshot", id);
    ui_field_path(c->ui, "path", v->point);
}

/* What is still read there lives until it is read no more, and the hold with it. */
static void wait_for_readers(struct ui *ui, const char *point, int end, pid_t supervisor)
{
    struct pollfd p = { .fd = end, .events = POLLIN };
    if (poll(&p, 1, READERS_MS) == 0)
        ui_warn(ui, "what was at %s is still in use; this ends when that does", point);
    while (waitpid(supervisor, NULL, 0) < 0 && errno == EINTR)
        ;
}

/* Until it is unmounted by somebody, or Ctrl-C unmounts it. */
static int stay(struct stack *s, struct visit *v, pid_t supervisor, struct error *e)
{
    _cleanup_close_ int end = (int)syscall(SYS_pidfd_open, supervisor, 0);
    interrupt_watch(NULL); /* the store is needed once more */
    int r = end < 0 ? error_set(e, ERROR_FAILED, -errno, "pidfd of the supervisor") : 0;
    if (r == 0 && interrupt_wait(end, NULL) < 0)
        r = mount_unmount(v->point, true, e);
    if (r == 0)
        wait_for_readers(s->ui, v->point, end, supervisor);
    struct error why = { 0 };
    if (r == 0 && visit_end(s, v, &why) < 0)
        ui_warn(s->ui, "the hold of this mount stays until the next command can remove it: %s", why.text);
    return r < 0 ? r : interrupt_check(e);
}

static int run(struct cmd_context *c, struct error *e)
{
    _cleanup_free_ char *point = NULL;
    _cleanup_(stack_close) struct stack s = STACK_NONE;
    _cleanup_(visit_release) struct visit v = VISIT_NONE;
    int r = check_point(c->arguments[1], &point, e);
    if (r == 0)
        r = visit_begin(&s, c->config, c->ui, c->arguments[0], c->options.snapshot, point, &v, e);
    if (r < 0)
        return r;
    pid_t supervisor = -1;
    r = start(&s, &v, &supervisor, e);
    if (r < 0) {
        mount_unmount(point, true, NULL);
        visit_end(&s, &v, NULL);
        return error_prefix(e, "mount %s", v.box), r;
    }
    tell(c, &v);
    if (!c->options.foreground)
        return 0;
    close(mem_steal_fd(&v.lock)); /* from here on `umount` may end it */
    return stay(&s, &v, supervisor, e);
}

const struct cmd cmd_mount = {
    .name = "mount",
    .summary = "show a snapshot, read-only",
    .arguments = "NAME DIR",
    .details =
        "DIR is an empty directory; it shows project/ and home/. No lease is taken, and the box need not be here.",
    .arguments_min = 2,
    .arguments_max = 2,
    .options = { { "snapshot", CMD_TEXT, CMD_OPTION(snapshot), "ID",
                   "this snapshot or fork:NODE-EPOCH, not the newest" },
                 { "foreground", CMD_FLAG, CMD_OPTION(foreground), NULL,
                   "stay until it is unmounted; Ctrl-C unmounts" } },
    .run = run,
};
