/* SPDX-License-Identifier: MIT */
#include "cli/box.h"
#include "cli/commands.h"
#include "cli/flake.h"
#include "cli/mounts.h"
#include "cli/nodes.h"
#include "cli/overview.h"
#include "cli/patience.h"
#include "cli/pending.h"
#include "cli/place.h"
#include "cli/project.h"
#include "cli/saving.h"
#include "cli/unit.h"
#include "cli/view.h"
#include "cli/visit.h"
#include "fusefs/control.h"
#include "index/base/mem.h"
#include "index/base/text.h"
#include "sync/lease.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define DAEMON_ANSWER_MS 3000

static int give_up(void *arg, pid_t daemon, struct error *e)
{
    *(pid_t *)arg = daemon;
    return error_say(e, ERROR_FAILED, -ETIMEDOUT, "no answer");
}

/* What the daemon says of itself, or NULL. silent: one is there and says nothing; *ret_pid is its pid then, or 0. */
static json_t *ask_daemon(struct stack *s, bool *ret_silent, pid_t *ret_pid)
{
    _cleanup_free_ char *path = place_in_run(s->config, s->name, "socket");
    json_t *request = json_pack("{s:s}", "command", "status"), *answer = NULL;
    int r = control_call_patiently(path, request, DAEMON_ANSWER_MS, give_up, ret_pid, &answer, NULL);
    json_decref(request);
    *ret_silent = r == -ETIMEDOUT;
    return r < 0 ? NULL : answer;
}

/* What the daemon says, or what is true without one. */
static void add_daemon(struct stack *s, json_t *o)
{
    bool silent = false;
    pid_t pid = 0;
    json_t *daemon = ask_daemon(s, &silent, &pid);
    if (daemon) {
        json_object_del(daemon, "ok");
        json_object_update_missing(o, daemon);
        json_decref(daemon);
    }
    json_t *absent =
        json_pack("{s:s,s:i,s:i,s:f,s:i,s:i}", "lease", silent ? "unverified" : "none", "daemon_pid", (int)pid,
                  "supervisor_pid", 0, "hydrated", s->record.full ? 1.0 : 0.0, "cache_bytes", 0, "waiting_reads", 0);
    json_object_update_missing(o, absent);
    json_decref(absent);
    json_object_set_new(o, "daemon_silent", json_boolean(silent));
}

static json_t *describe(struct stack *s)
{
    const struct box_record *b = &s->record;
    char id[SNAPSHOT_ID_TEXT];
    json_t *o =
        json_pack("{s:s,s:s,s:b}", "name", s->name, "state", mounts_state_name(s), "in_doubt", box_record_in_doubt(b));
    if (b->path)
        ui_path_into(o, "path", b->path, strlen(b->path));
    if (!snapshot_id_none(&b->base)) {
        snapshot_id_text(&b->base, id);
        json_object_set_new(o, "base", json_string(id));
    }
    if (!snapshot_id_none(&b->committed)) {
        snapshot_id_text(&b->committed, id);
        json_object_set_new(o, "committed", json_string(id));
    }
    if (b->aside)
        ui_path_into(o, "moved_aside", b->aside, strlen(b->aside));
    json_object_set_new(o, "epoch", json_integer((json_int_t)b->epoch));
    json_object_set_new(o, "full", json_boolean(b->full));
    pid_t keeper = box_running(s);
    json_object_set_new(o, "box", json_string(keeper ? "running" : "stopped"));
    json_object_set_new(o, "box_pid", json_integer(keeper > 0 ? keeper : 0));
    struct unit u = { .kind = UNIT_BOX, .name = s->name };
    bool service = keeper ? unit_keeps(&u, keeper) : unit_possible(s->config);
    json_object_set_new(o, "supervised", json_string(service ? "systemd" : "direct"));
    _cleanup_free_ char *tools = flake_tools(s->config, s->name);
    if (tools)
        ui_path_into(o, "tools", tools, strlen(tools));
    add_daemon(s, o);
    if (b->state == BOX_FENCED) /* the daemon may not have asked since */
        json_object_set_new(o, "lease", json_string("lost"));
    return o;
}

/* Where what is written here lies, malloc'd; NULL: there is no such place. */
static char *working_tree(struct stack *s)
{
    const struct box_record *b = &s->record;
    if (b->upper[0])
        return mem_printf("%s/box/%s/%s/upper", s->config->state_dir, s->name, b->upper);
    if (!b->full || !b->path || (b->state != BOX_FULL_HELD && b->state != BOX_MOVING))
        return NULL;
    return mem_strdup(b->aside && access(b->path, F_OK) < 0 ? b->aside : b->path);
}

/* Files of the working tree that were written since the newest snapshot of this node. */
static void add_pending(struct stack *s, json_t *o)
{
    _cleanup_(view_close) struct view committed = { 0 };
    _cleanup_free_ char *root = working_tree(s);
    uint64_t bytes = 0;
    int r = root && access(root, F_OK) == 0 ? stack_content(s, NULL) : -ENOENT;
    if (r == 0)
        r = view_open_committed(s, &committed, NULL);
    if (r == 0)
        r = pending_bytes(root, saving_since(s, &committed.snapshot), &bytes, NULL);
    json_object_set_new(o, "pending_bytes", json_integer((json_int_t)bytes));
}

/* Of the store's newest snapshot, if there is a newer one than is known here (NULL: not known). */
static void add_settings(struct stack *s, const struct snapshot_id *root, json_t *o)
{
    _cleanup_(snapshot_releasep) struct snapshot n = { 0 };
    struct meta m = { 0 };
    bool newer = root && memcmp(root, &s->record.committed, sizeof(*root)) != 0;
    int r = newer ? snapshots_get(s->store, &s->seal, root, &n, NULL) : box_meta(s, &m);
    if (newer)
        r = r == 0 ? view_meta(&n, &m, NULL) : box_meta(s, &m);
    if (r < 0)
        m = (struct meta){ 0 };
    json_t *exclude = json_array();
    for (size_t i = 0; i < m.exclude_count; i++) {
        _cleanup_(buf_release) struct buf rule = { 0 };
        text_escape(&rule, m.exclude[i], strlen(m.exclude[i]));
        json_array_append_new(exclude, json_string(buf_string(&rule)));
    }
    json_t *said = json_pack("{s:I,s:I,s:b,s:s,s:o}", "memory_max",
                             (json_int_t)(m.memory_max ? m.memory_max : s->config->memory_max), "own_memory_max",
                             (json_int_t)m.memory_max, "nix", m.nix, "pin", m.pin, "exclude", exclude);
    json_object_update(o, said);
    json_decref(said);
    meta_release(&m);
}

/* The head as the store has it now; asked with a name only. */
static int describe_head(struct stack *s, json_t *o, struct error *e)
{
    _cleanup_(head_releasep) struct head head = { 0 };
    int r = head_read(s->store, &s->seal, &head, e);
    add_settings(s, r == 0 && head.state != HEAD_TOMBSTONE ? &head.root : NULL, o);
    if (r < 0)
        return r;
    char root[SNAPSHOT_ID_TEXT];
    snapshot_id_text(&head.root, root);
    json_t *said =
        json_pack("{s:s,s:s,s:s,s:I,s:I,s:I}", "head", root, "lease_state", head_state_name(head.state), "lease_node",
                  head.node, "lease_epoch", (json_int_t)head.epoch, "lease_age_s",
                  (json_int_t)(head.age_ns > 0 ? head.age_ns / 1000000000 : 0), "lease_ttl_s", (json_int_t)head.ttl_s);
    json_object_update(o, said);
    json_decref(said);
    enum box_state state = s->record.state;
    if (box_state_away(state)) /* where it would come up now */
        ui_path_into(o, "path", head.path, strlen(head.path));
    return 0;
}

/* What `set` has set; nothing where that is nothing, or not known. */
static void print_settings(struct ui *ui, const json_t *o)
{
    const char *pin = json_string_value(json_object_get(o, "pin"));
    uint64_t memory_max = (uint64_t)json_integer_value(json_object_get(o, "own_memory_max"));
    if (pin && pin[0])
        ui_line(ui, "  pin %s", pin);
    if (memory_max) {
        char size[16];
        text_size(size, memory_max);
        ui_line(ui, "  memory_max %s", size);
    }
    if (json_is_true(json_object_get(o, "nix")))
        ui_line(ui, "  nix true");
    size_t i;
    const json_t *rule;
    json_array_foreach(json_object_get(o, "exclude"), i, rule) ui_line(ui, "  exclude %s", json_string_value(rule));
}

static void print_box(struct cmd_context *c, const json_t *o)
{
    struct ui *ui = c->ui;
    const char *path = json_string_value(json_object_get(o, "path"));
    ui_line(ui, "%s: %s%s%s", json_string_value(json_object_get(o, "name")),
            json_string_value(json_object_get(o, "state")), path ? " at " : "", path ? path : "");
    const json_t *hydrated = json_object_get(o, "hydrated");
    if (json_is_true(json_object_get(o, "daemon_silent"))) { /* nobody else knows what is here */
        _cleanup_free_ char *whom = patience_whom(json_string_value(json_object_get(o, "name")),
                                                  (pid_t)json_integer_value(json_object_get(o, "daemon_pid")));
        ui_warn(ui, "no answer from %s", whom);
    } else if (hydrated) {
        char cache[16];
        text_size(cache, (uint64_t)json_integer_value(json_object_get(o, "cache_bytes")));
        ui_line(ui, "  lease %s, %.0f %% here, %s cached, %s waiting for the store",
                json_string_value(json_object_get(o, "lease")), 100 * json_number_value(hydrated), cache,
                TEXT_COUNT((uint64_t)json_integer_value(json_object_get(o, "waiting_reads")), "read"));
        if (json_integer_value(json_object_get(o, "unreachable_s")) > 0)
            ui_line(ui, "  the store has not answered for %lld s",
                    (long long)json_integer_value(json_object_get(o, "unreachable_s")));
    }
    ui_line(ui, "  box %s%s", json_string_value(json_object_get(o, "box")),
            strcmp(json_string_value(json_object_get(o, "supervised")), "direct") == 0
                ? " (without systemd: no memory limit)"
                : "");
    const char *tools = json_string_value(json_object_get(o, "tools"));
    bool runs = json_integer_value(json_object_get(o, "box_pid")) != 0;
    if (tools)
        ui_line(ui, "  tools from %s", tools);
    else if (runs && json_is_true(json_object_get(o, "nix")))
        ui_line(ui, "  tools of this node, although nix=true: ag-box doctor says why");
    json_int_t pending = json_integer_value(json_object_get(o, "pending_bytes"));
    if (pending > 0) {
        char size[16];
        text_size(size, (uint64_t)pending);
        ui_line(ui, "  %s written since the newest snapshot", size);
    }
    print_settings(ui, o);
    if (json_object_get(o, "head"))
        ui_line(ui, "  the store: %s%s by %s, epoch %lld, %lld s ago; snapshot %.8s",
                json_string_value(json_object_get(o, "lease_state")),
                strcmp(json_string_value(json_object_get(o, "lease_state")), "free") == 0 ? ", last held" : "",
                json_string_value(json_object_get(o, "lease_node")),
                (long long)json_integer_value(json_object_get(o, "lease_epoch")),
                (long long)json_integer_value(json_object_get(o, "lease_age_s")),
                json_string_value(json_object_get(o, "head")));
    const char *holder = json_string_value(json_object_get(o, "lease_node"));
    const char *state = json_string_value(json_object_get(o, "lease_state"));
    if (holder && strcmp(state, head_state_name(HEAD_HELD)) == 0 && strcmp(holder, c->config->node) != 0) {
        char there[512];
        _cleanup_free_ char *words = mem_printf("status %s", json_string_value(json_object_get(o, "name")));
        nodes_say(c->config, holder, words, false, there);
        ui_line(ui, "  it is up on %s; %s", holder, there);
    }
}

static int one_box(struct cmd_context *c, const char *name, struct error *e)
{
    _cleanup_(stack_close) struct stack s = STACK_NONE;
    s.attempts = 1; /* whoever asks during an outage wants to know of it now */
    int r = stack_open(&s, c->config, c->ui, e);
    if (r == 0)
        r = stack_peek(&s, name, e);
    if (r < 0)
        return r;
    json_t *o = describe(&s);
    struct error why = { 0 };
    r = stack_store(&s, &why);
    if (r == 0) {
        add_pending(&s, o);
        r = describe_head(&s, o, &why);
    }
    if (r < 0 && (!s.journal || (r == -ENOENT && s.record.state == BOX_NONE))) {
        json_decref(o);
        error_pass(e, &why);
        return r == -ENOENT && why.kind == ERROR_UNKNOWN ? stack_no_box(&s, false, e) : r;
    }
    if (r < 0)
        ui_warn(c->ui, "%s", why.text);
    print_box(c, o);
    const char *key;
    json_t *value;
    json_object_foreach(o, key, value)
    {
        ui_field(c->ui, key, json_incref(value));
    }
    json_decref(o);
    return 0;
}

struct all_boxes {
    struct cmd_context *context;
    json_t *boxes, *mounts;
};

static int add_box(void *arg, const char *name, struct error *e)
{
    struct all_boxes *all = arg;
    _cleanup_(stack_close) struct stack s = STACK_NONE;
    s.config = all->context->config;
    int r = stack_peek(&s, name, e);
    if (r < 0 || !s.journal || s.record.state == BOX_NONE)
        return r;
    json_t *o = describe(&s);
    print_box(all->context, o);
    json_array_append_new(all->boxes, o);
    return 0;
}

static int add_mount(void *arg, const struct visit *v)
{
    struct all_boxes *all = arg;
    char id[SNAPSHOT_ID_TEXT];
    snapshot_id_text(&v->snapshot, id);
    ui_line(all->context->ui, "%s: snapshot %.8s is mounted at %s", v->box, id, v->point);
    json_t *o = json_pack("{s:s,s:s}", "name", v->box, "snapshot", id);
    ui_path_into(o, "path", v->point, strlen(v->point));
    json_array_append_new(all->mounts, o);
    return 0;
}

static int run(struct cmd_context *c, struct error *e)
{
    if (c->argument_count == 1)
        return one_box(c, c->arguments[0], e);
    _cleanup_(stack_close) struct stack s = STACK_NONE;
    int r = stack_open(&s, c->config, c->ui, e);
    if (r < 0)
        return r;
    overview_print(c->config, c->ui);
    struct all_boxes all = { .context = c, .boxes = json_array(), .mounts = json_array() };
    r = project_each_box(&s, add_box, &all, e);
    if (r == 0 && json_array_size(all.boxes) == 0)
        ui_line(c->ui, "no box is active here");
    ui_field(c->ui, "boxes", all.boxes);
    if (r == 0)
        r = visit_each_mounted(c->config, add_mount, &all, e);
    ui_field(c->ui, "mounts", all.mounts);
    return r;
}

const struct cmd cmd_status = {
    .name = "status",
    .summary = "what this node has, and how it stands",
    .arguments = "[NAME]",
    .arguments_max = 1,
    .run = run,
};
