/* SPDX-License-Identifier: MIT */
#include "cli/commands.h"
#include "cli/project.h"
#include "cli/stack.h"
#include "cli/terminal.h"
#include "index/base/mem.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define PASSWORD_MAX 1024
#define RECOVERY_MAX 8192

struct needing {
    const struct config *config;
    char box[64]; /* the first that needs the key; "": none */
};

/* What nobody sees is typed twice: a typing error would be the store's only key. */
static int ask_password(char to[PASSWORD_MAX], struct error *e)
{
    char again[PASSWORD_MAX] = "";
    int r = terminal_ask("new password: ", to, PASSWORD_MAX, e);
    if (r == 0 && to[0])
        r = terminal_ask("once more: ", again, PASSWORD_MAX, e);
    if (r == 0 && strcmp(to, again) != 0)
        r = error_say(e, ERROR_USAGE, -EINVAL, "the two passwords differ: nothing is changed");
    explicit_bzero(again, sizeof(again));
    return r;
}

/* The first line of stdin, without its end. As in the env file, where it is to be written, a carriage return before
 * that is none of it, and it holds no zero byte. */
static int read_password(char to[PASSWORD_MAX], struct error *e)
{
    size_t n = 0;
    for (int c; n < PASSWORD_MAX - 1 && (c = getc(stdin)) != EOF && c != '\n';)
        to[n++] = (char)c;
    if (n > 0 && n < PASSWORD_MAX - 1 && to[n - 1] == '\r')
        n--;
    to[n] = '\0';
    if (strlen(to) == n)
        return 0;
    error_say(e, ERROR_USAGE, -EINVAL, "the new password holds a zero byte: nothing is changed");
    return error_hint(e, "give it text, such as `openssl rand -base64 24` prints"), -EINVAL;
}

/* From BOX_NEW_PASSWORD or standard input; never from the command line, where everyone can read it. One that is too
 * long is none: cut, it would be a key that nobody knows. */
static int new_password(char to[PASSWORD_MAX], struct error *e)
{
    const char *value = getenv("BOX_NEW_PASSWORD");
    int r = 0;
    if (value)
        snprintf(to, PASSWORD_MAX, "%s", value);
    else
        r = isatty(STDIN_FILENO) ? ask_password(to, e) : read_password(to, e);
    if (r < 0)
        return r;
    if (strlen(to) == PASSWORD_MAX - 1)
        return error_say(e, ERROR_USAGE, -E2BIG, "the new password is longer than %d bytes: nothing is changed",
                         PASSWORD_MAX - 2);
    if (to[0])
        return 0;
    error_say(e, ERROR_USAGE, -EINVAL, "no new password");
    return error_hint(e, "set BOX_NEW_PASSWORD, or write it to standard input");
}

static int list_slots(struct stack *s, struct ui *ui, struct error *e)
{
    struct keys_slot_info slots[KEYS_SLOTS_MAX];
    size_t count = KEYS_SLOTS_MAX;
    int r = keys_slots(s->store, slots, &count, e);
    if (r < 0)
        return r;
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        ui_line(ui, "%s  %s  %s", slots[i].id, slots[i].created, slots[i].label);
        json_array_append_new(
            list, json_pack("{s:s,s:s,s:s}", "id", slots[i].id, "created", slots[i].created, "label", slots[i].label));
    }
    ui_field(ui, "slots", list);
    return 0;
}

static int export(struct stack *s, struct ui *ui, struct error *e)
{
    _cleanup_(buf_release) struct buf text = { 0 };
    int r = keys_export(&s->keys, &text, e);
    if (r < 0)
        return r;
    ui_text(ui, buf_string(&text));
    ui_field_text(ui, "recovery", buf_string(&text));
    explicit_bzero(text.data, text.len);
    return 0;
}

static int change(struct stack *s, struct cmd_context *c, const char *verb, struct error *e)
{
    char password[PASSWORD_MAX];
    int r = new_password(password, e);
    if (r < 0)
        return r;
    if (strcmp(verb, "passwd") == 0)
        r = keys_change(s->store, c->config->password, password, e);
    else
        r = keys_add(s->store, c->config->password, password, c->options.label ? c->options.label : "", e);
    explicit_bzero(password, sizeof(password));
    if (r < 0)
        return r;
    ui_line(c->ui,
            strcmp(verb, "passwd") == 0 ? "the password is changed; put the new one into %s/env on every node"
                                        : "another password opens the store now",
            c->config->config_dir);
    return 0;
}

/* With the recovery text on standard input instead of a password: BOX_PASSWORD (from the env file) opens the store
 * again. */
static int recover(struct stack *s, struct cmd_context *c, struct error *e)
{
    char text[RECOVERY_MAX + 1];
    size_t n = fread(text, 1, RECOVERY_MAX, stdin);
    text[n] = '\0';
    struct keys k;
    int r = keys_import(text, &k, e);
    explicit_bzero(text, sizeof(text));
    if (r == 0)
        r = stack_connect(s, e);
    if (r == 0)
        r = keys_restore(s->store, &k, c->config->password, e);
    keys_release(&k);
    if (r == 0)
        ui_line(c->ui, "the store opens with the password in %s/env again", c->config->config_dir);
    return r;
}

/* A box that is here parks, and comes up again after a crash, with the key that this node has kept. So may one of which
 * nothing can be read. */
static int find_needing(void *arg, const char *name, struct error *e)
{
    struct needing *n = arg;
    struct stack look = STACK_NONE;
    look.config = n->config;
    int r = stack_peek(&look, name, NULL);
    enum box_state state = look.record.state;
    stack_close(&look);
    if ((r < 0 || !box_state_away(state)) && !n->box[0])
        snprintf(n->box, sizeof(n->box), "%s", name);
    return 0;
}

static int remove_slot(struct stack *s, struct cmd_context *c, const char *id, struct error *e)
{
    const struct config *config = c->config;
    struct needing n = { .config = config };
    _cleanup_(buf_release) struct buf now = { 0 };
    int r = c->options.force ? project_each_box(s, find_needing, &n, e) : 0;
    if (r == 0)
        r = keys_remove(s->store, config->password, id, c->options.force && !n.box[0], &now, e);
    if (r == -EPERM && n.box[0]) {
        error_say(e, ERROR_BUSY, -EBUSY, "%s is here, and needs the key that goes with this slot", n.box);
        return error_hint(e, "ag-box park %s first; or put another slot's password into %s/env, then remove this one",
                          n.box, config->config_dir),
               -EBUSY;
    }
    bool own = r == 0 && now.len > 0;
    if (own)
        r = stack_forget_key(s, buf_bytes(&now), e);
    if (r < 0)
        return own ? error_prefix(e, "slot %s is removed", id) : r;
    ui_line(c->ui, "slot %s is removed", id);
    if (own)
        ui_line(c->ui, "it was of the password in %s/env, which opens the store no more, here neither",
                config->config_dir);
    return 0;
}

/* A verb with what belongs to it: whoever gives passwd a password here is told, as everyone could read it there. */
static int check(const struct cmd_context *c, struct error *e)
{
    static const char *const alone[] = { "passwd", "add", "list", "export", "recover" };
    const char *verb = c->arguments[0];
    if (strcmp(verb, "remove") == 0 && c->argument_count == 2)
        return 0;
    for (size_t i = 0; i < sizeof(alone) / sizeof(alone[0]); i++)
        if (strcmp(verb, alone[i]) == 0 && c->argument_count == 1)
            return 0;
    error_say(e, ERROR_USAGE, -EINVAL, "key %s: no such verb, or an argument too many or missing", verb);
    return error_hint(e, "usage: ag-box key %s; passwords are asked for", cmd_key.arguments);
}

static int run(struct cmd_context *c, struct error *e)
{
    const char *verb = c->arguments[0];
    int checked = check(c, e);
    if (checked < 0)
        return checked;
    _cleanup_(stack_close) struct stack s = STACK_NONE;
    int r = stack_open(&s, c->config, c->ui, e);
    if (r == 0 && strcmp(verb, "recover") == 0)
        return recover(&s, c, e);
    s.asks_config = true; /* what this node has kept may open with a password that is none any more */
    if (r == 0)
        r = stack_store(&s, e);
    if (r < 0)
        return r;
    if (strcmp(verb, "list") == 0)
        return list_slots(&s, c->ui, e);
    if (strcmp(verb, "export") == 0)
        return export(&s, c->ui, e);
    if (strcmp(verb, "remove") == 0)
        return remove_slot(&s, c, c->arguments[1], e);
    return change(&s, c, verb, e);
}

const struct cmd cmd_key = {
    .name = "key",
    .summary = "change, add, remove or export the store's keys",
    .arguments = "passwd|add|remove SLOT|list|export|recover",
    .details =
        "A new password comes from BOX_NEW_PASSWORD or standard input, never from the command line. The last slot\n"
        "stays. `export` prints a recovery text: keep it offline. When every password is lost, `recover` reads it "
        "from\n"
        "standard input and makes the store open with the password that is configured here.",
    .arguments_min = 1,
    .arguments_max = 2,
    .options = { { "force", CMD_FLAG, CMD_OPTION(force), NULL, "remove the slot of the configured password, too" },
                 { "label", CMD_TEXT, CMD_OPTION(label), "TEXT", "a word to know the new slot by (add)" } },
    .run = run,
};
