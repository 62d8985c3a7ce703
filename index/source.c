/* SPDX-License-Identifier: MIT */
#include "index/source.h"

#include "index/base/mem.h"
#include "index/base/text.h"

#include <errno.h>
#include <stdint.h>

struct frame *frame_new(size_t len)
{
    if (len > SIZE_MAX - sizeof(struct frame))
        abort();
    struct frame *f = mem_grow(NULL, 1, sizeof(*f) + len);
    atomic_init(&f->references, 1);
    f->len = len;
    return f;
}

struct frame *frame_hold(struct frame *f)
{
    atomic_fetch_add_explicit(&f->references, 1, memory_order_relaxed);
    return f;
}

void frame_drop(struct frame *f)
{
    if (f && atomic_fetch_sub_explicit(&f->references, 1, memory_order_acq_rel) == 1)
        free(f);
}

void frame_dropp(struct frame **f)
{
    frame_drop(*f);
}

int source_prepare(struct source *s, const struct locator *l, size_t count, enum source_urgency urgency,
                   struct error *e)
{
    struct error why = { 0 };
    int r = source_warm(s, l, count, urgency, &why);
    if (r < 0 && why.kind == ERROR_FAILED)
        return 1;
    if (r < 0)
        error_pass(e, &why);
    return r;
}

int source_join(struct source *s, const struct locator *l, size_t count, enum frame_kind kind, size_t max,
                struct buf *ret, struct error *e)
{
    size_t total = 0;
    for (size_t i = 0; i < count; i++)
        if ((total += l[i].raw) > max)
            return error_say(e, ERROR_DAMAGED, -EBADMSG, "more than %zu bytes in %s", max, TEXT_COUNT(count, "frame"));

    int r = source_prepare(s, l, count, SOURCE_DEMAND, e);
    if (r < 0)
        return r;

    buf_clear(ret);
    for (size_t i = 0; i < count; i++) {
        _cleanup_(frame_dropp) struct frame *f = NULL;
        r = source_get(s, &l[i], kind, &f, e);
        if (r < 0)
            return r;
        if (f->len > max - ret->len)
            return error_say(e, ERROR_DAMAGED, -EBADMSG, "more than %zu bytes in %s", max, TEXT_COUNT(count, "frame"));
        buf_add(ret, f->data, f->len);
    }
    return 0;
}
