/* SPDX-License-Identifier: MIT */
#include "sync/pack.h"

#include "index/base/mem.h"

#include <errno.h>
#include <setjmp.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static const struct keys keys = { .master = "master", .store_id = "store" };
static const struct seal_context demo = { &keys, "demo" };
static const struct writer writer = { .state = "state", .rand = "rand" };

static void pack_freep(struct pack **p)
{
    pack_free(*p);
}

static struct bytes sealed_of(const struct pack *p, const struct locator *l)
{
    return (struct bytes){ pack_bytes(p).data + l->offset, l->sealed };
}

static struct locator add(struct pack *p, enum frame_kind kind, const char *text)
{
    struct locator l;
    struct pack_extent x = { .length = (uint32_t)strlen(text) };
    memset(x.hash.b, text[0], sizeof(x.hash.b));
    pack_add(p, kind, (struct bytes){ (const uint8_t *)text, strlen(text) }, &x, 1, &l);
    return l;
}

static int open_as(const struct pack *p, struct locator l, enum frame_kind kind, const struct locator *bytes)
{
    _cleanup_(buf_release) struct buf raw = { 0 };
    struct error e = { 0 };
    int r = pack_frame_open(&demo, &l, kind, sealed_of(p, bytes), &raw, &e);
    if (r < 0) {
        assert_int_equal(e.kind, ERROR_DAMAGED);
        assert_int_equal(raw.len, 0);
    }
    return r;
}

static void a_frame_opens_from_the_finished_pack(void **state)
{
    _cleanup_(pack_freep) struct pack *p = pack_new(&demo, &writer);
    _cleanup_(buf_release) struct buf raw = { 0 };
    add(p, FRAME_PAGE, "first");
    struct locator l = add(p, FRAME_DATA, "second frame");
    pack_finish(p);
    assert_true(pack_equal(&l.pack, pack_name(p)));
    assert_int_equal(pack_frame_open(&demo, &l, FRAME_DATA, sealed_of(p, &l), &raw, NULL), 0);
    assert_string_equal(buf_string(&raw), "second frame");
}

/* Fails if pack, offset or kind is left out of a frame's name. */
static void a_frame_opens_at_its_own_place_and_as_its_own_kind_only(void **state)
{
    _cleanup_(pack_freep) struct pack *p = pack_new(&demo, &writer), *q = pack_new(&demo, &writer);
    struct locator a = add(p, FRAME_DATA, "aaaa"), b = add(p, FRAME_DATA, "bbbb"), c = add(q, FRAME_DATA, "aaaa");
    struct locator shorter = a;
    shorter.raw = 3;
    assert_int_equal(a.sealed, b.sealed);

    assert_int_equal(open_as(p, a, FRAME_DATA, &a), 0);
    assert_int_equal(open_as(p, a, FRAME_DATA, &b), -EBADMSG);
    assert_int_equal(open_as(p, c, FRAME_DATA, &a), -EBADMSG);
    assert_int_equal(open_as(p, a, FRAME_PAGE, &a), -EBADMSG);
    assert_int_equal(open_as(p, shorter, FRAME_DATA, &a), -EBADMSG);
}

static void a_locator_that_says_too_much_is_damage(void **state)
{
    _cleanup_(pack_freep) struct pack *p = pack_new(&demo, &writer);
    struct locator a = add(p, FRAME_DATA, "aaaa"), longer = a, wild = a;
    longer.raw = 5;
    wild.sealed = UINT32_MAX;
    assert_int_equal(open_as(p, longer, FRAME_DATA, &a), -EBADMSG);
    assert_int_equal(open_as(p, wild, FRAME_DATA, &a), -EBADMSG);
}

static int open_footer(const struct pack *p, struct bytes tail, struct pack_frames *ret, size_t *need)
{
    struct error e = { 0 };
    int r = footer_open(&demo, pack_name(p), pack_bytes(p).len, tail, ret, need, &e);
    if (r < 0 && r != -ENOBUFS)
        assert_int_equal(e.kind, ERROR_DAMAGED);
    return r;
}

/* What an index says can be rebuilt from the pack alone. */
static void the_footer_tells_every_frame_and_extent(void **state)
{
    _cleanup_(pack_freep) struct pack *p = pack_new(&demo, &writer);
    _cleanup_(pack_frames_release) struct pack_frames f = { 0 };
    struct pack_extent two[] = { { .length = 4, .hash = { "h1" } }, { .within = 4, .length = 2, .hash = { "h2" } } };
    struct locator a = add(p, FRAME_PAGE, "page"), b;
    pack_add(p, FRAME_DATA, (struct bytes){ (const uint8_t *)"abcdef", 6 }, two, 2, &b);
    pack_finish(p);

    size_t need;
    assert_int_equal(open_footer(p, pack_bytes(p), &f, &need), 0);
    assert_int_equal(f.count, 2);
    assert_int_equal(f.frames[0].kind, FRAME_PAGE);
    assert_memory_equal(&f.frames[0].at, &a, sizeof(a));
    assert_memory_equal(&f.frames[1].at, &b, sizeof(b));
    assert_int_equal(f.frames[1].count, 2);
    assert_memory_equal(&f.extents[f.frames[1].first], two, sizeof(two));
}

static void a_short_tail_says_how_much_is_needed(void **state)
{
    _cleanup_(pack_freep) struct pack *p = pack_new(&demo, &writer);
    _cleanup_(pack_frames_release) struct pack_frames f = { 0 };
    add(p, FRAME_DATA, "x");
    pack_finish(p);
    struct bytes all = pack_bytes(p);
    size_t need = 0;
    assert_int_equal(open_footer(p, (struct bytes){ all.data + all.len - 10, 10 }, &f, &need), -ENOBUFS);
    assert_true(need > 10 && need < 400);
    assert_int_equal(open_footer(p, (struct bytes){ all.data + all.len - need, need }, &f, &need), 0);
}

static void a_damaged_or_exchanged_footer_is_damage(void **state)
{
    _cleanup_(pack_freep) struct pack *p = pack_new(&demo, &writer), *q = pack_new(&demo, &writer);
    _cleanup_(buf_release) struct buf copy = { 0 };
    _cleanup_(pack_frames_release) struct pack_frames f = { 0 };
    size_t need;
    add(p, FRAME_DATA, "x");
    pack_finish(p);
    buf_add(&copy, pack_bytes(p).data, pack_bytes(p).len);
    assert_int_equal(open_footer(p, (struct bytes){ copy.data + copy.len - 4, 4 }, &f, &need), -ENOBUFS);
    for (size_t i = copy.len - need; i < copy.len; i++) {
        copy.data[i] ^= 1;
        size_t asked;
        int r = footer_open(&demo, pack_name(p), copy.len, buf_bytes(&copy), &f, &asked, NULL);
        assert_true(r == -EBADMSG);
        copy.data[i] ^= 1;
    }
    assert_int_equal(footer_open(&demo, pack_name(q), copy.len, buf_bytes(&copy), &f, &need, NULL), -EBADMSG);
}

/* Overlap, overrun, an extent list that does not fill its frame, counts without bytes behind them. */
static void an_impossible_footer_is_refused(void **state)
{
    const struct {
        uint8_t bytes[48];
        size_t len;
    } bad[] = {
        { { 0xff, 0xff, 0xff, 0x7f }, 4 },
        { { 1, FRAME_DATA, 100, 4, 0, 0 }, 6 },
        { { 1, FRAME_DATA, 0, 4, 0 }, 5 },
        { { 1, 99, 50, 4, 0 }, 5 },
        { { 1, FRAME_DATA, 0x80, 0x08, 4, 0 }, 6 },
        { { 1, FRAME_DATA, 50, 4, 1, 3 }, 6 + HASH_LEN },
        { { 1, FRAME_DATA, 50, 4, 1, 5 }, 6 + HASH_LEN },
        { { 1, FRAME_DATA, 50, 4, 0xff, 0x7f }, 6 },
        { { 2, FRAME_DATA, 50, 4, 0 }, 5 },
    };
    struct pack_name name = { 0 };
    struct pack_frames f = { 0 };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(footer_decode((struct bytes){ bad[i].bytes, bad[i].len }, &name, 1000, &f, NULL), -EBADMSG);
    const uint8_t good[6 + HASH_LEN] = { 1, FRAME_DATA, 50, 4, 1, 4 };
    assert_int_equal(footer_decode((struct bytes){ good, sizeof(good) }, &name, 1000, &f, NULL), 0);
    pack_frames_release(&f);
}

/* Few sizes for many contents; a small pack costs little. */
static void padding_hides_the_size_and_stays_cheap(void **state)
{
    size_t before = 0, sizes = 0, total = 0, plain = 0;
    _cleanup_(buf_release) struct buf raw = { 0 };
    for (size_t n = 1000; n < 2000000; n += n / 40 + 1) {
        _cleanup_(pack_freep) struct pack *p = pack_new(&demo, &writer);
        struct locator l;
        buf_clear(&raw);
        buf_reserve(&raw, n);
        randombytes_buf(raw.data, n);
        pack_add(p, FRAME_DATA, (struct bytes){ raw.data, n }, NULL, 0, &l);
        pack_finish(p);
        size_t size = pack_bytes(p).len;
        assert_int_equal(size % PACK_PAD_LEAST, 0);
        assert_true(size < n + n / 8 + PACK_PAD_LEAST + 256);
        sizes += size != before;
        before = size;
        total += size;
        plain += n;
    }
    assert_true(sizes < 160);
    assert_true(total < plain + plain / 20);
}

static void a_pack_is_full_before_it_is_larger_than_a_pack_may_be(void **state)
{
    _cleanup_(pack_freep) struct pack *p = pack_new(&demo, &writer);
    _cleanup_(buf_release) struct buf raw = { 0 };
    struct locator l;
    buf_reserve(&raw, FRAME_RAW_MAX);
    raw.len = FRAME_RAW_MAX;
    randombytes_buf(raw.data, raw.len);
    while (!pack_full(p))
        pack_add(p, FRAME_DATA, buf_bytes(&raw), NULL, 0, &l);
    pack_finish(p);
    assert_in_range(pack_bytes(p).len, PACK_FULL, PACK_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_opens_from_the_finished_pack),
        cmocka_unit_test(a_frame_opens_at_its_own_place_and_as_its_own_kind_only),
        cmocka_unit_test(a_locator_that_says_too_much_is_damage),
        cmocka_unit_test(the_footer_tells_every_frame_and_extent),
        cmocka_unit_test(a_short_tail_says_how_much_is_needed),
        cmocka_unit_test(a_damaged_or_exchanged_footer_is_damage),
        cmocka_unit_test(an_impossible_footer_is_refused),
        cmocka_unit_test(padding_hides_the_size_and_stays_cheap),
        cmocka_unit_test(a_pack_is_full_before_it_is_larger_than_a_pack_may_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
