/* SPDX-License-Identifier: MIT */
/* fuzzes: fork_name_parse, fork_decode_body. */
#include "sync/fork.h"

#include "index/base/mem.h"
#include "tests/fuzz/fuzz.h"

/* A name, a newline, a body: as a LIST and a GET would give them. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = size ? memchr(data, '\n', size) : NULL;
    struct fork f = { 0 }, again;
    if (!end)
        return 0;
    _cleanup_free_ char *name = mem_copy(data, (size_t)(end - data));
    if (fork_name_parse(name, &f) < 0)
        return 0;
    REQUIRE(f.epoch > 0 && f.node[0]);
    again = f;
    struct bytes body = { end + 1, size - (size_t)(end - data) - 1 };
    if (fork_decode_body(body, &f, NULL) < 0)
        return 0;
    _cleanup_(buf_release) struct buf b = { 0 };
    fork_encode_body(&f, &b);
    REQUIRE(fork_decode_body(buf_bytes(&b), &again, NULL) == 0);
    REQUIRE(memcmp(&f, &again, sizeof(f)) == 0);
    return 0;
}
