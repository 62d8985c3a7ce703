/* SPDX-License-Identifier: MIT */
#include "cli/flow.h"

#include "cli/mounts.h"
#include "cli/place.h"
#include "cli/stashing.h"
#include "index/base/mem.h"
#include "sync/hold.h"

#include <errno.h>
#include <stdio.h>

/* The state table of index/FORMAT.md, one function a command. */

/* up --from replaces the tree: not over work that is here. */
/* Which --from would put another tree in the place of. */
static bool has_work(enum box_state state)
{
    return !box_state_away(state) && state != BOX_ACQUIRED && state != BOX_PREPARING;
}

static int refuse_from(struct stack *s, struct error *e)
{
    error_say(e, ERROR_BUSY, -EBUSY, "box %s has work here (%s)", s->name, box_state_name(s->record.state));
    return error_hint(e, "ag-box park %s first", s->name);
}

static void tell_shown(struct stack *s)
{
    struct error why = { 0 };
    _cleanup_(snapshot_releasep) struct snapshot n = { 0 };
    if (view_shown(s, &n, &why) == 0)
        flow_tell_shown(s, &n);
    else
        ui_warn(s->ui, "%s", why.text);
}

static int already_up(struct stack *s)
{
    tell_shown(s);
    ui_line(s->ui, "%s is up here already, at %s", s->name, s->record.path);
    return 0;
}

/* Our lease was lost for good: from here on the work here is a fork's (rule L5). */
static int fence(struct stack *s, struct error *e)
{
    ui_warn(s->ui, "the lease of %s is lost: another node has it, or has committed since; the work here becomes a fork",
            s->name);
    return flow_set_state(s, BOX_FENCED, e);
}

/* Prune may have been at whatever our hold kept: is all of what the work here is relative to there? */
static int verify_base(struct stack *s, struct error *e)
{
    int r = stack_content(s, e);
    return r < 0 ? r : flow_verify(s, flow_relied_on(s), NULL, e);
}

/* -ESTALE: it is not, and the work here can only be a fork's, which does without what is gone. */
static int verify_or_fork(struct stack *s, struct error *e)
{
    struct error why = { 0 };
    int verified = verify_base(s, &why);
    bool gone = verified < 0 && (why.kind == ERROR_DAMAGED || why.kind == ERROR_UNKNOWN);
    if (verified < 0 && !gone)
        return error_pass(e, &why);
    int r = flow_forget_sent(s, e);
    if (r < 0 || !gone)
        return r;
    ui_warn(s->ui, "the hold of %s was dropped, and what it kept is gone: %s", s->name, why.text);
    return error_say(e, ERROR_HELD, -ESTALE, "%s", why.text);
}

/*
 * The lease again, and the hold, which somebody may have removed. What then says that the base is all there is the
 * hold, and the lease: both are put after it was looked at, so who is killed on the way looks again. A prune is seen by
 * the head that it writes.
 */
static int regain(struct stack *s, struct lease *l, struct head *head, struct error *e)
{
    char key[STORE_KEY_MAX];
    struct store_info info;
    uint64_t seq = head->seq;
    hold_key(s->name, &s->record.writer, key);
    int held = store_stat(s->store, key, &info, e);
    if (held < 0 && held != -ENOENT)
        return held;
    error_clear(e);
    int r = held == -ENOENT ? verify_or_fork(s, e) : 0;
    if (r == 0)
        r = hold_put(s->store, &s->seal, &s->record.writer, &s->node, flow_relied_on(s), e);
    if (r == 0)
        r = lease_regain(l, head, e);
    return r == 0 && held == -ENOENT && head->seq != seq + 1 ? verify_base(s, e) : r;
}

/* A park that no PUT can finish any more ends as if it had not begun: who works here can go on. Any other state stays.
 */
static int call_off(struct stack *s, struct error *e)
{
    enum box_state state = s->record.state;
    if (state != BOX_PARKING && state != BOX_MOVING)
        return 0;
    int r = flow_let_go(s, e); /* before the journal: a mounted box is never found read-only */
    return r < 0 ? r : flow_set_state(s, state == BOX_PARKING ? BOX_MOUNTED : BOX_FULL_HELD, e);
}

int flow_refuse_replaced(struct stack *s, struct error *e)
{
    struct error why = { 0 };
    if (call_off(s, &why) < 0)
        ui_warn(s->ui, "%s stays half parked: %s", s->name, why.text);
    _cleanup_free_ char *upper = place_in_box(s->config, s->name, s->record.upper);
    bool moved = s->record.full && s->record.aside;
    error_say(e, ERROR_HELD, -ESTALE,
              "box %s was dropped, or is another one of the same name now; the work here is kept in %s", s->name,
              !s->record.full ? upper
              : moved         ? s->record.aside
                              : s->record.path);
    if (s->record.full)
        return error_hint(e, "ag-box drop %s --force forgets it: the directory stays, the box's home here is deleted",
                          s->name);
    return error_hint(e, "save what you need of it, then ag-box drop %s --force deletes it", s->name);
}

/* Is the lease of the work here still ours, or again? Sets the state to fenced when it is not. */
static int verify_lease(struct stack *s, struct error *e)
{
    struct lease l;
    flow_lease(s, &l);
    _cleanup_(head_releasep) struct head head = { 0 };
    int r = lease_resolve(&l, &head, e);
    if (r < 0)
        return r;
    switch (outcome_standing(&s->record, &head)) {
    case LEASE_OURS:
        return 0;
    case LEASE_REPLACED:
        return flow_refuse_replaced(s, e);
    case LEASE_REGAIN:
        r = regain(s, &l, &head, e);
        if (r != -ESTALE)
            return r;
        break;
    case LEASE_LOST:
        break;
    }
    return fence(s, e);
}

static int fork_then_fresh(struct stack *s, const struct flow_up_options *o, struct error *e)
{
    int r = flow_fork(s, true, e);
    if (r == 0)
        r = flow_clean_all(s, e);
    return r < 0 ? r : flow_up_fresh(s, o, e);
}

/* After a crash or reboot: the same upper over its own base (rule O4), also without the store. Not when its lease turns
 * out to be lost: then it is fenced. */
static int remount(struct stack *s, struct error *e)
{
    struct error why = { 0 };
    int verified = verify_lease(s, &why);
    if (verified < 0 && why.kind != ERROR_STORE) {
        error_pass(e, &why);
        return verified;
    }
    if (s->record.state == BOX_FENCED)
        return 0;
    int r = mounts_down(s, true, e);
    if (r == 0)
        r = mounts_up(s, false, e);
    if (r == 0)
        r = flow_show(s, e);
    if (r < 0)
        return r;
    if (verified == 0)
        mounts_tell_held(s);
    tell_shown(s);
    ui_field(s->ui, "lease_verified", json_boolean(verified == 0));
    ui_line(s->ui, "%s is up again at %s, with the work that was here%s", s->name, s->record.path,
            verified == 0 ? "" : " (lease unverified: the store cannot be reached)");
    return 0;
}

static int up_mounted(struct stack *s, const struct flow_up_options *o, struct error *e)
{
    enum mounts_state mounted;
    int r = mounts_look(s, &mounted, e);
    if (r < 0)
        return r;
    if (o->full)
        ui_warn(s->ui, "%s stays what it is: --full counts from its next `up` after a park", s->name);
    if (mounted == MOUNTS_SHOWN)
        return already_up(s);
    if (mounted == MOUNTS_NONE || mounted == MOUNTS_PARTLY) {
        r = remount(s, e);
        return r == 0 && s->record.state == BOX_FENCED ? fork_then_fresh(s, o, e) : r;
    }
    r = flow_show(s, e);
    return r < 0 ? r : already_up(s);
}

/* No PUT of a stopped park may land any more. It may have landed already (then it is parked), or the lease be lost
 * (fenced). */
static int settle(struct stack *s, struct error *e)
{
    struct lease l;
    flow_lease(s, &l);
    bool open = box_record_in_doubt(&s->record) || s->record.freed;
    int r = lease_settle(&l, e);
    if (r < 0 && !open && e && e->kind == ERROR_STORE) {
        ui_warn(s->ui, "the lease of %s is unverified: the store cannot be reached", s->name);
        return 0;
    }
    if (r != -ESTALE || (e && e->kind != ERROR_HELD))
        return r;
    return s->record.state == BOX_PARKED ? 0 : verify_lease(s, e);
}

/* A park that was stopped is called off, once no PUT of it may land any more. */
static int up_parking(struct stack *s, const struct flow_up_options *o, struct error *e)
{
    int r = settle(s, e);
    if (r == 0 && s->record.state != BOX_PARKING)
        return flow_up(s, o, e);
    if (r == 0)
        r = call_off(s, e);
    return r < 0 ? r : up_mounted(s, o, e);
}

static int up_moving(struct stack *s, const struct flow_up_options *o, struct error *e)
{
    int r = settle(s, e);
    if (r == 0 && s->record.state != BOX_MOVING)
        return flow_up(s, o, e);
    if (r == 0)
        r = call_off(s, e);
    return r < 0 ? r : already_up(s);
}

/* What is kept up by no mount may need its daemon, and what an up that was stopped did not bring back. */
static int up_full_held(struct stack *s, struct error *e)
{
    int r = mounts_ensure_daemon(s, e);
    if (r == 0)
        r = stashing_return(s, e);
    return r < 0 ? r : already_up(s);
}

static int up_filling(struct stack *s, const struct flow_up_options *o, struct error *e)
{
    struct lease l;
    flow_lease(s, &l);
    int r = lease_renew(&l, e);
    if (r == 0)
        return flow_full_go_on(s, e);
    if (r != -ESTALE)
        return r;
    ui_warn(s->ui, "the lease of %s is lost, and nothing was changed here: from the start", s->name);
    r = flow_full_throw_away(s, e);
    if (r == 0)
        r = flow_set_state(s, BOX_PARKED, e);
    if (r == 0)
        r = flow_clean(s, e);
    return r < 0 ? r : flow_up_fresh(s, o, e);
}

int flow_up(struct stack *s, const struct flow_up_options *o, struct error *e)
{
    int r = flow_resolve(s, e);
    if (r == 0)
        r = flow_full_settle(s, e);
    if (r < 0)
        return r;
    if (o->from && has_work(s->record.state))
        return refuse_from(s, e);
    switch (s->record.state) {
    case BOX_NONE:
    case BOX_MOVED_ASIDE:
        return flow_up_fresh(s, o, e);
    case BOX_PARKED:
        r = flow_clean_all(s, e);
        return r < 0 ? r : flow_up_fresh(s, o, e);
    case BOX_TRACKING:
        return flow_unfinished(s, e);
    case BOX_ACQUIRED:
    case BOX_PREPARING:
        return flow_up_acquired(s, o, e);
    case BOX_FULL_HELD:
        return up_full_held(s, e);
    case BOX_MOUNTED:
        return up_mounted(s, o, e);
    case BOX_PARKING:
        return up_parking(s, o, e);
    case BOX_MOVING:
        return up_moving(s, o, e);
    case BOX_FENCED:
        return fork_then_fresh(s, o, e);
    case BOX_FILLING:
        return up_filling(s, o, e);
    case BOX_STATE_COUNT:
        break;
    }
    return error_say(e, ERROR_FAILED, -EINVAL, "box %s is in state %s", s->name, box_state_name(s->record.state));
}

static int parked_already(struct stack *s)
{
    flow_tell_saved(s, &s->record.committed, NULL);
    ui_line(s->ui, "%s is parked already", s->name);
    return 0;
}

/* Nothing of the box is here: was it parked by us, is it elsewhere, or is there none? */
static int park_none(struct stack *s, struct error *e)
{
    if (!snapshot_id_none(&s->record.committed))
        return parked_already(s);
    struct lease l;
    flow_lease(s, &l);
    _cleanup_(head_releasep) struct head head = { 0 };
    int r = s->journal ? lease_read(&l, false, &head, e) : head_read(s->store, &s->seal, &head, e);
    if (r == -ENOENT || (r == 0 && head.state == HEAD_TOMBSTONE))
        return stack_no_box(s, r == 0, e);
    if (r < 0)
        return r;
    if (head.state == HEAD_HELD) {
        error_say(e, ERROR_HELD, -EBUSY, "box %s is not here: it is held by %s", s->name, head.node);
        return error_hint(e, "ag-box park %s on %s", s->name, head.node), -EBUSY;
    }
    flow_tell_saved(s, &head.root, NULL);
    ui_line(s->ui, "%s is not here, and free", s->name);
    return 0;
}

/* The store said so; or what this node has sent is gone, as it is when the box was dropped. */
static bool lease_in_question(int r, const struct error *e)
{
    return e && ((r == -ESTALE && e->kind == ERROR_HELD) || flow_sent_is_gone(r, e));
}

/* The lease is still ours, but what we have sent is gone: somebody has removed our hold, and prune came by. */
static int hold_again(struct stack *s, struct error *e)
{
    ui_warn(s->ui, "what was sent of %s is gone from the store: sending it again", s->name);
    int r = verify_base(s, e);
    if (r == 0)
        r = hold_put(s->store, &s->seal, &s->record.writer, &s->node, flow_relied_on(s), e);
    return r < 0 ? r : flow_forget_sent(s, e); /* last: it is how we know that something was gone */
}

/* A lease that turns out to be lost makes the work a fork's; one that may be taken again is, and park goes on. */
static int park_mine(struct stack *s, struct error *e)
{
    int parked = flow_park_held(s, e);
    if (parked == 0 || !lease_in_question(parked, e))
        return parked;
    int r = verify_lease(s, e);
    if (r == 0 && s->record.state == BOX_FENCED)
        return flow_park(s, e);
    if (r == 0 && parked == -ENODATA)
        r = hold_again(s, e);
    return r < 0 ? r : flow_park_held(s, e);
}

/* The work became a fork, live (goes_on) or for good: 3, as it is in no snapshot of the box. */
static int say_lost(const struct stack *s, bool kept, bool goes_on, struct error *e)
{
    error_say(e, ERROR_HELD, -ESTALE, "the lease of %s was lost; %s%s", s->name,
              kept ? "the work here is kept as a fork" : "nothing had been changed here",
              goes_on ? ", and goes on" : "");
    if (kept)
        error_hint(e, "ag-box ls --snapshots %s lists it; restore it, or make it the line with up --from", s->name);
    else if (goes_on)
        error_hint(e, "ag-box park %s lets go of it here", s->name);
    return -ESTALE;
}

/* Parked, but as a fork: said also by the command that goes on with the cleaning. */
static int clean_fork(struct stack *s, struct error *e)
{
    bool kept = !snapshot_id_none(&s->record.fork);
    int r = flow_clean(s, e);
    return r < 0 ? r : say_lost(s, kept, false, e);
}

static int park_fenced(struct stack *s, struct error *e)
{
    int r = flow_fork(s, true, e);
    return r < 0 ? r : clean_fork(s, e);
}

static int snapshot_fenced(struct stack *s, struct error *e)
{
    int r = flow_fork(s, false, e);
    return r < 0 ? r : say_lost(s, !snapshot_id_none(&s->record.fork), true, e);
}

static int give_up_acquired(struct stack *s, struct error *e)
{
    struct lease l;
    flow_lease(s, &l);
    int r = flow_throw_away(s, e);
    if (r == 0)
        r = lease_free(&l, BOX_PARKED, e);
    if (r == -ESTALE && e && e->kind == ERROR_HELD) { /* taken over meanwhile: nothing was done under it */
        r = flow_set_state(s, BOX_PARKED, e);
        if (r == 0)
            r = flow_clean(s, e);
        return r < 0 ? r : park_none(s, e);
    }
    if (r == 0)
        r = flow_clean(s, e);
    if (r == 0)
        ui_line(s->ui, "%s is free again; nothing had been changed here", s->name);
    return r;
}

int flow_park(struct stack *s, struct error *e)
{
    int r = flow_resolve(s, e);
    if (r == 0)
        r = flow_full_settle(s, e);
    if (r < 0)
        return r;
    switch (s->record.state) {
    case BOX_NONE:
    case BOX_MOVED_ASIDE:
        return park_none(s, e);
    case BOX_TRACKING:
        return flow_unfinished(s, e);
    case BOX_ACQUIRED:
    case BOX_PREPARING:
        return give_up_acquired(s, e);
    case BOX_FULL_HELD:
    case BOX_MOUNTED:
    case BOX_PARKING:
    case BOX_MOVING:
        return park_mine(s, e);
    case BOX_PARKED:
        if (!snapshot_id_none(&s->record.fork))
            return clean_fork(s, e);
        parked_already(s);
        return flow_clean(s, e);
    case BOX_FENCED:
        return park_fenced(s, e);
    case BOX_FILLING:
        r = flow_full_throw_away(s, e);
        return r < 0 ? r : give_up_acquired(s, e);
    case BOX_STATE_COUNT:
        break;
    }
    return error_say(e, ERROR_FAILED, -EINVAL, "box %s is in state %s", s->name, box_state_name(s->record.state));
}

/* A lease that turns out to be lost makes the snapshot a fork's (rule L5). */
static int snapshot_mine(struct stack *s, struct error *e)
{
    int r = flow_snapshot_held(s, e);
    bool gone = e && flow_sent_is_gone(r, e);
    if (!lease_in_question(r, e))
        return r;
    r = verify_lease(s, e);
    if (r == 0 && s->record.state == BOX_FENCED)
        return snapshot_fenced(s, e);
    if (r == 0 && gone)
        r = hold_again(s, e);
    return r < 0 ? r : flow_snapshot_held(s, e);
}

/* A lease with no work under it yet. */
static int renew_only(struct stack *s, struct error *e)
{
    struct lease l;
    flow_lease(s, &l);
    int r = lease_renew(&l, e);
    if (r == 0)
        ui_line(s->ui, "%s: the lease is renewed; there is no work to save (%s)", s->name,
                box_state_name(s->record.state));
    return r;
}

int flow_snapshot(struct stack *s, struct error *e)
{
    int r = flow_resolve(s, e);
    if (r < 0)
        return r;
    enum mounts_state mounted = MOUNTS_NONE;
    switch (s->record.state) {
    case BOX_MOUNTED:
        r = mounts_look(s, &mounted, e);
        if (r == 0 && (mounted == MOUNTS_NONE || mounted == MOUNTS_PARTLY))
            r = remount(s, e);
        if (r < 0)
            return r;
        return s->record.state == BOX_FENCED ? snapshot_fenced(s, e) : snapshot_mine(s, e);
    case BOX_FULL_HELD:
        return snapshot_mine(s, e);
    case BOX_FENCED:
        return snapshot_fenced(s, e);
    case BOX_PARKED:
        r = flow_clean(s, e);
        if (r < 0)
            return r;
        break;
    case BOX_NONE:
        if (snapshot_id_none(&s->record.committed))
            return error_say(e, ERROR_UNKNOWN, -ENOENT, "box %s is not here", s->name);
        break;
    case BOX_ACQUIRED:
    case BOX_PREPARING:
    case BOX_FILLING:
        return renew_only(s, e);
    case BOX_PARKING:
    case BOX_MOVING:
        /* Still and half sent: a snapshot would be the park's own, and whoever stopped it is not here. */
        return error_say(e, ERROR_BUSY, -EBUSY, "the park of %s has not ended: what is new here is in no snapshot yet",
                         s->name);
    case BOX_TRACKING:
    case BOX_MOVED_ASIDE:
    case BOX_STATE_COUNT:
        break;
    }
    if (s->record.state == BOX_NONE || s->record.state == BOX_MOVED_ASIDE)
        flow_tell_saved(s, &s->record.committed, NULL);
    ui_line(s->ui, "%s: nothing to do (%s)", s->name,
            s->record.state == BOX_NONE ? "parked" : box_state_name(s->record.state));
    return 0;
}
