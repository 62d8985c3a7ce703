/* SPDX-License-Identifier: MIT */
#include "index/base/text.h"

#include "index/base/error.h"
#include "index/base/mem.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void hex_goes_both_ways_and_refuses_anything_else(void **state)
{
    char text[9];
    uint8_t bytes[4] = { 0 };
    text_hex(text, "\x00\x9f\xa0\xff", 4);
    assert_string_equal(text, "009fa0ff");
    assert_int_equal(text_unhex(text, 8, bytes, 4), 0);
    assert_memory_equal(bytes, "\x00\x9f\xa0\xff", 4);

    memset(bytes, 7, sizeof(bytes));
    assert_int_equal(text_unhex("009FA0FF", 8, bytes, 4), -EINVAL);
    assert_int_equal(text_unhex("009fa0f", 7, bytes, 4), -EINVAL);
    assert_int_equal(text_unhex("009fa0ffaa", 10, bytes, 4), -EINVAL);
    assert_int_equal(text_unhex("0 9fa0ff", 8, bytes, 4), -EINVAL);
    assert_memory_equal(bytes, "\7\7\7\7", 4);
}

static void a_number_is_digits_and_within_its_bound(void **state)
{
    uint64_t v = 42;
    static const char *const bad[] = { "", "-1", "+1", " 1", "1 ", "0x10", "1a" };
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_int_equal(text_parse_u64(bad[i], UINT64_MAX, &v), -EINVAL);
    assert_int_equal(text_parse_u64("18446744073709551616", UINT64_MAX, &v), -ERANGE);
    assert_int_equal(text_parse_u64("99999999999999999999", UINT64_MAX, &v), -ERANGE);
    assert_int_equal(text_parse_u64("11", 10, &v), -ERANGE);
    assert_int_equal(v, 42);
    assert_int_equal(text_parse_u64("18446744073709551615", UINT64_MAX, &v), 0);
    assert_true(v == UINT64_MAX);
}

static void sizes_and_durations_take_one_unit(void **state)
{
    uint64_t v;
    assert_int_equal(text_parse_size("123", &v), 0);
    assert_int_equal(v, 123);
    assert_int_equal(text_parse_size("1500M", &v), 0);
    assert_int_equal(v, 1500ull << 20);
    assert_int_equal(text_parse_size("1T", &v), 0);
    assert_int_equal(v, 1ull << 40);
    assert_int_equal(text_parse_size("16777216T", &v), -ERANGE);
    assert_int_equal(text_parse_size("4KB", &v), -EINVAL);
    assert_int_equal(text_parse_size("4k", &v), -EINVAL);
    assert_int_equal(text_parse_size("K", &v), -EINVAL);
    assert_int_equal(text_parse_duration("90", &v), 0);
    assert_int_equal(v, 90);
    assert_int_equal(text_parse_duration("15m", &v), 0);
    assert_int_equal(v, 900);
    assert_int_equal(text_parse_duration("7d", &v), 0);
    assert_int_equal(v, 7 * 86400);
    assert_int_equal(text_parse_duration("2h30m", &v), -EINVAL);
    assert_int_equal(text_parse_duration("1w", &v), -EINVAL);
}

static void counts_have_their_number(void **state)
{
    assert_string_equal(TEXT_COUNT(1, "box"), "1 box");
    assert_string_equal(TEXT_COUNT(0, "box"), "0 boxes");
    assert_string_equal(TEXT_COUNT(1, "file"), "1 file");
    assert_string_equal(TEXT_COUNT(2, "file"), "2 files");
    assert_string_equal(TEXT_COUNT(1, "directory"), "1 directory");
    assert_string_equal(TEXT_COUNT(18446744073709551615u, "directory"), "18446744073709551615 directories");
}

static void words_are_a_shells(void **state)
{
    static const char *const cases[][2] = { { "/root/x-1.y", "/root/x-1.y" },
                                            { "", "''" },
                                            { "/root/d \xc3\xbc", "'/root/d \xc3\xbc'" },
                                            { "it's", "'it'\\''s'" },
                                            { "~", "'~'" } };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char *word = text_word(cases[i][0]);
        assert_string_equal(word, cases[i][1]);
        free(word);
    }
}

static void nothing_is_said_twice(void **state)
{
    struct error e = { 0 };
    error_say(&e, ERROR_INTERRUPTED, -EINTR, "interrupted");
    error_prefix(&e, "project/r1");
    error_prefix(&e, "project/r1");
    assert_string_equal(e.text, "project/r1: interrupted");
    assert_int_equal(error_prefix(&e, "project/r"), -EINTR);
    assert_string_equal(e.text, "project/r: project/r1: interrupted");
}

static void times_are_utc_and_rounded_down(void **state)
{
    char text[32];
    text_time(text, 1784188800ll * 1000000000 + 999999999);
    assert_string_equal(text, "2026-07-16T08:00:00Z");
    text_time(text, 0);
    assert_string_equal(text, "1970-01-01T00:00:00Z");
    text_time(text, -1);
    assert_string_equal(text, "1969-12-31T23:59:59Z");
}

static void sizes_read_well(void **state)
{
    static const struct {
        uint64_t bytes;
        const char *text;
    } cases[] = { { 0, "0B" },         { 17, "17B" },          { 1023, "1023B" },    { 1024, "1.0K" },
                  { 1229, "1.2K" },    { 10189, "10K" },       { 1047552, "1023K" }, { 1048575, "1.0M" },
                  { 3565158, "3.4M" }, { 1ull << 30, "1.0G" }, { UINT64_MAX, "16E" } };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[16];
        text_size(text, cases[i].bytes);
        assert_string_equal(text, cases[i].text);
    }
}

static void durations_read_well(void **state)
{
    static const struct {
        uint64_t ms;
        const char *text;
    } cases[] = { { 12, "12 ms" }, { 1345, "1.34 s" }, { 125000, "2 min 5 s" }, { 7260000, "2 h 1 min" } };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[16];
        text_duration(text, cases[i].ms);
        assert_string_equal(text, cases[i].text);
    }
    char text[16];
    text_duration(text, UINT64_MAX);
    assert_string_equal(text, "over 100000 h");
}

static void only_well_formed_utf8_is_utf8(void **state)
{
    static const char *const good[] = { "", "abc", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf" };
    static const char *const bad[] = {
        "\x80",             /* begins with a continuation */
        "\xc3",             /* ends early */
        "\xe2\x82",         /* the same */
        "\xc0\xaf",         /* overlong */
        "\xe0\x80\xaf",     /* overlong */
        "\xf0\x80\x80\xaf", /* overlong */
        "\xed\xa0\x80",     /* a surrogate */
        "\xf4\x90\x80\x80", /* above U+10FFFF */
        "\xff",
    };
    for (size_t i = 0; i < COUNT(good); i++)
        assert_true(text_is_utf8(good[i], strlen(good[i])));
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_false(text_is_utf8(bad[i], strlen(bad[i])));
}

/* Fails if C1 controls pass: U+009B is a terminal's CSI. */
static void escaped_text_moves_no_cursor_and_is_reversible(void **state)
{
    _cleanup_(buf_release) struct buf b = { 0 };
    static const char raw[] = "a\n\t\r\\\x1b[\x7f\xff\xc2\x9b\xc3\xa9\0z";
    text_escape(&b, raw, sizeof(raw) - 1);
    assert_string_equal(buf_string(&b), "a\\n\\t\\r\\\\\\x1b[\\x7f\\xff\\xc2\\x9b\xc3\xa9\\x00z");
}

static void names_are_what_the_interface_allows(void **state)
{
    char longest[65];
    memset(longest, 'n', sizeof(longest));
    longest[63] = '\0';
    assert_true(text_is_name(longest));
    longest[63] = 'n';
    longest[64] = '\0';
    assert_false(text_is_name(longest));

    static const char *const good[] = { "a", "7", "my.box_1-b", "globals2" };
    static const char *const bad[] = { "", ".a", "-a", "_a", "a..b", "a/b", "a b", "globals", "\xc3\xa9", "a\n" };
    for (size_t i = 0; i < COUNT(good); i++)
        assert_true(text_is_name(good[i]));
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_false(text_is_name(bad[i]));
    assert_true(text_is_box("globals") && text_is_box("a"));
    assert_false(text_is_box("globals/a"));
}

/* RFC 4648, section 10. */
static void base64_has_the_published_vectors(void **state)
{
    static const char *const cases[][2] = { { "", "" },        { "f", "Zg==" },          { "fo", "Zm8=" },
                                            { "foo", "Zm9v" }, { "foobar", "Zm9vYmFy" }, { "\xff\xfe", "//4=" } };
    for (size_t i = 0; i < COUNT(cases); i++) {
        _cleanup_(buf_release) struct buf b = { 0 };
        text_base64(cases[i][0], strlen(cases[i][0]), &b);
        assert_string_equal(buf_string(&b), cases[i][1]);
    }
}

static void times_are_read_strictly(void **state)
{
    assert_true(text_parse_time("1970-01-01T00:00:01Z") == 1000000000);
    assert_true(text_parse_time("2024-02-29T23:59:59.123456789Z") == 1709251199123456789);
    assert_true(text_parse_time("2024-02-29T23:59:59.5+00:00") == 1709251199500000000);
    static const char *const bad[] = { "",
                                       "2024-01-01",
                                       "2024-01-01T00:00:00",
                                       "2024-01-01T00:00:00+01:00",
                                       "x",
                                       "2024-13-01T00:00:00Z",
                                       "2024-01-01T24:00:00Z",
                                       "9999-01-01T00:00:00Z",
                                       "2024-01-01T00:00:00.Zx",
                                       "-024-01-01T00:00:00Z" };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_true(text_parse_time(bad[i]) == -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_read_strictly),
        cmocka_unit_test(hex_goes_both_ways_and_refuses_anything_else),
        cmocka_unit_test(a_number_is_digits_and_within_its_bound),
        cmocka_unit_test(sizes_and_durations_take_one_unit),
        cmocka_unit_test(counts_have_their_number),
        cmocka_unit_test(words_are_a_shells),
        cmocka_unit_test(nothing_is_said_twice),
        cmocka_unit_test(times_are_utc_and_rounded_down),
        cmocka_unit_test(sizes_read_well),
        cmocka_unit_test(durations_read_well),
        cmocka_unit_test(only_well_formed_utf8_is_utf8),
        cmocka_unit_test(escaped_text_moves_no_cursor_and_is_reversible),
        cmocka_unit_test(names_are_what_the_interface_allows),
        cmocka_unit_test(base64_has_the_published_vectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
