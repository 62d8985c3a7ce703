/* SPDX-License-Identifier: MIT */
#include "cli/flow.h"

#include "cli/box.h"
#include "cli/patience.h"
#include "index/base/mem.h"
#include "index/base/text.h"

#include <errno.h>

static void tell(struct stack *s, const struct saved *saved, const struct still *still)
{
    char id[SNAPSHOT_ID_TEXT], size[16], held[16];
    snapshot_id_text(&saved->id, id);
    text_size(size, saved->stats.sent_bytes);
    flow_tell_saved(s, &saved->id, saved);
    ui_field(s->ui, "one_instant", json_boolean(still->one_instant));
    ui_field_integer(s->ui, "frozen_ms", still->held_ns / 1000000);
    text_duration(held, (uint64_t)still->held_ns / 1000000);
    if (saved->changed && still->one_instant)
        ui_line(s->ui, "%s: snapshot %.8s, %s sent (of one instant; the box was still for %s)", s->name, id, size,
                held);
    else if (saved->changed)
        ui_line(s->ui, "%s: snapshot %.8s, %s sent (files were read one by one, not at one instant)", s->name, id,
                size);
    else
        ui_line(s->ui, "%s: nothing has changed since snapshot %.8s", s->name, id);
    if (saved->changed && saved->sockets)
        ui_line(s->ui, "left out: %s", TEXT_COUNT(saved->sockets, "socket"));
}

static int commit(struct stack *s, struct lease *l, const struct saved *saved, const struct meta *meta, struct error *e)
{
    struct lease_commit c = { .root = saved->id, .pin = meta->pin, .path = meta->path, .then = BOX_STATE_COUNT };
    int r = lease_commit(l, &c, e);
    if (r == 0)
        r = flow_keep_committed(s, &saved->snapshot, e);
    return r < 0 ? r : journal_packs_clear(s->journal, e);
}

static int save(struct stack *s, struct lease *l, struct error *e)
{
    _cleanup_(flow_saving_close) struct flow_saving f = { 0 };
    _cleanup_(still_end) struct still still = STILL_NONE;
    struct saved saved = { 0 };
    uint64_t ahead = 0;
    int r = flow_saving_open(s, &f, e);
    f.config.live = true;
    if (r == 0 && box_running(s)) {
        f.config.still = &still;
        r = saving_send(s, &f.config, &ahead, e);
    }
    if (r == 0)
        r = saving_run(s, &f.config, &saved, e);
    saved.stats.sent_bytes += ahead;
    if (r == 0 && saved.changed)
        r = commit(s, l, &saved, &f.meta, e);
    if (r == 0)
        tell(s, &saved, &still);
    saved_release(&saved);
    return r;
}

int flow_snapshot_held(struct stack *s, struct error *e)
{
    struct lease l;
    flow_lease(s, &l);
    _cleanup_(patience_end) struct patience *p = NULL;
    int r = patience_begin(s, &p, e);
    if (r == 0)
        r = lease_renew(&l, e); /* counts even if the rest fails (rule L3) */
    if (r == 0)
        r = stack_content(s, e);
    return r < 0 ? r : save(s, &l, e);
}
