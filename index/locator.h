/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * locator - where a frame lies in the store. Every reference carries its own (rule F1): a read is one ranged GET, and
 * there is no index to load first.
 *
 * A writer is one hold: the <state>-<rand> it works under (rule S2). A pack belongs to one writer and has a random id.
 * A frame is a run of sealed bytes in a pack: compressed and encrypted as one unit.
 */

#include "index/base/wire.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define WRITER_TEXT (16 + 1 + 16 + 1)    /* <state>-<rand> in hex, NUL */
#define PACK_TEXT (WRITER_TEXT + 32 + 1) /* <writer>/<id>, NUL */
#define FRAME_RAW_MAX (4u * 1024 * 1024) /* decoded bytes of one frame */
#define FRAME_SEALED_MAX (FRAME_RAW_MAX + 64 * 1024)
#define PACK_MAX (40u * 1024 * 1024) /* a pack object is never larger */

struct writer {
    uint8_t state[8];
    uint8_t rand[8];
};

struct pack_name {
    struct writer writer;
    uint8_t id[16];
};

/* What a frame holds; part of the associated data, so that one kind cannot stand in for another. */
enum frame_kind {
    FRAME_DATA = 1,    /* file content: one big chunk, or many small files */
    FRAME_PAGE = 2,    /* one page of the search tree */
    FRAME_EXTENTS = 3, /* the extent list of a file with many extents */
    FRAME_LINKS = 4,   /* the link groups of a snapshot */
    FRAME_ACCESS = 5,  /* an access list */
};

struct locator {
    struct pack_name pack;
    uint32_t offset; /* of the sealed frame in the pack object */
    uint32_t sealed; /* its length there */
    uint32_t raw;    /* its length once opened and decompressed */
};

void writer_text(const struct writer *w, char to[WRITER_TEXT]);
int writer_parse(const char *text, struct writer *ret); /* -EINVAL */
void pack_text(const struct pack_name *p, char to[PACK_TEXT]);
int pack_parse(const char *text, struct pack_name *ret); /* -EINVAL */

static inline bool pack_equal(const struct pack_name *a, const struct pack_name *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

/* offset + sealed within PACK_MAX, sealed and raw within their limits, neither 0. */
bool locator_plausible(const struct locator *l);

/* Whole form, pack included: for the few places outside pages. */
void locator_put(struct buf *b, const struct locator *l);
struct locator locator_get(struct wire *w); /* an implausible one makes w bad */
