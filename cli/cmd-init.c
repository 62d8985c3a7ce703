/* SPDX-License-Identifier: MIT */
#include "cli/commands.h"
#include "cli/stack.h"
#include "index/base/mem.h"
#include "sync/probe.h"

#include <errno.h>

static void say_recovery(struct ui *ui)
{
    ui_line(ui, "The password is the only key to everything in this store. Keep a copy of it, or of the text that");
    ui_line(ui, "`ag-box key export` prints, on paper or in a password manager, off these machines. Lost means lost.");
}

static int run(struct cmd_context *c, struct error *e)
{
    struct store_config sc;
    int r = config_store(c->config, &sc, e);
    if (r < 0)
        return r;
    _cleanup_(stack_close) struct stack s = STACK_NONE;
    r = stack_open(&s, c->config, c->ui, e);
    if (r == 0)
        r = store_open(&sc, &s.store, e);
    if (r == 0)
        r = store_create(s.store, e);
    if (r < 0)
        return r;

    struct store_info info;
    r = store_stat(s.store, KEYS_OBJECT, &info, e);
    bool exists = r == 0;
    if (r == -ENOENT) {
        ui_note(c->ui, "testing that %s keeps its promises", s.store->description);
        r = probe_conditions(s.store, e);
        if (r == 0)
            r = keys_create(s.store, c->config->password, &s.keys, e);
        if (r == -EEXIST)
            exists = true;
        else if (r < 0)
            return error_prefix(e, "init %s", s.store->description), r;
    }
    s.asks_config = true;
    if (exists)
        r = stack_store(&s, e);
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
        "key exactly one must win, again and again; a store where two win would lose work and is refused.",
    .run = run,
};
