/* SPDX-License-Identifier: MIT */
#include "index/key.h"

#include "index/base/mem.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static struct bytes text(const char *s)
{
    return (struct bytes){ (const uint8_t *)s, strlen(s) };
}

static void key_of(const char *path, struct buf *k)
{
    assert_int_equal(key_from_path(text(path), k), 0);
}

static void a_path_becomes_a_key_and_comes_back(void **state)
{
    static const char *const paths[] = { "a", "project", "project/src/main.c", "a/\1/\2/\xff", "..a/...", "x/.y" };
    _cleanup_(buf_release) struct buf k = { 0 }, path = { 0 };
    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
        key_of(paths[i], &k);
        assert_int_equal(key_to_path(buf_bytes(&k), &path), 0);
        assert_string_equal(buf_string(&path), paths[i]);
        const char *slash = strrchr(paths[i], '/');
        assert_int_equal(bytes_compare(key_name(buf_bytes(&k)), text(slash ? slash + 1 : paths[i])), 0);
    }
}

static void unsafe_paths_are_refused(void **state)
{
    static const char *const paths[] = { "", "/", "/a", "a/", "a//b", ".", "..", "a/..", "./a", "a/./b", "../a" };
    _cleanup_(buf_release) struct buf k = { 0 };
    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
        assert_int_equal(key_from_path(text(paths[i]), &k), -EINVAL);
    assert_int_equal(key_from_path((struct bytes){ (const uint8_t *)"a\0b", 3 }, &k), -EINVAL);

    char name[NAME_LEN_MAX + 2];
    memset(name, 'n', sizeof(name));
    name[NAME_LEN_MAX + 1] = '\0';
    assert_int_equal(key_from_path(text(name), &k), -EINVAL);
    name[NAME_LEN_MAX] = '\0';
    assert_int_equal(key_from_path(text(name), &k), 0);
}

/* Fails if a component is taken off a key before it is known to be safe: then "../x" would read as "x". */
static void bytes_that_are_no_key_are_refused(void **state)
{
    static const struct bytes keys[] = {
        { (const uint8_t *)"", 0 },        { (const uint8_t *)"\1", 1 },     { (const uint8_t *)"\2..\0\1x", 6 },
        { (const uint8_t *)"\2\0\1x", 4 }, { (const uint8_t *)"\2a\1x", 4 }, { (const uint8_t *)"\2a\0", 3 },
        { (const uint8_t *)"\3x", 2 },     { (const uint8_t *)"\1x\0", 3 },  { (const uint8_t *)"\1x/y", 4 },
    };
    _cleanup_(buf_release) struct buf path = { 0 };
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        assert_int_equal(key_to_path(keys[i], &path), -EINVAL);
        assert_false(key_valid(keys[i]));
    }
}

static void the_longest_path_fits(void **state)
{
    char path[PATH_LEN_MAX + 3];
    for (size_t i = 0; i < sizeof(path); i++)
        path[i] = i % 2 ? '/' : 'd';
    path[PATH_LEN_MAX] = '\0';
    _cleanup_(buf_release) struct buf k = { 0 }, back = { 0 };
    key_of(path, &k);
    assert_true(k.len <= KEY_LEN_MAX);
    assert_int_equal(key_to_path(buf_bytes(&k), &back), 0);
    assert_string_equal(buf_string(&back), path);
    strcpy(path + PATH_LEN_MAX, "/d");
    assert_int_equal(key_from_path(text(path), &k), -EINVAL);
}

/* Rule F1: a directory's own entries first, then its subdirectories, each subtree in one run; a component before the
 * ones it is a prefix of. Plain comparison of paths would put "a-b" between "a" and "a/x". */
static void keys_sort_by_directory(void **state)
{
    static const char *const rising[] = { "a",     "a-b",   "a0",   "b",   "z",   "a/x",
                                          "a/x/y", "a-b/x", "a0/0", "b/c", "b/d", "b/c/x" };
    _cleanup_(buf_release) struct buf k = { 0 }, before = { 0 };
    for (size_t i = 1; i < sizeof(rising) / sizeof(*rising); i++) {
        key_of(rising[i - 1], &before);
        key_of(rising[i], &k);
        assert_true(bytes_compare(buf_bytes(&before), buf_bytes(&k)) < 0);
    }
}

static void prefixes_select_a_directory_or_its_subtree(void **state)
{
    _cleanup_(buf_release) struct buf k = { 0 }, own = { 0 }, below = { 0 };
    assert_int_equal(key_directory_prefix(text("a/b"), &own), 0);
    assert_int_equal(key_subtree_prefix(text("a/b"), &below), 0);

    static const struct {
        const char *path;
        bool own, below;
    } cases[] = { { "a/b", false, false },    { "a/b/c", true, true },    { "a/b/c/d", false, true },
                  { "a/bb/c", false, false }, { "a/b-/c", false, false }, { "a", false, false } };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        key_of(cases[i].path, &k);
        assert_int_equal(key_starts_with(buf_bytes(&k), buf_bytes(&own)), cases[i].own);
        assert_int_equal(key_starts_with(buf_bytes(&k), buf_bytes(&below)), cases[i].below);
    }

    assert_int_equal(key_subtree_prefix(text(""), &below), 0);
    assert_int_equal(below.len, 0);
    assert_int_equal(key_directory_prefix(text(""), &own), 0);
    assert_int_equal(own.len, 1);
    assert_int_equal(key_subtree_prefix(text("a/"), &below), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_becomes_a_key_and_comes_back),
        cmocka_unit_test(unsafe_paths_are_refused),
        cmocka_unit_test(bytes_that_are_no_key_are_refused),
        cmocka_unit_test(the_longest_path_fits),
        cmocka_unit_test(keys_sort_by_directory),
        cmocka_unit_test(prefixes_select_a_directory_or_its_subtree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
