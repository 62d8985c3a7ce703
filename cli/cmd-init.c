/* SPDX-License-Identifier: MIT */
#include "cli/commands.h"
#include "cli/place.h"
#include "cli/stack.h"
#include "index/base/mem.h"
#include "index/base/text.h"
#include "sync/probe.h"

#include <errno.h>
#include <string.h>

static void say_recovery(struct ui *ui)
{
    ui_line(ui, "The password is the only key to everything in this store. Keep a copy of it, or of the text that");
    ui_line(ui, "`ag-box key export` prints, on paper or in a password manager, off these machines. Lost means lost.");
}

/* A disk that is not mounted, or another one in its place: whoever makes a store there loses the way to the old one. */
static int refuse_known(const struct stack *s, struct error *e)
{
    if (!stack_knows_store(s->config))
        return 0;
    _cleanup_free_ char *keys = place_keys(s->config);
    error_say(e, ERROR_DAMAGED, -EEXIST, "%s was opened here before, and its config is not there", s->config->store);
    return error_hint(e, STACK_RECOVERY "; if it is gone for good, delete %s, then init makes a new one", keys);
}

static int refuse_remains(void *arg, const char *name, struct error *e)
{
    const struct stack *s = arg;
    if (strcmp(name, "box") != 0 && strcmp(name, TEXT_GLOBALS) != 0)
        return 0;
    error_say(e, ERROR_DAMAGED, -EEXIST,
              "%s has lost its config: there is something in %s/, which a new one cannot open", s->store->description,
              name);
    return error_hint(e, STACK_RECOVERY);
}

/* The config, where there is none. -EEXIST ERROR_FAILED: somebody else made one meanwhile. */
static int make(struct stack *s, struct error *e)
{
    int r = refuse_known(s, e);
    if (r == 0)
        r = store_create(s->store, e);
    if (r == 0)
        r = store_list_names(s->store, "", refuse_remains, s, e);
    if (r < 0)
        return r;
    ui_note(s->ui, "testing that %s keeps its promises", s->store->description);
    r = probe_conditions(s->store, e);
    return r < 0 ? r : keys_create(s->store, s->config->password, &s->keys, e);
}

/* -ENOENT: none is there, or not even a directory that is a store. */
static int find(struct stack *s, struct error *e)
{
    struct store_info info;
    struct error why = { 0 };
    int r = store_stat(s->store, KEYS_OBJECT, &info, &why);
    if (r == -EHOSTUNREACH && strncmp(s->config->store, "file://", 7) == 0)
        return -ENOENT; /* whatever else is wrong with it, making it says */
    if (r < 0 && r != -ENOENT)
        error_pass(e, &why);
    return r;
}

static int run(struct cmd_context *c, struct error *e)
{
    _cleanup_(stack_close) struct stack s = STACK_NONE;
    int r = stack_open(&s, c->config, c->ui, e);
    if (r == 0)
        r = stack_connect(&s, e);
    if (r < 0)
        return r;
    r = find(&s, e);
    bool exists = r == 0;
    if (r == -ENOENT) {
        struct error why = { 0 };
        r = make(&s, &why);
        exists = r == -EEXIST && why.kind == ERROR_FAILED;
        if (r < 0 && !exists) {
            error_pass(e, &why);
            return error_prefix(e, "init %s", s.store->description), r;
        }
    } else if (r < 0) {
        return r;
    }
    s.asks_config = true;
    r = exists ? stack_store(&s, e) : 0;
    if (r < 0)
        return r;

    ui_field_text(c->ui, "store", s.store->description);
    ui_field(c->ui, "created", json_boolean(!exists));
    ui_line(c->ui, exists ? "%s is a store already" : "created a store at %s", s.store->description);
    if (!exists)
        say_recovery(c->ui);
    return 0;
}

const struct cmd cmd_init = {
    .name = "init",
    .summary = "create the store, once for all nodes",
    .arguments = "",
    .details =
        "Creates what BOX_STORE names, unless it exists. The store is first tested: of several writers racing for one\n"
        "key exactly one must win, again and again; a store where two win would lose work and is refused.\n"
        "What is left of a store that lost its config is refused, too, and what was opened here before and is not\n"
        "there: mount it, or see `ag-box key recover`.",
    .run = run,
};
