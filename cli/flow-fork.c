/* SPDX-License-Identifier: MIT */
#include "cli/flow.h"

#include "cli/box.h"
#include "cli/mounts.h"
#include "cli/patience.h"
#include "index/base/mem.h"
#include "index/base/text.h"
#include "index/reached.h"

#include <errno.h>

#define OLDER_MAX 100 /* snapshots of one work whose forks are removed at once */

static int by_name(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct pack_name));
}

/* The packs that a fork can do without only if what it needs of them is sent again. */
static void note_missing(const struct fork_pack *packs, size_t count, const struct reached_pack *reached,
                         struct tidy_plan *ret)
{
    ret->avoid = mem_new(count + 1, sizeof(*ret->avoid));
    for (size_t i = 0; i < count; i++)
        if (packs[i].missing) {
            const struct reached_pack *r = bsearch(&packs[i].name, reached, count, sizeof(*reached), by_name);
            ret->avoid[ret->avoid_count++] = packs[i].name;
            ret->metadata |= r && r->metadata;
        }
}

int flow_verify(struct stack *s, const struct snapshot_id *id, struct tidy_plan *ret_missing, struct error *e)
{
    _cleanup_(view_close) struct view v = { 0 };
    _cleanup_(reached_freep) struct reached *reached = reached_new();
    int r = view_open_id(s, id, &v, e);
    if (r == 0)
        r = reached_add(reached, &v.snapshot, v.tree, view_source(&v), e);
    if (r < 0)
        return r;

    _cleanup_free_ struct reached_pack *list = NULL;
    size_t count = 0;
    reached_list(reached, &list, &count);
    _cleanup_free_ struct fork_pack *packs = mem_new(count + 1, sizeof(*packs));
    for (size_t i = 0; i < count; i++)
        packs[i].name = list[i].name;
    struct lease l;
    flow_lease(s, &l);
    _cleanup_(head_releasep) struct head head = { 0 };
    r = lease_read(&l, false, &head, e);
    if (r == 0)
        r = fork_verify(s->store, &s->seal, &head, packs, count, e);
    if (r <= 0)
        return r;
    if (ret_missing)
        note_missing(packs, count, list, ret_missing); /* both are sorted by name */
    error_say(e, ERROR_DAMAGED, -EIO, "gone from the store: %d of %s that the work on %s needs", r,
              TEXT_COUNT(count, "pack"), s->name);
    return error_hint(e, "the work stays here as it is; `ag-box check %s` says which files those packs held", s->name);
}

struct forking {
    struct stack *stack;
    bool still, again;  /* again: a fork of this work was made, or begun, before */
    bool rules_changed; /* since the base */
    struct view base, before;
    struct meta meta;
    struct tidy_plan missing; /* what the last try lacked: the next one does without */
};

static void describe(struct stack *s, const struct snapshot_id *id, const struct snapshot_id *parent, struct fork *ret)
{
    *ret = (struct fork){ .snapshot = *id, .parent = *parent, .writer = s->record.writer };
    memcpy(ret->incarnation, s->record.incarnation, sizeof(ret->incarnation));
    fork_name_new(ret, &s->node, s->record.epoch);
}

static const struct fork *find_snapshot(const struct fork *all, size_t count, const struct snapshot_id *id)
{
    for (size_t i = 0; i < count; i++)
        if (!all[i].damaged && snapshot_id_equal(&all[i].snapshot, id))
            return &all[i];
    return NULL;
}

/* Of a snapshot of this work whose fork was never PUT; none: there is nothing behind it that we know of. */
static void parent_of(struct stack *s, struct snapshot_id *id)
{
    struct snapshot n;
    int r = snapshots_get(s->store, &s->seal, id, &n, NULL);
    *id = r == 0 ? n.parent : (struct snapshot_id){ 0 };
    if (r == 0)
        snapshot_release(&n);
}

int flow_remove_older(struct stack *s, const struct fork *newest, const struct snapshot_id *until, size_t *ret_removed,
                      struct error *e)
{
    struct snapshot_id id = newest->parent;
    struct fork *all = NULL;
    size_t count = 0;
    int r = fork_list(s->store, &s->seal, &all, &count, e);
    for (unsigned i = 0;
         r == 0 && count > 1 && i < OLDER_MAX && !snapshot_id_none(&id) && !snapshot_id_equal(&id, until); i++) {
        const struct fork *older = find_snapshot(all, count, &id);
        if (older)
            r = fork_remove(s->store, s->name, older->name, e);
        if (older)
            id = older->parent;
        else
            parent_of(s, &id);
        *ret_removed += older != NULL;
    }
    free(all);
    return r;
}

/* The newest fork of this work may have been dropped since it was made, or never have been PUT. */
static int find_listed(struct stack *s, const struct snapshot_id *id, struct fork *ret, bool *ret_there,
                       struct error *e)
{
    struct fork *all = NULL;
    size_t count = 0;
    int r = fork_list(s->store, &s->seal, &all, &count, e);
    const struct fork *found = r == 0 ? find_snapshot(all, count, id) : NULL;
    *ret_there = found;
    if (found)
        *ret = *found;
    free(all);
    return r;
}

/* Steps 5 and 6; the journal names the fork already. */
static int verify_and_keep(struct forking *f, const struct fork *n, bool is_new, struct error *e)
{
    size_t removed = 0;
    struct stack *s = f->stack;
    int r = flow_verify(s, &n->snapshot, &f->missing, e);
    if (r == 0)
        r = journal_packs_clear(s->journal, e);
    if (r == 0)
        r = flow_remove_older(s, n, &f->base.snapshot.id, &removed, e);
    if (r < 0)
        return r;
    char id[FORK_NAME_MAX + 8];
    snprintf(id, sizeof(id), "fork:%s-%llu", n->node, (unsigned long long)n->epoch);
    ui_line(s->ui, is_new ? "the work on %s here is kept as %s" : "nothing is new in %s here since %s", s->name, id);
    ui_field_text(s->ui, "fork", id);
    return 0;
}

/* Steps 4 to 6. Journalled before the PUT: whoever goes on after a crash makes a fork that replaces this one. */
static int publish(struct forking *f, const struct snapshot_id *id, const struct snapshot_id *parent, struct error *e)
{
    struct stack *s = f->stack;
    struct fork n;
    describe(s, id, parent, &n);
    s->record.fork = *id;
    int r = stack_save_record(s, e);
    if (r == 0)
        r = fork_put(s->store, &s->seal, &n, e);
    if (r == 0)
        r = verify_and_keep(f, &n, true, e);
    if (r < 0 && f->missing.avoid_count)
        fork_remove(s->store, s->name, n.name, NULL); /* nobody could use it */
    return r;
}

/* The fork is not in the store, and its snapshot may be condemned: the same tree, as one of its own. */
static int publish_again(struct forking *f, struct error *e)
{
    struct snapshot *n = &f->before.snapshot;
    const struct snapshot_id parent = n->parent;
    int r = flow_derive(f->stack, &parent, &f->meta, n, e);
    return r < 0 ? r : publish(f, &n->id, &parent, e);
}

/* Nothing is new since the newest fork, which may not have come as far as to be relied on. */
static int keep_unchanged(struct forking *f, struct error *e)
{
    struct fork listed;
    bool there;
    int r = find_listed(f->stack, &f->before.snapshot.id, &listed, &there, e);
    if (r < 0)
        return r;
    return there ? verify_and_keep(f, &listed, false, e) : publish_again(f, e);
}

/* Our hold may have gone with the lease, and what it kept: work is never blocked (rule L5). */
static int save(struct stack *s, const struct saving_config *c, struct saved *ret, struct error *e)
{
    struct error why = { 0 };
    int r = saving_run(s, c, ret, &why);
    if (flow_sent_is_gone(r, &why)) {
        ui_warn(s->ui, "what was sent of %s is gone from the store: sending it again", s->name);
        r = flow_forget_sent(s, e);
        return r < 0 ? r : saving_run(s, c, ret, e);
    }
    if (r < 0)
        error_pass(e, &why);
    return r;
}

static int try_fork(struct forking *f, struct error *e)
{
    struct stack *s = f->stack;
    const struct view *parent = f->again ? &f->before : &f->base;
    struct saved saved = { 0 };
    struct saving_config c = { .live = !f->still,
                               .avoid = f->missing.avoid_count ? &f->missing : NULL,
                               .project = s->record.aside ? s->record.aside : s->record.path,
                               .meta = &f->meta,
                               .rules_changed = f->rules_changed,
                               .parent = &parent->snapshot,
                               .base = &f->base,
                               .epoch = s->record.epoch };
    int r = save(s, &c, &saved, e);
    tidy_plan_release(&f->missing);
    if (r == 0 && saved.changed)
        r = publish(f, &saved.id, &parent->snapshot.id, e);
    else if (r == 0 && f->again)
        r = keep_unchanged(f, e);
    else if (r == 0)
        ui_line(s->ui, "nothing had been changed in %s here: there is nothing to keep", s->name);
    saved_release(&saved);
    return r;
}

/* Step 5's "else upload again": what is cached here, or only condemned, can still be read through the mount. */
static int try_twice(struct forking *f, struct error *e)
{
    struct error second = { 0 };
    int r = try_fork(f, e);
    if (r == 0 || f->missing.avoid_count == 0 || !f->still)
        return r;
    ui_warn(f->stack->ui, "gone or condemned: %s of what %s is based on; sending again what was there",
            TEXT_COUNT(f->missing.avoid_count, "pack"), f->stack->name);
    if (try_fork(f, &second) < 0)
        return r; /* the first error says what is wrong */
    error_clear(e);
    return 0;
}

/* A fork needs the store, and a box: known before anything here is touched. */
static int ask_store(struct stack *s, struct error *e)
{
    struct lease l;
    flow_lease(s, &l);
    _cleanup_(head_releasep) struct head head = { 0 };
    int r = lease_resolve(&l, &head, e);
    if (r == 0 && outcome_standing(&s->record, &head) == LEASE_REPLACED)
        r = flow_refuse_replaced(s, e);
    return r;
}

/* A fork that was dropped, or never PUT, keeps nothing: its snapshot may be gone by now. */
static int open_before(struct forking *f, struct error *e)
{
    struct error why = { 0 };
    int r = view_open_id(f->stack, &f->stack->record.fork, &f->before, &why);
    f->again = r == 0;
    if (r == -ENOENT)
        f->stack->record.fork = (struct snapshot_id){ 0 };
    else if (r < 0)
        error_pass(e, &why);
    return r == -ENOENT ? 0 : r;
}

/* What is left out goes to the stash by the rules that were committed last: by others, what neither of the two has
 * would be lost. All else that was set is the line's. */
static int read_meta(struct forking *f, struct error *e)
{
    if (f->again) {
        f->rules_changed = strcmp(f->base.snapshot.meta, f->before.snapshot.meta) != 0;
        return view_meta(&f->before.snapshot, &f->meta, e);
    }
    _cleanup_(view_close) struct view committed = { 0 };
    struct meta newest = { 0 };
    int r = view_open_committed(f->stack, &committed, e);
    if (r == 0)
        r = view_meta(&committed.snapshot, &newest, e);
    if (r == 0)
        r = view_meta(&f->base.snapshot, &f->meta, e);
    if (r == 0) {
        const struct meta old = f->meta;
        f->meta.exclude = newest.exclude;
        f->meta.exclude_count = newest.exclude_count;
        newest.exclude = old.exclude;
        newest.exclude_count = old.exclude_count;
        f->rules_changed = strcmp(f->base.snapshot.meta, committed.snapshot.meta) != 0;
    }
    meta_release(&newest);
    return r;
}

static int make(struct stack *s, bool still, struct error *e)
{
    struct forking f = { .stack = s, .still = still, .again = !snapshot_id_none(&s->record.fork) };
    _cleanup_(patience_end) struct patience *p = NULL;
    int r = patience_begin(s, &p, e);
    if (r == 0)
        r = stack_content(s, e);
    if (r == 0)
        r = mounts_reach(s, e);
    if (r == 0 && still)
        r = flow_make_still(s, e);
    if (r == 0)
        r = s->record.full ? view_open_committed(s, &f.base, e) : view_open_base(s, &f.base, e);
    if (r == 0 && f.again)
        r = open_before(&f, e);
    if (r < 0) {
        view_close(&f.base);
        return r;
    }
    r = read_meta(&f, e);
    if (r == 0)
        r = try_twice(&f, e);
    if (r == 0 && still) /* from here on it is taken away, and no fork may be made of what is left of it */
        r = flow_set_state(s, BOX_PARKED, e);
    tidy_plan_release(&f.missing);
    meta_release(&f.meta);
    view_close(&f.before);
    view_close(&f.base);
    return r;
}

/* Work is never blocked (rule L5): the tree as it was, and the box. */
static int go_on(struct stack *s, bool box_ran, struct error *e)
{
    int r = flow_let_go(s, e);
    if (r == 0)
        r = stack_save_record(s, e);
    return r == 0 && box_ran ? box_start(s, e) : r;
}

int flow_fork(struct stack *s, bool still, struct error *e)
{
    struct error why = { 0 };
    int r = ask_store(s, e);
    if (r == 0) {
        bool box_ran = box_running(s) != 0;
        r = make(s, still, e);
        if (r < 0 && still)
            go_on(s, box_ran, &why);
        if (why.text[0])
            ui_warn(s->ui, "%s", why.text);
    }
    if (r == 0 || !e || e->kind != ERROR_STORE)
        return r < 0 ? error_prefix(e, "fork %s", s->name) : 0;
    error_prefix(e, "the lease of %s was lost, so its work must become a fork before anything else", s->name);
    return error_hint(e, "nothing is lost: the work stays here; run the command again when the store answers");
}
