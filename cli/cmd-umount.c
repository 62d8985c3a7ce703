/* SPDX-License-Identifier: MIT */
#include "cli/commands.h"
#include "cli/visit.h"
#include "fusefs/mount.h"
#include "index/base/mem.h"

#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>

/* As mountinfo has it. The last part is not touched if need be: nobody may serve what is mounted there any more. */
static char *resolve(const char *dir)
{
    char *point = realpath(dir, NULL);
    if (point)
        return point;
    _cleanup_free_ char *a = mem_strdup(dir), *b = mem_strdup(dir);
    _cleanup_free_ char *parent = realpath(dirname(a), NULL);
    const char *name = basename(b);
    return mem_printf("%s/%s", !parent || strcmp(parent, "/") == 0 ? "" : parent, name);
}

/* The hold may have to wait for a store; the mount does not. */
static void end_visit(struct cmd_context *c, struct stack *s, struct visit *v)
{
    struct error why = { 0 };
    int r = stack_store(s, &why);
    if (r == 0)
        r = visit_end(s, v, &why);
    if (r < 0)
        ui_warn(c->ui, "the hold of this mount stays until the next command can remove it: %s", why.text);
    else
        visit_sweep(s);
}

static int run(struct cmd_context *c, struct error *e)
{
    _cleanup_free_ char *point = resolve(c->arguments[0]);
    _cleanup_(stack_close) struct stack s = STACK_NONE;
    _cleanup_(visit_release) struct visit v = VISIT_NONE;
    int r = stack_open(&s, c->config, c->ui, e);
    if (r < 0)
        return r;
    r = visit_at(c->config, point, &v, e);
    if (r == -ENOENT)
        return error_hint(e, "ag-box status shows what is mounted, and where"), r;
    if (r < 0)
        return r;
    bool mounted = visit_mounted(&v);
    if (mounted)
        r = mount_unmount(point, false, e);
    if (r < 0)
        return error_hint(e, "end what uses it, then again"), r;
    end_visit(c, &s, &v);
    ui_line(c->ui, mounted ? "%s is unmounted" : "%s was not mounted any more", point);
    ui_field_path(c->ui, "path", point);
    return 0;
}

const struct cmd cmd_umount = {
    .name = "umount",
    .summary = "end what mount began",
    .arguments = "DIR",
    .arguments_min = 1,
    .arguments_max = 1,
    .run = run,
};
