/* SPDX-License-Identifier: MIT */
#include "cli/box.h"
#include "cli/commands.h"
#include "cli/flow.h"
#include "cli/mounts.h"
#include "cli/placing.h"
#include "index/base/clock.h"
#include "index/base/mem.h"
#include "index/base/together.h"

#include <errno.h>

#define REQUESTS_AT_ONCE 3 /* lease, hold and snapshot */

static int unlock(void *arg, struct error *e)
{
    return stack_store(arg, e);
}

struct fetching {
    struct stack *stack;
    bool full;
    struct head_object head;
    bool done, absent;
};

static bool needs_head(const struct stack *s)
{
    enum box_state state = s->record.state;
    return box_state_away(state) && !box_record_in_doubt(&s->record);
}

/*
 * What goes wrong here goes wrong again, and is said, where the head is read; unless there is no such box: then one
 * that this node has not heard of leaves nothing. While the keys are made there is time to start the daemon.
 */
static int fetch_head(void *arg, struct error *e)
{
    struct fetching *f = arg;
    struct stack *s = f->stack;
    if (s->journal && !f->full)
        mounts_expect(s);
    int r = head_fetch(s->store, s->name, &f->head, e);
    f->done = r == 0;
    f->absent = r == -ENOENT;
    if (!f->done)
        return 0;
    r = s->journal ? 0 : stack_box(s, s->name, true, e);
    if (r == 0 && !f->full)
        mounts_expect(s);
    return r;
}

/* The keys, and in the same round trip the head (rule F2). */
static int up(struct stack *s, struct flow_up_options *o, struct error *e)
{
    struct fetching f = { .stack = s, .full = o->full };
    s->asks_config = needs_head(s); /* what is here must come up without the store, too */
    struct together calls[] = { { .run = unlock, .arg = s }, { .run = fetch_head, .arg = &f } };
    int r = together_run(calls, s->asks_config ? 2 : 1, e);
    if (f.done)
        o->fetched = &f.head;
    if (r == 0 && !s->journal)
        r = f.absent ? stack_no_box(s, false, e) : stack_box(s, s->name, true, e);
    if (r == 0)
        r = flow_up(s, o, e);
    buf_release(&f.head.sealed);
    return r;
}

/* The tree is here, and stays: what failed is the box alone. */
static int start(struct stack *s, struct error *e)
{
    int64_t begin = clock_boot_ns();
    int r = box_start(s, e);
    if (r == 0)
        ui_phase(s->ui, "box", clock_boot_ns() - begin);
    else
        error_prefix(e, "%s is up, but its box did not start", s->name);
    return r;
}

static int check_box(struct error *e)
{
    char hint[sizeof(e->hint)];
    int r = box_check(e);
    memcpy(hint, e->hint, sizeof(hint));
    return r < 0 ? error_hint(e, "%s; --no-start does without the box", hint), r : 0;
}

static int run(struct cmd_context *c, struct error *e)
{
    const struct cmd_options *o = &c->options;
    bool done = false;
    int r = placing_elsewhere(c, &done, e);
    if (r < 0 || done)
        return r;
    _cleanup_(stack_close) struct stack s = STACK_NONE;
    r = stack_check_name(c->arguments[0], e);
    if (r == 0 && !o->no_start)
        r = check_box(e);
    stack_use(&s, c->config, c->ui);
    if (r == 0)
        r = stack_connect(&s, e);
    if (r == 0) { /* connections are on their way while disks are read */
        store_expect(s.store, REQUESTS_AT_ONCE);
        r = stack_open(&s, c->config, c->ui, e);
    }
    if (r == 0)
        r = stack_box(&s, c->arguments[0], false, e);
    if (r < 0)
        return r;
    struct flow_up_options options = {
        .force = o->force, .full = o->full, .accept_rollback = o->accept_rollback, .from = o->from
    };
    r = up(&s, &options, e);
    if (r == 0 && !o->no_start)
        r = start(&s, e);
    if (r == 0) {
        ui_field_text(c->ui, "node", c->config->node);
        flow_sweep(&s);
    }
    return flow_ended(&s, c->cmd->name, r, e);
}

const struct cmd cmd_up = {
    .name = "up",
    .summary = "take a box up here: lease, mount, ready",
    .arguments = "NAME",
    .details = "Returns when the project's path can be read; content follows on demand and in the background.",
    .arguments_min = 1,
    .arguments_max = 1,
    .options = { { "node", CMD_TEXT, CMD_OPTION(node), "NODE", "on that node of the nodes file" },
                 { "local", CMD_FLAG, CMD_OPTION(local), NULL, "on this node, whatever the others have" },
                 { "force", CMD_FLAG, CMD_OPTION(force), NULL, "take over a lease that another node still holds" },
                 { "full", CMD_FLAG, CMD_OPTION(full), NULL, "fetch everything into plain directories first" },
                 { "from", CMD_TEXT, CMD_OPTION(from), "ID", "with project and home of this snapshot or fork" },
                 { "no-start", CMD_FLAG, CMD_OPTION(no_start), NULL, "do not start the box; attach and exec do" },
                 { "accept-rollback", CMD_FLAG, CMD_OPTION(accept_rollback), NULL,
                   "take a head that is older than one seen here" } },
    .run = run,
};
