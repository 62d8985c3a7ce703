/* SPDX-License-Identifier: MIT */
#include "sync/save.h"

#include "index/attributes.h"
#include "index/base/fd.h"
#include "index/base/mem.h"
#include "index/key.h"
#include "index/stat-cache.h"
#include "tests/unit/twin-store.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#define SIZE (9u << 20) /* read in two windows */
#define SEEN_MAX 16

static const struct keys keys = { .master = "master", .store_id = "store" };

struct area {
    char root[64];
    int dir, file;
    struct twin_store *twin;
    struct journal *journal;
    bool busy;                        /* somebody writes while the file is read */
    struct attributes seen[SEEN_MAX]; /* how the file was before each of these writes */
    unsigned count, unsettled;
};

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    return remove(path);
}

static int setup(void **state)
{
    static struct area a;
    _cleanup_free_ uint8_t *data = mem_new(SIZE, 1);
    a = (struct area){ .root = "/tmp/test-save.XXXXXX", .busy = true };
    if (!mkdtemp(a.root))
        return -1;
    a.dir = open(a.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    a.twin = twin_store_new();
    a.file = openat(a.dir, "file", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    *state = &a;
    memset(data, 'x', SIZE);
    return journal_open(a.dir, a.root, true, &a.journal, NULL) < 0 || fd_pwrite_all(a.file, data, SIZE, 0, NULL) < 0;
}

static int teardown(void **state)
{
    struct area *a = *state;
    journal_close(a->journal);
    twin_store_free(a->twin);
    close(a->file);
    close(a->dir);
    return nftw(a->root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static int write_into(void *arg, uint64_t files, uint64_t bytes, uint64_t sent)
{
    struct area *a = arg;
    if (!a->busy || files > 0)
        return 0;
    assert_true(a->count < SEEN_MAX);
    assert_int_equal(attributes_stat(a->file, "", &a->seen[a->count++], NULL), 0);
    return pwrite(a->file, "!", 1, 5) != 1;
}

static void tell_unsettled(void *arg, const char *path)
{
    ((struct area *)arg)->unsettled++;
    assert_string_equal(path, "project/file");
}

/* As a walker that looked at the file long after its last change. */
static void save_it(struct area *a)
{
    struct error e = { 0 };
    struct attributes now = { 0 };
    struct save *s = NULL;
    struct buf key = { 0 };
    struct save_config c = { .push = { .store = twin_store_get(a->twin),
                                       .seal = { &keys, "demo" },
                                       .journal = a->journal,
                                       .writer = { .state = "state", .rand = "rand" },
                                       .progress = write_into,
                                       .progress_arg = a },
                             .node = "node",
                             .unsettled = tell_unsettled,
                             .unsettled_arg = a,
                             .content_only = true };
    struct push_stats stats;
    assert_int_equal(save_new(&c, &s, NULL), 0);
    assert_int_equal(attributes_stat(a->file, "", &now, NULL), 0);
    assert_int_equal(key_from_path((struct bytes){ (const uint8_t *)"project/file", 12 }, &key), 0);
    struct change one = { .kind = CHANGE_PUT,
                          .key = buf_bytes(&key),
                          .entry = &now.entry,
                          .fd = a->file,
                          .device = now.device,
                          .inode = now.inode,
                          .settled = true };
    if (save_change(s, &one, &e) < 0 || save_content_end(s, &stats, &e) < 0)
        fail_msg("%s", e.text);
    save_free(s);
    buf_release(&key);
}

static bool is_known(struct area *a, const struct attributes *when)
{
    struct entry n = when->entry;
    int r = stat_cache_find(a->journal, (struct bytes){ (const uint8_t *)"project/file", 12 }, when->device,
                            when->inode, &n, NULL);
    entry_release(&n);
    return r == 0;
}

/* Its last times may be those of a clock's tick in which it still changed, so no times tell what it holds. Fails if
 * what was read as it is goes to the stat cache. */
static void a_file_that_does_not_hold_still_is_read_again_whatever_its_times_say(void **state)
{
    struct area *a = *state;
    struct attributes now;
    save_it(a);
    assert_int_equal(a->unsettled, 1);
    assert_true(a->count > 2);
    for (unsigned i = 0; i < a->count; i++)
        assert_false(is_known(a, &a->seen[i]));
    assert_int_equal(attributes_stat(a->file, "", &now, NULL), 0);
    assert_false(is_known(a, &now));

    a->busy = false;
    save_it(a);
    assert_int_equal(a->unsettled, 1);
    assert_true(is_known(a, &now)); /* and one that holds still is not */
}

/* --- names of hard links */

#define DEEP 15

static void put_name(struct save *s, const char *path, const char *first)
{
    struct error e = { 0 };
    struct buf key = { 0 };
    struct entry n = { .type = first ? ENTRY_LINK : ENTRY_FIFO, .mode = 0600, .target = (char *)first };
    assert_int_equal(key_from_path((struct bytes){ (const uint8_t *)path, strlen(path) }, &key), 0);
    struct change one = { .kind = CHANGE_PUT, .key = buf_bytes(&key), .entry = &n, .fd = -1 };
    if (save_change(s, &one, &e) < 0)
        fail_msg("%s", e.text);
    buf_release(&key);
}

/* Long paths, so that few do. */
static void more_names_of_hard_links_than_a_snapshot_has_room_for_are_told(void **state)
{
    struct area *a = *state;
    struct error e = { 0 };
    struct save *s = NULL;
    struct snapshot n = { 0 };
    struct push_stats stats;
    struct buf first = { 0 }, path = { 0 };
    bool changed;
    struct save_config c = { .push = { .store = twin_store_get(a->twin),
                                       .seal = { &keys, "demo" },
                                       .journal = a->journal,
                                       .writer = { .state = "state", .rand = "rand" } },
                             .incarnation = (const uint8_t *)"0123456789abcdef",
                             .node = "node" };
    assert_int_equal(save_new(&c, &s, NULL), 0);
    buf_printf(&first, "project/store/most");
    for (int i = 0; i < DEEP; i++)
        buf_printf(&first, "/%0250d", 0);
    put_name(s, buf_string(&first), NULL);
    for (size_t i = 0; i <= LINKS_MAX / first.len; i++) {
        buf_clear(&path);
        buf_printf(&path, "%s/%08zu", buf_string(&first), i);
        put_name(s, buf_string(&path), buf_string(&first));
    }
    assert_int_equal(save_finish(s, &(struct save_end){ .meta = "{}" }, &n, &changed, &stats, &e), -E2BIG);
    assert_non_null(strstr(e.text, "box demo has"));
    assert_non_null(strstr(e.text, "32M"));
    assert_non_null(strstr(e.text, "Most lie in project/store/most/"));
    assert_non_null(strstr(e.hint, "copies"));
    save_free(s);
    buf_release(&first);
    buf_release(&path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_file_that_does_not_hold_still_is_read_again_whatever_its_times_say, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(more_names_of_hard_links_than_a_snapshot_has_room_for_are_told, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
