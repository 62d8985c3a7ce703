/* SPDX-License-Identifier: MIT */
#include "index/meta.h"

#include "index/base/mem.h"
#include "index/key.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define INCARNATION "\"incarnation\":\"000102030405060708090a0b0c0d0e0f\""

static int decode(const char *json, struct meta *m)
{
    struct error e = { 0 };
    int r = meta_decode((struct bytes){ (const uint8_t *)json, strlen(json) }, m, &e);
    if (r == -EBADMSG)
        assert_int_equal(e.kind, ERROR_DAMAGED);
    return r;
}

static char *encode(const struct meta *m)
{
    char *text = NULL;
    assert_int_equal(meta_encode(m, &text, NULL), 0);
    return text;
}

static void every_field_comes_back(void **state)
{
    _cleanup_(meta_release) struct meta m = { .memory_max = 4096, .nix = true, .pin = "node1" }, back = { 0 };
    bool changed;
    m.incarnation[15] = 7;
    assert_int_equal(meta_set(&m, "path=/root/demo", &changed, NULL), 0);
    assert_int_equal(meta_set(&m, "exclude+=node_modules/", &changed, NULL), 0);
    assert_int_equal(meta_set(&m, "exclude+=!keep", &changed, NULL), 0);
    meta_set_tool(&m, "tmux", "3.3a");
    meta_set_tool(&m, "git", "2.39.5");
    meta_set_tool(&m, "tmux", "3.4");

    _cleanup_free_ char *text = encode(&m), *again = NULL;
    assert_int_equal(decode(text, &back), 0);
    assert_string_equal(back.path, "/root/demo");
    assert_string_equal(back.pin, "node1");
    assert_int_equal(back.memory_max, 4096);
    assert_true(back.nix);
    assert_int_equal(back.exclude_count, 2);
    assert_string_equal(back.exclude[1], "!keep");
    assert_int_equal(back.tool_count, 2);
    assert_string_equal(back.tools[0].name, "git");
    assert_string_equal(back.tools[1].version, "3.4");
    assert_int_equal(back.incarnation[15], 7);
    again = encode(&back);
    assert_string_equal(text, again);
}

/* Fails if encode starts from an empty object: an older node would strip what a newer one wrote. */
static void unknown_keys_are_kept_through_a_change(void **state)
{
    _cleanup_(meta_release) struct meta m = { 0 };
    bool changed;
    assert_int_equal(decode("{\"v\":1,\"path\":\"/p\",\"pin\":\"a\",\"later\":{\"deep\":[1,2]}," INCARNATION "}", &m),
                     0);
    assert_int_equal(meta_set(&m, "pin=", &changed, NULL), 0);
    _cleanup_free_ char *text = encode(&m);
    assert_non_null(strstr(text, "\"later\":{\"deep\":[1,2]}"));
    assert_null(strstr(text, "pin"));
}

static void a_path_that_is_not_utf8_keeps_every_byte(void **state)
{
    static const char *const paths[] = { "/root/\xff", "/root/\xff\xfe", "/\xc3(x/y", "/root/caf\xe9 \x01" };
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        _cleanup_(meta_release) struct meta m = { .path = mem_strdup(paths[i]) }, back = { 0 };
        _cleanup_free_ char *text = encode(&m);
        assert_non_null(strstr(text, "path_b64"));
        assert_int_equal(decode(text, &back), 0);
        assert_string_equal(back.path, paths[i]);
    }
}

static void what_cannot_be_a_meta_is_damage(void **state)
{
    static const char *const bad[] = {
        "",
        "[]",
        "{\"v\":1}",
        "{\"v\":1,\"path\":\"relative\"," INCARNATION "}",
        "{\"v\":1,\"path\":\"/a/../b\"," INCARNATION "}",
        "{\"v\":1,\"path\":\"/\"," INCARNATION "}",
        "{\"v\":1,\"path\":\"/a\",\"path_b64\":\"L3\"," INCARNATION "}",
        "{\"v\":1,\"path\":\"/a\",\"path_b64\":\"LwAA\"," INCARNATION "}",
        "{\"v\":1,\"path\":\"/a\",\"pin\":\"../x\"," INCARNATION "}",
        "{\"v\":1,\"path\":\"/a\",\"memory_max\":-1," INCARNATION "}",
        "{\"v\":1,\"path\":\"/a\",\"exclude\":[\"a\\nb\"]," INCARNATION "}",
        "{\"v\":1,\"path\":\"/a\",\"exclude\":[1]," INCARNATION "}",
        "{\"v\":1,\"path\":\"/a\",\"tools\":{\"git\":2}," INCARNATION "}",
        "{\"v\":1,\"path\":\"/a\",\"incarnation\":\"00\"}",
    };
    struct meta m;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(decode(bad[i], &m), -EBADMSG);
    assert_int_equal(decode("{\"v\":2}", &m), -ENOTSUP);
}

static int set(struct meta *m, const char *assignment, bool expect_changed)
{
    struct error e = { 0 };
    bool changed = !expect_changed;
    int r = meta_set(m, assignment, &changed, &e);
    if (r < 0)
        assert_int_equal(e.kind, ERROR_USAGE);
    else
        assert_int_equal(changed, expect_changed);
    return r;
}

static void assignments_change_what_they_name_and_say_whether(void **state)
{
    _cleanup_(meta_release) struct meta m = { .path = mem_strdup("/a") };
    assert_int_equal(set(&m, "memory_max=4G", true), 0);
    assert_int_equal(set(&m, "memory_max=4096M", false), 0);
    assert_int_equal(m.memory_max, 4ull << 30);
    assert_int_equal(set(&m, "memory_max=", true), 0);
    assert_int_equal(set(&m, "nix=true", true), 0);
    assert_int_equal(set(&m, "pin=node-2", true), 0);
    assert_int_equal(set(&m, "path=/b/c", true), 0);
    assert_int_equal(set(&m, "exclude+=*.o", true), 0);
    assert_int_equal(set(&m, "exclude+=*.o", false), 0);
    assert_int_equal(set(&m, "exclude+=a=b", true), 0);
    assert_int_equal(set(&m, "exclude-=*.o", true), 0);
    assert_int_equal(m.exclude_count, 1);
    assert_string_equal(m.exclude[0], "a=b");
}

static void a_bad_assignment_changes_nothing_and_says_what_is_allowed(void **state)
{
    static const char *const bad[] = {
        "colour=red", "pin",          "pin=a/b",     "pin=globals", "memory_max=much", "memory_max=1",
        "nix=maybe",  "path=b",       "path=/b/",    "path=/b//c",  "path=/b/./c",     "path=/\xff",
        "exclude+=",  "exclude+=a\n", "exclude-=no", "exclude=x",   "exclude+=\xff",   "=",
    };
    _cleanup_(meta_release) struct meta m = { .path = mem_strdup("/a") };
    _cleanup_free_ char *before = encode(&m);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(set(&m, bad[i], false), -EINVAL);
    _cleanup_free_ char *after = encode(&m);
    assert_string_equal(before, after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_comes_back),
        cmocka_unit_test(unknown_keys_are_kept_through_a_change),
        cmocka_unit_test(a_path_that_is_not_utf8_keeps_every_byte),
        cmocka_unit_test(what_cannot_be_a_meta_is_damage),
        cmocka_unit_test(assignments_change_what_they_name_and_say_whether),
        cmocka_unit_test(a_bad_assignment_changes_nothing_and_says_what_is_allowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
