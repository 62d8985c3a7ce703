/* SPDX-License-Identifier: MIT */
#include "cli/check.h"

#include "cli/box.h"
#include "cli/flake.h"
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

struct looking {
    struct checking *checking;
    void (*look)(void *arg, struct stack *s, const struct meta *m);
    void *arg;
};

/* A box that cannot be read here says nothing. */
static int look_at_box(void *arg, const char *name, struct error *e)
{
    struct looking *l = arg;
    _cleanup_(stack_close) struct stack s = STACK_NONE;
    _cleanup_(view_close) struct view v = { 0 };
    struct meta meta = { 0 };
    int r = stack_open(&s, l->checking->config, l->checking->ui, NULL);
    s.attempts = 1;
    if (r == 0)
        r = stack_peek(&s, name, NULL);
    if (r < 0 || !s.journal || s.record.state == BOX_NONE || s.record.state == BOX_PARKED)
        return 0;
    r = stack_store(&s, &(struct error){ 0 });
    if (r == 0)
        r = stack_content(&s, NULL);
    if (r == 0)
        r = view_open_committed(&s, &v, NULL);
    if (r == 0)
        r = view_meta(&v.snapshot, &meta, NULL);
    if (r == 0)
        l->look(l->arg, &s, &meta);
    meta_release(&meta);
    return 0;
}

/* Every box that is up here. */
static void look_at_boxes(struct checking *c, void (*look)(void *arg, struct stack *s, const struct meta *m), void *arg)
{
    struct looking looking = { .checking = c, .look = look, .arg = arg };
    _cleanup_(stack_close) struct stack s = STACK_NONE;
    if (access(c->config->state_dir, F_OK) == 0 && stack_open(&s, c->config, c->ui, NULL) == 0)
        project_each_box(&s, look_at_box, &looking, NULL);
}

struct comparing {
    const struct tools *tools;
    char found[TEXT_MAX];
};

static void compare_box(void *arg, struct stack *s, const struct meta *m)
{
    struct comparing *c = arg;
    char differences[256] = "";
    if (!c->found[0])
        tools_compare(c->tools, m, false, differences);
    if (differences[0])
        snprintf(c->found, sizeof(c->found), "box %.63s: %.180s", s->name, differences);
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
    struct comparing comparing = { .tools = &t };
    look_at_boxes(c, compare_box, &comparing);
    if (comparing.found[0])
        check_warn(a, next, "%s", comparing.found);
    else if (!agent)
        check_warn(a, "npm install -g @anthropic-ai/claude-code, or another agent's own way",
                   "no agent (claude, codex, grok) is on the PATH; here is %s", here[0] ? here : "nothing");
    else
        check_ok(a, "%s", here);
}

struct asking {
    char wants[64], lacks[64], has[64]; /* names of boxes; "": none */
    char *tools;                        /* of the one that has them */
};

static void look_at_flake(void *arg, struct stack *s, const struct meta *m)
{
    struct asking *a = arg;
    if (!m->nix)
        return;
    _cleanup_free_ char *tools = flake_tools(s->config, s->name);
    snprintf(a->wants, sizeof(a->wants), "%s", s->name);
    if (!tools && box_running(s))
        snprintf(a->lacks, sizeof(a->lacks), "%s", s->name);
    if (!tools || a->tools)
        return;
    snprintf(a->has, sizeof(a->has), "%s", s->name);
    a->tools = mem_steal(tools);
}

/* Without asking nix: it would fetch and build. */
void check_nix(struct checking *c, struct check_answer *a)
{
    struct asking asking = { 0 };
    struct error why = { 0 };
    look_at_boxes(c, look_at_flake, &asking);
    _cleanup_free_ char *tools = asking.tools;
    if (!asking.wants[0])
        check_ok(a, "no box that is up here has nix=true");
    else if (flake_check(NULL, &why) < 0)
        check_warn(a, why.hint, "box %s has nix=true: %s", asking.wants, why.text);
    else if (asking.lacks[0])
        check_warn(a, FLAKE_BUILD " says why; then park the box and take it up again",
                   "box %s has nix=true, and runs with this node's own tools", asking.lacks);
    else if (tools)
        check_ok(a, "box %s has its tools from %s", asking.has, tools);
    else
        check_ok(a, "box %s will have its tools from " FLAKE_PLACE, asking.wants);
}
