/* SPDX-License-Identifier: MIT */
#include "sync/head.h"

#include "index/base/mem.h"

#include <errno.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include <cmocka.h>

static const struct keys keys = { .master = { 1 }, .store_id = { 2 } };
static const struct seal_context context = { &keys, "demo" };

struct place {
    char path[64];
    struct store *store;
};

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    return remove(path);
}

static int make_place(void **state)
{
    struct place *p = mem_new(1, sizeof(*p));
    strcpy(p->path, "/tmp/test-head.XXXXXX");
    char url[96];
    snprintf(url, sizeof(url), "file://%s", mkdtemp(p->path));
    *state = p;
    return store_open(&(struct store_config){ .url = url }, &p->store, NULL) || store_create(p->store, NULL);
}

static int remove_place(void **state)
{
    struct place *p = *state;
    store_close(p->store);
    nftw(p->path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    free(p);
    return 0;
}

static void fill(struct head *h)
{
    strcpy(h->box, "demo");
    memset(h->incarnation, 3, sizeof(h->incarnation));
    h->epoch = 70;
    h->seq = 100;
    h->state = HEAD_HELD;
    strcpy(h->node, "a");
    strcpy(h->boot_id, "b6d5");
    strcpy(h->pin, "b");
    h->path = mem_strdup("/root/d\xc3\xa9mo \"x\"");
    h->ttl_s = 7200;
    memset(&h->root, 4, sizeof(h->root));
    strcpy(h->condemned, "00112233445566778899aabbccddeeff");
    memset(&h->write, 5, sizeof(h->write));
}

static const char minimal[] =
    "{\"v\":1,\"box\":\"demo\",\"incarnation\":\"00112233445566778899aabbccddeeff\",\"epoch\":2,\"seq\":3,"
    "\"state\":\"free\",\"node\":\"a\",\"boot_id\":\"\",\"pin\":\"\",\"path\":\"/x\",\"ttl\":60,"
    "\"root\":\"00112233445566778899aabbccddeeff\",\"last\":[],\"write\":\"00112233445566778899aabbccddeeff\"%s}";

static int decode(const char *more, const char *from, const char *to, struct head *ret)
{
    char text[1024], changed[1024];
    snprintf(text, sizeof(text), minimal, more);
    char *at = from ? strstr(text, from) : NULL;
    if (from) {
        assert_non_null(at);
        snprintf(changed, sizeof(changed), "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
        strcpy(text, changed);
    }
    return head_decode_body((struct bytes){ (const uint8_t *)text, strlen(text) }, ret, NULL);
}

static void a_head_comes_back_in_every_field(void **state)
{
    struct place *p = *state;
    _cleanup_(head_releasep) struct head h = { 0 }, got = { 0 };
    fill(&h);
    for (unsigned i = 0; i < 70; i++) {
        h.epoch = i + 1;
        head_end_epoch(&h);
    }
    h.epoch = 71;
    assert_int_equal(head_write(p->store, &context, &h, NULL), 0);
    assert_int_equal(head_read(p->store, &context, &got, NULL), 0);
    assert_string_equal(got.box, "demo");
    assert_memory_equal(got.incarnation, h.incarnation, sizeof(h.incarnation));
    assert_true(got.epoch == 71 && got.seq == 100 && got.state == HEAD_HELD && got.ttl_s == 7200);
    assert_string_equal(got.node, "a");
    assert_string_equal(got.boot_id, "b6d5");
    assert_string_equal(got.pin, "b");
    assert_string_equal(got.path, h.path);
    assert_memory_equal(&got.root, &h.root, sizeof(h.root));
    assert_memory_equal(&got.write, &h.write, sizeof(h.write));
    assert_string_equal(got.condemned, h.condemned);
    assert_string_equal(got.etag, h.etag);
    assert_int_equal(got.last_count, HEAD_LAST);
    assert_non_null(head_ended(&got, 70));
    assert_non_null(head_ended(&got, 7));
    assert_null(head_ended(&got, 6)); /* pushed out */
    assert_null(head_ended(&got, 71));
}

/* Fails if head_write sends no condition: both PUTs would win. */
static void only_the_first_of_two_writers_wins(void **state)
{
    struct place *p = *state;
    _cleanup_(head_releasep) struct head a = { 0 }, b = { 0 }, late = { 0 };
    fill(&a);
    fill(&late);
    assert_int_equal(head_write(p->store, &context, &a, NULL), 0);
    assert_int_equal(head_write(p->store, &context, &late, NULL), -ESTALE); /* no etag: only if absent */
    assert_int_equal(head_read(p->store, &context, &b, NULL), 0);
    a.write.b[0]++;
    b.write.b[0] += 2;
    assert_int_equal(head_write(p->store, &context, &b, NULL), 0);
    assert_int_equal(head_write(p->store, &context, &a, NULL), -ESTALE);
}

static void a_head_under_another_box_or_key_is_damage(void **state)
{
    struct place *p = *state;
    _cleanup_(head_releasep) struct head h = { 0 }, got = { 0 };
    _cleanup_(buf_release) struct buf b = { 0 };
    struct error e = { 0 };
    assert_int_equal(head_read(p->store, &context, &got, &e), -ENOENT);
    assert_int_equal(e.kind, ERROR_UNKNOWN);

    fill(&h);
    assert_int_equal(head_encode(&h, &context, &b, NULL), 0);
    assert_int_equal(store_put(p->store, "box/other/head", buf_bytes(&b), STORE_ALWAYS, NULL, NULL, NULL), 0);
    assert_int_equal(head_read(p->store, &(struct seal_context){ &keys, "other" }, &got, &e), -EBADMSG);
    assert_int_equal(e.kind, ERROR_DAMAGED);
    assert_null(got.path);

    b.data[b.len / 2] ^= 1;
    assert_int_equal(store_put(p->store, "box/demo/head", buf_bytes(&b), STORE_ALWAYS, NULL, NULL, NULL), 0);
    assert_int_equal(head_read(p->store, &context, &got, &e), -EBADMSG);
}

static void keys_of_later_versions_are_kept(void **state)
{
    struct place *p = *state;
    _cleanup_(head_releasep) struct head h = { 0 }, got = { 0 };
    assert_int_equal(decode(",\"later\":{\"a\":[1,\"\\u00e9\"]},\"also\":null", NULL, NULL, &h), 0);
    assert_string_equal(h.unknown, "{\"also\":null,\"later\":{\"a\":[1,\"\xc3\xa9\"]}}");
    assert_int_equal(head_write(p->store, &context, &h, NULL), 0);
    assert_int_equal(head_read(p->store, &context, &got, NULL), 0);
    assert_string_equal(got.unknown, h.unknown);
}

static void impossible_values_are_damage(void **state)
{
    _cleanup_(head_releasep) struct head h = { 0 };
    assert_int_equal(decode("", NULL, NULL, &h), 0);
    static const struct {
        const char *from, *to;
        int result;
    } cases[] = {
        { "\"v\":1", "\"v\":0", -EBADMSG },
        { "\"v\":1", "\"v\":2", -ENOTSUP },
        { "\"demo\"", "\"../demo\"", -EBADMSG },
        { "\"demo\"", "\"de\\u0000mo\"", -EBADMSG },
        { "\"epoch\":2", "\"epoch\":-2", -EBADMSG },
        { "\"epoch\":2", "\"epoch\":0", -EBADMSG },
        { "\"epoch\":2", "\"epoch\":9007199254740992", -EBADMSG },
        { "\"epoch\":2", "\"epoch\":2.0", -EBADMSG },
        { "\"epoch\":2", "\"epoch\":2,\"epoch\":3", -EBADMSG },
        { "\"free\"", "\"mine\"", -EBADMSG },
        { "\"free\"", "\"tombstone\"", -EBADMSG }, /* a tombstone has no root */
        { "\"ttl\":60", "\"ttl\":99999999", -EBADMSG },
        { "\"path\":\"/x\"", "\"path\":\"x\"", -EBADMSG },
        { "\"root\":\"00112233445566778899aabbccddeeff\"", "\"root\":\"00000000000000000000000000000000\"", -EBADMSG },
        { "\"root\":\"00112233445566778899aabbccddeeff\"", "\"root\":\"0011\"", -EBADMSG },
        { "\"last\":[]", "\"last\":{}", -EBADMSG },
        { "\"last\":[]",
          "\"last\":[{\"epoch\":2,\"root\":\"00112233445566778899aabbccddeeff\",\"write\":"
          "\"00112233445566778899aabbccddeeff\"}]",
          -EBADMSG }, /* the epoch that still runs has not ended */
        { "\"node\":\"a\",", "", -EBADMSG },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(decode("", cases[i].from, cases[i].to, &h), cases[i].result);
    assert_int_equal(h.epoch, 2); /* written on success only */
}

static void a_held_head_expires_by_the_stores_clock_alone(void **state)
{
    struct head h = { .state = HEAD_HELD, .ttl_s = 60 };
    h.age_ns = -5;
    assert_false(head_expired(&h));
    h.age_ns = 59999999999;
    assert_false(head_expired(&h));
    h.age_ns = 60000000000;
    assert_true(head_expired(&h));
    h.state = HEAD_TOMBSTONE;
    assert_false(head_expired(&h));
    h = (struct head){ .state = HEAD_PRUNING };
    assert_true(head_expired(&h));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_head_comes_back_in_every_field, make_place, remove_place),
        cmocka_unit_test_setup_teardown(only_the_first_of_two_writers_wins, make_place, remove_place),
        cmocka_unit_test_setup_teardown(a_head_under_another_box_or_key_is_damage, make_place, remove_place),
        cmocka_unit_test_setup_teardown(keys_of_later_versions_are_kept, make_place, remove_place),
        cmocka_unit_test(impossible_values_are_damage),
        cmocka_unit_test(a_held_head_expires_by_the_stores_clock_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
