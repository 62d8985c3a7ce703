/* SPDX-License-Identifier: MIT */
#include "sync/known.h"

#include "index/base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#define LENGTH 1000

static const struct writer own = { .state = { 1 }, .rand = { 1 } }, other = { .state = { 1 }, .rand = { 2 } };

static struct hash hash(uint8_t n)
{
    return (struct hash){ { n } };
}

static struct pack_name pack(const struct writer *w)
{
    return (struct pack_name){ .writer = *w, .id = { 3 } };
}

/* Three extents of the file that comes, with hashes from first on, in one frame of a pack of w. */
static void tell_before(struct known *k, uint8_t first, const struct writer *w)
{
    struct extent *x = mem_new(3, sizeof(*x));
    for (uint8_t i = 0; i < 3; i++)
        x[i] = (struct extent){ .start = i * LENGTH,
                                .length = LENGTH,
                                .hash = hash(first + i),
                                .frame = { .pack = pack(w), .offset = 8, .sealed = 100, .raw = 3 * LENGTH },
                                .within = i * LENGTH };
    known_before(k, x, 3);
}

static bool finds(struct known *k, uint8_t n, uint32_t length)
{
    struct known_place at;
    struct hash h = hash(n);
    bool found = known_find(k, &h, length, &at);
    if (found)
        placement_drop(at.where);
    return found;
}

/* Nobody has a cache here. */
static void what_the_base_has_of_the_file_that_comes_is_known(void **state)
{
    (void)state;
    struct known *k = known_new(NULL, &own, NULL);
    struct known_place at;
    struct hash h = hash(12);
    assert_false(finds(k, 10, LENGTH));
    tell_before(k, 10, &other);
    assert_true(known_find(k, &h, LENGTH, &at));
    assert_int_equal(at.within, 2 * LENGTH);
    assert_int_equal(at.where->at.offset, 8);
    placement_drop(at.where);
    for (uint8_t n = 10; n < 13; n++) /* in any order */
        assert_true(finds(k, n, LENGTH));
    assert_true(finds(k, 10, LENGTH));
    assert_false(finds(k, 10, LENGTH - 1));
    assert_false(finds(k, 13, LENGTH));
    tell_before(k, 20, &other);
    assert_true(finds(k, 20, LENGTH));
    assert_false(finds(k, 10, LENGTH));
    known_before(k, NULL, 0);
    assert_false(finds(k, 20, LENGTH));
    known_free(k);
}

/* They may be gone with this node's hold, and a park that counts on them would fail for ever. */
static void the_bases_packs_of_this_very_writer_are_not_counted_on(void **state)
{
    (void)state;
    struct known *k = known_new(NULL, &own, NULL);
    tell_before(k, 10, &own);
    assert_false(finds(k, 10, LENGTH));
    known_free(k);
}

static void what_is_to_lie_elsewhere_is_sent(void **state)
{
    (void)state;
    struct pack_name thin = pack(&other);
    struct tidy_plan plan = { .avoid = &thin, .avoid_count = 1 };
    struct known *k = known_new(NULL, &own, &plan);
    tell_before(k, 10, &other);
    assert_false(finds(k, 10, LENGTH));
    known_free(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_base_has_of_the_file_that_comes_is_known),
        cmocka_unit_test(the_bases_packs_of_this_very_writer_are_not_counted_on),
        cmocka_unit_test(what_is_to_lie_elsewhere_is_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
