/* SPDX-License-Identifier: MIT */
/* fuzzes: head_decode_body. */
#include "sync/head.h"

#include "index/base/mem.h"
#include "tests/fuzz/fuzz.h"

/* What decodes encodes to something that decodes to the same; unless the encoding, which escapes more, is too long. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_(head_releasep) struct head h = { 0 }, again = { 0 };
    _cleanup_(buf_release) struct buf first = { 0 }, second = { 0 };
    if (head_decode_body((struct bytes){ data, size }, &h, NULL) < 0 || head_encode_body(&h, &first, NULL) < 0)
        return 0;
    REQUIRE(head_decode_body(buf_bytes(&first), &again, NULL) == 0);
    REQUIRE(head_encode_body(&again, &second, NULL) == 0);
    REQUIRE_EQUAL(buf_bytes(&first), buf_bytes(&second));
    REQUIRE(again.last_count <= HEAD_LAST && again.epoch > 0 && again.ttl_s <= HEAD_TTL_MAX);
    return 0;
}
