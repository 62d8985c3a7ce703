/* SPDX-License-Identifier: MIT */
#include "cli/strays.h"

#include "cli/visit.h"
#include "index/base/mem.h"
#include "sync/hold.h"

#include <stdio.h>

/* What the journal and the visits say now, read anew: a command may have begun since they were opened. */
static int known_writers(struct stack *s, struct writer **ret, size_t *ret_count, struct error *e)
{
    struct writer *known = NULL;
    size_t count = 0;
    int r = visit_writers(s->config, s->name, &known, &count, e);
    struct stack look = STACK_NONE;
    look.config = s->config;
    look.admits_globals = s->admits_globals;
    if (r == 0)
        r = stack_peek(&look, s->name, e);
    known = mem_grow(known, count + 1, sizeof(*known));
    known[count++] = look.record.writer;
    stack_close(&look);
    *ret = known;
    *ret_count = count;
    return r;
}

int strays_remove(struct stack *s, size_t *ret_count, struct error *e)
{
    struct hold *holds = NULL;
    _cleanup_free_ struct writer *known = NULL;
    size_t count = 0, known_count = 0, removed = 0;
    int r = hold_list(s->store, &s->seal, &holds, &count, e);
    if (r == 0)
        r = known_writers(s, &known, &known_count, e);
    for (size_t i = 0; r == 0 && i < count; i++) {
        if (!hold_is_stray(&holds[i], &s->node, known, known_count))
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
