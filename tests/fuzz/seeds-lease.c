/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/seeds.h"

#include "index/base/mem.h"
#include "sync/fork.h"
#include "sync/hold.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static void head(void (*write)(const char *fuzzer, const char *name, struct bytes seed))
{
    _cleanup_(buf_release) struct buf b = { 0 }, dropped = { 0 };
    _cleanup_(head_releasep) struct head h = { .box = "demo",
                                               .incarnation = { 1 },
                                               .epoch = 3,
                                               .seq = 9,
                                               .node = "a",
                                               .boot_id = "boot",
                                               .pin = "b",
                                               .ttl_s = 7200,
                                               .root = { { 2 } },
                                               .condemned = "00112233445566778899aabbccddeeff",
                                               .write = { { 3 } } };
    h.path = mem_strdup("/root/d\xc3\xa9mo");
    h.unknown = mem_strdup("{\"later\":[1,{\"x\":null}]}");
    head_end_epoch(&h);
    h.epoch++;
    head_end_epoch(&h);
    h.epoch++;
    REQUIRE(head_encode_body(&h, &b, NULL) == 0);
    write("head", "held", buf_bytes(&b));
    h.state = HEAD_TOMBSTONE;
    h.root = (struct snapshot_id){ 0 };
    h.condemned[0] = 0;
    REQUIRE(head_encode_body(&h, &dropped, NULL) == 0);
    write("head", "tombstone", buf_bytes(&dropped));
}

void seeds_lease(void (*write)(const char *fuzzer, const char *name, struct bytes seed))
{
    _cleanup_(buf_release) struct buf hold = { 0 }, fork = { 0 }, list = { 0 }, none = { 0 };
    head(write);
    hold_encode_body(&(struct hold){ .node = "a", .snapshot = { { 7 } }, .time_s = 1700000000 }, &hold);
    write("hold", "one", buf_bytes(&hold));

    struct fork f = { 0 };
    REQUIRE(fork_name_parse("a-b.c-17-0123456789abcdef", &f) == 0);
    f.snapshot = (struct snapshot_id){ { 1 } };
    f.parent = (struct snapshot_id){ { 2 } };
    f.writer = (struct writer){ { 3 }, { 4 } };
    f.time_s = 1700000000;
    buf_printf(&fork, "%s\n", f.name);
    fork_encode_body(&f, &fork);
    write("fork", "one", buf_bytes(&fork));

    _cleanup_(condemned_release) struct condemned c = { 0 };
    condemned_encode(&c, &none);
    write("condemned", "empty", buf_bytes(&none));
    for (uint8_t i = 1; i < 4; i++) {
        condemned_add_pack(&c, &(struct pack_name){ .id = { i } }, 1700000000000000000 + i);
        condemned_add_snapshot(&c, &(struct snapshot_id){ { i } }, -i);
    }
    condemned_encode(&c, &list);
    write("condemned", "three", buf_bytes(&list));
}
