/* SPDX-License-Identifier: MIT */
#include "sync/tidy.h"

#include "index/base/mem.h"
#include "tests/unit/twin.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

/* What came out: "P path" known content, "R path" to be read, "D path", "X" a prefix. */
struct seen {
    struct buf text;
    const char *unreadable;
};

static int note(void *arg, const struct change *c, struct error *e)
{
    struct seen *s = arg;
    _cleanup_(buf_release) struct buf path = { 0 };
    (void)e;
    bool prefix = c->kind == CHANGE_DELETE_PREFIX;
    if (!prefix)
        assert_int_equal(key_to_path(c->key, &path), 0);
    bool read = c->kind == CHANGE_PUT && c->entry->type == ENTRY_FILE && !c->content_known;
    if (read) {
        assert_true(c->fd >= 0);
        assert_int_equal(c->entry->extent_count, 0);
        assert_int_equal(c->entry->list_count, 0);
    }
    buf_printf(&s->text, "%s%s ",
               prefix                     ? "X"
               : c->kind == CHANGE_DELETE ? "D "
               : read                     ? "R "
                                          : "P ",
               prefix ? "" : buf_string(&path));
    return 0;
}

static int open_live(void *arg, const char *path)
{
    const struct seen *s = arg;
    return s->unreadable && strcmp(s->unreadable, path) == 0 ? -ENOENT : open("/dev/null", O_RDONLY | O_CLOEXEC);
}

struct world {
    struct twin *twin;
    struct tree *tree;
    struct tidy_plan plan;
    struct seen seen;
    struct tidy *tidy;
};

static struct entry entry_of(struct world *w, const char *path)
{
    _cleanup_(buf_release) struct buf key = { 0 };
    struct entry n = { 0 };
    assert_int_equal(key_from_path((struct bytes){ (const uint8_t *)path, strlen(path) }, &key), 0);
    assert_int_equal(tree_find(w->tree, buf_bytes(&key), NULL, &n, NULL), 0);
    return n;
}

static int by_name(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct pack_name));
}

static void avoid(struct world *w, const char *path)
{
    struct entry n = entry_of(w, path);
    assert_true(n.extent_count > 0);
    w->plan.avoid[w->plan.avoid_count++] = n.extents[0].frame.pack;
    qsort(w->plan.avoid, w->plan.avoid_count, sizeof(*w->plan.avoid), by_name);
    entry_release(&n);
}

static int setup(void **state)
{
    static struct world w;
    static char many[9 * 10];
    memset(many, 'm', sizeof(many));
    for (size_t i = 0; i < 9; i++)
        many[i * 10] = (char)('0' + i);
    const struct twin_file files[] = {
        { .path = "project/a", .content = "content of a" },
        { .path = "project/b", .content = "content of b" },
        { .path = "project/dir/c", .content = "content of c" },
        { .path = "project/dir/d", .content = "content of d" },
        { .path = "project/e", .content = "content of e" },
        { .path = "project/many", .content = many, .len = sizeof(many), .piece = 10 },
    };
    w = (struct world){ .twin = twin_new() };
    struct tree_root root = twin_tree(w.twin, files, sizeof(files) / sizeof(files[0]));
    w.tree = twin_open(w.twin, &root);
    w.plan.avoid = mem_new(8, sizeof(*w.plan.avoid));
    *state = &w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;
    tidy_free(w->tidy);
    tidy_plan_release(&w->plan);
    buf_release(&w->seen.text);
    tree_close(w->tree);
    twin_free(w->twin);
    return 0;
}

static void begin(struct world *w)
{
    w->tidy = tidy_new(&(struct tidy_config){ .plan = &w->plan,
                                              .tree = w->tree,
                                              .source = twin_source(w->twin),
                                              .open = open_live,
                                              .open_arg = &w->seen,
                                              .each = note,
                                              .each_arg = &w->seen });
}

static void feed(struct world *w, enum change_kind kind, const char *path, const struct entry *n, bool known)
{
    _cleanup_(buf_release) struct buf key = { 0 };
    struct bytes p = { (const uint8_t *)path, strlen(path) };
    assert_int_equal(kind == CHANGE_DELETE_PREFIX ? key_subtree_prefix(p, &key) : key_from_path(p, &key), 0);
    struct change c = { .kind = kind, .key = buf_bytes(&key), .entry = n, .content_known = known, .fd = -1 };
    assert_int_equal(tidy_change(w->tidy, &c, NULL), 0);
}

static void finish(struct world *w, const char *expected)
{
    assert_int_equal(tidy_finish(w->tidy, NULL), 0);
    assert_string_equal(buf_string(&w->seen.text), expected);
}

static void only_content_in_thin_packs_is_read_again(void **state)
{
    struct world *w = *state;
    avoid(w, "project/b");
    avoid(w, "project/dir/d");
    begin(w);
    finish(w, "R project/b R project/dir/d ");
}

/* Fails if the base's entries are merged without a look at what the walker deletes: they would come back. */
static void what_the_walker_says_goes_before_the_base(void **state)
{
    struct world *w = *state;
    struct entry n = { .type = ENTRY_FIFO, .mode = 0644 };
    avoid(w, "project/a");
    avoid(w, "project/b");
    avoid(w, "project/dir/c");
    avoid(w, "project/dir/d");
    begin(w);
    feed(w, CHANGE_DELETE, "project/a", NULL, false);
    feed(w, CHANGE_PUT, "project/b", &n, true);
    feed(w, CHANGE_DELETE_PREFIX, "project/dir", NULL, false);
    feed(w, CHANGE_PUT, "project/dir/c", &n, true);
    finish(w, "D project/a P project/b X P project/dir/c ");
}

/* A metadata copy-up names the base's content: that counts, too. */
static void known_content_of_changed_entries_is_read_if_it_lies_thin(void **state)
{
    struct world *w = *state;
    struct entry b = entry_of(w, "project/b"), e = entry_of(w, "project/e");
    b.mode = e.mode = 0600;
    avoid(w, "project/b");
    begin(w);
    feed(w, CHANGE_PUT, "project/b", &b, true);
    feed(w, CHANGE_PUT, "project/e", &e, true);
    finish(w, "R project/b P project/e ");
    entry_release(&b);
    entry_release(&e);
}

static void all_metadata_means_every_entry_with_its_extents_in_hand(void **state)
{
    struct world *w = *state;
    struct entry many = entry_of(w, "project/many");
    assert_true(many.list_count > 0);
    w->plan.avoid[w->plan.avoid_count++] = many.list[0].pack;
    w->plan.metadata = true;
    begin(w);
    finish(w,
           "P project P project/a P project/b P project/dir P project/e P project/many P project/dir/c P project/dir/d "
           "");
    entry_release(&many);
}

static void what_cannot_be_opened_stays_where_it_is(void **state)
{
    struct world *w = *state;
    avoid(w, "project/b");
    w->seen.unreadable = "project/b";
    begin(w);
    finish(w, "P project/b ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(only_content_in_thin_packs_is_read_again, setup, teardown),
        cmocka_unit_test_setup_teardown(what_the_walker_says_goes_before_the_base, setup, teardown),
        cmocka_unit_test_setup_teardown(known_content_of_changed_entries_is_read_if_it_lies_thin, setup, teardown),
        cmocka_unit_test_setup_teardown(all_metadata_means_every_entry_with_its_extents_in_hand, setup, teardown),
        cmocka_unit_test_setup_teardown(what_cannot_be_opened_stays_where_it_is, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
