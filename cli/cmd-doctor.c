/* SPDX-License-Identifier: MIT */
#include "cli/check.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "index/base/mem.h"
#include "index/base/text.h"
#include "sync/store.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

static const struct check checks[] = {
    { "fuse", false, false, check_fuse },       { "overlay", false, false, check_overlay },
    { "bwrap", false, false, check_bwrap },     { "userns", false, false, check_userns },
    { "tmux", false, false, check_tmux },       { "systemd", false, false, check_systemd },
    { "freezer", false, false, check_freezer }, { "tiocsti", false, false, check_tiocsti },
    { "timers", false, false, check_timers },   { "disk", true, false, check_disk },
    { "nodes", true, false, check_nodes },      { "store", true, false, check_store },
    { "rights", true, true, check_rights },     { "clock", true, true, check_clock },
    { "tools", true, false, check_tools },      { "nix", true, false, check_nix },
};
#define CHECK_COUNT (sizeof(checks) / sizeof(checks[0]))

static void answer(struct check_answer *a, enum check_state state, const char *next, const char *fmt, va_list args)
{
    a->state = state;
    snprintf(a->next, sizeof(a->next), "%s", next);
    char what[sizeof(a->what)];
    vsnprintf(what, sizeof(what), fmt, args);
    _cleanup_(buf_release) struct buf shown = { 0 };
    text_escape(&shown, what, strlen(what)); /* other machines' words are in it */
    snprintf(a->what, sizeof(a->what), "%s", buf_string(&shown));
}

void check_ok(struct check_answer *a, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    answer(a, CHECK_OK, "", fmt, args);
    va_end(args);
}

void check_warn(struct check_answer *a, const char *next, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    answer(a, CHECK_WARN, next, fmt, args);
    va_end(args);
}

void check_fail(struct check_answer *a, const char *next, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    answer(a, CHECK_FAIL, next, fmt, args);
    va_end(args);
}

void check_error(struct check_answer *a, const char *next, const struct error *e)
{
    check_fail(a, e->hint[0] ? e->hint : next, "%s", e->text);
}

static const char *state_word(enum check_state s)
{
    static const char *const words[] = { "ok", "warn", "fail" };
    return words[s];
}

static void tell(struct ui *ui, json_t *list, const char *name, const struct check_answer *a)
{
    ui_line(ui, "%-5s %-8s %s", state_word(a->state), name, a->what);
    if (a->next[0])
        ui_line(ui, "               next: %s", a->next);
    json_array_append_new(list, json_pack("{s:s,s:s,s:s,s:s}", "name", name, "state", state_word(a->state), "what",
                                          a->what, "next", a->next));
}

static int check_all(struct checking *c, json_t *list, unsigned counts[], struct error *e)
{
    for (size_t i = 0; i < CHECK_COUNT; i++) {
        struct check_answer a = { 0 };
        if ((checks[i].needs_config && !c->config) || (checks[i].needs_store && !c->store))
            continue;
        int r = interrupt_check(e);
        if (r < 0)
            return r;
        checks[i].run(c, &a);
        tell(c->ui, list, checks[i].name, &a);
        counts[a.state]++;
    }
    return 0;
}

static int run(struct cmd_context *c, struct error *e)
{
    struct config *config = NULL;
    struct error why = { 0 };
    unsigned counts[3] = { 0 };
    json_t *list = json_array();
    struct check_answer a = { 0 };
    struct checking checking = { .ui = c->ui };
    if (config_load(&config, &why) == 0)
        check_ok(&a, "node %s, in %s", config->node, config->config_dir);
    else
        check_error(&a, "correct it; ag-box(1) says what may stand there", &why);
    checking.config = config;
    tell(c->ui, list, "config", &a);
    counts[a.state]++;
    int r = check_all(&checking, list, counts, e);
    interrupt_watch(NULL);
    store_close(checking.store);
    config_free(config);
    ui_field(c->ui, "checks", list);
    if (r == 0 && counts[CHECK_FAIL]) {
        error_say(e, ERROR_FAILED, -EIO, "%u of %u checks failed", counts[CHECK_FAIL],
                  counts[CHECK_FAIL] + counts[CHECK_WARN] + counts[CHECK_OK]);
        return error_hint(e, "below each stands what to do");
    }
    return r;
}

const struct cmd cmd_doctor = {
    .name = "doctor",
    .summary = "what this machine lacks for boxes, and what to do",
    .arguments = "",
    .details = "Asks this machine, the other nodes and the store. Changes nothing.",
    .plain = true,
    .run = run,
};
