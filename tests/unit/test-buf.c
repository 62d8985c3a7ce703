/* SPDX-License-Identifier: MIT */
#include "index/base/buf.h"

#include "index/base/mem.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void bytes_are_kept_while_it_grows(void **state)
{
    _cleanup_(buf_release) struct buf b = { 0 };
    for (unsigned i = 0; i < 100000; i++) {
        uint8_t byte = (uint8_t)(i * 7);
        buf_add(&b, &byte, 1);
    }
    assert_int_equal(b.len, 100000);
    for (unsigned i = 0; i < 100000; i++)
        assert_int_equal(b.data[i], (uint8_t)(i * 7));
}

static void printed_text_is_appended_and_its_nul_not_counted(void **state)
{
    _cleanup_(buf_release) struct buf b = { 0 };
    buf_printf(&b, "%s-%d", "frame", 17);
    buf_printf(&b, "%0200d", 1);
    assert_int_equal(b.len, 208);
    assert_memory_equal(b.data, "frame-170", 9);
    assert_int_equal(strlen(buf_string(&b)), 208);
}

static void an_empty_buffer_is_an_empty_string_and_usable_after_release(void **state)
{
    struct buf b = { 0 };
    assert_string_equal(buf_string(&b), "");
    buf_fill(&b, 'x', 3);
    assert_string_equal(buf_string(&b), "xxx");
    buf_clear(&b);
    assert_string_equal(buf_string(&b), "");
    buf_release(&b);
    assert_null(b.data);
    buf_add(&b, NULL, 0);
    assert_int_equal(b.len, 0);
    buf_add(&b, "a", 1);
    assert_string_equal(buf_string(&b), "a");
    buf_release(&b);
}

/* Fails with a signed compare of bytes, and with a compare by length first. */
static void runs_compare_bytewise_and_the_shorter_first(void **state)
{
#define RUN(s) ((struct bytes){ (const uint8_t *)(s), sizeof(s) - 1 })
    assert_true(bytes_compare(RUN("a"), RUN("ab")) < 0);
    assert_true(bytes_compare(RUN("b"), RUN("ab")) > 0);
    assert_true(bytes_compare(RUN("\xff"), RUN("a")) > 0);
    assert_true(bytes_compare(RUN("a\0b"), RUN("a\0c")) < 0);
    assert_true(bytes_compare(RUN(""), RUN("a")) < 0);
    assert_int_equal(bytes_compare(RUN(""), (struct bytes){ 0 }), 0);
    assert_int_equal(bytes_compare(RUN("same"), RUN("same")), 0);
}

static void copies_end_in_nul_and_steal_empties(void **state)
{
    char *copy = mem_copy("abc", 2);
    assert_string_equal(copy, "ab");
    char *taken = mem_steal(copy);
    assert_null(copy);
    free(taken);

    char *text = mem_printf("%d-%s", 5, "x");
    assert_string_equal(text, "5-x");
    free(text);
    int fd = 5;
    assert_int_equal(mem_steal_fd(&fd), 5);
    assert_int_equal(fd, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_kept_while_it_grows),
        cmocka_unit_test(printed_text_is_appended_and_its_nul_not_counted),
        cmocka_unit_test(an_empty_buffer_is_an_empty_string_and_usable_after_release),
        cmocka_unit_test(runs_compare_bytewise_and_the_shorter_first),
        cmocka_unit_test(copies_end_in_nul_and_steal_empties),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
