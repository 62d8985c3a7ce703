/* SPDX-License-Identifier: MIT */
#include "index/snapshot.h"

#include "index/access.h"
#include "index/base/mem.h"
#include "index/inline.h"
#include "index/ways.h"
#include "tests/unit/twin.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

/* For lists that are only read. */
static char *lent(const char *s)
{
    return (char *)(uintptr_t)s;
}

/* The text of one of many paths; the caller frees. */
static char *path_of(unsigned i)
{
    return mem_printf("project/d%03u/file-%u", i / 20, i);
}

static struct tree_root make_tree(struct twin *t, unsigned count)
{
    struct twin_file *files = mem_new(count + 2, sizeof(*files));
    for (unsigned i = 0; i < count; i++)
        files[i].path = path_of(i);
    files[count].path = "home/notes";
    files[count + 1] = (struct twin_file){ .path = "home/deep", .type = ENTRY_DIRECTORY };
    struct tree_root root = twin_tree(t, files, count + 2);
    for (unsigned i = 0; i < count; i++)
        free((char *)files[i].path);
    free(files);
    return root;
}

static void fill(struct twin *t, unsigned count, struct snapshot *s)
{
    struct error e = { 0 };
    *s = (struct snapshot){
        .id = { "an id of sixteen" },
        .parent = { "and its parent's" },
        .incarnation = "fifteen bytes..",
        .box = "demo",
        .node = "node-1",
        .epoch = 7,
        .time_ns = -5,
        .files = count,
        .directories = 3,
        .bytes = UINT64_MAX,
        .skipped_sockets = 1,
        .one_instant = true,
        .meta = mem_strdup("{\"path\":\"/root/demo\"}"),
        .root = make_tree(t, count),
    };
    assert_int_equal(inline_pages(twin_source(t), &s->root, NULL, 0, &s->pages, &s->page_count, &e), 0);
    s->packs = mem_new(2, sizeof(*s->packs));
    s->pack_count = 2;
    s->packs[1].size = PACK_MAX;
    s->links.frames = mem_copy(&s->root.page.frame, sizeof(struct locator));
    s->links.count = 1;
}

static void a_snapshot_comes_back_with_all_it_has(void **state)
{
    struct twin *t = twin_new();
    _cleanup_(snapshot_releasep) struct snapshot s, got = { 0 };
    _cleanup_(buf_release) struct buf once = { 0 }, again = { 0 };
    struct error e = { 0 };
    fill(t, 2000, &s);
    snapshot_encode(&s, &once);
    assert_int_equal(snapshot_decode(buf_bytes(&once), &got, &e), 0);
    snapshot_encode(&got, &again);
    assert_int_equal(bytes_compare(buf_bytes(&once), buf_bytes(&again)), 0);

    assert_string_equal(got.box, "demo");
    assert_string_equal(got.meta, s.meta);
    assert_int_equal(got.time_ns, -5);
    assert_true(got.bytes == UINT64_MAX && got.one_instant && !got.root.empty);
    assert_memory_equal(&got.root, &s.root, sizeof(s.root.page.frame));
    assert_int_equal(got.page_count, s.page_count);
    assert_int_equal(got.packs[1].size, PACK_MAX);
    assert_int_equal(got.links.count, 1);
    assert_int_equal(got.access.count, 0);

    for (size_t len = 0; len < once.len; len++)
        assert_int_equal(snapshot_decode((struct bytes){ once.data, len }, &got, NULL), -EBADMSG);
    twin_free(t);
}

static void a_newer_snapshot_is_refused_as_newer_and_a_broken_one_as_broken(void **state)
{
    struct twin *t = twin_new();
    _cleanup_(snapshot_releasep) struct snapshot s, got = { 0 };
    _cleanup_(buf_release) struct buf b = { 0 };
    struct error e = { 0 };
    fill(t, 10, &s);
    snapshot_encode(&s, &b);
    b.data[0]++;
    assert_int_equal(snapshot_decode(buf_bytes(&b), &got, &e), -ENOTSUP);
    assert_int_equal(e.kind, ERROR_USAGE);
    b.data[0] = 0;
    assert_int_equal(snapshot_decode(buf_bytes(&b), &got, &e), -EBADMSG);

    b.data[0] = 1;
    b.data[1] |= 0x80; /* a flag that nobody knows */
    assert_int_equal(snapshot_decode(buf_bytes(&b), &got, &e), -EBADMSG);
    b.data[1] &= 0x7f;
    buf_fill(&b, 0, 1); /* a byte too many */
    assert_int_equal(snapshot_decode(buf_bytes(&b), &got, &e), -EBADMSG);

    strcpy(s.box, "../x");
    buf_clear(&b);
    snapshot_encode(&s, &b);
    assert_int_equal(snapshot_decode(buf_bytes(&b), &got, &e), -EBADMSG);
    twin_free(t);
}

static int see_none(void *arg, uint64_t position, struct bytes key, const struct entry *n, struct error *e)
{
    ++*(unsigned *)arg;
    return 0;
}

/* Rule F2: a mount looks up project and home and lists a first page of each without asking the store. Fails if one page
 * of the way is not carried. */
static void the_first_questions_of_a_mount_need_no_other_object(void **state)
{
    struct twin *t = twin_new();
    _cleanup_(snapshot_releasep) struct snapshot s;
    struct snapshot_source *source;
    _cleanup_(tree_closep) struct tree *tree = NULL;
    fill(t, 5000, &s);
    assert_true(s.root.depth >= 2);
    assert_true(s.page_count > s.root.depth && s.page_count <= 3 * (s.root.depth + 1u));
    assert_memory_equal(&s.pages[0].frame, &s.root.page.frame, sizeof(s.root.page.frame));
    assert_int_equal(snapshot_source_new(&s, twin_source(t), &source, NULL), 0);
    assert_int_equal(tree_open(snapshot_source_get(source), &s.root, 0, &tree, NULL), 0);
    twin_reset(t);

    static const char *const paths[] = { "project", "home", "home/deep", "project/d000" };
    _cleanup_(buf_release) struct buf key = { 0 };
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(key_from_path((struct bytes){ (const uint8_t *)paths[i], strlen(paths[i]) }, &key), 0);
        assert_int_equal(tree_find(tree, buf_bytes(&key), NULL, NULL, NULL), 0);
    }
    assert_int_equal(twin_count(t).gets, 0);

    unsigned seen = 0;
    assert_int_equal(tree_scan(tree, (struct bytes){ 0 }, (struct bytes){ 0 }, see_none, &seen, NULL), 0);
    assert_int_equal(seen, tree_count(tree));
    assert_true(twin_count(t).gets > 0); /* the rest comes from below */

    /* What is carried is not warmed either. */
    struct locator l[2] = { s.pages[0].frame, s.links.frames[0] };
    l[1].offset++;
    twin_reset(t);
    assert_int_equal(source_warm(snapshot_source_get(source), l, 2, SOURCE_BACKGROUND, NULL), 0);
    assert_int_equal(twin_count(t).warmed, 1);
    snapshot_source_free(source);
    tree_close(mem_steal(tree));
    twin_free(t);
}

#define LINKED 60

/* Names of hard links, `apart` files from one another, and how many inner pages on the way to them are not carried. */
static unsigned pages_to_ask_for(struct twin *t, const struct tree_root *root, unsigned apart, size_t *ret_carried)
{
    struct snapshot s = { .root = *root };
    struct snapshot_source *source;
    _cleanup_(tree_closep) struct tree *tree = NULL;
    struct link_group groups[LINKED];
    char *names[LINKED][2];
    for (unsigned i = 0; i < LINKED; i++) {
        names[i][0] = path_of(2 * i * apart);
        names[i][1] = path_of((2 * i + 1) * apart);
        groups[i] = (struct link_group){ names[i], 2 };
    }
    assert_int_equal(inline_pages(twin_source(t), root, groups, LINKED, &s.pages, &s.page_count, NULL), 0);
    *ret_carried = s.page_count;
    assert_int_equal(snapshot_source_new(&s, twin_source(t), &source, NULL), 0);
    assert_int_equal(tree_open(snapshot_source_get(source), root, 0, &tree, NULL), 0);
    twin_reset(t);
    assert_int_equal(ways_to_links(tree, snapshot_source_get(source), groups, LINKED, NULL), 0);
    tree_close(mem_steal(tree));
    snapshot_source_free(source);
    snapshot_pages_free(s.pages, s.page_count);
    for (unsigned i = 0; i < LINKED; i++) {
        free(names[i][0]);
        free(names[i][1]);
    }
    return twin_count(t).gets;
}

/* Rule F2: names of hard links wait for one batch, their leaves. Where that would make each commit large, nothing of it
 * is carried. */
static void the_ways_to_hard_links_are_carried_if_they_are_few(void **state)
{
    struct twin *t = twin_new();
    struct tree_root root = make_tree(t, 120000);
    struct snapshot_page *pages = NULL;
    size_t without = 0, with;
    assert_int_equal(inline_pages(twin_source(t), &root, NULL, 0, &pages, &without, NULL), 0);
    snapshot_pages_free(pages, without);
    assert_int_equal(pages_to_ask_for(t, &root, 30, &with), 0);
    assert_true(with > without && with <= SNAPSHOT_PAGES_MAX);
    assert_true(pages_to_ask_for(t, &root, 500, &with) > 0);
    assert_int_equal(with, without);
    twin_free(t);
}

/* One of whose frames cannot be had. */
struct lame {
    struct source source;
    struct source *below;
    struct locator lost;
    enum error_kind kind;
};

static int get_but_one(struct source *s, const struct locator *l, enum frame_kind kind, struct frame **ret,
                       struct error *e)
{
    struct lame *lame = (struct lame *)s;
    if (l->offset == lame->lost.offset && pack_equal(&l->pack, &lame->lost.pack))
        return error_say(e, lame->kind, -EIO, "lost");
    return source_get(lame->below, l, kind, ret, e);
}

/* Of the ways to names that are 30 files apart, without the last page that is carried (kind: why it is not to be had).
 */
static int choose_without_last(struct twin *t, const struct tree_root *root, bool linked, enum error_kind kind)
{
    struct link_group groups[LINKED];
    char *names[LINKED][2];
    for (unsigned i = 0; i < LINKED; i++) {
        names[i][0] = path_of(60 * i);
        names[i][1] = path_of(60 * i + 30);
        groups[i] = (struct link_group){ names[i], 2 };
    }
    struct snapshot_page *pages = NULL;
    struct error e = { 0 };
    size_t count = 0, left = 0, linked_count = linked ? LINKED : 0;
    assert_int_equal(inline_pages(twin_source(t), root, groups, linked_count, &pages, &count, NULL), 0);
    struct lame lame = { { .get = get_but_one }, twin_source(t), pages[count - 1].frame, kind };
    snapshot_pages_free(pages, count);
    int r = inline_pages(&lame.source, root, groups, linked_count, &pages, &left, &e);
    if (r == 0) {
        assert_true(left < count);
        snapshot_pages_free(pages, left);
    } else {
        assert_int_equal(e.kind, kind);
    }
    for (unsigned i = 0; i < LINKED; i++) {
        free(names[i][0]);
        free(names[i][1]);
    }
    return r;
}

/* What a page is carried for is a reader's request: a page that is damaged is no reason not to park. */
static void what_cannot_be_read_is_not_carried(void **state)
{
    static const unsigned counts[] = { 60000, 20000 }; /* the last page: on a way to a hard link, of an inner level */
    for (size_t i = 0; i < 2; i++) {
        struct twin *t = twin_new();
        struct tree_root root = make_tree(t, counts[i]);
        assert_int_equal(choose_without_last(t, &root, i == 0, ERROR_DAMAGED), 0);
        assert_int_equal(choose_without_last(t, &root, i == 0, ERROR_UNKNOWN), 0);
        assert_int_equal(choose_without_last(t, &root, i == 0, ERROR_STORE), -EIO);
        assert_int_equal(choose_without_last(t, &root, i == 0, ERROR_INTERRUPTED), -EIO);
        twin_free(t);
    }
}

static void an_empty_tree_has_a_snapshot_too(void **state)
{
    struct twin *t = twin_new();
    _cleanup_(snapshot_releasep) struct snapshot s = { .box = "globals", .node = "n", .root.empty = true }, got = { 0 };
    _cleanup_(buf_release) struct buf b = { 0 };
    s.meta = mem_strdup("{}");
    assert_int_equal(inline_pages(twin_source(t), &s.root, NULL, 0, &s.pages, &s.page_count, NULL), 0);
    assert_int_equal(s.page_count, 0);
    snapshot_encode(&s, &b);
    assert_int_equal(snapshot_decode(buf_bytes(&b), &got, NULL), 0);
    assert_true(got.root.empty && snapshot_id_none(&got.id));
    twin_free(t);
}

static void link_groups_come_back_in_order(void **state)
{
    char *a[] = { lent("home/a"), lent("project/a"), lent("project/x/a") };
    char *b[] = { lent("home/b"), lent("home/z/b") };
    struct link_group groups[] = { { a, 3 }, { b, 2 } }, swapped[] = { { b, 2 }, { a, 3 } }, *got;
    _cleanup_(buf_release) struct buf bytes = { 0 };
    size_t count;
    links_encode(groups, 2, &bytes);
    assert_int_equal(links_decode(buf_bytes(&bytes), &got, &count, NULL), 0);
    assert_int_equal(count, 2);
    assert_int_equal(got[0].count, 3);
    assert_string_equal(got[0].paths[2], "project/x/a");
    assert_string_equal(got[1].paths[0], "home/b");
    links_free(got, count);
    for (size_t len = 0; len < bytes.len; len++)
        assert_int_equal(links_decode((struct bytes){ bytes.data, len }, &got, &count, NULL), -EBADMSG);

    /* Out of order, one name only, a name that leads out of the tree. */
    char *out[] = { lent("home/a"), lent("home/../../etc") };
    struct link_group bad[] = { { a, 1 }, { out, 2 } };
    const struct link_group *const wrong[] = { swapped, &bad[0], &bad[1] };
    for (unsigned i = 0; i < 3; i++) {
        buf_clear(&bytes);
        links_encode(wrong[i], i == 0 ? 2 : 1, &bytes);
        assert_int_equal(links_decode(buf_bytes(&bytes), &got, &count, NULL), -EBADMSG);
    }
    buf_clear(&bytes);
    links_encode(NULL, 0, &bytes);
    assert_int_equal(links_decode(buf_bytes(&bytes), &got, &count, NULL), 0);
    assert_int_equal(count, 0);
    links_free(got, count);
}

static void where_most_names_of_links_lie_is_told(void **state)
{
    char *a[] = { lent("home/store/a"), lent("project/m/p/a"), lent("project/m/x/a") };
    char *b[] = { lent("project/m/p/b"), lent("project/m/p/c") };
    char *top[] = { lent("home"), lent("project") };
    struct link_group groups[] = { { a, 3 }, { b, 2 } }, none = { top, 2 };
    _cleanup_(buf_release) struct buf where = { 0 };
    links_where(groups, 2, &where);
    assert_string_equal(buf_string(&where), "project/m/p");
    links_where(groups, 1, &where);
    assert_string_equal(buf_string(&where), "project/m");
    links_where(&none, 1, &where);
    assert_int_equal(where.len, 0);
}

static void an_access_list_keeps_its_order_and_its_bound(void **state)
{
    char **paths = mem_new(ACCESS_PATHS_MAX + 10, sizeof(*paths)), **got;
    size_t count;
    _cleanup_(buf_release) struct buf bytes = { 0 };
    for (unsigned i = 0; i < ACCESS_PATHS_MAX + 10; i++)
        paths[i] = path_of((i * 7919) % 1000000);
    access_encode(paths, ACCESS_PATHS_MAX + 10, &bytes);
    assert_int_equal(access_decode(buf_bytes(&bytes), &got, &count, NULL), 0);
    assert_int_equal(count, ACCESS_PATHS_MAX);
    assert_string_equal(got[1], paths[1]);
    assert_string_equal(got[count - 1], paths[count - 1]);
    access_free(got, count);

    buf_clear(&bytes);
    char *three[] = { lent("a"), lent("b"), lent("c") }, *first[] = { lent("c"), lent("new") };
    _cleanup_(buf_release) struct buf list = { 0 };
    access_encode(three, 3, &list);
    assert_int_equal(access_put_first(buf_bytes(&list), first, 2, &bytes, NULL), 0);
    assert_int_equal(access_decode(buf_bytes(&bytes), &got, &count, NULL), 0);
    assert_int_equal(count, 4);
    const char *now[] = { "c", "new", "a", "b" };
    for (size_t i = 0; i < count; i++)
        assert_string_equal(got[i], now[i]);
    access_free(got, count);

    buf_clear(&bytes);
    char *bad[] = { lent("fine"), lent("/not") };
    access_encode(bad, 2, &bytes);
    assert_int_equal(access_decode(buf_bytes(&bytes), &got, &count, NULL), -EBADMSG);
    access_encode(NULL, 0, &bytes);
    assert_int_equal(access_decode((struct bytes){ (const uint8_t *)"\0", 1 }, &got, &count, NULL), 0);
    assert_int_equal(count, 0);
    access_free(got, count);
    access_free(paths, ACCESS_PATHS_MAX + 10);
}

/* A string of bytes longer than a frame is stored in several. */
static void frames_join_up_to_a_limit(void **state)
{
    struct twin *t = twin_new();
    struct locator l[2] = { twin_add(t, FRAME_LINKS, "hello ", 6), twin_add(t, FRAME_LINKS, "world", 5) };
    _cleanup_(buf_release) struct buf b = { 0 };
    struct error e = { 0 };
    assert_int_equal(source_join(twin_source(t), l, 2, FRAME_LINKS, 11, &b, &e), 0);
    assert_string_equal(buf_string(&b), "hello world");
    assert_int_equal(twin_count(t).warms, 1);

    /* The locators tell; and if they lie, the bytes. */
    twin_reset(t);
    assert_int_equal(source_join(twin_source(t), l, 2, FRAME_LINKS, 10, &b, &e), -EBADMSG);
    assert_int_equal(twin_count(t).gets, 0);
    l[1].raw = 1;
    assert_int_equal(source_join(twin_source(t), l, 2, FRAME_LINKS, 10, &b, &e), -EBADMSG);
    assert_int_equal(twin_count(t).gets, 2);
    twin_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_snapshot_comes_back_with_all_it_has),
        cmocka_unit_test(a_newer_snapshot_is_refused_as_newer_and_a_broken_one_as_broken),
        cmocka_unit_test(the_first_questions_of_a_mount_need_no_other_object),
        cmocka_unit_test(the_ways_to_hard_links_are_carried_if_they_are_few),
        cmocka_unit_test(what_cannot_be_read_is_not_carried),
        cmocka_unit_test(an_empty_tree_has_a_snapshot_too),
        cmocka_unit_test(link_groups_come_back_in_order),
        cmocka_unit_test(where_most_names_of_links_lie_is_told),
        cmocka_unit_test(an_access_list_keeps_its_order_and_its_bound),
        cmocka_unit_test(frames_join_up_to_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
