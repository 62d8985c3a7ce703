/* SPDX-License-Identifier: MIT */
#include "cli/placing.h"

#include "cli/interrupt.h"
#include "cli/scheduler.h"
#include "cli/stack.h"
#include "index/base/mem.h"
#include "sync/head.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#define WORDS_MAX (CMD_OPTIONS_MAX + 6)

/* Nothing of the box is on this node: then it may come up anywhere. */
static bool is_nowhere(const struct stack *s)
{
    enum box_state state = s->record.state;
    return box_state_away(state) && !box_record_in_doubt(&s->record);
}

/* What the store says of the box. Where the head cannot be used, this node's own `up` says why. */
static int ask_store(struct stack *s, bool force, char pin[64], bool *ret_stays, struct error *e)
{
    _cleanup_(head_releasep) struct head head = { 0 };
    struct error why = { 0 };
    int r = stack_store(s, &why);
    if (r == 0)
        r = head_read(s->store, &s->seal, &head, &why);
    *ret_stays = r < 0 || head.state == HEAD_TOMBSTONE;
    if (r < 0 && why.kind != ERROR_UNKNOWN && why.kind != ERROR_DAMAGED) {
        error_pass(e, &why);
        return r;
    }
    memcpy(pin, head.pin, sizeof(head.pin));
    if (!*ret_stays && !*pin)
        *ret_stays = head.state == HEAD_HELD && !head_expired(&head) && !force;
    return 0;
}

/* NULL: this node. */
static int schedule(struct cmd_context *c, const struct nodes *n, const struct nodes_entry **ret, struct error *e)
{
    char pin[64] = "";
    bool stays = false;
    _cleanup_(stack_close) struct stack s = STACK_NONE;
    int r = stack_open(&s, c->config, c->ui, e);
    if (r == 0)
        r = stack_peek(&s, c->arguments[0], e);
    if (r < 0 || !is_nowhere(&s))
        return r;
    r = ask_store(&s, c->options.force, pin, &stays, e);
    if (r < 0 || stays || strcmp(pin, c->config->node) == 0)
        return r;
    if (*pin) { /* not in the file: refused here, with the pin's name */
        if (nodes_find(n, c->config, pin, ret, NULL) == 0)
            ui_note(c->ui, "on %s, where it is pinned", pin);
        return 0;
    }
    *ret = scheduler_look(n, c->config->node, c->ui);
    return interrupt_check(e);
}

static int find(struct cmd_context *c, const struct nodes *n, const struct nodes_entry **ret, struct error *e)
{
    const struct cmd_options *o = &c->options;
    *ret = NULL;
    bool ours = o->node && strcmp(o->node, c->config->node) == 0;
    if (o->local && o->node && !ours) {
        error_say(e, ERROR_USAGE, -EINVAL, "this node is %s, not %s", c->config->node, o->node);
        return error_hint(e, "its name is BOX_NODE in %s/env; the nodes file of whoever asked calls it %s",
                          c->config->config_dir, o->node);
    }
    if (o->local || ours)
        return 0;
    if (o->node) {
        ui_note(c->ui, "on %s", o->node);
        return nodes_find(n, c->config, o->node, ret, e);
    }
    return nodes_alone(n) ? 0 : schedule(c, n, ret, e);
}

/* The other end's shell reads what ssh is given once more. */
static int check_word(const char *name, const char *value, struct error *e)
{
    for (const char *p = value; *p; p++)
        if (!isalnum((unsigned char)*p) && !strchr("._:-", *p))
            return error_say(e, ERROR_USAGE, -EINVAL, "--%s: '%s' cannot be one", name, value);
    return 0;
}

/* The same options again, but for those that choose the node. */
static int add_options(const struct cmd_context *c, char **words, size_t *count, struct error *e)
{
    for (size_t i = 0; i < CMD_OPTIONS_MAX && c->cmd->options[i].name; i++) {
        const struct cmd_option *o = &c->cmd->options[i];
        const char *field = (const char *)&c->options + o->offset;
        if (strcmp(o->name, "node") == 0 || strcmp(o->name, "local") == 0)
            continue;
        if (o->kind == CMD_FLAG && *(const bool *)field)
            words[(*count)++] = mem_printf("--%s", o->name);
        const char *value = o->kind == CMD_TEXT ? *(const char *const *)(const void *)field : NULL;
        if (!value)
            continue;
        int r = check_word(o->name, value, e);
        if (r < 0)
            return r;
        words[(*count)++] = mem_printf("--%s=%s", o->name, value);
    }
    return 0;
}

static int go(struct cmd_context *c, const struct nodes_entry *there, struct error *e)
{
    char *words[WORDS_MAX] = { NULL };
    size_t count = 0;
    words[count++] = mem_strdup("--local");
    words[count++] = mem_printf("--node=%s", there->name);
    if (c->options.json)
        words[count++] = mem_strdup("--json");
    int r = add_options(c, words, &count, e);
    words[count++] = mem_strdup("--");
    words[count++] = mem_strdup(c->arguments[0]);
    if (r == 0)
        r = scheduler_up_there(there, (const char *const *)words, c->ui, e);
    while (count > 0)
        free(words[--count]);
    return r;
}

int placing_elsewhere(struct cmd_context *c, bool *ret_done, struct error *e)
{
    struct nodes n;
    const struct nodes_entry *there = NULL;
    int r = stack_check_name(c->arguments[0], e);
    if (r == 0)
        r = nodes_load(c->config, &n, e);
    if (r == 0)
        r = find(c, &n, &there, e);
    if (r < 0 || !there)
        return r;
    r = go(c, there, e);
    *ret_done = r == 0;
    return r;
}
