/* SPDX-License-Identifier: MIT */
#include "cli/filling.h"

#include "cli/interrupt.h"
#include "sync/keys.h"

#include <errno.h>

#define LOST_NAMED 20

struct filling {
    struct stack *stack;
    uint64_t total;
    uint64_t *lost;
};

static int check(void *arg, const struct fill_stats *so_far, struct error *e)
{
    struct filling *f = arg;
    ui_progress(f->stack->ui, "writing", so_far->files, so_far->bytes, f->total);
    return interrupt_check(e);
}

static void lose(void *arg, const char *path, const struct error *why)
{
    struct filling *f = arg;
    if ((*f->lost)++ < LOST_NAMED)
        ui_warn(f->stack->ui, "%s is left out: %s", path, why->text);
}

static void tell_apart(void *arg, const char *path)
{
    struct filling *f = arg;
    ui_warn(f->stack->ui, "%s: the file system takes no more names of one file: from here on they are another file",
            path);
}

int filling_run(struct stack *s, struct view *v, const char *from, int to, bool resume, uint64_t *lost,
                struct fill_stats *ret, struct error *e)
{
    struct filling f = { .stack = s, .total = v->snapshot.bytes, .lost = lost };
    struct hash_key key;
    keys_identity(&s->keys, s->name, &key);
    struct fill_config c = { .tree = v->tree,
                             .source = view_source(v),
                             .from = from,
                             .to = to,
                             .resume = resume,
                             .key = &key,
                             .check = check,
                             .lost = lost ? lose : NULL,
                             .apart = tell_apart,
                             .arg = &f };
    int r = fill_run(&c, ret, e);
    ui_progress_end(s->ui);
    if (r < 0)
        interrupt_check(e); /* a store that was cancelled is not the reason */
    return r;
}
