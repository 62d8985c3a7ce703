/* SPDX-License-Identifier: MIT */
#include "sync/seal.h"

#include "index/base/mem.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/wait.h>

#include <cmocka.h>

static const struct keys keys = { .master = "master", .store_id = "store" };
static const struct seal_context demo = { &keys, "demo" };

static struct bytes of(const char *s)
{
    return (struct bytes){ (const uint8_t *)s, strlen(s) };
}

static int open_as(const struct seal_context *c, enum seal_type type, const char *id, const struct buf *sealed)
{
    _cleanup_(buf_release) struct buf plain = { 0 };
    struct error e = { 0 };
    int r = seal_open(c, type, id, strlen(id), buf_bytes(sealed), 1 << 20, &plain, &e);
    if (r < 0) {
        assert_int_equal(e.kind, ERROR_DAMAGED);
        assert_int_equal(plain.len, 0);
    }
    return r;
}

static void what_was_sealed_opens_behind_what_the_buffer_held(void **state)
{
    _cleanup_(buf_release) struct buf sealed = { 0 }, plain = { 0 };
    buf_add(&plain, "kept ", 5);
    seal(&demo, SEAL_HEAD, "demo", 4, of("the head"), &sealed);
    assert_int_equal(seal_open(&demo, SEAL_HEAD, "demo", 4, buf_bytes(&sealed), 8, &plain, NULL), 0);
    assert_string_equal(buf_string(&plain), "kept the head");
}

static void an_empty_run_and_any_length_round_trips(void **state)
{
    _cleanup_(buf_release) struct buf raw = { 0 };
    for (size_t n = 0; n < 5000; n = n * 3 + 1) {
        _cleanup_(buf_release) struct buf sealed = { 0 }, plain = { 0 };
        buf_clear(&raw);
        buf_fill(&raw, 'x', n / 2);
        buf_reserve(&raw, n + 1); /* room even for none: a null pointer is no argument */
        randombytes_buf(raw.data + raw.len, n - raw.len);
        raw.len = n;
        seal(&demo, SEAL_FRAME, "f", 1, buf_bytes(&raw), &sealed);
        assert_int_equal(seal_open(&demo, SEAL_FRAME, "f", 1, buf_bytes(&sealed), n, &plain, NULL), 0);
        assert_int_equal(bytes_compare(buf_bytes(&plain), buf_bytes(&raw)), 0);
    }
}

/* Fails if any part of the name (store, box, type, id) is left out of the associated data. */
static void sealed_bytes_open_under_their_own_name_only(void **state)
{
    _cleanup_(buf_release) struct buf sealed = { 0 };
    struct keys other = keys;
    other.store_id[0] ^= 1;
    seal(&demo, SEAL_SNAPSHOT, "abcd", 4, of("root"), &sealed);

    assert_int_equal(open_as(&demo, SEAL_SNAPSHOT, "abcd", &sealed), 0);
    assert_int_equal(open_as(&demo, SEAL_FORK, "abcd", &sealed), -EBADMSG);
    assert_int_equal(open_as(&demo, SEAL_SNAPSHOT, "abce", &sealed), -EBADMSG);
    assert_int_equal(open_as(&demo, SEAL_SNAPSHOT, "abc", &sealed), -EBADMSG);
    assert_int_equal(open_as(&(struct seal_context){ &keys, "dem" }, SEAL_SNAPSHOT, "abcd", &sealed), -EBADMSG);
    assert_int_equal(open_as(&(struct seal_context){ &other, "demo" }, SEAL_SNAPSHOT, "abcd", &sealed), -EBADMSG);
}

/* Box "a" + type + id must not read as box "ab" + the rest. Fails if the box's length is not in the name. */
static void parts_of_a_name_cannot_move_into_each_other(void **state)
{
    _cleanup_(buf_release) struct buf sealed = { 0 };
    seal(&(struct seal_context){ &keys, "aS" }, SEAL_SNAPSHOT, "id", 2, of("x"), &sealed);
    assert_int_equal(open_as(&(struct seal_context){ &keys, "a" }, SEAL_SNAPSHOT, "Sid", &sealed), -EBADMSG);
}

static void a_flipped_bit_or_a_missing_byte_anywhere_is_damage(void **state)
{
    _cleanup_(buf_release) struct buf sealed = { 0 };
    seal(&demo, SEAL_HOLD, "h", 1, of("hold"), &sealed);
    for (size_t i = 0; i < sealed.len; i++) {
        sealed.data[i] ^= 0x10;
        assert_int_equal(open_as(&demo, SEAL_HOLD, "h", &sealed), -EBADMSG);
        sealed.data[i] ^= 0x10;
    }
    for (size_t n = sealed.len; n > 0; n--) {
        sealed.len = n - 1;
        assert_int_equal(open_as(&demo, SEAL_HOLD, "h", &sealed), -EBADMSG);
    }
}

/* Fails if the length is believed before it is compared with the caller's limit. */
static void more_than_the_limit_is_not_opened(void **state)
{
    _cleanup_(buf_release) struct buf raw = { 0 }, sealed = { 0 }, plain = { 0 };
    buf_fill(&raw, 0, 1 << 20);
    seal(&demo, SEAL_FRAME, "f", 1, buf_bytes(&raw), &sealed);
    assert_true(sealed.len < 1024);
    assert_int_equal(seal_open(&demo, SEAL_FRAME, "f", 1, buf_bytes(&sealed), raw.len - 1, &plain, NULL), -EBADMSG);
    assert_int_equal(plain.len, 0);
    assert_int_equal(seal_open(&demo, SEAL_FRAME, "f", 1, buf_bytes(&sealed), raw.len, &plain, NULL), 0);
}

static void what_cannot_be_compressed_grows_by_the_overhead_only(void **state)
{
    _cleanup_(buf_release) struct buf raw = { 0 }, sealed = { 0 };
    buf_reserve(&raw, 65536);
    randombytes_buf(raw.data, 65536);
    raw.len = 65536;
    seal(&demo, SEAL_FRAME, "f", 1, buf_bytes(&raw), &sealed);
    assert_int_equal(sealed.len, raw.len + SEAL_HEADER + SEAL_OVERHEAD);
}

static void equal_plaintexts_are_sealed_differently(void **state)
{
    _cleanup_(buf_release) struct buf a = { 0 }, b = { 0 };
    seal(&demo, SEAL_HEAD, "demo", 4, of("same"), &a);
    seal(&demo, SEAL_HEAD, "demo", 4, of("same"), &b);
    assert_memory_not_equal(a.data + 1, b.data + 1, 24);
    assert_memory_not_equal(a.data + 25, b.data + 25, a.len - 25);
}

static const char *same_name(void)
{
    return "same";
}

static void same_bytes(void *to, size_t n)
{
    memset(to, 7, n);
}

/* A fork with a generator that always says the same stands for a cloned machine. Fails if the plaintext is not in the
 * nonce's hash: one nonce for two plaintexts gives both away. */
static void a_clone_of_the_machine_does_not_use_a_nonce_for_another_plaintext(void **state)
{
    static struct randombytes_implementation same = { .implementation_name = same_name, .buf = same_bytes };
    _cleanup_(buf_release) struct buf ours = { 0 }, theirs = { 0 }, equal = { 0 };
    int pipes[2];
    uint8_t nonce[24];
    randombytes_set_implementation(&same);
    assert_int_equal(pipe(pipes), 0);
    pid_t clone = fork();
    if (clone == 0) {
        seal(&demo, SEAL_HEAD, "demo", 4, of("theirs"), &theirs);
        _exit(write(pipes[1], theirs.data + 1, 24) != 24);
    }
    seal(&demo, SEAL_HEAD, "demo", 4, of("ours"), &ours);
    seal(&demo, SEAL_HEAD, "demo", 4, of("ours"), &equal);
    randombytes_set_implementation(&randombytes_sysrandom_implementation);
    assert_int_equal(read(pipes[0], nonce, 24), 24);
    assert_int_equal(waitpid(clone, NULL, 0), clone);
    close(pipes[0]);
    close(pipes[1]);
    assert_memory_not_equal(nonce, ours.data + 1, 24);
    assert_memory_not_equal(equal.data + 1, ours.data + 1, 24); /* the counter */
}

static void *seal_many(void *arg)
{
    _cleanup_(buf_release) struct buf raw = { 0 };
    buf_fill(&raw, *(char *)arg, 70000);
    for (int i = 0; i < 200; i++) {
        _cleanup_(buf_release) struct buf sealed = { 0 }, plain = { 0 };
        seal(&demo, SEAL_FRAME, arg, 1, buf_bytes(&raw), &sealed);
        if (seal_open(&demo, SEAL_FRAME, arg, 1, buf_bytes(&sealed), raw.len, &plain, NULL) < 0 ||
            bytes_compare(buf_bytes(&plain), buf_bytes(&raw)) != 0)
            return arg;
    }
    return NULL;
}

static void threads_do_not_disturb_each_other(void **state)
{
    pthread_t t[4];
    char ids[] = "abcd";
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&t[i], NULL, seal_many, &ids[i]), 0);
    for (int i = 0; i < 4; i++) {
        void *failed;
        pthread_join(t[i], &failed);
        assert_null(failed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_sealed_opens_behind_what_the_buffer_held),
        cmocka_unit_test(an_empty_run_and_any_length_round_trips),
        cmocka_unit_test(sealed_bytes_open_under_their_own_name_only),
        cmocka_unit_test(parts_of_a_name_cannot_move_into_each_other),
        cmocka_unit_test(a_flipped_bit_or_a_missing_byte_anywhere_is_damage),
        cmocka_unit_test(more_than_the_limit_is_not_opened),
        cmocka_unit_test(what_cannot_be_compressed_grows_by_the_overhead_only),
        cmocka_unit_test(equal_plaintexts_are_sealed_differently),
        cmocka_unit_test(a_clone_of_the_machine_does_not_use_a_nonce_for_another_plaintext),
        cmocka_unit_test(threads_do_not_disturb_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
