/* SPDX-License-Identifier: MIT */
#include "index/grow.h"

#include "index/base/mem.h"
#include "tests/unit/twin.h"

#include <errno.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

/* The model: which of a fixed set of keys are there, and with which version of their entry. */
#define KEYS 4000
#define BIG 200000

struct model {
    struct buf keys[KEYS]; /* in rising order */
    uint32_t there[KEYS];  /* 0: absent */
};

static uint64_t random_state;

static uint64_t draw(uint64_t below) /* xorshift64*: the same sequence everywhere */
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (random_state * UINT64_C(2685821657736338717) >> 11) % below;
}

static int compare_keys(const void *a, const void *b)
{
    return bytes_compare(buf_bytes(a), buf_bytes(b));
}

static struct bytes text(const char *s)
{
    return (struct bytes){ (const uint8_t *)s, strlen(s) };
}

/* 40 directories of 10 subdirectories of 10 files. */
static struct model *model_new(void)
{
    struct model *m = mem_new(1, sizeof(*m));
    for (unsigned i = 0; i < KEYS; i++) {
        char path[64];
        snprintf(path, sizeof(path), "d%02u/s%u/file-%u", i / 100, i / 10 % 10, i);
        assert_int_equal(key_from_path(text(path), &m->keys[i]), 0);
    }
    qsort(m->keys, KEYS, sizeof(m->keys[0]), compare_keys);
    return m;
}

static void model_free(struct model *m)
{
    for (unsigned i = 0; i < KEYS; i++)
        buf_release(&m->keys[i]);
    free(m);
}

/* The entry of a version: sizes vary, some have content in one of a few packs. */
static void entry_of(uint32_t version, struct entry *n)
{
    static struct extent extent;
    *n = (struct entry){ .type = ENTRY_FILE, .mode = 0644, .ino = version, .mtime_ns = version };
    if (version % 3 == 0)
        return;
    extent = (struct extent){ .length = 100, .frame = { .offset = version, .sealed = 200, .raw = 100 } };
    extent.frame.pack.id[0] = (uint8_t)(version % 5);
    n->size = 100;
    n->extents = &extent;
    n->extent_count = 1;
}

static void apply(struct twin *t, struct tree_root *root, const struct model *old, const struct model *new,
                  const struct hash_key *cut_key)
{
    struct tree *base = root->empty ? NULL : twin_open(t, root);
    struct grow *g;
    struct error e = { 0 };
    assert_int_equal(grow_new(base, cut_key, twin_emit, t, &g, &e), 0);
    for (unsigned i = 0; i < KEYS; i++) {
        struct entry n;
        entry_of(new->there[i], &n);
        if (new->there[i] != old->there[i] && new->there[i])
            assert_int_equal(grow_put(g, buf_bytes(&new->keys[i]), &n, &e), 0);
        else if (new->there[i] != old->there[i] || draw(50) == 0)
            if (!new->there[i]) /* now and then one that is absent anyway */
                assert_int_equal(grow_delete(g, buf_bytes(&new->keys[i]), &e), 0);
    }
    assert_int_equal(grow_finish(g, root, &e), 0);
    grow_free(g);
    tree_close(base);
}

struct check {
    const struct model *model;
    unsigned at;
    uint64_t position;
};

static int check_entry(void *arg, uint64_t position, struct bytes key, const struct entry *n, struct error *e)
{
    struct check *c = arg;
    while (c->at < KEYS && !c->model->there[c->at])
        c->at++;
    assert_true(c->at < KEYS);
    assert_int_equal(bytes_compare(key, buf_bytes(&c->model->keys[c->at])), 0);
    assert_int_equal(n->ino, c->model->there[c->at]);
    assert_int_equal(position, c->position++);
    c->at++;
    return 0;
}

static void expect_model(struct twin *t, const struct tree_root *root, const struct model *m)
{
    struct tree *tree = twin_open(t, root);
    struct check c = { .model = m };
    struct error e = { 0 };
    int r = tree_scan(tree, (struct bytes){ 0 }, (struct bytes){ 0 }, check_entry, &c, &e);
    assert_string_equal(e.text, "");
    assert_int_equal(r, 0);
    while (c.at < KEYS)
        assert_int_equal(m->there[c.at++], 0);
    assert_int_equal(c.position, tree_count(tree));
    tree_close(tree);
}

static struct tree_root from_scratch(struct twin *t, const struct model *m)
{
    struct model *none = mem_new(1, sizeof(*none));
    struct tree_root root = { .empty = true };
    apply(t, &root, none, m, &twin_key);
    free(none);
    return root;
}

static void expect_same_root(const struct tree_root *a, const struct tree_root *b)
{
    assert_int_equal(a->empty, b->empty);
    if (a->empty)
        return;
    assert_int_equal(a->depth, b->depth);
    assert_int_equal(a->page.count, b->page.count);
    assert_memory_equal(&a->page.frame, &b->page.frame, sizeof(a->page.frame));
}

/* One of several ways to change a model; the new versions count up, so that no change is none. */
static void change_model(struct model *m, uint32_t *version)
{
    unsigned start = (unsigned)draw(KEYS), run = (unsigned)draw(8) == 0 ? 2000 : (unsigned)draw(100);
    switch (draw(5)) {
    case 0: /* a run goes */
        for (unsigned i = start; i < KEYS && i < start + run; i++)
            m->there[i] = 0;
        break;
    case 1: /* a run comes or changes */
        for (unsigned i = start; i < KEYS && i < start + run; i++)
            m->there[i] = ++*version;
        break;
    case 2: /* the end goes */
        for (unsigned i = start; i < KEYS; i++)
            m->there[i] = 0;
        break;
    case 3: /* the end comes back */
        for (unsigned i = start; i < KEYS; i++)
            m->there[i] = ++*version;
        break;
    default: /* a few here and there */
        for (unsigned i = 0; i < run; i++)
            m->there[draw(KEYS)] = draw(2) ? ++*version : 0;
    }
}

/* Rule F1: the same keys are cut alike whatever their history. The twin names frames by content, so that equal roots
 * mean equal pages all the way down. Fails if one page boundary depends on what was there before. */
static void a_tree_grown_by_changes_is_the_tree_built_from_scratch(void **state)
{
    struct twin *t = twin_new();
    struct model *m = model_new(), *old = mem_new(1, sizeof(*old));
    struct tree_root root = { .empty = true };
    uint32_t version = 0;
    for (unsigned round = 0; round < 300; round++) {
        random_state = round + 1;
        memcpy(old->there, m->there, sizeof(m->there));
        change_model(m, &version);
        if (draw(4) == 0)
            change_model(m, &version);
        apply(t, &root, old, m, &twin_key);
        expect_model(t, &root, m);
        struct tree_root again = from_scratch(t, m);
        expect_same_root(&root, &again);
    }
    free(old);
    model_free(m);
    twin_free(t);
}

static void fill(struct model *m)
{
    for (unsigned i = 0; i < KEYS; i++)
        m->there[i] = i + 1;
}

/* Fails if pages after a change are not taken from the base again. */
static void few_changes_rewrite_few_pages(void **state)
{
    struct twin *t = twin_new();
    struct model *m = model_new(), *old = mem_new(1, sizeof(*old));
    fill(m);
    struct tree_root root = from_scratch(t, m);
    assert_true(twin_count(t).emitted > KEYS / 64);

    random_state = 7;
    for (unsigned round = 0; round < 50; round++) {
        memcpy(old->there, m->there, sizeof(m->there));
        unsigned changes = 1 + (unsigned)draw(4);
        for (unsigned i = 0; i < changes; i++)
            m->there[draw(KEYS)] = draw(3) ? 100000 + round : 0;
        twin_reset(t);
        apply(t, &root, old, m, &twin_key);
        /* A leaf each, its neighbour when the boundary itself changed, and the way up. */
        assert_true(twin_count(t).emitted <= changes * 2 + 2 * (root.depth + 1u));
        assert_true(twin_count(t).page_gets <= 60 + changes * 4);
    }
    free(old);
    model_free(m);
    twin_free(t);
}

static void changes_that_change_nothing_emit_nothing(void **state)
{
    struct twin *t = twin_new();
    struct model *m = model_new();
    fill(m);
    struct tree_root root = from_scratch(t, m), after;
    twin_reset(t);

    struct tree *base = twin_open(t, &root);
    struct grow *g;
    struct error e = { 0 };
    assert_int_equal(grow_new(base, &twin_key, twin_emit, t, &g, &e), 0);
    for (unsigned i = 0; i < KEYS; i += 7) {
        struct entry n;
        entry_of(m->there[i], &n);
        assert_int_equal(grow_put(g, buf_bytes(&m->keys[i]), &n, &e), 0);
    }
    _cleanup_(buf_release) struct buf absent = { 0 };
    assert_int_equal(key_from_path(text("z/z/z"), &absent), 0);
    assert_int_equal(grow_delete(g, buf_bytes(&absent), &e), 0);
    assert_int_equal(grow_finish(g, &after, &e), 0);
    grow_free(g);
    tree_close(base);

    assert_int_equal(twin_count(t).emitted, 0);
    expect_same_root(&root, &after);
    model_free(m);
    twin_free(t);
}

/* Keys that start with prefix go; a few of them may come anew, as when a directory is replaced by another. */
static void delete_prefix(struct twin *t, struct tree_root *root, struct model *m, struct bytes prefix, unsigned anew)
{
    struct tree *base = twin_open(t, root);
    struct grow *g;
    struct error e = { 0 };
    assert_int_equal(grow_new(base, &twin_key, twin_emit, t, &g, &e), 0);
    assert_int_equal(grow_delete_prefix(g, prefix, &e), 0);
    for (unsigned i = 0; i < KEYS; i++) {
        if (!key_starts_with(buf_bytes(&m->keys[i]), prefix))
            continue;
        m->there[i] = anew && i % anew == 0 ? 200000 + i : 0;
        struct entry n;
        entry_of(m->there[i], &n);
        if (m->there[i])
            assert_int_equal(grow_put(g, buf_bytes(&m->keys[i]), &n, &e), 0);
    }
    assert_int_equal(grow_finish(g, root, &e), 0);
    grow_free(g);
    tree_close(base);
}

static void a_deleted_subtree_is_gone_and_nothing_else(void **state)
{
    struct twin *t = twin_new();
    struct model *m = model_new();
    _cleanup_(buf_release) struct buf prefix = { 0 };
    for (unsigned round = 0; round < 120; round++) {
        fill(m);
        struct tree_root root = from_scratch(t, m), again;
        random_state = round + 1;
        char dir[16];
        if (round % 3 == 0)
            snprintf(dir, sizeof(dir), "d%02u/s%u", (unsigned)draw(40), (unsigned)draw(10));
        else
            snprintf(dir, sizeof(dir), "d%02u", (unsigned)draw(round % 3 == 1 ? 40 : 45));
        assert_int_equal(key_subtree_prefix(text(dir), &prefix), 0);
        delete_prefix(t, &root, m, buf_bytes(&prefix), round % 2 ? 1 + (unsigned)draw(90) : 0);
        expect_model(t, &root, m);
        again = from_scratch(t, m);
        expect_same_root(&root, &again);
    }
    model_free(m);
    twin_free(t);
}

/* Fails if leaves that go as a whole are read: then dropping node_modules would fetch all of its metadata. */
static void leaves_inside_a_deleted_subtree_are_not_read(void **state)
{
    struct twin *t = twin_new();
    struct model *m = model_new();
    fill(m);
    struct tree_root root = from_scratch(t, m), again;
    twin_reset(t);
    delete_prefix(t, &root, m, (struct bytes){ (const uint8_t *)"\2d1", 3 }, 0); /* 1000 entries */
    assert_true(twin_count(t).page_gets < 15);
    expect_model(t, &root, m);
    again = from_scratch(t, m);
    expect_same_root(&root, &again);
    model_free(m);
    twin_free(t);
}

static void a_tree_can_be_emptied_and_begun_again(void **state)
{
    struct twin *t = twin_new();
    struct model *m = model_new(), *old = mem_new(1, sizeof(*old));
    fill(m);
    struct tree_root root = from_scratch(t, m);
    delete_prefix(t, &root, m, (struct bytes){ 0 }, 0);
    assert_true(root.empty);
    fill(m);
    apply(t, &root, old, m, &twin_key);
    memcpy(old->there, m->there, sizeof(m->there));
    memset(m->there, 0, sizeof(m->there));
    apply(t, &root, old, m, &twin_key);
    assert_true(root.empty);
    m->there[3] = 1;
    memset(old->there, 0, sizeof(old->there));
    apply(t, &root, old, m, &twin_key);
    assert_int_equal(root.depth, 0);
    assert_int_equal(root.page.count, 1);
    free(old);
    model_free(m);
    twin_free(t);
}

/* A base cut by other rules (an older program's, or another key's) still gives a right tree. */
static void a_base_that_was_cut_otherwise_is_no_obstacle(void **state)
{
    static const struct hash_key other = { "another key" };
    struct twin *t = twin_new();
    struct model *m = model_new(), *old = mem_new(1, sizeof(*old));
    struct tree_root root = { .empty = true };
    uint32_t version = 0;
    random_state = 99;
    for (unsigned round = 0; round < 60; round++) {
        memcpy(old->there, m->there, sizeof(m->there));
        change_model(m, &version);
        apply(t, &root, old, m, round % 2 ? &other : &twin_key);
        expect_model(t, &root, m);
    }
    free(old);
    model_free(m);
    twin_free(t);
}

static void disorder_and_what_cannot_be_stored_is_refused(void **state)
{
    struct twin *t = twin_new();
    struct grow *g;
    struct error e = { 0 };
    struct entry n = { .type = ENTRY_FILE };
    _cleanup_(buf_release) struct buf a = { 0 }, b = { 0 };
    assert_int_equal(key_from_path(text("a"), &a), 0);
    assert_int_equal(key_from_path(text("b"), &b), 0);

    assert_int_equal(grow_new(NULL, &twin_key, twin_emit, t, &g, &e), 0);
    assert_int_equal(grow_put(g, buf_bytes(&b), &n, &e), 0);
    assert_int_equal(grow_put(g, buf_bytes(&a), &n, &e), -EINVAL);
    assert_int_equal(grow_put(g, buf_bytes(&b), &n, &e), -EINVAL);
    assert_int_equal(grow_put(g, text("no key"), &n, &e), -EINVAL);
    grow_free(g);

    /* 64 xattrs of 64 KiB: more than a frame. */
    struct xattr xattrs[64];
    void *value = mem_new(1, ENTRY_XATTR_SIZE_MAX);
    for (unsigned i = 0; i < 64; i++)
        xattrs[i] = (struct xattr){ mem_printf("user.%02u", i), value, ENTRY_XATTR_SIZE_MAX };
    n.xattrs = xattrs;
    n.xattr_count = 64;
    struct tree_root root;
    assert_int_equal(grow_new(NULL, &twin_key, twin_emit, t, &g, &e), 0);
    assert_int_equal(grow_put(g, buf_bytes(&a), &n, &e), -E2BIG);
    n.xattr_count = 50;
    assert_int_equal(grow_put(g, buf_bytes(&a), &n, &e), 0);
    assert_int_equal(grow_put(g, buf_bytes(&b), &n, &e), 0);
    assert_int_equal(grow_finish(g, &root, &e), 0);
    assert_int_equal(root.page.count, 2);
    grow_free(g);
    for (unsigned i = 0; i < 64; i++)
        free(xattrs[i].name);
    free(value);
    twin_free(t);
}

struct emitted {
    uint64_t pages, bytes;
    size_t most_memory;
};

static int emit_count(void *arg, struct bytes page, uint8_t level, struct locator *ret, struct error *e)
{
    struct emitted *c = arg;
    size_t memory = mallinfo2().uordblks;
    if (memory > c->most_memory)
        c->most_memory = memory;
    c->bytes += page.len;
    *ret = (struct locator){ .sealed = (uint32_t)page.len, .raw = (uint32_t)page.len };
    memcpy(ret->pack.id, &c->pages, sizeof(c->pages));
    c->pages++;
    return 0;
}

/* Slow in its way (half a second). Fails if pages or changes pile up in memory. */
static void a_big_tree_grows_in_bounded_memory(void **state)
{
    struct emitted c = { 0 };
    size_t before = mallinfo2().uordblks;
    struct grow *g;
    struct tree_root root;
    _cleanup_(buf_release) struct buf key = { 0 };
    assert_int_equal(grow_new(NULL, &twin_key, emit_count, &c, &g, NULL), 0);
    for (unsigned i = 0; i < BIG; i++) {
        char path[64];
        struct entry n;
        snprintf(path, sizeof(path), "project/directory-%04u/file-%02u.c", i / 100, i % 100);
        assert_int_equal(key_from_path(text(path), &key), 0);
        entry_of(i + 1, &n);
        assert_int_equal(grow_put(g, buf_bytes(&key), &n, NULL), 0);
    }
    assert_int_equal(grow_finish(g, &root, NULL), 0);
    grow_free(g);
    assert_int_equal(root.page.count, BIG);
    assert_in_range(root.depth, 3, 5);
    assert_in_range(c.pages, BIG / 50, BIG / 25); /* about 32 a page */
    assert_true(c.most_memory - before < 1024 * 1024);
}

static int emit_fails(void *arg, struct bytes page, uint8_t level, struct locator *ret, struct error *e)
{
    return error_set(e, ERROR_STORE, -EHOSTUNREACH, "emit");
}

static void errors_of_emit_and_source_come_through(void **state)
{
    struct twin *t = twin_new();
    struct model *m = model_new();
    fill(m);
    struct tree_root root = from_scratch(t, m), after = { .depth = 77 };
    struct tree *base = twin_open(t, &root);
    struct grow *g;
    struct error e = { 0 };

    assert_int_equal(grow_new(base, &twin_key, emit_fails, NULL, &g, &e), 0);
    assert_int_equal(grow_delete(g, buf_bytes(&m->keys[100]), &e), 0);
    assert_int_equal(grow_finish(g, &after, &e), -EHOSTUNREACH);
    assert_int_equal(after.depth, 77);
    grow_free(g);

    twin_fail(t, 1, -ETIMEDOUT, ERROR_STORE);
    assert_int_equal(grow_new(base, &twin_key, twin_emit, t, &g, &e), 0);
    assert_int_equal(grow_delete(g, buf_bytes(&m->keys[3000]), &e), -ETIMEDOUT);
    grow_free(g);
    tree_close(base);
    model_free(m);
    twin_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tree_grown_by_changes_is_the_tree_built_from_scratch),
        cmocka_unit_test(few_changes_rewrite_few_pages),
        cmocka_unit_test(changes_that_change_nothing_emit_nothing),
        cmocka_unit_test(a_deleted_subtree_is_gone_and_nothing_else),
        cmocka_unit_test(leaves_inside_a_deleted_subtree_are_not_read),
        cmocka_unit_test(a_tree_can_be_emptied_and_begun_again),
        cmocka_unit_test(a_base_that_was_cut_otherwise_is_no_obstacle),
        cmocka_unit_test(a_big_tree_grows_in_bounded_memory),
        cmocka_unit_test(disorder_and_what_cannot_be_stored_is_refused),
        cmocka_unit_test(errors_of_emit_and_source_come_through),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
