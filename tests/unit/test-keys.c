/* SPDX-License-Identifier: MIT */
#include "sync/keys.h"

#include "index/base/fd.h"
#include "index/base/mem.h"
#include "sync/slots.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>

#include <cmocka.h>

struct area {
    char root[64];
    int dir; /* of the key cache */
    struct store *s;
    struct keys made;
};

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    return remove(path);
}

static int setup(void **state)
{
    static struct area a;
    char url[96];
    strcpy(a.root, "/tmp/test-keys.XXXXXX");
    if (!mkdtemp(a.root))
        return -1;
    snprintf(url, sizeof(url), "file://%s/store", a.root);
    a.dir = open(a.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *state = &a;
    return store_open(&(struct store_config){ .url = url }, &a.s, NULL) < 0 || store_create(a.s, NULL) < 0 ||
           keys_create(a.s, "secret", &a.made, NULL) < 0;
}

static int teardown(void **state)
{
    struct area *a = *state;
    close(a->dir);
    store_close(a->s);
    return nftw(a->root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static int open_with(struct area *a, const char *password, enum error_kind kind)
{
    struct keys k;
    struct error e = { 0 };
    int r = keys_open(a->s, password, -1, &k, &e);
    if (r == 0)
        assert_memory_equal(&k, &a->made, sizeof(k));
    else
        assert_int_equal(e.kind, kind);
    return r;
}

static void read_config(struct area *a, struct buf *ret)
{
    assert_int_equal(store_get(a->s, KEYS_OBJECT, 0, 0, KEYS_OBJECT_MAX, ret, NULL, NULL), 0);
}

static void the_right_password_opens_and_a_wrong_one_is_said_to_be_wrong(void **state)
{
    struct area *a = *state;
    assert_int_equal(open_with(a, "secret", 0), 0);
    assert_int_equal(open_with(a, "Secret", ERROR_PASSWORD), -EKEYREJECTED);
    assert_int_equal(open_with(a, NULL, ERROR_PASSWORD), -EKEYREJECTED);
}

static void a_second_init_changes_nothing(void **state)
{
    struct area *a = *state;
    struct keys k;
    assert_int_equal(keys_create(a->s, "other", &k, NULL), -EEXIST);
    assert_int_equal(open_with(a, "secret", 0), 0);
}

static void a_store_without_config_is_not_initialised(void **state)
{
    struct area *a = *state;
    assert_int_equal(store_remove(a->s, KEYS_OBJECT, NULL), 0);
    assert_int_equal(open_with(a, "secret", ERROR_USAGE), -ENOENT);
}

static void slots_are_added_changed_and_removed_but_the_last_stays(void **state)
{
    struct area *a = *state;
    struct keys_slot_info info[KEYS_SLOTS_MAX];
    size_t count = KEYS_SLOTS_MAX;
    struct error e = { 0 };
    assert_int_equal(keys_add(a->s, "wrong", "second", "laptop", &e), -EKEYREJECTED);
    assert_int_equal(keys_add(a->s, "secret", "second", "laptop", NULL), 0);
    assert_int_equal(open_with(a, "second", 0), 0);
    assert_int_equal(keys_change(a->s, "second", "third", NULL), 0);
    assert_int_equal(open_with(a, "second", ERROR_PASSWORD), -EKEYREJECTED);
    assert_int_equal(open_with(a, "third", 0), 0);

    assert_int_equal(keys_slots(a->s, info, &count, NULL), 0);
    assert_int_equal(count, 2);
    assert_string_equal(info[1].label, "laptop");
    _cleanup_(buf_release) struct buf left = { 0 }, config = { 0 };
    assert_int_equal(keys_remove(a->s, "third", info[1].id, false, &left, &e), -EPERM);
    assert_int_equal(keys_remove(a->s, "third", info[0].id, false, &left, NULL), 0);
    assert_int_equal(open_with(a, "secret", ERROR_PASSWORD), -EKEYREJECTED);
    assert_int_equal(keys_remove(a->s, "third", info[1].id, true, &left, &e), -EBUSY);
    assert_int_equal(e.kind, ERROR_USAGE);
    assert_int_equal(left.len, 0); /* another's slot */
    assert_int_equal(keys_add(a->s, "third", "fourth", "", NULL), 0);
    assert_int_equal(keys_remove(a->s, "third", info[1].id, true, &left, NULL), 0);
    read_config(a, &config);
    assert_int_equal(bytes_compare(buf_bytes(&left), buf_bytes(&config)), 0);
    assert_int_equal(open_with(a, "third", ERROR_PASSWORD), -EKEYREJECTED);
}

/* Another version's additions to config survive our changes. */
static void unknown_keys_of_config_are_kept(void **state)
{
    struct area *a = *state;
    _cleanup_(buf_release) struct buf config = { 0 };
    read_config(a, &config);
    json_t *o = json_loadb((char *)config.data, config.len, 0, NULL);
    json_object_set_new(o, "later", json_string("kept"));
    json_object_set_new(json_array_get(json_object_get(o, "slots"), 0), "also", json_true());
    _cleanup_free_ char *text = json_dumps(o, 0);
    json_decref(o);
    struct bytes changed = { (uint8_t *)text, strlen(text) };
    assert_int_equal(store_put(a->s, KEYS_OBJECT, changed, STORE_ALWAYS, NULL, NULL, NULL), 0);
    assert_int_equal(keys_add(a->s, "secret", "second", "", NULL), 0);
    read_config(a, &config);
    assert_non_null(strstr(buf_string(&config), "\"later\": \"kept\""));
    assert_non_null(strstr(buf_string(&config), "\"also\": true"));
}

/* Sets one value of the first slot or of the document and says how config_decode takes it. */
static int decode_with(struct area *a, const char *key, json_t *value)
{
    _cleanup_(buf_release) struct buf config = { 0 };
    struct slots s;
    read_config(a, &config);
    json_t *o = json_loadb((char *)config.data, config.len, 0, NULL), *slot;
    slot = json_array_get(json_object_get(o, "slots"), 0);
    if (json_object_get(json_object_get(slot, "argon2"), key))
        slot = json_object_get(slot, "argon2");
    json_object_set_new(json_object_get(slot, key) ? slot : o, key, value);
    _cleanup_free_ char *text = json_dumps(o, 0);
    json_decref(o);
    int r = slots_decode((struct bytes){ (uint8_t *)text, strlen(text) }, &s, NULL);
    if (r == 0)
        slots_release(&s);
    return r;
}

/* Fails without the bounds: Argon2 would be run with whatever the store asks for. */
static void hostile_argon2_parameters_are_refused_before_use(void **state)
{
    struct area *a = *state;
    assert_int_equal(decode_with(a, "memory", json_integer(SLOTS_MEMORY_MAX)), 0);
    assert_int_equal(decode_with(a, "memory", json_integer(SLOTS_MEMORY_MAX + 1)), -EBADMSG);
    assert_int_equal(decode_with(a, "memory", json_integer(SLOTS_MEMORY_MIN - 1)), -EBADMSG);
    assert_int_equal(decode_with(a, "memory", json_integer(-1)), -EBADMSG);
    assert_int_equal(decode_with(a, "ops", json_integer(11)), -EBADMSG);
    assert_int_equal(decode_with(a, "ops", json_integer(0)), -EBADMSG);
    assert_int_equal(decode_with(a, "ops", json_string("3")), -EBADMSG);
    assert_int_equal(decode_with(a, "label", json_string("red\033[31m")), -EBADMSG);
    assert_int_equal(decode_with(a, "slots", json_array()), -EBADMSG);
    assert_int_equal(decode_with(a, "store_id", json_string("0011")), -EBADMSG);
}

static void a_newer_format_is_named_as_such_even_if_all_else_is_strange(void **state)
{
    struct error e = { 0 };
    struct slots s;
    const char *newer = "{\"v\":1,\"format\":2,\"slots\":\"elsewhere\"}";
    assert_int_equal(slots_decode((struct bytes){ (const uint8_t *)newer, strlen(newer) }, &s, &e), -ENOTSUP);
    assert_int_equal(e.kind, ERROR_USAGE);
    assert_int_equal(decode_with(*state, "format", json_integer(STORE_FORMAT + 1)), -ENOTSUP);
}

/* The cache is what opens here: the slot's Argon2 would not agree with a wrong master key in the file. */
static void the_cached_key_is_used_for_its_own_password_and_slot_only(void **state)
{
    struct area *a = *state;
    struct keys k;
    struct stat st;
    assert_int_equal(keys_open(a->s, "secret", a->dir, &k, NULL), 0);
    assert_int_equal(fstatat(a->dir, "key", &st, 0), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(keys_open(a->s, "secret", a->dir, &k, NULL), 0);
    assert_memory_equal(&k, &a->made, sizeof(k));

    assert_int_equal(keys_open(a->s, "wrong", a->dir, &k, NULL), -EKEYREJECTED);
    assert_int_equal(keys_change(a->s, "secret", "new", NULL), 0);
    assert_int_equal(keys_open(a->s, "secret", a->dir, &k, NULL), -EKEYREJECTED);
}

static void a_damaged_cached_key_is_ignored(void **state)
{
    struct area *a = *state;
    struct keys k;
    _cleanup_(buf_release) struct buf file = { 0 };
    assert_int_equal(keys_open(a->s, "secret", a->dir, &k, NULL), 0);
    assert_int_equal(fd_read_file(a->dir, "key", 4096, &file, NULL), 0);
    file.data[50] ^= 1; /* in the master key */
    assert_int_equal(fd_replace(a->dir, "key", file.data, file.len, NULL), 0);
    assert_int_equal(keys_open(a->s, "secret", a->dir, &k, NULL), 0);
    assert_memory_equal(&k, &a->made, sizeof(k));
}

static void the_recovery_text_brings_the_keys_back_as_people_type_it(void **state)
{
    struct area *a = *state;
    struct keys k;
    _cleanup_(buf_release) struct buf text = { 0 };
    assert_int_equal(keys_export(&a->made, &text, NULL), 0);
    assert_int_equal(keys_import(buf_string(&text), &k, NULL), 0);
    assert_memory_equal(&k, &a->made, sizeof(k));

    bool comment = false;
    for (size_t i = 0; i < text.len; i++) {
        uint8_t *c = &text.data[i];
        comment = *c == '#' || (comment && *c != '\n');
        if (comment)
            continue;
        *c = (uint8_t)(*c == '0' ? 'o' : *c == '1' ? 'l' : *c == '-' ? ' ' : *c >= 'A' ? *c | 0x20 : *c);
    }
    assert_int_equal(keys_import(buf_string(&text), &k, NULL), 0);
    assert_memory_equal(&k, &a->made, sizeof(k));
}

static void a_typing_error_in_the_recovery_text_is_found(void **state)
{
    struct area *a = *state;
    struct keys k;
    struct error e = { 0 };
    _cleanup_(buf_release) struct buf text = { 0 };
    assert_int_equal(keys_export(&a->made, &text, NULL), 0);
    size_t digits = 0;
    for (size_t i = text.len; i-- > 0 && digits < 88;) {
        uint8_t was = text.data[i];
        if (was == '-' || was == '\n')
            continue;
        digits++;
        text.data[i] = was == 'Z' ? 'Y' : 'Z';
        assert_int_equal(keys_import(buf_string(&text), &k, &e), -EINVAL);
        assert_int_equal(e.kind, ERROR_USAGE);
        text.data[i] = was;
    }
    assert_int_equal(keys_import("", &k, NULL), -EINVAL);
    text.len--;
    buf_add(&text, "0", 1);
    assert_int_equal(keys_import(buf_string(&text), &k, NULL), -EINVAL);
}

static void with_the_recovery_key_a_store_opens_again_without_any_password(void **state)
{
    struct area *a = *state;
    struct keys other = a->made;
    assert_int_equal(keys_restore(a->s, &a->made, "new", NULL), 0);
    assert_int_equal(open_with(a, "new", 0), 0);
    assert_int_equal(open_with(a, "secret", 0), 0);
    other.store_id[3] ^= 1;
    assert_int_equal(keys_restore(a->s, &other, "new", NULL), -EINVAL);
    assert_int_equal(store_remove(a->s, KEYS_OBJECT, NULL), 0);
    assert_int_equal(keys_restore(a->s, &a->made, "newer", NULL), 0);
    assert_int_equal(open_with(a, "newer", 0), 0);
}

static void every_subkey_and_every_box_has_its_own_key(void **state)
{
    struct area *a = *state;
    struct hash_key k[6];
    keys_sealing(&a->made, k[0].b);
    keys_identity(&a->made, "a", &k[1]);
    keys_identity(&a->made, "b", &k[2]);
    keys_chunking(&a->made, "a", &k[3]);
    keys_cutting(&a->made, "a", &k[4]);
    memcpy(k[5].b, a->made.master, 32);
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < i; j++)
            assert_memory_not_equal(&k[i], &k[j], sizeof(k[i]));
}

#define WITH_STORE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_STORE(the_right_password_opens_and_a_wrong_one_is_said_to_be_wrong),
        WITH_STORE(a_second_init_changes_nothing),
        WITH_STORE(a_store_without_config_is_not_initialised),
        WITH_STORE(slots_are_added_changed_and_removed_but_the_last_stays),
        WITH_STORE(unknown_keys_of_config_are_kept),
        WITH_STORE(hostile_argon2_parameters_are_refused_before_use),
        WITH_STORE(a_newer_format_is_named_as_such_even_if_all_else_is_strange),
        WITH_STORE(the_cached_key_is_used_for_its_own_password_and_slot_only),
        WITH_STORE(a_damaged_cached_key_is_ignored),
        WITH_STORE(the_recovery_text_brings_the_keys_back_as_people_type_it),
        WITH_STORE(a_typing_error_in_the_recovery_text_is_found),
        WITH_STORE(with_the_recovery_key_a_store_opens_again_without_any_password),
        WITH_STORE(every_subkey_and_every_box_has_its_own_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
