/* SPDX-License-Identifier: MIT */
#include "cli/inside.h"

#include "cli/box.h"
#include "cli/nodes.h"
#include "cli/patience.h"
#include "cli/place.h"
#include "cli/stack.h"
#include "cli/terminal.h"
#include "index/base/mem.h"
#include "sync/head.h"

#include <errno.h>
#include <unistd.h>

void inside_release(struct inside *n)
{
    free(n->socket);
    free(n->project);
    *n = (struct inside){ 0 };
}

/* Only where the store answers at once. Not over the work of our own that is here. */
static bool held_elsewhere(struct stack *s, struct head *head)
{
    if (!box_state_away(s->record.state))
        return false;
    return stack_store(s, NULL) == 0 && head_read(s->store, &s->seal, head, NULL) == 0 && head->state == HEAD_HELD &&
           strcmp(head->node, s->config->node) != 0;
}

/* Also work whose lease was lost: it goes on (rule L5). */
static bool is_here(const struct stack *s)
{
    enum box_state state = s->record.state;
    return s->journal && s->record.path && (state == BOX_MOUNTED || state == BOX_FULL_HELD || state == BOX_FENCED);
}

static int check_here(struct stack *s, const char *command, struct error *e)
{
    _cleanup_(head_releasep) struct head head = { 0 };
    if (is_here(s))
        return 0;
    if (!held_elsewhere(s, &head)) {
        error_say(e, ERROR_UNKNOWN, -ENOENT, "box %s is not up here (%s)", s->name, box_state_name(s->record.state));
        return error_hint(e, "ag-box up %s", s->name), -ENOENT;
    }
    char there[512];
    bool attach = strcmp(command, "attach") == 0;
    _cleanup_free_ char *words = mem_printf("%s %s%s", command, s->name, attach ? "" : " -- ...");
    nodes_say(s->config, head.node, words, attach, there);
    error_say(e, ERROR_HELD, -ENOENT, "box %s is up on %s, not here", s->name, head.node);
    return error_hint(e, "%s", there), -ENOENT;
}

/* Under the box's lock, so that it is not started while it is parked. */
static int start(const struct config *c, struct ui *ui, const char *name, const char *command, struct error *e)
{
    _cleanup_(stack_close) struct stack s = STACK_NONE;
    s.attempts = 1; /* the box's settings are here; whatever lacks is not waited for */
    int r = stack_open(&s, c, ui, e);
    if (r == 0)
        r = stack_box(&s, name, false, e);
    if (r == 0)
        r = check_here(&s, command, e);
    if (r == 0)
        r = box_start(&s, e);
    return r;
}

/* What touches the tree waits for it in the kernel. What does not, runs all the same. */
static int look_for_silence(struct stack *s, struct error *e)
{
    struct error why = { 0 };
    int r = patience_look(s, &why);
    if (r == -ETIMEDOUT)
        ui_warn(s->ui, "%s", why.text);
    return r < 0 && r != -ETIMEDOUT ? error_pass(e, &why) : 0;
}

int inside_open(const struct config *c, struct ui *ui, const char *name, const char *command, struct inside *ret,
                struct error *e)
{
    _cleanup_(stack_close) struct stack s = STACK_NONE;
    s.attempts = 1;
    int r = stack_open(&s, c, ui, e);
    if (r == 0)
        r = stack_peek(&s, name, e);
    if (r == 0)
        r = check_here(&s, command, e);
    if (r < 0)
        return r;
    r = look_for_silence(&s, e);
    if (r < 0)
        return r;
    _cleanup_free_ char *socket = place_in_run(c, name, "exec");
    bool runs = box_running(&s) != 0;
    if (!runs)
        ui_note(ui, "%s is stopped; it is started", name);
    if (!runs || access(socket, F_OK) < 0) { /* a keeper without its socket: someone starts it, or stops it */
        r = start(c, ui, name, command, e);
        if (r < 0)
            return r;
    }
    ret->socket = mem_steal(socket);
    ret->project = mem_strdup(s.record.path);
    return 0;
}

enum inside_end inside_look(const struct config *c, const char *name)
{
    _cleanup_(stack_close) struct stack s = STACK_NONE;
    s.config = c;
    if (stack_peek(&s, name, NULL) < 0 || !is_here(&s))
        return INSIDE_GONE;
    return box_running(&s) ? INSIDE_RUNS : INSIDE_STOPPED;
}

int inside_run(struct session *s, struct session_result *ret, struct error *e)
{
    s->out = STDOUT_FILENO;
    s->err = STDERR_FILENO;
    s->resumed = terminal_again;
    if (s->terminal >= 0) {
        int r = terminal_raw(s->terminal, e);
        if (r < 0)
            return r;
        terminal_size(s->terminal, &s->start.rows, &s->start.cols);
    }
    int r = session_run(s, ret, e);
    terminal_restore(r < 0 && ret->pid != 0);
    return r;
}
