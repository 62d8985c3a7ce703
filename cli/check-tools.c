/* SPDX-License-Identifier: MIT */
#include "cli/check.h"

#include "cli/program.h"
#include "cli/project.h"
#include "cli/scheduler.h"
#include "cli/tools.h"
#include "cli/view.h"
#include "index/base/mem.h"

#include <stdio.h>

#define TEXT_MAX 256

void check_nodes(struct checking *c, struct check_answer *a)
{
    struct nodes n;
    struct error e = { 0 };
    char missing[TEXT_MAX] = "";
    if (nodes_load(c->config, &n, &e) < 0) {
        check_error(a, "correct the line", &e);
        return;
    }
    if (nodes_alone(&n)) {
        check_ok(a, "no other node is named in %s/nodes", c->config->config_dir);
        return;
    }
    if (scheduler_missing(&n, missing))
        check_warn(a, "each must be reached by `ssh ALIAS true` without questions", "no answer of %s", missing);
    else
        check_ok(a, "every node answers");
}

struct comparing {
    struct checking *checking;
    const struct tools *tools;
    char found[TEXT_MAX];
};

/* A box that cannot be read here has nothing to compare with. */
static int compare_box(void *arg, const char *name, struct error *e)
{
    struct comparing *c = arg;
    _cleanup_(stack_close) struct stack s = STACK_NONE;
    _cleanup_(view_close) struct view v = { 0 };
    struct meta meta = { 0 };
    int r = stack_open(&s, c->checking->config, c->checking->ui, NULL);
    s.attempts = 1;
    if (r == 0)
        r = stack_peek(&s, name, NULL);
    if (r < 0 || !s.journal || s.record.state == BOX_NONE || s.record.state == BOX_PARKED || c->found[0])
        return 0;
    r = stack_store(&s, NULL);
    if (r == 0)
        r = stack_content(&s, NULL);
    if (r == 0)
        r = view_open_committed(&s, &v, NULL);
    if (r == 0)
        r = view_meta(&v.snapshot, &meta, NULL);
    char differences[256] = "";
    if (r == 0)
        tools_compare(c->tools, &meta, false, differences);
    if (differences[0])
        snprintf(c->found, sizeof(c->found), "box %.63s: %.180s", name, differences);
    meta_release(&meta);
    return 0;
}

void check_tools(struct checking *c, struct check_answer *a)
{
    static const char next[] = "install the same version on every node; a box has the host's programs";
    struct tools t;
    tools_look(c->config, &t);
    char here[TEXT_MAX] = "";
    bool agent = false;
    for (size_t i = 0, at = 0; i < TOOLS_COUNT && at < sizeof(here); i++) {
        if (!t.entries[i].version[0])
            continue;
        at += (size_t)snprintf(here + at, sizeof(here) - at, "%s%s: %s", at ? ", " : "", t.entries[i].name,
                               t.entries[i].version);
        agent = agent || t.entries[i].agent;
    }
    struct comparing comparing = { .checking = c, .tools = &t };
    _cleanup_(stack_close) struct stack s = STACK_NONE;
    if (access(c->config->state_dir, F_OK) == 0 && stack_open(&s, c->config, c->ui, NULL) == 0)
        project_each_box(&s, compare_box, &comparing, NULL);
    if (comparing.found[0])
        check_warn(a, next, "%s", comparing.found);
    else if (!agent)
        check_warn(a, "npm install -g @anthropic-ai/claude-code, or another agent's own way",
                   "no agent (claude, codex, grok) is on the PATH; here is %s", here[0] ? here : "nothing");
    else
        check_ok(a, "%s", here);
}
