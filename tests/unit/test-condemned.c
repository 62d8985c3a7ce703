/* SPDX-License-Identifier: MIT */
#include "sync/condemned.h"

#include "index/base/mem.h"
#include "index/base/wire.h"
#include "tests/unit/twin-store.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static const struct keys keys = { .master = { 1 }, .store_id = { 2 } };
static const struct seal_context context = { &keys, "demo" };

static int make_store(void **state)
{
    *state = twin_store_new();
    return 0;
}

static int free_store(void **state)
{
    twin_store_free(*state);
    return 0;
}
static struct pack_name pack(uint8_t n)
{
    return (struct pack_name){ .id = { n } };
}

static void fill(struct condemned *c)
{
    for (uint8_t i = 9; i > 0; i--) {
        struct pack_name p = pack(i);
        condemned_add_pack(c, &p, 100 + i);
        condemned_add_pack(c, &p, 50 + i);
        condemned_add_snapshot(c, &(struct snapshot_id){ { i } }, -i);
    }
    condemned_sort(c);
}

static void a_list_comes_back_sorted_and_the_earliest_time_stays(void **state)
{
    struct store *s = twin_store_get(*state);
    _cleanup_(condemned_release) struct condemned c = { 0 }, got = { 0 };
    char id[CONDEMNED_ID_TEXT];
    fill(&c);
    assert_int_equal(c.pack_count, 9);
    assert_int_equal(condemned_put(s, &context, &c, id, NULL), 0);
    assert_int_equal(condemned_get(s, &context, id, &got, NULL), 0);
    assert_int_equal(got.pack_count, 9);
    assert_int_equal(got.snapshot_count, 9);
    struct pack_name p = pack(7), none = pack(77);
    assert_true(condemned_find_pack(&got, &p)->since_ns == 57);
    assert_null(condemned_find_pack(&got, &none));
    assert_true(condemned_find_snapshot(&got, &(struct snapshot_id){ { 3 } })->since_ns == -3);
    assert_null(condemned_find_snapshot(&got, &(struct snapshot_id){ { 33 } }));

    assert_int_equal(condemned_get(s, &context, "", &got, NULL), 0);
    assert_int_equal(got.pack_count, 0);
    assert_null(condemned_find_pack(&got, &p));
    assert_int_equal(condemned_remove(s, "demo", id, NULL), 0);
    assert_int_equal(condemned_get(s, &context, id, &got, NULL), -ENOENT);
}

static void no_bytes_but_its_own_are_a_list(void **state)
{
    _cleanup_(condemned_release) struct condemned c = { 0 }, got = { 0 };
    _cleanup_(buf_release) struct buf b = { 0 }, many = { 0 };
    fill(&c);
    condemned_encode(&c, &b);
    assert_int_equal(condemned_decode(buf_bytes(&b), &got, NULL), 0);
    for (size_t i = 0; i < b.len; i++)
        assert_int_equal(condemned_decode((struct bytes){ b.data, i }, &got, NULL), -EBADMSG);
    b.data[0] = 2;
    assert_int_equal(condemned_decode(buf_bytes(&b), &got, NULL), -ENOTSUP);
    b.data[0] = 1;
    memset(b.data + 2, 0xff, 16); /* the first is now the greatest: not sorted */
    assert_int_equal(condemned_decode(buf_bytes(&b), &got, NULL), -EBADMSG);
    assert_int_equal(got.pack_count, 9); /* written on success only */

    wire_put_u8(&many, 1);
    wire_put_varint(&many, 1ull << 60); /* no memory is made for it */
    assert_int_equal(condemned_decode(buf_bytes(&many), &got, NULL), -EBADMSG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_list_comes_back_sorted_and_the_earliest_time_stays, make_store, free_store),
        cmocka_unit_test(no_bytes_but_its_own_are_a_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
