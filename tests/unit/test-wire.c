/* SPDX-License-Identifier: MIT */
#include "index/base/wire.h"

#include "index/base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void what_is_put_is_read_back(void **state)
{
    static const uint64_t values[] = { 0, 1, 127, 128, 16383, 16384, UINT32_MAX, 1ull << 62, 1ull << 63, UINT64_MAX };
    static const int64_t signeds[] = { 0, -1, 1, -64, 64, INT64_MAX, INT64_MIN };
    _cleanup_(buf_release) struct buf b = { 0 };
    wire_put_u8(&b, 0xfe);
    wire_put_u32(&b, 0x12345678);
    wire_put_u64(&b, 0x123456789abcdef0);
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        wire_put_varint(&b, values[i]);
    for (size_t i = 0; i < sizeof(signeds) / sizeof(signeds[0]); i++)
        wire_put_signed(&b, signeds[i]);
    wire_put_string(&b, "a\0b", 3);
    wire_put_string(&b, NULL, 0);

    assert_memory_equal(b.data + 1, "\x78\x56\x34\x12\xf0\xde\xbc\x9a", 8);
    struct wire w = wire_reader(b.data, b.len);
    assert_int_equal(wire_u8(&w), 0xfe);
    assert_int_equal(wire_u32(&w), 0x12345678);
    assert_int_equal(wire_u64(&w), 0x123456789abcdef0);
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        assert_true(wire_varint(&w) == values[i]);
    for (size_t i = 0; i < sizeof(signeds) / sizeof(signeds[0]); i++)
        assert_true(wire_signed(&w) == signeds[i]);
    struct bytes s = wire_string(&w, 3);
    assert_int_equal(s.len, 3);
    assert_memory_equal(s.data, "a\0b", 3);
    assert_int_equal(wire_string(&w, 0).len, 0);
    assert_true(wire_done(&w));
}

static void small_signed_numbers_are_short(void **state)
{
    _cleanup_(buf_release) struct buf b = { 0 };
    wire_put_signed(&b, -64);
    assert_int_equal(b.len, 1);
    assert_int_equal(b.data[0], 127);
}

/* Each would be accepted by a reader without the check it names. */
static void every_malformed_varint_is_bad(void **state)
{
    static const struct {
        const char *bytes;
        size_t len;
    } cases[] = {
        { "", 0 },                                              /* nothing there */
        { "\x80", 1 },                                          /* ends in the middle */
        { "\xff\xff\xff", 3 },                                  /* the same, later */
        { "\xff\xff\xff\xff\xff\xff\xff\xff\xff", 9 },          /* one byte short of the longest */
        { "\x80\x00", 2 },                                      /* 0 in two bytes */
        { "\xff\x00", 2 },                                      /* 127 in two bytes */
        { "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 10 },     /* 0 in ten bytes */
        { "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10 },     /* bit 64 */
        { "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 10 },     /* many bits too many */
        { "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x81\x00", 11 }, /* an eleventh byte */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct wire w = wire_reader(cases[i].bytes, cases[i].len);
        assert_true(wire_varint(&w) == 0);
        assert_true(w.bad);
        assert_false(wire_done(&w));
    }
    struct wire w = wire_reader("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10);
    assert_true(wire_varint(&w) == UINT64_MAX);
    assert_true(wire_done(&w));
}

/* Fails if a read after the first violation still moves or yields bytes: there is good data behind it. */
static void bad_is_sticky(void **state)
{
    struct wire w = wire_reader("\x80\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a", 12);
    wire_varint(&w);
    assert_true(w.bad);

    uint8_t copied[4] = { 9, 9, 9, 9 };
    assert_int_equal(wire_u8(&w), 0);
    assert_int_equal(wire_u32(&w), 0);
    assert_int_equal(wire_u64(&w), 0);
    assert_int_equal(wire_varint(&w), 0);
    assert_int_equal(wire_signed(&w), 0);
    assert_null(wire_run(&w, 1).data);
    assert_null(wire_string(&w, 100).data);
    wire_copy(&w, copied, sizeof(copied));
    assert_memory_equal(copied, "\0\0\0\0", 4);
    assert_false(wire_done(&w));
}

static void nothing_is_read_past_the_end(void **state)
{
    struct wire w = wire_reader("\1\2\3", 3);
    assert_int_equal(wire_u32(&w), 0);
    assert_true(w.bad);

    w = wire_reader("\1\2\3", 3);
    assert_null(wire_run(&w, 4).data);
    assert_true(w.bad);

    w = wire_reader("\1\2\3", 3);
    assert_null(wire_run(&w, SIZE_MAX).data); /* at + n would wrap */
    assert_true(w.bad);

    w = wire_reader("\3ab", 3);
    assert_null(wire_string(&w, 10).data);
    assert_true(w.bad);
}

static void a_bound_is_kept(void **state)
{
    struct wire w = wire_reader("\5\4", 2);
    assert_int_equal(wire_bounded(&w, 5), 5);
    assert_false(w.bad);
    assert_int_equal(wire_bounded(&w, 3), 0);
    assert_true(w.bad);

    w = wire_reader("\3abc", 4);
    assert_int_equal(wire_string(&w, 2).len, 0);
    assert_true(w.bad);
}

static void what_is_left_over_is_not_done(void **state)
{
    struct wire w = wire_reader("\1\2", 2);
    wire_u8(&w);
    assert_false(wire_done(&w));
    wire_u8(&w);
    assert_true(wire_done(&w));
    w = wire_reader(NULL, 0);
    assert_true(wire_done(&w));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_put_is_read_back),      cmocka_unit_test(small_signed_numbers_are_short),
        cmocka_unit_test(every_malformed_varint_is_bad), cmocka_unit_test(bad_is_sticky),
        cmocka_unit_test(nothing_is_read_past_the_end),  cmocka_unit_test(a_bound_is_kept),
        cmocka_unit_test(what_is_left_over_is_not_done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
