/* SPDX-License-Identifier: MIT */
#include "cli/commands.h"
#include "cli/flow.h"
#include "cli/patience.h"
#include "cli/project.h"
#include "index/base/mem.h"
#include "index/base/text.h"

#include <errno.h>
#include <string.h>

static int snapshot_one(struct cmd_context *c, const char *name, struct error *e)
{
    _cleanup_(stack_close) struct stack s = STACK_NONE;
    int r = stack_for_box(&s, c->config, c->ui, name, false, e);
    if (r < 0)
        return r;
    if (!s.journal)
        return error_say(e, ERROR_UNKNOWN, -ENOENT, "box %s is not here", name);
    r = flow_snapshot(&s, e);
    if (r == 0)
        flow_sweep(&s);
    return flow_ended(&s, "snapshot", r, e);
}

/* The timer is what passes here regularly: a directory that was moved aside has its time, whatever its box does. */
static void sweep_parked(struct cmd_context *c, const char *name)
{
    _cleanup_(stack_close) struct stack s = STACK_NONE;
    struct error ignored = { 0 }; /* somebody works on it */
    int r = stack_open(&s, c->config, c->ui, &ignored);
    if (r == 0)
        r = stack_box(&s, name, false, &ignored);
    if (r == 0 && (s.record.state == BOX_NONE || s.record.state == BOX_MOVED_ASIDE))
        flow_aside_sweep(&s);
}

struct active {
    struct cmd_context *context;
    unsigned active, failed;
    struct error first; /* of those that failed */
    json_t *boxes;
};

static int snapshot_active(void *arg, const char *name, struct error *e)
{
    (void)e;
    struct active *a = arg;
    struct stack look = STACK_NONE;
    look.config = a->context->config;
    struct error why = { 0 };
    int r = stack_peek(&look, name, &why);
    enum box_state state = look.record.state;
    bool parking = state == BOX_PARKING || state == BOX_MOVING;
    bool up = state == BOX_MOUNTED || state == BOX_FULL_HELD || state == BOX_FENCED || parking;
    if (r == 0 && up && patience_look(&look, &why) < 0) /* one box's silent daemon does not hold up the others */
        r = why.code;
    stack_close(&look);
    if (r == 0 && !up) {
        if (state == BOX_NONE || state == BOX_MOVED_ASIDE)
            sweep_parked(a->context, name);
        return 0;
    }
    if (r == 0)
        r = snapshot_one(a->context, name, &why);
    if (parking && (r == 0 || why.code == -EWOULDBLOCK))
        return 0; /* it has ended meanwhile, or goes on */
    a->active++;
    json_array_append_new(a->boxes, json_pack("{s:s,s:b}", "name", name, "ok", r == 0));
    if (r == 0)
        return 0;
    ui_warn(a->context->ui, "%s: %s", name, why.text);
    if (a->failed++ == 0)
        a->first = why;
    return 0; /* one box's failure does not stop the others */
}

static int run_active(struct cmd_context *c, struct error *e)
{
    struct active a = { .context = c, .boxes = json_array() };
    struct stack s = STACK_NONE;
    int r = stack_open(&s, c->config, c->ui, e);
    if (r == 0)
        r = project_each_box(&s, snapshot_active, &a, e);
    stack_close(&s);
    ui_field(c->ui, "boxes", a.boxes);
    if (r < 0)
        return r;
    if (a.active == 0)
        ui_line(c->ui, "no box is active here; nothing to do");
    if (a.failed) {
        error_pass(e, &a.first);
        return error_prefix(e, "%u of %s", a.failed, TEXT_COUNT(a.active, "box"));
    }
    return 0;
}

static int run(struct cmd_context *c, struct error *e)
{
    if (c->options.active && c->argument_count > 0) {
        error_say(e, ERROR_USAGE, -EINVAL, "--active is every box that is up here: a name does not go with it");
        return error_hint(e, "ag-box snapshot %s, or ag-box snapshot --active", c->arguments[0]);
    }
    if (c->options.active)
        return run_active(c, e);
    if (c->argument_count == 1)
        return snapshot_one(c, c->arguments[0], e);
    error_say(e, ERROR_USAGE, -EINVAL, "which box?");
    return error_hint(e, "ag-box snapshot NAME, or --active for every box that is up here");
}

const struct cmd cmd_snapshot = {
    .name = "snapshot",
    .summary = "send what changed while the box goes on, and renew the lease",
    .arguments = "[NAME]",
    .arguments_max = 1,
    .options = { { "active", CMD_FLAG, CMD_OPTION(active), NULL, "every box that is up on this node" } },
    .run = run,
};
