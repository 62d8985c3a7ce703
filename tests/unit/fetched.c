/* SPDX-License-Identifier: MIT */
#include "tests/unit/fetched.h"

#include "index/base/mem.h"
#include "sync/pack.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

static const struct keys keys = { .master = "master", .store_id = "store" };
static const struct writer writer = { .state = "state", .rand = "rand" };

struct fetched fetched;

static uint32_t content(uint32_t frame, uint32_t i)
{
    uint32_t x = frame * 2654435761u + i * 40503u + 1;
    return (x ^ x >> 15) * 2246822519u;
}

void fetched_pack(void)
{
    static uint32_t words[FETCHED_RAW / 4];
    struct seal_context seal = { &keys, "demo" };
    struct pack *p = pack_new(&seal, &writer);
    for (uint32_t f = 0; f < FETCHED_FRAMES; f++) {
        for (uint32_t i = 0; i < FETCHED_RAW / 4; i++)
            words[i] = content(f, i);
        pack_add(p, FRAME_DATA, (struct bytes){ (uint8_t *)words, FETCHED_RAW }, NULL, 0, &fetched.frames[f]);
    }
    pack_finish(p);
    pack_key("demo", pack_name(p), fetched.key);
    twin_store_set(fetched.twin, fetched.key, pack_bytes(p));
    pack_free(p);
}

void fetched_open(unsigned timeout_s)
{
    struct fetch_config c = { .store = twin_store_get(fetched.twin),
                              .seal = { &keys, "demo" },
                              .cache = fetched.cache,
                              .timeout_s = timeout_s,
                              .background_threads = 2 };
    assert_int_equal(fetch_new(&c, &fetched.fetch, NULL), 0);
}

void fetched_open_again(void)
{
    fetch_free(mem_steal(fetched.fetch));
    fetched_open(0);
}

int fetched_set_up(void **state)
{
    snprintf(fetched.directory, sizeof(fetched.directory), "/tmp/test-fetch.XXXXXX");
    assert_non_null(mkdtemp(fetched.directory));
    snprintf(fetched.cache_path, sizeof(fetched.cache_path), "%s/cache", fetched.directory);
    fetched.twin = twin_store_new();
    fetched_pack();
    assert_int_equal(cache_open(fetched.cache_path, "demo", 0, &fetched.cache, NULL), 0);
    fetched_open(0);
    return 0;
}

void fetched_remove(const char *path)
{
    _cleanup_free_ char *command = mem_printf("rm -rf %s", path);
    assert_int_equal(system(command), 0);
}

int fetched_tear_down(void **state)
{
    twin_store_release(fetched.twin); /* a failed test may have left threads there */
    fetch_free(mem_steal(fetched.fetch));
    cache_close(mem_steal(fetched.cache));
    twin_store_free(mem_steal(fetched.twin));
    fetched_remove(fetched.directory);
    return 0;
}

int fetched_get(uint32_t n, struct error *e)
{
    _cleanup_(frame_dropp) struct frame *f = NULL;
    int r = source_get(fetch_source(fetched.fetch), &fetched.frames[n], FRAME_DATA, &f, e);
    if (r < 0)
        return r;
    if (f->len != FETCHED_RAW)
        return -EILSEQ;
    for (uint32_t i = 0; i < FETCHED_RAW / 4; i++)
        if (((uint32_t *)(void *)f->data)[i] != content(n, i))
            return -EILSEQ;
    return 0;
}

unsigned fetched_gets(void)
{
    struct twin_counts c;
    twin_store_counts(fetched.twin, &c);
    return c.gets;
}

static void *read_frame(void *arg)
{
    struct fetched_reader *r = arg;
    r->result = fetched_get(r->frame, &r->error);
    return NULL;
}

void fetched_start(struct fetched_reader *r, uint32_t frame)
{
    r->frame = frame;
    assert_int_equal(pthread_create(&r->thread, NULL, read_frame, r), 0);
}

int fetched_finish(struct fetched_reader *r)
{
    pthread_join(r->thread, NULL);
    return r->result;
}

/* There is no signal for it, so look often. */
void fetched_wait_readers(unsigned n)
{
    struct fetch_stats s = { 0 };
    for (int i = 0; i < 10000 && s.waiting_reads != n; i++) {
        fetch_get_stats(fetched.fetch, &s);
        usleep(1000);
    }
    assert_int_equal(s.waiting_reads, n);
}

void fetched_wait_outage(void)
{
    struct fetch_stats s = { 0 };
    for (int i = 0; i < 10000 && s.unreachable_since == 0; i++) {
        fetch_get_stats(fetched.fetch, &s);
        usleep(1000);
    }
    assert_true(s.unreachable_since != 0);
}

void fetched_fail(int code, int times)
{
    struct twin_rule rule = { .operations = "G", .action = TWIN_FAIL, .value = code, .times = times };
    twin_store_rule(fetched.twin, &rule);
}

int fetched_warm(const uint32_t *which, size_t count, enum source_urgency urgency, struct error *e)
{
    _cleanup_free_ struct locator *l = mem_new(count, sizeof(*l));
    for (size_t i = 0; i < count; i++)
        l[i] = fetched.frames[which[i]];
    return source_warm(fetch_source(fetched.fetch), l, count, urgency, e);
}
