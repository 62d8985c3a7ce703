/* SPDX-License-Identifier: MIT */
#include "cli/overview.h"

#include "cli/program.h"
#include "cli/unit.h"
#include "index/base/mem.h"
#include "index/base/pool.h"
#include "index/base/text.h"
#include "sync/keys.h"
#include "sync/snapshots.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define READERS 8
#define SYSTEMCTL_MS 3000

static void print_node(const struct config *c, struct ui *ui)
{
    char memory[16] = "none";
    if (c->memory_max)
        text_size(memory, c->memory_max);
    const char *role = c->globals_role ? c->globals_role : "none";
    ui_line(ui, "node: %s (globals: %s), memory limit of a box: %s", c->node, role, memory);
    ui_field_text(ui, "node", c->node);
    ui_field_text(ui, "globals_role", role);
    ui_field_integer(ui, "memory_max", (int64_t)c->memory_max);
}

/* --- the store */

struct counting {
    struct store *store;
    struct pool *pool;
    atomic_size_t boxes, snapshots; /* boxes that were dropped have none */
};

struct counted {
    struct counting *all;
    char name[64];
};

static int count_one(void *arg, struct error *e)
{
    struct counted *b = arg;
    _cleanup_free_ struct snapshot_id *ids = NULL;
    size_t count = 0;
    int r = snapshots_list(b->all->store, b->name, &ids, &count, e);
    b->all->snapshots += count;
    b->all->boxes += count > 0;
    free(b);
    return r;
}

static int add_name(void *arg, const char *name, struct error *e)
{
    struct counting *all = arg;
    if (!text_is_name(name))
        return 0;
    struct counted *b = mem_new(1, sizeof(*b));
    b->all = all;
    snprintf(b->name, sizeof(b->name), "%s", name);
    return pool_run(all->pool, count_one, free, b, e);
}

static int count(struct counting *all, struct error *e)
{
    int r = pool_new(READERS, 2 * READERS, &all->pool, e);
    if (r == 0)
        r = store_list_names(all->store, "box/", add_name, all, e);
    if (r == 0)
        r = pool_wait(all->pool, e);
    pool_free(all->pool);
    return r;
}

static int look_at_store(const struct config *c, struct counting *all, struct error *e)
{
    struct store_config sc;
    struct store_info info;
    int r = config_store(c, &sc, e);
    sc.attempts = 1; /* what cannot be reached is said at once */
    if (r == 0)
        r = store_open(&sc, &all->store, e);
    if (r == 0)
        r = store_stat(all->store, KEYS_OBJECT, &info, e);
    return r < 0 ? r : count(all, e);
}

static void print_store(const struct config *c, struct ui *ui)
{
    struct counting all = { 0 };
    struct error why = { 0 };
    int r = look_at_store(c, &all, &why);
    if (r == 0)
        ui_line(ui, "store: %s, ok", all.store->description);
    else
        ui_line(ui, "store: %s", why.text);
    ui_field(ui, "store_ok", json_boolean(r == 0));
    if (r == 0) {
        ui_line(ui, "snapshots: %zu, of %s", (size_t)all.snapshots, TEXT_COUNT(all.boxes, "box"));
        ui_field_integer(ui, "snapshots", (int64_t)all.snapshots);
    } else
        ui_field_text(ui, "store_error", why.text);
    store_close(all.store);
}

/* --- the timers */

/* `systemctl is-active` says a line for each, whatever its exit code. */
static void print_timers(const struct config *c, struct ui *ui)
{
    static const char *const argv[] = { "systemctl", "is-active", "box-snapshot.timer", "box-prune.timer", NULL };
    struct program_call call = { .argv = argv };
    char snapshot[32] = "none", prune[32] = "none";
    if (unit_possible(c)) {
        program_ask(&call, 1, SYSTEMCTL_MS);
        sscanf(buf_string(&call.output), "%31s %31s", snapshot, prune);
        program_release(&call);
    }
    ui_line(ui, "timers: snapshot %s, prune %s", snapshot, prune);
    ui_field(ui, "timers", json_pack("{s:s,s:s}", "snapshot", snapshot, "prune", prune));
}

void overview_print(const struct config *c, struct ui *ui)
{
    print_node(c, ui);
    print_store(c, ui);
    print_timers(c, ui);
}
