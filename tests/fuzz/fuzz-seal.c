/* SPDX-License-Identifier: MIT */
/* fuzzes: seal_open. */
#include "sync/seal.h"

#include "index/base/mem.h"
#include "tests/fuzz/fuzz.h"

#define MAX 65536

static const struct keys keys = { .master = "fuzz", .store_id = "fuzz" };
static const struct seal_context context = { &keys, "demo" };

/* Bytes that say they are sealed; then a plaintext that was sealed by who has the key, but is not what seal_prepare
 * makes: lengths and zstd frames of somebody else. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes in = { data, size };
    _cleanup_(buf_release) struct buf plain = { 0 }, sealed = { 0 };
    if (seal_open(&context, SEAL_FRAME, "id", 2, in, MAX, &plain, NULL) == 0)
        REQUIRE(plain.len <= MAX);
    else
        REQUIRE(plain.len == 0);

    buf_clear(&plain);
    buf_reserve(&sealed, size + SEAL_OVERHEAD);
    seal_prepared(&context, SEAL_FRAME, "id", 2, in, sealed.data);
    sealed.len = size + SEAL_OVERHEAD;
    if (seal_open(&context, SEAL_FRAME, "id", 2, buf_bytes(&sealed), MAX, &plain, NULL) == 0)
        REQUIRE(plain.len <= MAX);
    else
        REQUIRE(plain.len == 0);
    return 0;
}
