/* SPDX-License-Identifier: MIT */
#include "cli/program.h"
#include "cli/scheduler.h"

#include "index/base/clock.h"
#include "index/base/mem.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static int parse(const char *text, struct nodes *ret, struct error *e)
{
    return nodes_parse((struct bytes){ (const uint8_t *)text, strlen(text) }, "nodes", "a", ret, e);
}

static void a_line_is_a_name_and_an_alias(void **state)
{
    struct nodes n;
    assert_int_equal(parse("# mine\n\na local\n  b\tbeta # there\r\nc root@10.0.0.3", &n, NULL), 0);
    assert_int_equal(n.count, 3);
    assert_string_equal(n.entries[0].name, "a");
    assert_string_equal(n.entries[0].alias, "");
    assert_string_equal(n.entries[1].alias, "beta");
    assert_string_equal(n.entries[2].alias, "root@10.0.0.3");
    assert_false(nodes_alone(&n));
    assert_int_equal(parse("a local", &n, NULL), 0);
    assert_true(nodes_alone(&n));
    assert_int_equal(parse("", &n, NULL), 0);
    assert_true(nodes_alone(&n));
}

static void a_bad_line_is_named(void **state)
{
    static const struct {
        const char *text, *said;
    } rows[] = {
        { "b", "nodes:1: not a line of two words" },
        { "a local\nb x y", "nodes:2: not a line of two words" },
        { "../b x", "nodes:1: '../b' is not a name" },
        { "b -oProxyCommand=reboot", "nodes:1: '-oProxyCommand=reboot' is nothing that ssh could be given" },
        { "b caf\xc3\xa9", "nodes:1: 'caf\xc3\xa9' is nothing" },
        { "b x\n\nb y", "nodes:3: node b has a line already" },
        { "b local", "nodes:1: b is not this node: it is a" },
        { "a beta", "nodes:1: a is this node" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct nodes n;
        struct error e = { 0 };
        assert_int_equal(parse(rows[i].text, &n, &e), -EINVAL);
        assert_int_equal(e.kind, ERROR_USAGE);
        assert_memory_equal(e.text, rows[i].said, strlen(rows[i].said));
    }
}

static void the_node_that_is_taken(void **state)
{
    static const struct {
        struct scheduler_candidate c[3];
        size_t count;
        const char *pin, *taken;
    } rows[] = {
        { { { "a", true, 5 } }, 1, "", "a" },
        { { { "b", true, 6 }, { "a", true, 5 } }, 2, "", "b" },
        { { { "b", true, 5 }, { "a", true, 6 } }, 2, "", "a" },
        { { { "b", true, 5 }, { "c", true, 6 }, { "a", true, 1 } }, 3, "", "c" },
        { { { "b", true, 5 }, { "a", true, 5 } }, 2, "", "a" }, /* a tie: this node */
        { { { "a", true, 5 }, { "b", true, 5 } }, 2, "", "a" },
        { { { "b", true, 5 }, { "c", true, 5 }, { "a", true, 1 } }, 3, "", "b" },
        { { { "b", false, 9 }, { "a", true, 5 } }, 2, "", "a" }, /* no answer */
        { { { "b", false, 9 }, { "c", true, 6 }, { "a", true, 5 } }, 3, "", "c" },
        { { { "b", false, 0 }, { "a", false, 0 } }, 2, "", "a" },
        { { { "b", true, 0 }, { "a", true, 0 } }, 2, "", "a" },
        { { { "b", true, 9 }, { "a", true, 5 } }, 2, "a", "a" }, /* the pin, whatever there is */
        { { { "b", false, 0 }, { "a", true, 5 } }, 2, "b", "b" },
        { { { "a", true, 5 } }, 1, "elsewhere", "elsewhere" },
        { { { "a", true, 5 } }, 0, "", "a" },
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_string_equal(scheduler_pick(rows[i].c, rows[i].count, rows[i].pin, "a"), rows[i].taken);
}

static int meminfo(const char *text, uint64_t *ret)
{
    return scheduler_meminfo((struct bytes){ (const uint8_t *)text, strlen(text) }, ret);
}

static void memory_is_what_the_kernel_says(void **state)
{
    uint64_t available = 7;
    assert_int_equal(meminfo("MemTotal:       32759 kB\nMemAvailable:   12345 kB\n", &available), 0);
    assert_int_equal(available, 12345 * 1024);
    static const char *const bad[] = { "",
                                       "MemTotal: 1 kB\n",
                                       "MemAvailable: kB\n",
                                       "MemAvailable: 1\n",
                                       "MemAvailable: 1 MB\n",
                                       "MemAvailable: 18446744073709551615 kB\n",
                                       "Welcome!\nXMemAvailable: 1 kB\n" };
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_int_equal(meminfo(bad[i], &available), -EBADMSG);
    assert_int_equal(available, 12345 * 1024);
}

static void programs_are_asked_at_once_and_within_the_deadline(void **state)
{
    /* The second leaves a process that holds its pipes; the third never ends, nor does what it has started. */
    static const char *const argv[][4] = { { "sh", "-c", "echo one; echo why >&2; exit 3" },
                                           { "sh", "-c", "echo two; sleep 3 & exit 0" },
                                           { "sh", "-c", "echo three; sleep 60; exit 0" },
                                           { "sh", "-c", "yes | head -c 200000" },
                                           { "no-such-program" },
                                           { "sh", "-c", "kill -KILL $$" } };
    static const int codes[] = { 3, 0, -ETIMEDOUT, -EFBIG, 127, 128 + 9 };
    struct program_call calls[COUNT(argv)];
    for (size_t i = 0; i < COUNT(argv); i++)
        calls[i] = (struct program_call){ .argv = argv[i] };
    int64_t begin = clock_boot_ns();
    program_ask(calls, COUNT(calls), 1500);
    assert_true(clock_boot_ns() - begin < INT64_C(20000000000));
    for (size_t i = 0; i < COUNT(calls); i++)
        assert_int_equal(calls[i].code, codes[i]);
    assert_string_equal(buf_string(&calls[0].output), "one\n");
    assert_string_equal(buf_string(&calls[1].output), "two\n");
    assert_string_equal(buf_string(&calls[2].output), "three\n");
    static const char *const complaints[] = { "why",
                                              NULL,
                                              "no answer in time",
                                              "it says more than 64 KiB",
                                              "there is no no-such-program on the PATH",
                                              "sh ended with 137" };
    for (size_t i = 0; i < COUNT(calls); i++) {
        char why[128];
        program_complaint(&calls[i], why);
        if (complaints[i])
            assert_string_equal(why, complaints[i]);
        program_release(&calls[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_a_name_and_an_alias),
        cmocka_unit_test(a_bad_line_is_named),
        cmocka_unit_test(the_node_that_is_taken),
        cmocka_unit_test(memory_is_what_the_kernel_says),
        cmocka_unit_test(programs_are_asked_at_once_and_within_the_deadline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
