/* SPDX-License-Identifier: MIT */
#include "fusefs/reader.h"

#include "fusefs/ahead.h"
#include "index/base/mem.h"
#include "tests/unit/twin.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define SIZE 100000u
#define PIECE 1000u
#define STEP 2500u /* 1000 bytes of data, 1500 of hole, … from 500 on */
#define FIRST 500u

static struct twin *twin;
static struct answers *answers;
static struct reader *reader;
static uint8_t want[SIZE];
static struct entry file, in_list;

static int start(void **state)
{
    twin = twin_new();
    file = (struct entry){ .type = ENTRY_FILE, .size = SIZE };
    memset(want, 0, SIZE);
    for (size_t at = FIRST; at + PIECE <= SIZE; at += STEP) {
        for (size_t i = 0; i < PIECE; i++)
            want[at + i] = (uint8_t)(at * 31 + i * 7 + 1);
        file.extents = mem_grow(file.extents, file.extent_count + 1, sizeof(struct extent));
        struct extent *x = &file.extents[file.extent_count++];
        uint8_t in_frame[PIECE + 20]; /* the extent begins within its frame */
        memset(in_frame, 0xee, sizeof(in_frame));
        memcpy(in_frame + 20, want + at, PIECE);
        *x = (struct extent){ .start = at, .length = PIECE, .within = 20 };
        x->frame = twin_add(twin, FRAME_DATA, in_frame, sizeof(in_frame));
    }
    _cleanup_(buf_release) struct buf list = { 0 };
    extents_encode(file.extents, file.extent_count, &list);
    in_list =
        (struct entry){ .type = ENTRY_FILE, .size = SIZE, .list = mem_new(1, sizeof(struct locator)), .list_count = 1 };
    in_list.list[0] = twin_add(twin, FRAME_EXTENTS, list.data, list.len);
    return answers_new(2, &answers, NULL) || reader_new(twin_source(twin), answers, &reader, NULL);
}

static int stop(void **state)
{
    reader_free(reader);
    answers_free(answers);
    entry_release(&file);
    entry_release(&in_list);
    twin_free(twin);
    return 0;
}

static void assert_read(const struct entry *n, uint64_t offset, size_t size)
{
    char *answer;
    size_t len, expected = offset >= SIZE ? 0 : SIZE - offset < size ? SIZE - offset : size;
    struct error e = { 0 };
    assert_int_equal(reader_read(reader, 7, n, offset, size, &answer, &len, &e), 0);
    assert_int_equal(len, expected);
    if (expected > 0) {
        assert_memory_equal(answer, want + offset, len);
        answers_give(answers, answer);
    } else
        assert_null(answer);
}

static void any_range_has_the_right_bytes_and_zeros(void **state)
{
    const struct entry *both[] = { &file, &in_list };
    for (unsigned k = 0; k < 2; k++) {
        assert_read(both[k], 0, SIZE);
        assert_read(both[k], SIZE - 1, 10);
        assert_read(both[k], SIZE, 10);
        assert_read(both[k], UINT64_MAX - 5, 10);
        for (unsigned i = 0; i < 500; i++)
            assert_read(both[k], (i * 7919u) % SIZE, 1 + (i * 104729u) % 6000);
    }
}

static void assert_seek(uint64_t offset, int whence, int result, uint64_t at)
{
    uint64_t got = UINT64_MAX;
    struct error e = { 0 };
    assert_int_equal(reader_seek(reader, 7, &in_list, offset, whence, &got, &e), result);
    if (result == 0)
        assert_int_equal(got, at);
}

static void holes_between_data_are_found(void **state)
{
    assert_seek(0, SEEK_DATA, 0, FIRST);
    assert_seek(0, SEEK_HOLE, 0, 0);
    assert_seek(FIRST, SEEK_HOLE, 0, FIRST + PIECE);
    assert_seek(FIRST + 10, SEEK_DATA, 0, FIRST + 10);
    assert_seek(FIRST + PIECE, SEEK_DATA, 0, FIRST + STEP);
    assert_seek(SIZE - 1, SEEK_DATA, -ENXIO, 0);
    assert_seek(SIZE, SEEK_HOLE, -ENXIO, 0);
}

/* Without the kept list every read would decode it again. */
static void a_long_list_is_fetched_once(void **state)
{
    assert_read(&in_list, 0, 10);
    twin_reset(twin);
    for (unsigned i = 0; i < 20; i++)
        assert_read(&in_list, 100, 10);
    assert_int_equal(twin_count(twin).gets, 0);
}

static void an_error_is_not_remembered_and_takes_no_buffer(void **state)
{
    char *answer;
    size_t len;
    struct error e = { 0 };
    for (unsigned i = 0; i < 5; i++) {
        twin_fail(twin, 1, -EIO, ERROR_DAMAGED);
        assert_int_equal(reader_read(reader, 7, &in_list, FIRST, 10, &answer, &len, &e), -EIO);
    }
    twin_fail(twin, 0, 0, ERROR_FAILED);
    assert_read(&in_list, FIRST, 10);
}

/* A store that lies about lengths, or a tree that does. */
static void extents_that_leave_their_frame_or_file_are_damage(void **state)
{
    char *answer;
    size_t len;
    struct error e = { 0 };
    twin_truncate(twin, &file.extents[0].frame, PIECE);
    assert_int_equal(reader_read(reader, 7, &file, 0, SIZE, &answer, &len, &e), -EBADMSG);
    assert_int_equal(e.kind, ERROR_DAMAGED);
    file.extents[1].start = SIZE - 10;
    assert_int_equal(reader_read(reader, 7, &file, SIZE - 5, 5, &answer, &len, &e), -EBADMSG);
    file.extents[1].start = FIRST + 1;
    assert_int_equal(reader_read(reader, 7, &file, SIZE - 5, 5, &answer, &len, &e), -EBADMSG);
}

static void a_sequential_reader_is_read_ahead_for(void **state)
{
    for (unsigned i = 0; i < 4; i++)
        assert_read(&file, i * 1000, 1000);
    for (unsigned i = 0; i < 5000 && twin_count(twin).warmed == 0; i++)
        usleep(1000);
    assert_true(twin_count(twin).warmed > 10);
}

/* Over the twin: a cache that is full. */
static _Atomic unsigned asked;

static int get_below(struct source *s, const struct locator *l, enum frame_kind kind, struct frame **ret,
                     struct error *e)
{
    return source_get(twin_source(twin), l, kind, ret, e);
}

static int warm_nothing(struct source *s, const struct locator *l, size_t count, enum source_urgency urgency,
                        struct error *e)
{
    asked++;
    return error_say(e, ERROR_FAILED, -ENOSPC, "the cache cannot take more");
}

/* Else all that is read is fetched twice while the disk is full. */
static void where_the_cache_has_no_room_nothing_is_read_ahead(void **state)
{
    struct source full = { get_below, warm_nothing };
    struct ahead *a;
    const struct extents x = { file.extents, file.extent_count };
    assert_int_equal(ahead_new(&full, &a, NULL), 0);
    for (unsigned position = 0; position < 2; position++)
        for (unsigned i = 0; i < 500; i++) {
            ahead_note(a, position, &x, i, i + 1);
            usleep(asked == 0 || position == 1 ? 100 : 0);
        }
    ahead_free(a);
    assert_int_equal(asked, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(any_range_has_the_right_bytes_and_zeros, start, stop),
        cmocka_unit_test_setup_teardown(holes_between_data_are_found, start, stop),
        cmocka_unit_test_setup_teardown(a_long_list_is_fetched_once, start, stop),
        cmocka_unit_test_setup_teardown(an_error_is_not_remembered_and_takes_no_buffer, start, stop),
        cmocka_unit_test_setup_teardown(extents_that_leave_their_frame_or_file_are_damage, start, stop),
        cmocka_unit_test_setup_teardown(a_sequential_reader_is_read_ahead_for, start, stop),
        cmocka_unit_test_setup_teardown(where_the_cache_has_no_room_nothing_is_read_ahead, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
