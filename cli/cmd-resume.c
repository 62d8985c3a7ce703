/* SPDX-License-Identifier: MIT */
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/program.h"
#include "cli/project.h"
#include "cli/stack.h"
#include "index/base/mem.h"
#include "index/base/text.h"

#include <errno.h>
#include <fcntl.h>

/*
 * At boot: what was up here before comes up again, each box by an `up` of its own, so that one that cannot does not
 * stop the others. A box that another node has taken meanwhile is not a failure: `up` has sent the work here as a fork.
 */

struct resuming {
    struct cmd_context *context;
    unsigned boxes, failed;
    json_t *list;
};

static int resume(void *arg, const char *name, struct error *e)
{
    struct resuming *a = arg;
    struct stack look = STACK_NONE;
    look.config = a->context->config;
    int r = stack_peek(&look, name, NULL);
    enum box_state state = look.record.state;
    stack_close(&look);
    if (r == 0 && state != BOX_MOUNTED && state != BOX_FULL_HELD && state != BOX_FENCED)
        return 0; /* nothing, or a command that was stopped: that is for whoever gave it */
    const char *const argv[] = { "/proc/self/exe", "up", "--local", "--", name, NULL };
    int code = 0;
    r = interrupt_check(e);
    if (r == 0)
        r = program_run(argv, &code, e);
    if (r < 0)
        return r;
    bool fine = code == 0 || code == error_exit_code(ERROR_HELD);
    a->boxes++;
    a->failed += !fine;
    json_array_append_new(a->list, json_pack("{s:s,s:i}", "name", name, "code", code));
    if (!fine)
        ui_warn(a->context->ui, "%s does not come up (exit %d)", name, code);
    return 0;
}

/* What each `up` prints is for people, and no part of one JSON object. */
static int resume_each(struct stack *s, struct resuming *a, struct error *e)
{
    _cleanup_close_ int own = ui_json(a->context->ui) ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3) : -1;
    if (own >= 0)
        dup2(STDERR_FILENO, STDOUT_FILENO);
    int r = project_each_box(s, resume, a, e);
    if (own >= 0)
        dup2(own, STDOUT_FILENO);
    return r;
}

static int run(struct cmd_context *c, struct error *e)
{
    struct resuming a = { .context = c, .list = json_array() };
    _cleanup_(stack_close) struct stack s = STACK_NONE;
    int r = stack_open(&s, c->config, c->ui, e);
    if (r == 0)
        r = resume_each(&s, &a, e);
    ui_field(c->ui, "boxes", a.list);
    if (r < 0)
        return r;
    if (a.boxes == 0)
        ui_line(c->ui, "no box was up here; nothing to do");
    if (a.failed) {
        error_say(e, ERROR_FAILED, -EIO, "%u of %s did not come up again", a.failed, TEXT_COUNT(a.boxes, "box"));
        return error_hint(e, "what each said stands above; ag-box up NAME tries one again");
    }
    return 0;
}

const struct cmd cmd_resume = {
    .name = "resume",
    .summary = "at boot: what was up here before",
    .arguments = "",
    .hidden = true,
    .run = run,
};
