/* SPDX-License-Identifier: MIT */
#include "fusefs/hydrate.h"

#include "fusefs/touches.h"
#include "index/access.h"
#include "index/base/mem.h"
#include "tests/unit/scratch.h"
#include "tests/unit/twin.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mount.h>

#include <cmocka.h>

#define FILES 3000u

/* A source that writes down in which order frames are warmed. */
struct recorder {
    struct source source;
    struct source *below;
    pthread_mutex_t lock;
    struct locator order[2 * FILES];
    size_t count;
    int fail_next; /* calls of warm that fail, as ERROR_STORE */
    bool damaged;  /* all fail, as ERROR_DAMAGED */
    unsigned at_once, most_at_once;
};

static struct twin *twin;
static struct tree *tree;
static struct recorder recorder;
static _Atomic unsigned extents_told; /* read while it grows */

static int recorder_get(struct source *s, const struct locator *l, enum frame_kind kind, struct frame **ret,
                        struct error *e)
{
    return source_get(recorder.below, l, kind, ret, e);
}

/* Frames of pages are warmed too; only content is written down. */
static int recorder_warm(struct source *s, const struct locator *l, size_t count, enum source_urgency urgency,
                         struct error *e)
{
    int r = 0;
    pthread_mutex_lock(&recorder.lock);
    if (l[0].offset == FRAME_DATA) {
        assert_int_equal(urgency, SOURCE_BACKGROUND);
        if (++recorder.at_once > recorder.most_at_once)
            recorder.most_at_once = recorder.at_once;
        if (recorder.damaged)
            r = error_say(e, ERROR_DAMAGED, -EIO, "told to be damaged");
        else if (recorder.fail_next > 0 && recorder.fail_next-- > 0)
            r = error_say(e, ERROR_STORE, -ETIMEDOUT, "told to be away");
        for (size_t i = 0; i < count && r == 0 && recorder.count < 2 * FILES; i++)
            recorder.order[recorder.count++] = l[i];
        pthread_mutex_unlock(&recorder.lock);
        usleep(1000);
        pthread_mutex_lock(&recorder.lock);
        recorder.at_once--;
    }
    pthread_mutex_unlock(&recorder.lock);
    return r;
}

static int start(void **state)
{
    static struct twin_file files[FILES];
    static char names[FILES][2][40];
    for (unsigned i = 0; i < FILES; i++) {
        snprintf(names[i][0], sizeof(names[i][0]), "project/d%02u/f%05u", i / 100, i);
        snprintf(names[i][1], sizeof(names[i][1]), "content of file %u", i);
        files[i] = (struct twin_file){ names[i][0], .content = names[i][1] };
    }
    twin = twin_new();
    struct tree_root root = twin_tree(twin, files, FILES);
    recorder = (struct recorder){ .source = { recorder_get, recorder_warm }, .below = twin_source(twin) };
    pthread_mutex_init(&recorder.lock, NULL);
    extents_told = 0;
    return tree_open(&recorder.source, &root, 0, &tree, NULL);
}

static int stop(void **state)
{
    tree_close(tree);
    twin_free(twin);
    return 0;
}

static int tell_extent(void *arg, const struct extent *x, struct error *e)
{
    extents_told++;
    return 0;
}

static void scanned(void *arg, bool xattrs)
{
    assert_int_equal(extents_told, FILES);
    assert_false(xattrs);
}

static struct {
    char *const *paths;
    size_t count;
} access_list;

static size_t list_first(void *arg, char *const **ret)
{
    *ret = access_list.paths;
    return access_list.count;
}

static struct hydrate *hydrate(char *const *first, size_t count, bool metadata_only)
{
    access_list.paths = first;
    access_list.count = count;
    const struct hydrate_config c = {
        .tree = tree,
        .source = &recorder.source,
        .first = list_first,
        .metadata_only = metadata_only,
        .extent = tell_extent,
        .scanned = scanned,
    };
    struct hydrate *h;
    assert_int_equal(hydrate_start(&c, &h, NULL), 0);
    return h;
}

static struct locator frame_of(const char *path)
{
    _cleanup_(buf_release) struct buf key = { 0 };
    _cleanup_(entry_release) struct entry n = { 0 };
    key_from_path((struct bytes){ (const uint8_t *)path, strlen(path) }, &key);
    assert_int_equal(tree_find(tree, buf_bytes(&key), NULL, &n, NULL), 0);
    return n.extents[0].frame;
}

static void assert_warmed(size_t i, const char *path)
{
    struct locator want = frame_of(path);
    assert_true(i < recorder.count);
    assert_memory_equal(&recorder.order[i].pack, &want.pack, sizeof(want.pack));
}

static void everything_comes_the_access_list_first_then_in_path_order(void **state)
{
    char *first[] = { (char *)"project/d20/f02000", (char *)"project/gone", (char *)"project/d03/f00303",
                      (char *)"not//a/path" };
    struct hydrate *h = hydrate(first, 4, false);
    struct error e = { 0 };
    assert_int_equal(hydrate_wait(h, &e), 0);
    struct hydrate_progress p;
    hydrate_get(h, &p);
    hydrate_free(h);
    assert_int_equal(p.phase, HYDRATE_DONE);
    assert_int_equal(p.frames_total, FILES);
    assert_int_equal(p.frames_done, FILES);
    assert_int_equal(p.bytes_done, p.bytes_total);
    assert_int_equal(extents_told, FILES);
    assert_int_equal(recorder.count, FILES); /* what came first does not come again */
    assert_warmed(0, first[0]);
    assert_warmed(1, first[2]);
    assert_warmed(2, "project/d00/f00000");
    assert_warmed(3, "project/d00/f00001");
    assert_warmed(FILES - 1, "project/d29/f02999");
    assert_int_equal(recorder.most_at_once, 1); /* not at full speed */
}

static void metadata_only_waits_until_content_is_wanted(void **state)
{
    struct hydrate *h = hydrate(NULL, 0, true);
    for (unsigned i = 0; i < 10000 && extents_told < FILES; i++)
        usleep(1000);
    assert_int_equal(recorder.count, 0);
    hydrate_full_speed(h);
    assert_int_equal(hydrate_wait(h, NULL), 0);
    hydrate_free(h);
    assert_int_equal(recorder.count, FILES);
    assert_true(recorder.most_at_once > 1);
}

/* Fails if an outage ends hydration, or loses the batch that met it. */
static void a_store_that_is_away_is_tried_again(void **state)
{
    recorder.fail_next = 1;
    struct hydrate *h = hydrate(NULL, 0, false);
    assert_int_equal(hydrate_wait(h, NULL), 0);
    hydrate_free(h);
    assert_int_equal(recorder.count, FILES);
}

static void damage_is_counted_and_does_not_stop_the_rest(void **state)
{
    recorder.damaged = true;
    struct error e = { 0 };
    struct hydrate_progress p;
    struct hydrate *h = hydrate(NULL, 0, false);
    assert_int_equal(hydrate_wait(h, &e), -EIO);
    assert_int_equal(e.kind, ERROR_DAMAGED);
    hydrate_get(h, &p);
    assert_int_equal(p.phase, HYDRATE_DONE);
    assert_true(p.lost > 1);
    hydrate_free(h);
}

static void paused_and_stopped_it_asks_for_nothing(void **state)
{
    struct error e = { 0 };
    struct hydrate *h = hydrate(NULL, 0, true);
    hydrate_pause(h, true);
    hydrate_stop(h);
    assert_int_equal(hydrate_wait(h, &e), -ECANCELED);
    hydrate_free(h);
    assert_int_equal(recorder.count, 0);
}

/* Fails if the batch that there was no room for is in the way of the next try's frames: it is full. */
static void with_too_small_a_cache_it_ends_and_may_be_asked_again(void **state)
{
    static char names[300][40];
    static char *paths[300];
    char *scratch = scratch_new();
    struct cache *cache;
    for (unsigned i = 0; i < 300; i++) {
        snprintf(names[i], sizeof(names[i]), "project/d%02u/f%05u", i / 100, i);
        paths[i] = names[i];
    }
    access_list.paths = paths;
    access_list.count = 300;
    assert_int_equal(cache_open(scratch, "demo", 1, &cache, NULL), 0);
    const struct hydrate_config c = { .tree = tree, .source = &recorder.source, .cache = cache, .first = list_first };
    struct hydrate *h;
    assert_int_equal(hydrate_start(&c, &h, NULL), 0);
    for (int i = 0; i < 3; i++) {
        struct error e = { 0 };
        assert_int_equal(hydrate_wait(h, &e), -EFBIG);
        assert_int_equal(e.kind, ERROR_FAILED);
        hydrate_full_speed(h);
    }
    hydrate_free(h);
    assert_int_equal(recorder.count, 0);
    cache_close(cache);
    scratch_remove(scratch);
}

static void first_touches_become_paths_in_order_each_once(void **state)
{
    struct touches *t;
    uint64_t a = 0, b = 0;
    _cleanup_(buf_release) struct buf key = { 0 }, list = { 0 };
    key_from_path((struct bytes){ (const uint8_t *)"project/d20/f02000", 18 }, &key);
    assert_int_equal(tree_find(tree, buf_bytes(&key), &a, NULL, NULL), 0);
    key_from_path((struct bytes){ (const uint8_t *)"project/d03/f00303", 18 }, &key);
    assert_int_equal(tree_find(tree, buf_bytes(&key), &b, NULL, NULL), 0);

    char *scratch = scratch_new(), path[300];
    snprintf(path, sizeof(path), "%s/touched", scratch);
    assert_int_equal(touches_new(tree_count(tree), path, "one", &t, NULL), 0);
    touches_add(t, a);
    touches_add(t, b);
    touches_add(t, a);
    touches_add(t, UINT64_MAX);
    touches_free(t); /* its daemon dies, and the next one goes on */
    assert_int_equal(touches_new(tree_count(tree), path, "one", &t, NULL), 0);
    touches_add(t, b);
    assert_int_equal(touches_count(t), 2);
    assert_int_equal(touches_encode(t, tree, 100, &list, NULL), 0);
    touches_free(t);

    char **paths;
    size_t count;
    assert_int_equal(access_decode(buf_bytes(&list), &paths, &count, NULL), 0);
    assert_int_equal(count, 2);
    assert_string_equal(paths[0], "project/d20/f02000");
    assert_string_equal(paths[1], "project/d03/f00303");
    access_free(paths, count);

    assert_int_equal(touches_new(tree_count(tree), path, "another", &t, NULL), 0);
    assert_int_equal(touches_count(t), 0);
    touches_free(t);
    scratch_remove(scratch);
}

/* A page of a file without room for it would end the daemon (SIGBUS), and each one that follows. */
static void touches_go_on_where_their_file_system_is_full(void **state)
{
    struct touches *t;
    char *scratch = scratch_new(), path[300];
    snprintf(path, sizeof(path), "%s/touched", scratch);
    assert_int_equal(mount("none", scratch, "tmpfs", 0, "size=64k"), 0);
    assert_int_equal(touches_new(100000, path, "one", &t, NULL), 0);
    for (uint64_t i = 0; i < 20000; i++)
        touches_add(t, i);
    assert_int_equal(touches_count(t), 20000);
    touches_free(t);
    assert_int_equal(umount(scratch), 0);
    scratch_remove(scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(everything_comes_the_access_list_first_then_in_path_order, start, stop),
        cmocka_unit_test_setup_teardown(metadata_only_waits_until_content_is_wanted, start, stop),
        cmocka_unit_test_setup_teardown(a_store_that_is_away_is_tried_again, start, stop),
        cmocka_unit_test_setup_teardown(damage_is_counted_and_does_not_stop_the_rest, start, stop),
        cmocka_unit_test_setup_teardown(paused_and_stopped_it_asks_for_nothing, start, stop),
        cmocka_unit_test_setup_teardown(with_too_small_a_cache_it_ends_and_may_be_asked_again, start, stop),
        cmocka_unit_test_setup_teardown(first_touches_become_paths_in_order_each_once, start, stop),
        cmocka_unit_test(touches_go_on_where_their_file_system_is_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
