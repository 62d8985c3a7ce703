/* SPDX-License-Identifier: MIT */
#include "cli/commands.h"
#include "cli/flow-globals.h"
#include "cli/globals.h"
#include "index/base/mem.h"
#include "index/base/text.h"

#include <errno.h>
#include <string.h>

enum verb { VERB_PUSH, VERB_PULL, VERB_AUTO, VERBS };

static const char *const verbs[VERBS] = { "push", "pull", "auto" };

/* VERBS: it is none. */
static enum verb verb_of(const char *text)
{
    unsigned v = VERB_PUSH;
    while (v < VERBS && strcmp(text, verbs[v]) != 0)
        v++;
    return (enum verb)v;
}

static int refuse_role(struct cmd_context *c, enum verb verb, struct error *e)
{
    const char *role = c->config->globals_role;
    if (!role || strcmp(role, verbs[verb]) == 0)
        return 0;
    if (c->options.force) {
        ui_warn(c->ui, "this node's BOX_GLOBALS_ROLE is %s, which does not count this time", role);
        return 0;
    }
    error_say(e, ERROR_USAGE, -EPERM, "globals %s: this node's BOX_GLOBALS_ROLE is %s", verbs[verb], role);
    return error_hint(e, verb == VERB_PUSH
                             ? "change the files on the node that pushes; --force pushes these all the same"
                             : "its own files are what others pull; --force replaces them by what was pushed last"),
           -EPERM;
}

static int transfer(struct cmd_context *c, enum verb verb, bool automatic, struct error *e)
{
    _cleanup_(stack_close) struct stack s = STACK_NONE;
    bool none = false;
    s.admits_globals = true;
    int r = stack_for_box(&s, c->config, c->ui, TEXT_GLOBALS, true, e);
    if (r < 0)
        return r;
    globals_sweep(&s);
    r = verb == VERB_PUSH ? flow_globals_push(&s, c->options.force, c->options.accept_rollback, e)
                          : flow_globals_pull(&s, c->options.accept_rollback, &none, e);
    if (r < 0 && e && e->kind == ERROR_INTERRUPTED)
        error_hint(e, "each file of HOME is the old or the new one; `ag-box globals %s` goes on", verbs[verb]);
    if (!none)
        return r;
    if (automatic) {
        ui_line(c->ui, "globals: nothing was pushed yet");
        ui_field(c->ui, "changed", json_false());
        return 0;
    }
    error_say(e, ERROR_UNKNOWN, -ENOENT, "no globals in %s", s.store->description);
    return error_hint(e, "ag-box globals push, on the node whose configuration is the others', too"), -ENOENT;
}

static int run(struct cmd_context *c, struct error *e)
{
    const char *role = c->config->globals_role;
    enum verb verb = verb_of(c->arguments[0]);
    bool automatic = verb == VERB_AUTO;
    if (verb == VERBS) {
        error_say(e, ERROR_USAGE, -EINVAL, "globals %s: no such verb", c->arguments[0]);
        return error_hint(e, "usage: ag-box globals %s", cmd_globals.arguments), -EINVAL;
    }
    if (automatic && !role) {
        ui_line(c->ui, "globals: this node has no BOX_GLOBALS_ROLE: nothing to do");
        ui_field_text(c->ui, "action", "none");
        return 0;
    }
    if (automatic)
        verb = verb_of(role);
    ui_field_text(c->ui, "action", verbs[verb]);
    int r = refuse_role(c, verb, e);
    return r < 0 ? r : transfer(c, verb, automatic, e);
}

const struct cmd cmd_globals = {
    .name = "globals",
    .summary = "send the user's configuration to the other nodes, or take it from there",
    .arguments = "push|pull|auto",
    .details =
        "Claude Code's CLAUDE.md, settings.json, output-styles, skills and plugins, the settings of Codex and Grok,\n"
        "~/.gitconfig and ~/.config/gh. One way: one node has BOX_GLOBALS_ROLE=push, the others pull. `auto` does\n"
        "what the role says. Agents' logins are not among them.",
    .arguments_min = 1,
    .arguments_max = 1,
    .options = { { "force", CMD_FLAG, CMD_OPTION(force), NULL,
                   "against this node's role; push: over another's push, from another HOME, of nothing" },
                 { "accept-rollback", CMD_FLAG, CMD_OPTION(accept_rollback), NULL,
                   "take what is in the store though it is older than what was seen here" } },
    .run = run,
};
