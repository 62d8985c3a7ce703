/* SPDX-License-Identifier: MIT */
#include "cli/strays.h"

#include "index/base/mem.h"
#include "sync/hold.h"

#include <stdio.h>

/* What the journal says now, read anew: a command may have begun since it was opened. */
static int known_writer(struct stack *s, struct writer *ret, struct error *e)
{
    struct stack look = STACK_NONE;
    look.config = s->config;
    int r = stack_peek(&look, s->name, e);
    if (r == 0)
        *ret = look.record.writer;
    stack_close(&look);
    return r;
}

int strays_remove(struct stack *s, size_t *ret_count, struct error *e)
{
    struct hold *holds = NULL;
    struct writer known = { 0 };
    size_t count = 0, removed = 0;
    int r = hold_list(s->store, &s->seal, &holds, &count, e);
    if (r == 0)
        r = known_writer(s, &known, e);
    for (size_t i = 0; r == 0 && i < count; i++) {
        if (!hold_is_stray(&holds[i], &s->node, &known, 1))
            continue;
        char id[WRITER_TEXT];
        writer_text(&holds[i].writer, id);
        r = hold_remove(s->store, s->name, &holds[i].writer, e);
        if (r == 0) {
            removed++;
            ui_note(s->ui, "removed hold %s of %s, which nothing here needs any more", id, s->name);
        }
    }
    free(holds);
    if (r == 0 && ret_count)
        *ret_count = removed;
    return r;
}
