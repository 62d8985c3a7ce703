/* SPDX-License-Identifier: MIT */
#include "cli/flow.h"

#include "cli/flake.h"
#include "cli/interrupt.h"
#include "cli/mounts.h"
#include "cli/strays.h"
#include "index/base/crash.h"
#include "index/base/mem.h"
#include "index/base/remove.h"
#include "index/base/text.h"
#include "sync/inventory.h"
#include "sync/removal.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

#define SECOND_NS 1000000000

static int confirm(struct stack *s, const struct flow_drop_options *o, const char *what, struct error *e)
{
    if (o->yes || ui_confirm(s->ui, what, s->name))
        return 0;
    int r = interrupt_check(e);
    if (r < 0)
        return r;
    error_say(e, ERROR_USAGE, -EPERM, "%s: not confirmed, nothing is changed", s->name);
    return error_hint(e, "type the name when asked, or give --yes"), -EPERM;
}

/* --- parts of a box */

/* And the older ones that it goes on from: those that a crash has left. */
static int drop_fork(struct stack *s, const struct flow_drop_options *o, struct error *e)
{
    static const struct snapshot_id none = { { 0 } };
    _cleanup_free_ struct fork *all = NULL;
    const struct fork *found = NULL;
    size_t count = 0, removed = 1;
    int r = fork_list(s->store, &s->seal, &all, &count, e);
    if (r == 0)
        r = fork_find(all, count, s->name, o->fork, &found, e);
    if (r < 0)
        return r;
    char id[FORK_ID_MAX];
    fork_id(all, count, found, id);
    _cleanup_free_ char *what = mem_printf("This gives up the work that %s of %s keeps", id, s->name);
    r = confirm(s, o, what, e);
    if (r == 0 && count > 1)
        r = flow_remove_older(s, found, &none, &removed, e);
    if (r == 0)
        r = fork_remove(s->store, s->name, found->name, e);
    if (r == 0) {
        ui_line(s->ui, "%s of %s is dropped; prune frees its space", id, s->name);
        ui_field_integer(s->ui, "forks_removed", (int64_t)removed);
    }
    return r;
}

static int drop_hold(struct stack *s, const struct flow_drop_options *o, struct error *e)
{
    struct writer w;
    struct hold *all = NULL;
    size_t count = 0;
    const struct hold *found = NULL;
    if (writer_parse(o->hold, &w) < 0)
        return error_say(e, ERROR_USAGE, -EINVAL, "'%s' is no hold: ag-box ls --snapshots %s lists them", o->hold,
                         s->name);
    if (memcmp(&w, &s->record.writer, sizeof(w)) == 0) {
        error_say(e, ERROR_BUSY, -EBUSY, "hold %s is in use here", o->hold);
        return error_hint(e, "ag-box park %s lets it go", s->name), -EBUSY;
    }
    int r = hold_list(s->store, &s->seal, &all, &count, e);
    for (size_t i = 0; r == 0 && i < count; i++)
        if (memcmp(&all[i].writer, &w, sizeof(w)) == 0)
            found = &all[i];
    char age[16] = "";
    if (found)
        text_duration(age, found->age_ns > 0 ? (uint64_t)found->age_ns / 1000000 : 0);
    else if (r == 0)
        r = error_say(e, ERROR_UNKNOWN, -ENOENT, "no hold %s of %s", o->hold, s->name);
    _cleanup_free_ char *what =
        mem_printf("What %s still has of %s under hold %s (%s old) loses its protection, unsent work too",
                   found && found->node[0] ? found->node : "a node", s->name, o->hold, age);
    free(all);
    if (r == 0)
        r = confirm(s, o, what, e);
    if (r == 0)
        r = hold_remove(s->store, s->name, &w, e);
    if (r == 0)
        ui_line(s->ui, "hold %s of %s is dropped", o->hold, s->name);
    return r;
}

/* --- a box that was never finished */

static int remove_attempt(struct stack *s, struct error *e)
{
    char prefix[STORE_KEY_MAX], key[STORE_KEY_MAX], writer[WRITER_TEXT];
    struct inventory v = { 0 };
    int r = inventory_list_snapshots(&v, s->store, s->name, e);
    if (r == 0)
        r = inventory_open_snapshots(&v, s->store, &s->seal, e);
    for (size_t i = 0; r == 0 && i < v.snapshot_count; i++) {
        const struct snapshot *n = v.snapshots[i].object;
        if (!n || memcmp(n->incarnation, s->record.incarnation, sizeof(n->incarnation)) != 0)
            continue;
        snapshots_key(s->name, &n->id, key);
        r = store_remove(s->store, key, e);
    }
    inventory_release(&v);
    writer_text(&s->record.writer, writer);
    store_box_key(prefix, s->name, "pack/%s/", writer);
    if (r == 0)
        r = removal_below(s->store, prefix, e);
    return r < 0 ? r : hold_remove(s->store, s->name, &s->record.writer, e);
}

static int forget(struct stack *s, struct error *e)
{
    struct box_record *b = &s->record;
    b->writer = (struct writer){ 0 };
    b->base = b->committed = b->fork = (struct snapshot_id){ 0 };
    free(mem_steal(b->path));
    b->full = false;
    flake_leave(s);
    int r = journal_packs_clear(s->journal, e);
    if (r == 0)
        r = flow_set_state(s, BOX_NONE, e);
    if (r == 0)
        stack_mark(s->config, s->name, true);
    return r;
}

static int drop_tracking(struct stack *s, const struct flow_drop_options *o, struct error *e)
{
    if (box_record_in_doubt(&s->record)) {
        error_say(e, ERROR_DOUBT, -EINPROGRESS, "whether %s was created is not known yet", s->name);
        return flow_hint_track(s, e);
    }
    _cleanup_free_ char *what = mem_printf("What was sent of %s is deleted, its directory stays", s->name);
    int r = confirm(s, o, what, e);
    if (r == 0)
        r = remove_attempt(s, e);
    if (r == 0)
        r = forget(s, e);
    if (r == 0)
        ui_line(s->ui, "what was sent of %s is deleted; the directory stays as it is", s->name);
    return r;
}

/* --- a whole box */

/* Step 1: nobody may still need it. */
static int refuse_users(struct stack *s, bool force, struct inventory *v, struct error *e)
{
    int r = strays_remove(s, NULL, e);
    if (r == 0)
        r = inventory_list_users(v, s->store, &s->seal, e);
    if (r < 0)
        return r;
    for (size_t i = 0; i < v->hold_count; i++) {
        char id[WRITER_TEXT], age[16];
        writer_text(&v->holds[i].writer, id);
        text_duration(age, v->holds[i].age_ns > 0 ? (uint64_t)v->holds[i].age_ns / 1000000 : 0);
        ui_note(s->ui, "  hold %s of %s, %s old", id, v->holds[i].node, age);
    }
    for (size_t i = 0; i < v->fork_count; i++) {
        char id[FORK_ID_MAX];
        fork_id(v->forks, v->fork_count, &v->forks[i], id);
        ui_note(s->ui, "  %s: work that only the fork keeps", id);
    }
    if (force || v->hold_count + v->fork_count == 0)
        return 0;
    error_say(e, ERROR_BUSY, -EBUSY, "%s is in use: %s, %s", s->name, TEXT_COUNT(v->hold_count, "hold"),
              TEXT_COUNT(v->fork_count, "fork"));
    return error_hint(e, "--force drops it all the same; --hold ID and --fork ID drop one"), -EBUSY;
}

/*
 * The tombstone is to be younger than everything else, on a clock that may count in whole seconds: what is of its own
 * second stays, because it could be a new box's.
 */
static void let_a_second_pass(void)
{
    struct timespec t = { 1, SECOND_NS / 10 };
    nanosleep(&t, NULL);
}

/* Step 3. The tombstone's time, if it still is one. */
static int remove_objects(struct stack *s, const struct head *tombstone, struct error *e)
{
    char key[STORE_KEY_MAX];
    struct store_info info;
    size_t count = 0;
    head_key(s->name, key);
    int r = store_stat(s->store, key, &info, e);
    if (r == 0 && strcmp(info.etag, tombstone->etag) != 0)
        return error_say(e, ERROR_HELD, -ESTALE,
                         "%s was dropped, and is being made anew: its new holder's prune removes "
                         "what is left of the old one",
                         s->name);
    if (r == 0)
        r = removal_of_box(s->store, s->name, info.modified_ns, &count, e);
    if (r == 0)
        ui_field_integer(s->ui, "objects_removed", (int64_t)count);
    return r;
}

/* Who was asked may have taken long: what has come since then is nothing that they were asked about. A fork's node has
 * let go of that work by now, so the forks come last. */
static int refuse_news(struct stack *s, struct lease *l, bool force, struct head *head, struct error *e)
{
    struct snapshot_id before = head->root;
    int r = lease_read(l, false, head, e);
    if (r == 0 && head->state != HEAD_TOMBSTONE && !snapshot_id_equal(&head->root, &before)) {
        error_say(e, ERROR_HELD, -ESTALE, "%s was used by %s meanwhile, and has a newer snapshot", s->name, head->node);
        return error_hint(e, "ag-box drop %s again, if that may go, too", s->name), -ESTALE;
    }
    struct inventory users = { 0 };
    if (r == 0 && !force)
        r = refuse_users(s, false, &users, e);
    inventory_release(&users);
    return r;
}

static int make_tombstone(struct stack *s, struct lease *l, const struct flow_drop_options *o, struct head *head,
                          struct error *e)
{
    struct inventory users = { 0 };
    if (head->state == HEAD_HELD && !(o->force && head_expired(head)))
        return lease_drop(l, head, false, e); /* says who holds it */
    int r = refuse_users(s, o->force, &users, e);
    inventory_release(&users);
    _cleanup_free_ char *what =
        mem_printf("Every snapshot of %s in %s is deleted for good", s->name, s->store->description);
    if (r == 0)
        r = confirm(s, o, what, e);
    if (r < 0)
        return r;
    let_a_second_pass();
    r = refuse_news(s, l, o->force, head, e);
    return r < 0 ? r : lease_drop(l, head, o->force, e);
}

static int drop_box(struct stack *s, const struct flow_drop_options *o, struct error *e)
{
    struct lease l;
    flow_lease(s, &l);
    _cleanup_(head_releasep) struct head head = { 0 };
    int r = lease_read(&l, false, &head, e);
    if (r == -ENOENT)
        return stack_no_box(s, false, e);
    if (r == 0 && head.state != HEAD_TOMBSTONE)
        r = make_tombstone(s, &l, o, &head, e);
    crash_point("drop-tombstone.after");
    if (r == 0)
        r = remove_objects(s, &head, e);
    if (r == 0 && s->record.path)
        mounts_leave_point(s->record.path);
    if (r == 0 && s->record.state != BOX_MOVED_ASIDE)
        r = forget(s, e);
    if (r < 0)
        return r;
    ui_line(s->ui, "%s is dropped", s->name);
    if (s->record.aside) {
        ui_line(s->ui, "its directory from before the first park stays: %s", s->record.aside);
        ui_field_path(s->ui, "moved_aside", s->record.aside);
    }
    return 0;
}

/* Work here, of a box that is no more or another one now, is given up; of one that is this, it is in the way. */
static int drop_work(struct stack *s, const struct flow_drop_options *o, struct error *e)
{
    struct lease l;
    flow_lease(s, &l);
    _cleanup_(head_releasep) struct head head = { 0 };
    int r = lease_resolve(&l, &head, e);
    if (r < 0)
        return r;
    bool replaced = outcome_standing(&s->record, &head) == LEASE_REPLACED;
    if (!replaced && s->record.state == BOX_FENCED) {
        error_say(e, ERROR_BUSY, -EBUSY, "%s has work here whose lease was lost", s->name);
        return error_hint(e, "ag-box park %s makes it a fork; --fork drops that", s->name), -EBUSY;
    }
    if (!replaced) {
        error_say(e, ERROR_BUSY, -EBUSY, "%s is here (%s)", s->name, box_state_name(s->record.state));
        return error_hint(e, "ag-box park %s first", s->name), -EBUSY;
    }
    if (!o->force) /* the only copy there is, if only of a home: a typed name alone does not delete it */
        return flow_refuse_replaced(s, e);
    _cleanup_free_ char *what =
        s->record.full
            ? mem_printf("%s is a plain directory, and stays; the box's home here is deleted", s->record.path)
            : mem_printf("What was changed here of the %s that was dropped is deleted for good", s->name);
    r = confirm(s, o, what, e);
    if (r == 0 && s->record.full && s->record.state != BOX_FULL_HELD)
        r = flow_let_go(s, e); /* a park may have moved the directory: to where people look for it */
    if (r == 0)
        r = mounts_down(s, true, e); /* and the box */
    if (r == 0 && s->record.upper[0])
        r = remove_tree(s->box_dir, s->record.upper, e);
    if (r == 0 && s->record.full)
        r = mounts_stop_daemon(s, e);
    if (r == 0 && s->record.full)
        r = remove_tree(s->box_dir, "home", e); /* of that box alone: another one of the name does not inherit it */
    if (r < 0)
        return r;
    if (!s->record.full)
        mounts_leave_point(s->record.path);
    flow_drop_hold(s);
    s->record.upper[0] = '\0';
    r = forget(s, e);
    if (r == 0)
        ui_line(s->ui, "the work of %s here is forgotten", s->name);
    return r;
}

int flow_drop(struct stack *s, const struct flow_drop_options *o, struct error *e)
{
    if (o->fork)
        return drop_fork(s, o, e);
    if (o->hold)
        return drop_hold(s, o, e);
    int r = flow_resolve(s, e);
    if (r < 0)
        return r;
    switch (s->record.state) {
    case BOX_NONE:
    case BOX_MOVED_ASIDE:
        return drop_box(s, o, e);
    case BOX_PARKED:
        r = flow_clean_all(s, e);
        return r < 0 ? r : drop_box(s, o, e);
    case BOX_TRACKING:
        return drop_tracking(s, o, e);
    case BOX_FENCED:
    case BOX_FULL_HELD:
    case BOX_MOUNTED:
    case BOX_PARKING:
    case BOX_MOVING:
        return drop_work(s, o, e);
    case BOX_ACQUIRED:
    case BOX_PREPARING:
    case BOX_FILLING:
    case BOX_STATE_COUNT:
        break;
    }
    error_say(e, ERROR_BUSY, -EBUSY, "%s is here (%s)", s->name, box_state_name(s->record.state));
    return error_hint(e, "ag-box park %s first", s->name), -EBUSY;
}
