/* SPDX-License-Identifier: MIT */
#include "sync/slots.h"

#include "index/base/clock.h"
#include "index/base/mem.h"
#include "index/base/text.h"
#include "index/base/wire.h"

#include <errno.h>
#include <sodium.h>

/* Of new slots: about 0.05 s. A node waits for it at its first `up`, between one round trip and the next (DESIGN.md).
 */
#define PASSES 2
#define MEMORY (19ull * 1024 * 1024)
#define NONCE crypto_aead_xchacha20poly1305_ietf_NPUBBYTES

void slots_new(const uint8_t store_id[16], struct slots *ret)
{
    char id[33];
    text_hex(id, store_id, 16);
    *ret = (struct slots){ .document = json_pack("{s:i, s:i, s:s, s:[]}", "v", 1, "format", STORE_FORMAT, "store_id",
                                                 id, "slots") };
    if (!ret->document)
        abort();
    memcpy(ret->store_id, store_id, 16);
}

void slots_release(struct slots *s)
{
    json_decref(s->document);
    *s = (struct slots){ 0 };
}

static int damaged(struct error *e, const char *what)
{
    return error_say(e, ERROR_DAMAGED, -EBADMSG, "the store's config is damaged: %s", what);
}

static int get_hex(const json_t *o, const char *key, void *to, size_t n)
{
    const json_t *v = json_object_get(o, key);
    return v && json_is_string(v) ? text_unhex(json_string_value(v), json_string_length(v), to, n) : -EINVAL;
}

/* Text that people will be shown: short, and without control bytes. */
static int get_text(const json_t *o, const char *key, char *to, size_t room)
{
    const json_t *v = json_object_get(o, key);
    if (!json_is_string(v) || json_string_length(v) >= room)
        return -EINVAL;
    const char *s = json_string_value(v);
    for (size_t i = 0; i < json_string_length(v); i++)
        if ((unsigned char)s[i] < 0x20 || s[i] == 0x7f)
            return -EINVAL;
    memcpy(to, s, json_string_length(v) + 1);
    return 0;
}

static int get_number(const json_t *o, const char *key, uint64_t min, uint64_t max, uint64_t *ret)
{
    const json_t *v = json_object_get(o, key);
    if (!json_is_integer(v) || json_integer_value(v) < (json_int_t)min || json_integer_value(v) > (json_int_t)max)
        return -EINVAL;
    *ret = (uint64_t)json_integer_value(v);
    return 0;
}

static int decode_slot(const json_t *o, struct slot *n)
{
    uint8_t id[8];
    const json_t *argon2 = json_object_get(o, "argon2");
    if (get_text(o, "id", n->info.id, sizeof(n->info.id)) < 0 ||
        text_unhex(n->info.id, strlen(n->info.id), id, 8) < 0 ||
        get_text(o, "created", n->info.created, sizeof(n->info.created)) < 0 ||
        get_text(o, "label", n->info.label, sizeof(n->info.label)) < 0 ||
        get_number(argon2, "ops", 1, SLOTS_PASSES_MAX, &n->passes) < 0 ||
        get_number(argon2, "memory", SLOTS_MEMORY_MIN, SLOTS_MEMORY_MAX, &n->memory) < 0 ||
        get_hex(o, "salt", n->salt, sizeof(n->salt)) < 0 || get_hex(o, "wrapped", n->wrapped, sizeof(n->wrapped)) < 0 ||
        get_hex(o, "commitment", n->commitment, sizeof(n->commitment)) < 0)
        return -EBADMSG;
    return 0;
}

/* The version comes first: what a newer one looks like otherwise is not ours to judge. */
static int check_version(const json_t *o, struct error *e)
{
    const json_t *format = json_object_get(o, "format"), *v = json_object_get(o, "v");
    if (!json_is_integer(format) || json_integer_value(format) < 1 || !json_is_integer(v) || json_integer_value(v) < 1)
        return damaged(e, "no format version");
    if (json_integer_value(format) > STORE_FORMAT || json_integer_value(v) > 1) {
        error_say(e, ERROR_USAGE, -ENOTSUP, "the store has format %lld, this ag-box knows %d",
                  (long long)json_integer_value(format), STORE_FORMAT);
        error_hint(e, "use the ag-box version that wrote it, or a newer one");
        return -ENOTSUP;
    }
    return 0;
}

int slots_decode(struct bytes config, struct slots *ret, struct error *e)
{
    _cleanup_(slots_release) struct slots s = { 0 };
    if (config.len == 0 || config.len > KEYS_OBJECT_MAX)
        return damaged(e, "impossible size");
    s.document = json_loadb((const char *)config.data, config.len, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(s.document))
        return damaged(e, "not JSON");
    int r = check_version(s.document, e);
    if (r < 0)
        return r;

    const json_t *list = json_object_get(s.document, "slots");
    if (get_hex(s.document, "store_id", s.store_id, sizeof(s.store_id)) < 0)
        return damaged(e, "store_id");
    if (!json_is_array(list) || json_array_size(list) == 0 || json_array_size(list) > KEYS_SLOTS_MAX)
        return damaged(e, "slots");
    for (; s.count < json_array_size(list); s.count++)
        if (decode_slot(json_array_get(list, s.count), &s.slot[s.count]) < 0)
            return damaged(e, "a slot holds impossible values");

    *ret = s;
    s = (struct slots){ 0 };
    return 0;
}

void slots_encode(const struct slots *s, struct buf *to)
{
    _cleanup_free_ char *text = json_dumps(s->document, JSON_INDENT(2) | JSON_SORT_KEYS);
    if (!text)
        abort();
    buf_printf(to, "%s\n", text);
}

/* What Argon2id makes of the password: a key that wraps, and a key that commits. */
struct slot_keys {
    uint8_t wrap[32], commit[32];
};

static int stretch(const struct slot *n, const char *password, struct slot_keys *ret, struct error *e)
{
    if (crypto_pwhash((uint8_t *)ret, sizeof(*ret), password, strlen(password), n->salt, n->passes, n->memory,
                      crypto_pwhash_ALG_ARGON2ID13) != 0)
        return error_set(e, ERROR_FAILED, -ENOMEM, "Argon2 with %llu MiB", (unsigned long long)(n->memory >> 20));
    return 0;
}

static void slot_name(const struct slots *s, const struct slot *n, struct buf *to)
{
    buf_add(to, "ag-box slot", 11);
    wire_put_u8(to, STORE_FORMAT);
    buf_add(to, s->store_id, sizeof(s->store_id));
    buf_add(to, n->info.id, 16);
}

static void commit(const struct slots *s, const struct slot *n, const struct slot_keys *k, uint8_t ret[32])
{
    _cleanup_(buf_release) struct buf b = { 0 };
    slot_name(s, n, &b);
    wire_put_u64(&b, n->passes);
    wire_put_u64(&b, n->memory);
    buf_add(&b, n->salt, sizeof(n->salt));
    buf_add(&b, n->wrapped, sizeof(n->wrapped));
    crypto_generichash(ret, 32, b.data, b.len, k->commit, sizeof(k->commit));
}

static void wrap(const struct slots *s, struct slot *n, const struct slot_keys *k, const uint8_t master[32])
{
    _cleanup_(buf_release) struct buf name = { 0 };
    slot_name(s, n, &name);
    randombytes_buf(n->wrapped, NONCE);
    crypto_aead_xchacha20poly1305_ietf_encrypt(n->wrapped + NONCE, NULL, master, 32, name.data, name.len, NULL,
                                               n->wrapped, k->wrap);
}

static int unwrap(const struct slots *s, const struct slot *n, const struct slot_keys *k, uint8_t ret_master[32])
{
    _cleanup_(buf_release) struct buf name = { 0 };
    slot_name(s, n, &name);
    return crypto_aead_xchacha20poly1305_ietf_decrypt(ret_master, NULL, NULL, n->wrapped + NONCE,
                                                      sizeof(n->wrapped) - NONCE, name.data, name.len, n->wrapped,
                                                      k->wrap);
}

static json_t *slot_json(const struct slot *n)
{
    char salt[2 * sizeof(n->salt) + 1], wrapped[2 * sizeof(n->wrapped) + 1], commitment[2 * sizeof(n->commitment) + 1];
    text_hex(salt, n->salt, sizeof(n->salt));
    text_hex(wrapped, n->wrapped, sizeof(n->wrapped));
    text_hex(commitment, n->commitment, sizeof(n->commitment));
    return json_pack("{s:s, s:s, s:s, s:{s:I, s:I}, s:s, s:s, s:s}", "id", n->info.id, "created", n->info.created,
                     "label", n->info.label, "argon2", "ops", (json_int_t)n->passes, "memory", (json_int_t)n->memory,
                     "salt", salt, "wrapped", wrapped, "commitment", commitment);
}

static int check_new(const struct slots *s, const char *password, const char *label, struct error *e)
{
    if (!password || !password[0])
        return error_say(e, ERROR_USAGE, -EINVAL, "the new password is empty");
    if (!text_is_utf8(label, strlen(label)) || strlen(label) >= sizeof(s->slot[0].info.label))
        return error_say(e, ERROR_USAGE, -EINVAL, "a key slot's label is UTF-8 of at most %zu bytes",
                         sizeof(s->slot[0].info.label) - 1);
    for (const char *c = label; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return error_say(e, ERROR_USAGE, -EINVAL, "a key slot's label holds a control character");
    if (s->count == KEYS_SLOTS_MAX)
        return error_say(e, ERROR_USAGE, -ENOSPC, "all %d key slots are taken", KEYS_SLOTS_MAX);
    return 0;
}

int slots_add(struct slots *s, const char *password, const char *label, const uint8_t master[32], struct error *e)
{
    int r = check_new(s, password, label, e);
    if (r < 0)
        return r;

    struct slot n = { .passes = PASSES, .memory = MEMORY };
    struct slot_keys k;
    uint8_t id[8];
    randombytes_buf(id, sizeof(id));
    randombytes_buf(n.salt, sizeof(n.salt));
    text_hex(n.info.id, id, sizeof(id));
    text_time(n.info.created, clock_wall_ns());
    memcpy(n.info.label, label, strlen(label) + 1);
    r = stretch(&n, password, &k, e);
    if (r < 0)
        return r;

    wrap(s, &n, &k, master);
    commit(s, &n, &k, n.commitment);
    sodium_memzero(&k, sizeof(k));
    if (json_array_append_new(json_object_get(s->document, "slots"), slot_json(&n)) != 0)
        abort();
    s->slot[s->count++] = n;
    return 0;
}

void slots_remove(struct slots *s, size_t which)
{
    json_array_remove(json_object_get(s->document, "slots"), which);
    s->count--;
    memmove(&s->slot[which], &s->slot[which + 1], (s->count - which) * sizeof(s->slot[0]));
}

static int try_slot(const struct slots *s, const struct slot *n, const char *password, uint8_t ret_master[32],
                    struct error *e)
{
    struct slot_keys k;
    uint8_t commitment[32];
    int r = stretch(n, password, &k, e);
    if (r < 0)
        return r;
    commit(s, n, &k, commitment);
    if (sodium_memcmp(commitment, n->commitment, sizeof(commitment)) != 0)
        r = -EKEYREJECTED;
    else if (unwrap(s, n, &k, ret_master) < 0)
        r = damaged(e, "a key slot commits to a key that it does not hold");
    sodium_memzero(&k, sizeof(k));
    return r;
}

int slots_unlock(const struct slots *s, const char *password, uint8_t ret_master[32], size_t *ret_which,
                 struct error *e)
{
    if (!password || !password[0]) {
        error_say(e, ERROR_PASSWORD, -EKEYREJECTED, "no password is given");
        error_hint(e, "set BOX_PASSWORD in the env file");
        return -EKEYREJECTED;
    }
    for (size_t i = 0; i < s->count; i++) {
        int r = try_slot(s, &s->slot[i], password, ret_master, e);
        if (r == 0)
            *ret_which = i;
        if (r != -EKEYREJECTED)
            return r;
    }
    return error_say(e, ERROR_PASSWORD, -EKEYREJECTED, "the password opens no key slot of this store");
}
