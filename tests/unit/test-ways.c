/* SPDX-License-Identifier: MIT */
#include "index/ways.h"

#include "index/base/mem.h"
#include "index/lookup.h"
#include "tests/unit/twin.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define DIRECTORIES 200
#define FILES 50 /* a directory */
#define COUNT (DIRECTORIES * FILES)
#define WARMED_MAX 4096

/* A source that remembers what was asked for together, and counts what is then read without. */
struct watch {
    struct source source;
    struct source *below;
    struct locator warmed[WARMED_MAX];
    size_t count;
    unsigned batches, surprises;
    bool full; /* nothing can be warmed, as in a cache whose disk is full */
};

static bool was_warmed(const struct watch *w, const struct locator *l)
{
    for (size_t i = 0; i < w->count; i++)
        if (w->warmed[i].offset == l->offset && pack_equal(&w->warmed[i].pack, &l->pack))
            return true;
    return false;
}

static int get(struct source *s, const struct locator *l, enum frame_kind kind, struct frame **ret, struct error *e)
{
    struct watch *w = (struct watch *)s;
    w->surprises += !was_warmed(w, l);
    return source_get(w->below, l, kind, ret, e);
}

static int warm(struct source *s, const struct locator *l, size_t count, enum source_urgency urgency, struct error *e)
{
    struct watch *w = (struct watch *)s;
    unsigned before = w->batches;
    if (w->full)
        return error_say(e, ERROR_FAILED, -ENOSPC, "the cache cannot take more");
    for (size_t i = 0; i < count; i++)
        if (!was_warmed(w, &l[i])) {
            assert_true(w->count < WARMED_MAX);
            w->warmed[w->count++] = l[i];
            w->batches = before + 1;
        }
    return 0;
}

struct scene {
    struct twin *twin;
    struct tree *tree;
    struct watch watch;
    char paths[COUNT][32];
};

static int start(void **state)
{
    struct scene *s = mem_new(1, sizeof(*s));
    _cleanup_free_ struct twin_file *files = mem_new(COUNT, sizeof(*files));
    for (int i = 0; i < COUNT; i++) {
        snprintf(s->paths[i], sizeof(s->paths[i]), "project/%03d/f%02d", i / FILES, i % FILES);
        files[i] = (struct twin_file){ s->paths[i], .content = "same" };
    }
    s->twin = twin_new();
    struct tree_root root = twin_tree(s->twin, files, COUNT);
    s->watch = (struct watch){ .source = { get, warm }, .below = twin_source(s->twin) };
    s->watch.warmed[s->watch.count++] = root.page.frame; /* as the snapshot object brings it */
    assert_true(root.depth >= 2);
    assert_int_equal(tree_open(&s->watch.source, &root, 0, &s->tree, NULL), 0);
    *state = s;
    return 0;
}

static int stop(void **state)
{
    struct scene *s = *state;
    tree_close(s->tree);
    twin_free(s->twin);
    free(s);
    return 0;
}

/* Pairs in the first directories, and one name far from the other. */
static size_t make_groups(struct scene *s, char *names[][2], struct link_group *groups, size_t count)
{
    for (size_t g = 0; g < count; g++) {
        names[g][0] = s->paths[2 * g];
        names[g][1] = g + 1 == count ? s->paths[COUNT - 1] : s->paths[2 * g + 1];
        groups[g] = (struct link_group){ names[g], 2 };
    }
    return count;
}

static void look_up(struct scene *s, const char *path)
{
    _cleanup_(entry_release) struct entry n = { 0 };
    assert_int_equal(lookup_path(s->tree, path, &n, NULL), 1);
}

/* F2: "one more batch", whatever the number of names. */
static void a_level_is_one_batch_and_only_what_is_needed_comes(void **state)
{
    struct scene *s = *state;
    struct link_group groups[100];
    char *names[100][2];
    size_t count = make_groups(s, names, groups, 100);
    assert_int_equal(ways_to_links(s->tree, &s->watch.source, groups, count, NULL), 0);
    assert_int_equal(s->watch.batches, tree_get_root(s->tree)->depth);
    assert_true(s->watch.count < twin_count(s->twin).frames / 5);
    assert_int_equal(s->watch.surprises, 0);
    for (size_t g = 0; g < count; g++)
        for (int i = 0; i < 2; i++)
            look_up(s, names[g][i]);
    look_up(s, "project");
    look_up(s, "project/000");
    look_up(s, "project/199");
    assert_int_equal(s->watch.surprises, 0);
    look_up(s, s->paths[COUNT / 2]);
    assert_true(s->watch.surprises > 0);
}

static void the_inner_pages_can_come_before_the_names_are_known(void **state)
{
    struct scene *s = *state;
    struct link_group groups[100];
    char *names[100][2];
    size_t count = make_groups(s, names, groups, 100);
    ways_begin(s->tree, &s->watch.source);
    s->watch.batches = 0;
    assert_int_equal(ways_to_links(s->tree, &s->watch.source, groups, count, NULL), 0);
    assert_int_equal(s->watch.batches, 1); /* the leaves */
    assert_int_equal(s->watch.surprises, 0);
}

static void a_name_that_is_no_path_is_damage(void **state)
{
    struct scene *s = *state;
    char *names[] = { (char *)"project/000/f00", (char *)"project/../f01" };
    const struct link_group group = { names, 2 };
    struct error e = { 0 };
    assert_int_equal(ways_to_links(s->tree, &s->watch.source, &group, 1, &e), -EBADMSG);
    assert_int_equal(e.kind, ERROR_DAMAGED);
}

static int count_page(void *arg, const struct locator *page, uint8_t level, struct error *e)
{
    ++*(size_t *)arg;
    return 0;
}

/* A cache that takes no more hinders no reader, only those who want it filled. */
static void where_nothing_can_be_warmed_it_is_read(void **state)
{
    struct scene *s = *state;
    char *names[1][2];
    struct link_group group;
    size_t count = make_groups(s, names, &group, 1), pages = 0;
    struct error e = { 0 };
    s->watch.full = true;
    assert_int_equal(ways_to_links(s->tree, &s->watch.source, &group, count, &e), 0);
    assert_int_equal(tree_pages(s->tree, false, count_page, &pages, &e), 0);
    assert_true(pages > DIRECTORIES / 10);
    assert_int_equal(e.kind, 0);
    assert_int_equal(tree_pages(s->tree, true, count_page, &pages, &e), -ENOSPC);

    const struct locator root = tree_get_root(s->tree)->page.frame;
    _cleanup_(buf_release) struct buf joined = { 0 };
    assert_int_equal(source_join(&s->watch.source, &root, 1, FRAME_PAGE, root.raw, &joined, NULL), 0);
    assert_int_equal(joined.len, root.raw);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_level_is_one_batch_and_only_what_is_needed_comes, start, stop),
        cmocka_unit_test_setup_teardown(the_inner_pages_can_come_before_the_names_are_known, start, stop),
        cmocka_unit_test_setup_teardown(where_nothing_can_be_warmed_it_is_read, start, stop),
        cmocka_unit_test_setup_teardown(a_name_that_is_no_path_is_damage, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
