/* SPDX-License-Identifier: MIT */
#include "cli/flow.h"

#include "cli/strays.h"
#include "index/base/mem.h"
#include "index/base/text.h"
#include "sync/hold.h"

#include <errno.h>

#define READ_TIMEOUT_S 60 /* a command does not wait for the store for ever */

/* Metadata is read through the cache, as others will want it; only the patience is shorter. */
static int open_source(struct stack *s, struct error *e)
{
    _cleanup_free_ char *path = mem_printf("%s/cache", s->config->state_dir);
    int r = cache_open(path, s->name, s->config->cache_max ? s->config->cache_max : 20ull << 30, &s->cache, e);
    struct fetch_config c = { .store = s->store, .seal = s->seal, .cache = s->cache, .timeout_s = READ_TIMEOUT_S };
    return r < 0 ? r : fetch_new(&c, &s->fetch, e);
}

static json_t *describe_holds(struct stack *s, const struct marking *m)
{
    json_t *list = json_array();
    for (size_t i = 0; i < m->inventory.hold_count; i++) {
        const struct hold *h = &m->inventory.holds[i];
        char id[WRITER_TEXT], age[16], size[16];
        writer_text(&h->writer, id);
        text_duration(age, h->age_ns > 0 ? (uint64_t)h->age_ns / 1000000 : 0);
        text_size(size, m->held_bytes[i]);
        ui_line(s->ui, "  hold %s of %s, %s old, keeps %s", id, h->node, age, size);
        json_array_append_new(list,
                              json_pack("{s:s,s:s,s:I,s:I}", "id", id, "node", h->node, "age_s",
                                        (json_int_t)(h->age_ns / 1000000000), "bytes", (json_int_t)m->held_bytes[i]));
    }
    return list;
}

static json_t *tell(struct stack *s, const struct prune_result *p, bool dry_run)
{
    const struct marking *m = &p->marking;
    char waiting[16], freed[16];
    size_t kept = 0;
    for (size_t i = 0; i < m->inventory.snapshot_count; i++)
        kept += m->stays[i];
    text_size(waiting, m->garbage_bytes - m->due_bytes);
    text_size(freed, m->due_bytes);
    ui_line(s->ui, "%s: %s kept; %s %s and %s (%s)", s->name, TEXT_COUNT(kept, "snapshot"),
            dry_run ? "would delete" : "deleted", TEXT_COUNT(m->due.snapshot_count, "snapshot"),
            TEXT_COUNT(m->due.pack_count, "pack"), freed);
    size_t snapshots = m->next.snapshot_count - m->due.snapshot_count, packs = m->next.pack_count - m->due.pack_count;
    if (snapshots + packs > 0)
        ui_line(s->ui, "  %s and %s (%s) %s condemned, to be deleted a day later", TEXT_COUNT(snapshots, "snapshot"),
                TEXT_COUNT(packs, "pack"), waiting, dry_run ? "would be" : "are");
    json_t *o =
        json_pack("{s:s,s:I,s:I,s:I,s:I,s:I,s:I,s:b}", "name", s->name, "kept", (json_int_t)kept, "deleted_snapshots",
                  (json_int_t)m->due.snapshot_count, "deleted_packs", (json_int_t)m->due.pack_count, "deleted_bytes",
                  (json_int_t)m->due_bytes, "condemned", (json_int_t)(snapshots + packs), "condemned_bytes",
                  (json_int_t)(m->garbage_bytes - m->due_bytes), "dry_run", dry_run);
    json_object_set_new(o, "holds", describe_holds(s, m));
    return o;
}

/* What a box that is up here counts on nobody else may delete; nor do we, if somebody has dropped its hold. */
static int keep_hold(struct stack *s, struct error *e)
{
    const struct box_record *b = &s->record;
    char key[STORE_KEY_MAX];
    struct store_info info;
    struct error why = { 0 };
    if (!s->journal || b->freed || b->state < BOX_ACQUIRED || b->state > BOX_MOVING)
        return 0;
    hold_key(s->name, &b->writer, key);
    int r = store_stat(s->store, key, &info, &why);
    if (r == -ENOENT)
        return hold_put(s->store, &s->seal, &b->writer, &s->node, flow_relied_on(s), e);
    return r < 0 ? error_pass(e, &why) : 0;
}

int flow_prune(struct stack *s, const struct retention_policy *policy, bool dry_run, json_t **ret, struct error *e)
{
    struct lease l;
    int r = flow_resolve(s, e);
    if (r == 0 && s->record.state == BOX_TRACKING)
        r = flow_unfinished(s, e);
    if (r == 0 && !dry_run)
        r = strays_remove(s, NULL, e);
    if (r == 0 && !dry_run)
        r = keep_hold(s, e);
    if (r == 0)
        r = open_source(s, e);
    if (r < 0)
        return r;
    flow_lease(s, &l);
    struct prune_config c = { .lease = &l, .source = fetch_source(s->fetch), .policy = *policy, .dry_run = dry_run };
    struct prune_result result;
    r = prune_run(&c, &result, e);
    if (r < 0)
        return r;
    *ret = tell(s, &result, dry_run);
    prune_result_release(&result);
    return 0;
}
