/* SPDX-License-Identifier: MIT */
#include "cli/box.h"

#include "cli/flake.h"
#include "cli/mounts.h"
#include "cli/place.h"
#include "cli/program.h"
#include "cli/unit.h"
#include "cli/view.h"
#include "index/base/clock.h"
#include "index/base/crash.h"
#include "index/base/fd.h"
#include "index/base/log.h"
#include "index/base/mem.h"
#include "sandbox/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>

#define STOP_MS 30000 /* more than the keeper's own grace (cmd-boxrun) */
#define LOOK_MS 5
#define SAY_NS 3000000000

/* Beside the program where it was built; else where it is installed. */
int box_init(char **ret, struct error *e)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (n < 0)
        return error_set(e, ERROR_FAILED, -errno, "read /proc/self/exe");
    self[n] = '\0';
    *strrchr(self, '/') = '\0';
    _cleanup_free_ char *built = mem_printf("%s/../sandbox/boxinit", self), *real = realpath(built, NULL);
    *ret = mem_strdup(real ? real : AGBOX_LIBEXEC "/boxinit");
    if (access(*ret, X_OK) == 0)
        return 0;
    error_set(e, ERROR_FAILED, -errno, "%s", *ret);
    free(mem_steal(*ret));
    return error_hint(e, "ag-box is not installed completely");
}

int box_check(struct error *e)
{
    static const struct {
        const char *program, *package;
    } needed[] = { { "bwrap", "bubblewrap" }, { "tmux", "tmux" } };
    for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
        _cleanup_free_ char *found = program_find(needed[i].program);
        if (found)
            continue;
        error_say(e, ERROR_USAGE, -ENOENT, "a box needs %s, which is not on the PATH", needed[i].program);
        return error_hint(e, "apt-get install %s", needed[i].package), -ENOENT;
    }
    return 0;
}

pid_t box_running(const struct stack *s)
{
    _cleanup_free_ char *run = place_run(s->config, s->name);
    return keeper_find(run);
}

int box_meta(struct stack *s, struct meta *ret)
{
    _cleanup_(view_close) struct view committed = { 0 };
    struct error why = { 0 };
    int r = stack_store(s, &why);
    if (r == 0)
        r = stack_content(s, NULL);
    if (r == 0)
        r = view_open_committed(s, &committed, NULL);
    *ret = (struct meta){ 0 };
    return r < 0 ? r : view_meta(&committed.snapshot, ret, NULL);
}

static uint64_t memory_max(const struct stack *s, const struct meta *m)
{
    return m->memory_max ? m->memory_max : s->config->memory_max;
}

void box_settings(struct stack *s, struct box_settings *ret)
{
    struct meta meta;
    box_meta(s, &meta);
    *ret = (struct box_settings){ .memory_max = memory_max(s, &meta), .nix = meta.nix };
    meta_release(&meta);
}

static int check_tree(struct stack *s, struct error *e)
{
    const struct box_record *b = &s->record;
    if (b->state == BOX_FULL_HELD || (b->state == BOX_FENCED && b->full && !b->aside))
        return 0;
    enum mounts_state mounted = MOUNTS_NONE;
    int r = !b->full && (b->state == BOX_MOUNTED || b->state == BOX_FENCED) ? mounts_look(s, &mounted, e) : 0;
    if (r < 0 || mounted == MOUNTS_SHOWN)
        return r;
    bool none = !s->journal || s->record.state == BOX_NONE || s->record.state == BOX_PARKED;
    error_say(e, none ? ERROR_UNKNOWN : ERROR_BUSY, none ? -ENOENT : -EBUSY, "box %s is not up here (%s)", s->name,
              none ? "none" : box_state_name(s->record.state));
    return error_hint(e, "ag-box up %s", s->name);
}

/* Under the box's lock. A keeper without its socket ends, or has only begun because whoever started it was killed: it
 * is waited for until either is clear. */
static bool runs_on(const struct stack *s)
{
    _cleanup_free_ char *socket = place_in_run(s->config, s->name, "exec");
    int64_t end = clock_boot_ns() + STOP_MS * 1000000LL;
    while (box_running(s)) {
        if (access(socket, F_OK) == 0 || clock_boot_ns() > end)
            return true;
        poll(NULL, 0, LOOK_MS);
    }
    return false;
}

int box_start(struct stack *s, struct error *e)
{
    int r = box_check(e);
    if (r == 0)
        r = check_tree(s, e);
    if (r < 0 || runs_on(s))
        return r;
    _cleanup_free_ char *run = place_run(s->config, s->name), *log = place_in_box(s->config, s->name, "box.log");
    r = fd_make_directories(run, 0700, e);
    crash_point("box-start.before");
    struct meta meta = { 0 };
    if (r == 0 && box_meta(s, &meta) == 0)
        r = flake_make(s, &meta, e);
    struct unit u = { .kind = UNIT_BOX, .name = s->name, .memory_max = memory_max(s, &meta) };
    if (r == 0)
        r = unit_start(s->config, &u, log, e);
    meta_release(&meta);
    crash_point("box-start.after");
    return r;
}

/* Until the lock's end: then nothing of the box runs. */
static bool is_gone_within(const struct stack *s, int timeout_ms)
{
    int64_t begin = clock_boot_ns(), end = begin + timeout_ms * 1000000LL;
    bool said = false;
    while (box_running(s)) {
        int64_t now = clock_boot_ns();
        if (now > end)
            return false;
        if (!said && now - begin > SAY_NS) {
            ui_note(s->ui, "waiting for what runs in %s to end", s->name);
            said = true;
        }
        poll(NULL, 0, LOOK_MS); /* the kernel tells nobody that a lock of someone else's is gone */
    }
    return true;
}

int box_stop(struct stack *s, bool *ret_was, struct error *e)
{
    pid_t keeper = box_running(s);
    if (ret_was)
        *ret_was = keeper != 0;
    if (keeper == 0)
        return 0;
    if (keeper < 0) {
        error_say(e, ERROR_BUSY, -EBUSY, "the box %s runs where its keeper cannot be seen from here", s->name);
        return error_hint(e, "run this where the box was started: not in a container beside it"), -EBUSY;
    }
    crash_point("box-stop.before");
    kill(keeper, SIGTERM);
    if (!is_gone_within(s, STOP_MS)) {
        log_warn("the box %s does not stop; its keeper, pid %d, is killed", s->name, (int)keeper);
        kill(-keeper, SIGKILL); /* it leads a group (cli/spawn), bwrap is in it, and the box dies with that */
        if (!is_gone_within(s, STOP_MS)) {
            error_say(e, ERROR_BUSY, -EBUSY, "the box %s does not stop", s->name);
            return error_hint(e, "something in it waits in the kernel (ps shows D): try again"), -EBUSY;
        }
    }
    crash_point("box-stop.after");
    return 0;
}
