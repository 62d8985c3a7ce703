/* SPDX-License-Identifier: MIT */
/* fuzzes: footer_open, footer_decode. */
#include "sync/footer.h"

#include "index/base/mem.h"
#include "tests/fuzz/fuzz.h"

#include <errno.h>

static const struct keys keys = { .master = "fuzz", .store_id = "fuzz" };
static const struct seal_context context = { &keys, "demo" };
static const struct pack_name name = { .id = "a pack" };

/* The opened footer, and the end of a pack object. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes in = { data, size };
    _cleanup_(pack_frames_release) struct pack_frames f = { 0 }, end = { 0 };
    size_t need;
    if (footer_open(&context, &name, size, in, &end, &need, NULL) == 0)
        REQUIRE(end.count <= size);
    if (size > 8 &&
        footer_open(&context, &name, size, (struct bytes){ data + size - 8, 8 }, &end, &need, NULL) == -ENOBUFS)
        REQUIRE(need > 8 && need <= size);
    if (footer_decode(in, &name, PACK_MAX, &f, NULL) < 0)
        return 0;

    uint64_t offset = 0;
    for (size_t i = 0; i < f.count; i++) {
        const struct pack_frame *n = &f.frames[i];
        REQUIRE(locator_plausible(&n->at) && n->at.offset == offset);
        offset += n->at.sealed;
        for (size_t k = n->first; k < n->first + n->count; k++)
            REQUIRE(f.extents[k].within + f.extents[k].length <= n->at.raw);
    }
    /* There is one encoding only. */
    _cleanup_(buf_release) struct buf out = { 0 };
    footer_encode(&f, &out);
    REQUIRE_EQUAL(buf_bytes(&out), in);
    return 0;
}
