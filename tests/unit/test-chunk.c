/* SPDX-License-Identifier: MIT */
#include "index/chunk.h"

#include "index/base/mem.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define SIZE (48u * 1024 * 1024)

static uint8_t *data;
static struct chunker chunker;

/* xorshift64*: bytes without structure, the same in every run. */
static int make_data(void **state)
{
    uint64_t x = 88172645463325252ull;
    data = mem_new(SIZE, 1);
    for (size_t i = 0; i < SIZE; i += 8) {
        x ^= x >> 12;
        x ^= x << 25;
        x ^= x >> 27;
        uint64_t v = x * 2685821657736338717ull;
        memcpy(data + i, &v, 8);
    }
    const struct hash_key key = { "a key of the chunker's own tests" };
    chunker_init(&chunker, &key);
    return 0;
}

static int free_data(void **state)
{
    free(data);
    return 0;
}

/* Cuts all of it; the ends of the chunks go to ends. */
static size_t cut_all(const struct chunker *c, const uint8_t *p, size_t n, size_t *ends, size_t room)
{
    size_t count = 0;
    for (size_t at = 0; at < n; ends[count++] = at) {
        assert_true(count < room);
        at += chunker_cut(c, p + at, n - at, true);
    }
    return count;
}

static void chunks_keep_their_bounds_and_their_average(void **state)
{
    size_t ends[1024];
    size_t count = cut_all(&chunker, data, SIZE, ends, 1024);
    for (size_t i = 0; i < count; i++) {
        size_t length = ends[i] - (i ? ends[i - 1] : 0);
        assert_true(length <= CHUNK_MAX);
        assert_true(length >= CHUNK_MIN || i == count - 1);
    }
    assert_int_equal(ends[count - 1], SIZE);
    assert_in_range(SIZE / count, CHUNK_AVERAGE / 2, CHUNK_AVERAGE * 2);
}

/* Without a cut by content (all zeros never meet a mask but by chance of the key) the bounds still hold. */
static void even_bytes_are_cut_at_the_bounds(void **state)
{
    _cleanup_free_ uint8_t *zeros = mem_new(2 * CHUNK_MAX, 1);
    size_t first = chunker_cut(&chunker, zeros, 2 * CHUNK_MAX, false);
    assert_in_range(first, CHUNK_MIN, CHUNK_MAX);
    assert_int_equal(chunker_cut(&chunker, zeros, 1, true), 1);
    assert_int_equal(chunker_cut(&chunker, zeros, CHUNK_MIN, true), CHUNK_MIN);
}

/* Fails when the cut depends on how much more is at hand: then a reader's buffer would decide about dedup. */
static void a_cut_depends_on_its_own_bytes_only(void **state)
{
    for (size_t at = 0; at < 8u * 1024 * 1024; at += 777777) {
        size_t cut = chunker_cut(&chunker, data + at, CHUNK_MAX, false);
        assert_int_equal(cut, chunker_cut(&chunker, data + at, SIZE - at, true));
        assert_int_equal(cut, chunker_cut(&chunker, data + at, CHUNK_MAX + 1, false));
    }
}

/* Fails with cuts at fixed offsets: then nothing behind the insertion would be cut as before. */
static void after_an_insertion_the_cuts_are_found_again(void **state)
{
    size_t before[1024], after[1024], shared = 0, inserted = 5;
    size_t before_count = cut_all(&chunker, data, SIZE, before, 1024);

    _cleanup_free_ uint8_t *longer = mem_new(SIZE + inserted, 1);
    memcpy(longer, data, 100);
    memcpy(longer + 100, "12345", inserted);
    memcpy(longer + 100 + inserted, data + 100, SIZE - 100);
    size_t after_count = cut_all(&chunker, longer, SIZE + inserted, after, 1024);

    for (size_t i = 0, j = 0; i < before_count && j < after_count;) {
        size_t moved = after[j] - inserted;
        shared += before[i] == moved;
        if (before[i] < moved)
            i++;
        else
            j++;
    }
    assert_true(before_count > 20);
    assert_true(shared >= before_count - 8);
}

static void another_key_cuts_elsewhere_and_the_same_key_alike(void **state)
{
    struct chunker same, other;
    const struct hash_key key = { "a key of the chunker's own tests" };
    const struct hash_key other_key = { "A key of the chunker's own tests" };
    chunker_init(&same, &key);
    chunker_init(&other, &other_key);
    assert_memory_equal(&same, &chunker, sizeof(same));

    size_t ends[1024], other_ends[1024], shared = 0;
    size_t count = cut_all(&chunker, data, SIZE, ends, 1024);
    size_t other_count = cut_all(&other, data, SIZE, other_ends, 1024);
    for (size_t i = 0; i + 1 < count; i++) {
        for (size_t j = 0; j + 1 < other_count; j++)
            shared += ends[i] == other_ends[j];
    }
    assert_int_equal(shared, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_keep_their_bounds_and_their_average),
        cmocka_unit_test(even_bytes_are_cut_at_the_bounds),
        cmocka_unit_test(a_cut_depends_on_its_own_bytes_only),
        cmocka_unit_test(after_an_insertion_the_cuts_are_found_again),
        cmocka_unit_test(another_key_cuts_elsewhere_and_the_same_key_alike),
    };
    return cmocka_run_group_tests(tests, make_data, free_data);
}
