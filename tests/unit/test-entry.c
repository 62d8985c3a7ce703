/* SPDX-License-Identifier: MIT */
#include "index/entry.h"

#include "index/base/mem.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>

#include <cmocka.h>

/* An entry owns its strings; these are only read. */
static char *lent(const char *s)
{
    return (char *)(uintptr_t)s;
}

static struct extent extent_at(uint64_t start, uint64_t length, uint8_t pack)
{
    struct extent x = { .start = start, .length = length, .within = 10 };
    x.frame = (struct locator){ .offset = 1000, .sealed = 900, .raw = (uint32_t)length + 10 };
    x.frame.pack.id[3] = pack;
    x.hash.b[0] = (uint8_t)(start + pack);
    return x;
}

static void expect_round_trip(const struct entry *n)
{
    _cleanup_(buf_release) struct buf once = { 0 }, again = { 0 };
    _cleanup_(entry_release) struct entry got = { 0 };
    struct error e = { 0 };
    entry_pack(n, &once);
    assert_true(once.len <= entry_size_bound(n));
    assert_int_equal(entry_unpack(buf_bytes(&once), &got, &e), 0);
    assert_true(entry_same(n, &got));
    assert_int_equal(got.ino, n->ino);
    assert_int_equal(got.ctime_ns, n->ctime_ns);
    entry_pack(&got, &again);
    assert_int_equal(bytes_compare(buf_bytes(&once), buf_bytes(&again)), 0);

    /* No part of it is a whole. */
    for (size_t len = 0; len < once.len; len++) {
        struct entry cut;
        assert_int_equal(entry_unpack((struct bytes){ once.data, len }, &cut, NULL), -EBADMSG);
    }
}

/* Rule F4: everything a file has comes back. */
static void every_type_comes_back_with_all_it_has(void **state)
{
    struct xattr xattrs[] = { { lent("security.capability"), lent("\0\1"), 2 },
                              { lent("system.posix_acl_access"), lent(""), 0 },
                              { lent("user.x"), lent("value"), 5 } };
    struct extent extents[] = { extent_at(0, 100, 1), extent_at(4096, 10, 2), extent_at(4106, FRAME_RAW_MAX - 10, 1) };
    struct locator list[] = { extents[0].frame, extents[1].frame };
    struct entry common = {
        .mode = 06755, .uid = UINT32_MAX, .gid = 1000, .ino = 77, .mtime_ns = -1, .ctime_ns = INT64_MIN
    };

    struct entry file = common;
    file.type = ENTRY_FILE;
    file.size = INT64_MAX;
    file.xattrs = xattrs;
    file.xattr_count = 3;
    file.extents = extents;
    file.extent_count = 3;
    expect_round_trip(&file);
    file.list = list;
    file.list_count = 2;
    file.extent_count = 0;
    expect_round_trip(&file);

    struct entry symlink = common;
    symlink.type = ENTRY_SYMLINK;
    symlink.target = lent("../\xff\1");
    symlink.size = 5;
    expect_round_trip(&symlink);

    struct entry device = common;
    device.type = ENTRY_CHARACTER;
    device.major = UINT32_MAX;
    expect_round_trip(&device);
    device.type = ENTRY_BLOCK;
    device.major = 0;
    expect_round_trip(&device);

    struct entry plain = common;
    plain.type = ENTRY_DIRECTORY;
    expect_round_trip(&plain);
    plain.type = ENTRY_FIFO;
    expect_round_trip(&plain);
    expect_round_trip(&(struct entry){ .type = ENTRY_LINK, .target = lent("project/first") });
}

static void expect_refused(const struct entry *n)
{
    _cleanup_(buf_release) struct buf b = { 0 };
    struct entry got;
    struct error e = { 0 };
    entry_pack(n, &b);
    assert_int_equal(entry_unpack(buf_bytes(&b), &got, &e), -EBADMSG);
    assert_int_equal(e.kind, ERROR_DAMAGED);
}

/* Each of these would do harm further on: overlay's own marks, extents that overlap or pass the end, unsorted names. */
static void what_cannot_be_true_is_refused(void **state)
{
    expect_refused(&(struct entry){ .type = ENTRY_CHARACTER });
    expect_refused(&(struct entry){ .type = 0 });
    expect_refused(&(struct entry){ .type = ENTRY_LINK + 1 });
    expect_refused(&(struct entry){ .type = ENTRY_DIRECTORY, .mode = 010000 });
    expect_refused(&(struct entry){ .type = ENTRY_SYMLINK, .target = lent("") });
    expect_refused(&(struct entry){ .type = ENTRY_LINK, .target = lent("../etc/shadow") });
    expect_refused(&(struct entry){ .type = ENTRY_LINK, .target = lent("/etc/shadow") });

    struct xattr overlay[] = { { lent("trusted.overlay.opaque"), lent("y"), 1 } };
    expect_refused(&(struct entry){ .type = ENTRY_DIRECTORY, .xattrs = overlay, .xattr_count = 1 });
    struct xattr unsorted[] = { { lent("user.b"), lent(""), 0 }, { lent("user.a"), lent(""), 0 } };
    expect_refused(&(struct entry){ .type = ENTRY_DIRECTORY, .xattrs = unsorted, .xattr_count = 2 });
    struct xattr twice[] = { { lent("user.a"), lent(""), 0 }, { lent("user.a"), lent(""), 0 } };
    expect_refused(&(struct entry){ .type = ENTRY_DIRECTORY, .xattrs = twice, .xattr_count = 2 });

    struct extent extents[] = { extent_at(0, 100, 1), extent_at(50, 100, 1) };
    struct entry file = { .type = ENTRY_FILE, .size = 1000, .extents = extents, .extent_count = 2 };
    expect_refused(&file);
    extents[1].start = 950;
    expect_refused(&file); /* passes the size */
    extents[1].start = 900;
    extents[1].within = 11;
    expect_refused(&file); /* passes its frame */
    extents[1] = extent_at(900, 100, 1);
    extents[1].length = 0;
    expect_refused(&file);
    extents[1] = extent_at(900, 100, 1);
    extents[1].frame.offset = PACK_MAX;
    expect_refused(&file);
}

static void lists_of_extents_join_and_stay_in_order(void **state)
{
    struct extent x[200], *got = NULL;
    size_t count = 0;
    struct error e = { 0 };
    for (unsigned i = 0; i < 200; i++)
        x[i] = extent_at(i * 2000, 1000, (uint8_t)(i % 7));

    _cleanup_(buf_release) struct buf first = { 0 }, second = { 0 };
    extents_encode(x, 150, &first);
    extents_encode(x + 150, 50, &second);
    assert_int_equal(extents_decode(buf_bytes(&first), &got, &count, &e), 0);
    assert_int_equal(extents_decode(buf_bytes(&second), &got, &count, &e), 0);
    assert_int_equal(count, 200);
    for (unsigned i = 0; i < 200; i++) {
        assert_int_equal(got[i].start, x[i].start);
        assert_memory_equal(&got[i].frame, &x[i].frame, sizeof(x[i].frame));
        assert_true(hash_equal(&got[i].hash, &x[i].hash));
    }
    /* The second list lies before what is there: nothing is changed. */
    assert_int_equal(extents_decode(buf_bytes(&second), &got, &count, &e), -EBADMSG);
    assert_int_equal(count, 200);
    for (size_t len = 0; len < second.len; len++)
        assert_int_equal(extents_decode((struct bytes){ second.data, len }, &got, &count, NULL), -EBADMSG);
    free(got);
}

/* Fails if a count from outside is allocated before it is held against the bytes there are: under a limit on memory
 * (or a sanitizer) that shows, and here the answer must be quick. */
static void impossible_counts_are_refused(void **state)
{
    _cleanup_(buf_release) struct buf b = { 0 };
    struct extent *got = NULL;
    size_t count = 0;
    wire_put_varint(&b, UINT64_C(1) << 60); /* packs */
    assert_int_equal(extents_decode(buf_bytes(&b), &got, &count, NULL), -EBADMSG);
    buf_clear(&b);
    wire_put_varint(&b, 0);
    wire_put_varint(&b, ENTRY_EXTENTS_MAX);
    assert_int_equal(extents_decode(buf_bytes(&b), &got, &count, NULL), -EBADMSG);
    assert_null(got);
}

static void same_means_attributes_and_content_not_places(void **state)
{
    struct extent x = extent_at(0, 100, 1), y = extent_at(0, 100, 1);
    struct entry a = {
        .type = ENTRY_FILE, .mode = 0644, .ino = 2, .ctime_ns = 5, .size = 100, .extents = &x, .extent_count = 1
    };
    struct entry b = a;
    b.extents = &y;
    y.frame.offset = 7;
    b.ino = 3;
    b.ctime_ns = 6;
    assert_true(entry_same(&a, &b));
    y.hash.b[5] = 1;
    assert_false(entry_same(&a, &b));
    y.hash = x.hash;
    b.mtime_ns = 1;
    assert_false(entry_same(&a, &b));
    b = a;
    struct xattr xattr = { lent("user.a"), lent("1"), 1 };
    b.xattrs = &xattr;
    b.xattr_count = 1;
    assert_false(entry_same(&a, &b));

    _cleanup_(entry_release) struct entry copy = { 0 };
    entry_copy(&b, &copy);
    assert_true(entry_same(&b, &copy));
    assert_int_equal(entry_mode_type(&copy), S_IFREG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_comes_back_with_all_it_has),
        cmocka_unit_test(what_cannot_be_true_is_refused),
        cmocka_unit_test(lists_of_extents_join_and_stay_in_order),
        cmocka_unit_test(impossible_counts_are_refused),
        cmocka_unit_test(same_means_attributes_and_content_not_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
