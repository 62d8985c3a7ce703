/* SPDX-License-Identifier: MIT */
#include "index/locator.h"

#include "index/base/text.h"

#include <errno.h>
#include <string.h>

void writer_text(const struct writer *w, char to[WRITER_TEXT])
{
    text_hex(to, w->state, sizeof(w->state));
    to[16] = '-';
    text_hex(to + 17, w->rand, sizeof(w->rand));
}

int writer_parse(const char *text, struct writer *ret)
{
    struct writer w;
    if (strlen(text) != WRITER_TEXT - 1 || text[16] != '-' || text_unhex(text, 16, w.state, sizeof(w.state)) < 0 ||
        text_unhex(text + 17, 16, w.rand, sizeof(w.rand)) < 0)
        return -EINVAL;
    *ret = w;
    return 0;
}

void pack_text(const struct pack_name *p, char to[PACK_TEXT])
{
    writer_text(&p->writer, to);
    to[WRITER_TEXT - 1] = '/';
    text_hex(to + WRITER_TEXT, p->id, sizeof(p->id));
}

int pack_parse(const char *text, struct pack_name *ret)
{
    struct pack_name p;
    if (strlen(text) != PACK_TEXT - 1 || text[WRITER_TEXT - 1] != '/')
        return -EINVAL;
    char writer[WRITER_TEXT] = { 0 };
    memcpy(writer, text, WRITER_TEXT - 1);
    if (writer_parse(writer, &p.writer) < 0 || text_unhex(text + WRITER_TEXT, 32, p.id, sizeof(p.id)) < 0)
        return -EINVAL;
    *ret = p;
    return 0;
}

bool locator_plausible(const struct locator *l)
{
    return l->sealed > 0 && l->sealed <= FRAME_SEALED_MAX && l->raw > 0 && l->raw <= FRAME_RAW_MAX &&
           (uint64_t)l->offset + l->sealed <= PACK_MAX;
}

void locator_put(struct buf *b, const struct locator *l)
{
    buf_add(b, &l->pack, sizeof(l->pack));
    wire_put_varint(b, l->offset);
    wire_put_varint(b, l->sealed);
    wire_put_varint(b, l->raw);
}

struct locator locator_get(struct wire *w)
{
    struct locator l = { 0 };
    wire_copy(w, &l.pack, sizeof(l.pack));
    l.offset = (uint32_t)wire_bounded(w, PACK_MAX);
    l.sealed = (uint32_t)wire_bounded(w, FRAME_SEALED_MAX);
    l.raw = (uint32_t)wire_bounded(w, FRAME_RAW_MAX);
    if (!locator_plausible(&l))
        w->bad = true;
    return l;
}
