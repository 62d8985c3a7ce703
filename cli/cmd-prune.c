/* SPDX-License-Identifier: MIT */
#include "cli/boxes.h"
#include "cli/commands.h"
#include "cli/flow.h"
#include "index/base/mem.h"

#include <errno.h>

static void set(unsigned *what, const struct cmd_number *n)
{
    if (n->given)
        *what = (unsigned)n->value;
}

static int prune_one(struct cmd_context *c, const char *name, json_t *boxes, struct error *e)
{
    _cleanup_(stack_close) struct stack s = STACK_NONE;
    const struct cmd_options *o = &c->options;
    struct retention_policy policy = RETENTION_DEFAULT;
    json_t *one = NULL;
    s.asks_config = c->argument_count == 1;
    s.admits_globals = true;
    set(&policy.hourly, &o->keep_hourly);
    set(&policy.daily, &o->keep_daily);
    set(&policy.weekly, &o->keep_weekly);
    int r = stack_for_box(&s, c->config, c->ui, name, true, e);
    if (r == 0)
        r = flow_prune(&s, &policy, o->dry_run, &one, e);
    if (r == 0)
        json_array_append_new(boxes, one);
    if (r == 0 && !o->dry_run)
        flow_sweep(&s);
    return r;
}

/* One box's failure does not stop the others; what another node holds is left to it. */
static int prune_all(struct cmd_context *c, const struct store_box *all, size_t count, json_t *boxes, struct error *e)
{
    struct error first = { 0 };
    size_t failed = 0;
    for (size_t i = 0; i < count; i++) {
        struct error why = { 0 };
        int r = all[i].damaged ? -EBADMSG : prune_one(c, all[i].name, boxes, &why);
        if (all[i].damaged)
            why = all[i].why;
        if (r == 0)
            continue;
        bool elsewhere = r == -EBUSY && why.kind == ERROR_HELD;
        json_array_append_new(boxes, json_pack("{s:s,s:s,s:s}", "name", all[i].name, elsewhere ? "left" : "error",
                                               why.text, "kind", error_kind_name(why.kind)));
        if (elsewhere)
            ui_line(c->ui, "%s is held by %s, which prunes it", all[i].name, all[i].head.node);
        else
            ui_warn(c->ui, "%s: %s", all[i].name, why.text);
        if (!elsewhere && failed++ == 0)
            first = why;
    }
    if (failed == 0)
        return 0;
    return error_pass(e, &first);
}

static int run(struct cmd_context *c, struct error *e)
{
    json_t *boxes = json_array();
    ui_field(c->ui, "boxes", boxes);
    if (c->argument_count == 1)
        return prune_one(c, c->arguments[0], boxes, e);
    struct store_box *all = NULL;
    size_t count = 0;
    struct stack s = STACK_NONE;
    s.asks_config = true; /* once for all boxes */
    int r = stack_open(&s, c->config, c->ui, e);
    if (r == 0)
        r = stack_store(&s, e);
    if (r == 0)
        r = boxes_list(&s, BOXES_GLOBALS, &all, &count, e);
    stack_close(&s);
    if (r == 0)
        r = prune_all(c, all, count, boxes, e);
    if (r == 0 && count == 0)
        ui_line(c->ui, "there are no boxes");
    boxes_free(all, count);
    return r;
}

const struct cmd cmd_prune = {
    .name = "prune",
    .summary = "delete snapshots that the policy does not keep, and what only they needed",
    .arguments = "[NAME]",
    .details =
        "Without NAME: globals, and every box that nobody holds, or that is up here. What is found unneeded is\n"
        "condemned first, and deleted by a prune at least 24 hours later. Snapshots in use (holds), forks and the\n"
        "newest always stay.",
    .arguments_max = 1,
    .globals = true,
    .options = { { "keep-hourly", CMD_NUMBER, CMD_OPTION(keep_hourly), "N", "the last of each of N hours (24)" },
                 { "keep-daily", CMD_NUMBER, CMD_OPTION(keep_daily), "N", "the last of each of N days (7)" },
                 { "keep-weekly", CMD_NUMBER, CMD_OPTION(keep_weekly), "N", "the last of each of N weeks (4)" },
                 { "dry-run", CMD_FLAG, CMD_OPTION(dry_run), NULL, "only say what would be done" } },
    .run = run,
};
