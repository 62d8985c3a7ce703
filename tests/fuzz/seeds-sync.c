/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/seeds.h"

#include "index/base/mem.h"
#include "sync/footer.h"
#include "sync/slots.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

/* As in fuzz-seal.c and fuzz-footer.c. */
static const struct keys keys = { .master = "fuzz", .store_id = "fuzz" };
static const struct seal_context context = { &keys, "demo" };
static const struct pack_name name = { .id = "a pack" };

static struct bytes text(const char *s)
{
    return (struct bytes){ (const uint8_t *)s, strlen(s) };
}

void seeds_sync(void (*write)(const char *fuzzer, const char *name, struct bytes seed))
{
    _cleanup_(buf_release) struct buf config = { 0 }, paper = { 0 }, sealed = { 0 }, shorter = { 0 }, as_it_is = { 0 },
                                      opened = { 0 }, end = { 0 }, small = { 0 };
    _cleanup_(slots_release) struct slots s = { 0 };
    slots_new(keys.store_id, &s);
    REQUIRE(slots_add(&s, "password", "first", keys.master, NULL) == 0);
    REQUIRE(slots_add(&s, "another", "second", keys.master, NULL) == 0);
    slots_encode(&s, &config);
    write("slots", "two", buf_bytes(&config));
    write("slots", "newer", text("{\"v\":1,\"format\":2}"));
    REQUIRE(keys_export(&keys, &paper, NULL) == 0);
    write("recovery", "text", buf_bytes(&paper));

    static const uint8_t zeros[3000];
    seal(&context, SEAL_FRAME, "id", 2, text("sealed"), &sealed);
    seal_prepare((struct bytes){ zeros, sizeof(zeros) }, &shorter);
    seal_prepare(text("as it is"), &as_it_is);
    write("seal", "sealed", buf_bytes(&sealed));
    write("seal", "compressed", buf_bytes(&shorter));
    write("seal", "raw", buf_bytes(&as_it_is));

    _cleanup_(pack_frames_release) struct pack_frames f = { 0 };
    const struct pack_extent x[] = { { .length = 5 }, { .within = 5, .length = 300 } }, page = { .length = 4000 };
    pack_frames_add(&f, &(struct locator){ .pack = name, .sealed = 200, .raw = 305 }, FRAME_DATA, x, 2);
    pack_frames_add(&f, &(struct locator){ .pack = name, .offset = 200, .sealed = 900, .raw = 4000 }, FRAME_PAGE, &page,
                    1);
    footer_encode(&f, &opened);
    buf_fill(&end, 0, 1100);
    footer_seal(&context, &name, &f, &end);
    write("footer", "opened", buf_bytes(&opened));
    write("footer", "end", buf_bytes(&end));
    _cleanup_(pack_frames_release) struct pack_frames one = { 0 };
    pack_frames_add(&one, &(struct locator){ .pack = name, .sealed = 100, .raw = 5 }, FRAME_DATA, x, 1);
    buf_fill(&small, 0, 100);
    footer_seal(&context, &name, &one, &small);
    write("footer", "small", buf_bytes(&small)); /* too small to be compressed */
}
