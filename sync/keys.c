/* SPDX-License-Identifier: MIT */
#include "sync/keys.h"

#include "index/base/fd.h"
#include "index/base/log.h"
#include "index/base/mem.h"
#include "sync/slots.h"

#include <errno.h>
#include <sodium.h>

#define CACHE_FILE "key"
#define CACHE_MAGIC "agboxk1\n"

void keys_release(struct keys *k)
{
    sodium_memzero(k, sizeof(*k));
}

static void derive(const struct keys *k, const char *context, const char *box, uint8_t ret[32])
{
    crypto_generichash_state s;
    crypto_generichash_init(&s, k->master, sizeof(k->master), 32);
    crypto_generichash_update(&s, (const uint8_t *)context, strlen(context) + 1);
    crypto_generichash_update(&s, (const uint8_t *)box, strlen(box) + 1);
    crypto_generichash_final(&s, ret, 32);
    sodium_memzero(&s, sizeof(s));
}

void keys_sealing(const struct keys *k, uint8_t ret[32])
{
    derive(k, "ag-box 1 sealing", "", ret);
}

void keys_identity(const struct keys *k, const char *box, struct hash_key *ret)
{
    derive(k, "ag-box 1 identity", box, ret->b);
}

void keys_chunking(const struct keys *k, const char *box, struct hash_key *ret)
{
    derive(k, "ag-box 1 chunking", box, ret->b);
}

void keys_cutting(const struct keys *k, const char *box, struct hash_key *ret)
{
    derive(k, "ag-box 1 cutting", box, ret->b);
}

/* The file that spares Argon2: what it was made for, the master key, and a hash that proves the two belong together. */
struct cached {
    uint8_t magic[8];
    uint8_t binding[32];
    uint8_t master[32];
    uint8_t proof[32];
};

static void bind_to(const struct slots *s, const struct slot *n, const char *password, uint8_t ret[32])
{
    crypto_generichash_state h;
    crypto_generichash_init(&h, (const uint8_t *)CACHE_MAGIC, 8, 32);
    crypto_generichash_update(&h, s->store_id, sizeof(s->store_id));
    crypto_generichash_update(&h, (const uint8_t *)n->info.id, 16);
    crypto_generichash_update(&h, n->salt, sizeof(n->salt));
    crypto_generichash_update(&h, n->wrapped, sizeof(n->wrapped));
    crypto_generichash_update(&h, n->commitment, sizeof(n->commitment));
    crypto_generichash_update(&h, (const uint8_t *)password, strlen(password));
    crypto_generichash_final(&h, ret, 32);
}

static int cache_read(int dir, const struct slots *s, const char *password, uint8_t ret_master[32])
{
    _cleanup_(buf_release) struct buf file = { 0 };
    struct cached c;
    uint8_t binding[32], proof[32];
    if (dir < 0 || !password || fd_read_file(dir, CACHE_FILE, sizeof(c), &file, NULL) < 0 || file.len != sizeof(c))
        return -ENOENT;
    memcpy(&c, file.data, sizeof(c));
    sodium_memzero(file.data, file.len);

    int r = -ENOENT;
    crypto_generichash(proof, sizeof(proof), c.binding, sizeof(c.binding), c.master, sizeof(c.master));
    bool intact = memcmp(c.magic, CACHE_MAGIC, 8) == 0 && sodium_memcmp(proof, c.proof, sizeof(proof)) == 0;
    for (size_t i = 0; i < s->count && intact; i++) {
        bind_to(s, &s->slot[i], password, binding);
        if (sodium_memcmp(binding, c.binding, sizeof(binding)) == 0) {
            memcpy(ret_master, c.master, 32);
            r = 0;
        }
    }
    sodium_memzero(&c, sizeof(c));
    return r;
}

static void cache_write(int dir, const struct slots *s, size_t which, const char *password, const uint8_t master[32])
{
    struct error e = { 0 };
    struct cached c;
    if (dir < 0)
        return;
    memcpy(c.magic, CACHE_MAGIC, 8);
    memcpy(c.master, master, 32);
    bind_to(s, &s->slot[which], password, c.binding);
    crypto_generichash(c.proof, sizeof(c.proof), c.binding, sizeof(c.binding), c.master, sizeof(c.master));
    if (fd_replace(dir, CACHE_FILE, &c, sizeof(c), &e) < 0)
        log_info("the unwrapped key is not kept: %s", e.text);
    sodium_memzero(&c, sizeof(c));
}

int keys_open_bytes(struct bytes config, const char *password, int cache_dir, struct keys *ret, struct error *e)
{
    _cleanup_(slots_release) struct slots s = { 0 };
    _cleanup_(keys_release) struct keys k = { 0 };
    size_t which;
    if (sodium_init() < 0)
        return error_say(e, ERROR_FAILED, -EIO, "libsodium does not start");
    int r = slots_decode(config, &s, e);
    if (r < 0)
        return r;

    memcpy(k.store_id, s.store_id, sizeof(k.store_id));
    if (cache_read(cache_dir, &s, password, k.master) < 0) {
        r = slots_unlock(&s, password, k.master, &which, e);
        if (r < 0)
            return r;
        cache_write(cache_dir, &s, which, password, k.master);
    }
    *ret = k;
    return 0;
}

int keys_forget(int cache_dir, struct error *e)
{
    if (unlinkat(cache_dir, CACHE_FILE, 0) == 0 || errno == ENOENT)
        return fsync(cache_dir) == 0 ? 0 : error_set(e, ERROR_FAILED, -errno, "forget the unwrapped key");
    return error_set(e, ERROR_FAILED, -errno, "remove the unwrapped key");
}

bool keys_same_store(struct bytes a, struct bytes b)
{
    _cleanup_(slots_release) struct slots x = { 0 }, y = { 0 };
    if (slots_decode(a, &x, NULL) < 0 || slots_decode(b, &y, NULL) < 0)
        return true;
    return memcmp(x.store_id, y.store_id, sizeof(x.store_id)) == 0;
}

static int get_config(struct store *s, struct buf *ret, struct store_info *ret_info, struct error *e)
{
    struct error why = { 0 };
    int r = store_get(s, KEYS_OBJECT, 0, 0, KEYS_OBJECT_MAX, ret, ret_info, &why);
    if (r == -ENOENT) {
        error_say(e, ERROR_USAGE, r, "the store is not initialised: %s", why.text);
        error_hint(e, "`ag-box key recover` makes it anew from what `ag-box key export` printed");
    } else if (r < 0) {
        error_pass(e, &why);
    }
    return r;
}

int keys_open(struct store *s, const char *password, int cache_dir, struct keys *ret, struct error *e)
{
    _cleanup_(buf_release) struct buf config = { 0 };
    int r = get_config(s, &config, NULL, e);
    if (r < 0)
        return r;
    return keys_open_bytes(buf_bytes(&config), password, cache_dir, ret, e);
}

/* One conditional PUT. Salts are random, so equal bytes in the store are ours, whatever the answer was (rule L2). */
static int put_config(struct store *s, const struct slots *slots, const char *etag, struct error *e)
{
    _cleanup_(buf_release) struct buf config = { 0 }, now = { 0 };
    slots_encode(slots, &config);
    int r = store_put(s, KEYS_OBJECT, buf_bytes(&config), etag ? STORE_IF_MATCH : STORE_IF_ABSENT, etag, NULL, e);
    if (r == 0 || r == -EACCES || r == -ECANCELED)
        return r;
    if (store_get(s, KEYS_OBJECT, 0, 0, KEYS_OBJECT_MAX, &now, NULL, NULL) == 0 &&
        bytes_compare(buf_bytes(&config), buf_bytes(&now)) == 0)
        return 0;
    if (r == -ESTALE && etag)
        return error_say(e, ERROR_FAILED, r, "the store's config was changed by someone else meanwhile");
    return r;
}

int keys_create(struct store *s, const char *password, struct keys *ret, struct error *e)
{
    _cleanup_(slots_release) struct slots slots = { 0 };
    _cleanup_(keys_release) struct keys k = { 0 };
    if (sodium_init() < 0)
        return error_say(e, ERROR_FAILED, -EIO, "libsodium does not start");
    randombytes_buf(&k, sizeof(k));
    slots_new(k.store_id, &slots);
    int r = slots_add(&slots, password, "init", k.master, e);
    if (r == 0)
        r = put_config(s, &slots, NULL, e);
    if (r == -ESTALE)
        return error_say(e, ERROR_FAILED, -EEXIST, "%s is initialised already", s->description);
    if (r == 0)
        *ret = k;
    return r;
}

int keys_slots(struct store *s, struct keys_slot_info *ret, size_t *count, struct error *e)
{
    _cleanup_(buf_release) struct buf config = { 0 };
    _cleanup_(slots_release) struct slots slots = { 0 };
    int r = get_config(s, &config, NULL, e);
    if (r == 0)
        r = slots_decode(buf_bytes(&config), &slots, e);
    if (r < 0)
        return r;
    if (slots.count < *count)
        *count = slots.count;
    for (size_t i = 0; i < *count; i++)
        ret[i] = slots.slot[i].info;
    return 0;
}

/* What every change begins with: config, and the proof that the caller knows a password. */
struct change {
    struct slots slots;
    struct store_info info;
    uint8_t master[32];
    size_t which; /* the slot that the password opens */
};

static void change_release(struct change *c)
{
    slots_release(&c->slots);
    sodium_memzero(c, sizeof(*c));
}

static int change_begin(struct store *s, const char *password, struct change *ret, struct error *e)
{
    _cleanup_(buf_release) struct buf config = { 0 };
    if (sodium_init() < 0)
        return error_say(e, ERROR_FAILED, -EIO, "libsodium does not start");
    int r = get_config(s, &config, &ret->info, e);
    if (r == 0)
        r = slots_decode(buf_bytes(&config), &ret->slots, e);
    if (r == 0)
        r = slots_unlock(&ret->slots, password, ret->master, &ret->which, e);
    return r;
}

int keys_add(struct store *s, const char *password, const char *new_password, const char *label, struct error *e)
{
    _cleanup_(change_release) struct change c = { 0 };
    int r = change_begin(s, password, &c, e);
    if (r == 0)
        r = slots_add(&c.slots, new_password, label ? label : "", c.master, e);
    return r < 0 ? r : put_config(s, &c.slots, c.info.etag, e);
}

int keys_change(struct store *s, const char *password, const char *new_password, struct error *e)
{
    _cleanup_(change_release) struct change c = { 0 };
    int r = change_begin(s, password, &c, e);
    if (r < 0)
        return r;
    struct slot old = c.slots.slot[c.which];
    slots_remove(&c.slots, c.which);
    r = slots_add(&c.slots, new_password, old.info.label, c.master, e);
    return r < 0 ? r : put_config(s, &c.slots, c.info.etag, e);
}

int keys_remove(struct store *s, const char *password, const char *slot_id, bool own, struct buf *ret_config,
                struct error *e)
{
    _cleanup_(change_release) struct change c = { 0 };
    int r = change_begin(s, password, &c, e);
    if (r < 0)
        return r;
    size_t i = 0;
    while (i < c.slots.count && strcmp(c.slots.slot[i].info.id, slot_id) != 0)
        i++;
    if (i == c.slots.count)
        return error_say(e, ERROR_USAGE, -ENOENT, "there is no key slot %.40s", slot_id);
    if (c.slots.count == 1)
        return error_say(e, ERROR_USAGE, -EBUSY, "%s is the last key slot: without it nothing in the store can be read",
                         slot_id);
    if (i == c.which && !own) {
        error_say(e, ERROR_USAGE, -EPERM, "%s is the slot of the password that is configured here", slot_id);
        return error_hint(e, "configure another slot's password first, or say --force"), -EPERM;
    }
    bool opened = i == c.which;
    slots_remove(&c.slots, i);
    r = put_config(s, &c.slots, c.info.etag, e);
    if (r == 0 && opened)
        slots_encode(&c.slots, ret_config);
    return r;
}

int keys_restore(struct store *s, const struct keys *k, const char *new_password, struct error *e)
{
    _cleanup_(buf_release) struct buf config = { 0 };
    _cleanup_(slots_release) struct slots slots = { 0 };
    struct store_info info = { 0 };
    if (sodium_init() < 0)
        return error_say(e, ERROR_FAILED, -EIO, "libsodium does not start");
    int r = get_config(s, &config, &info, e);
    bool absent = r == -ENOENT;
    if (absent)
        slots_new(k->store_id, &slots);
    else if (r == 0)
        r = slots_decode(buf_bytes(&config), &slots, e);
    if (r < 0 && !absent)
        return r;
    if (memcmp(slots.store_id, k->store_id, sizeof(k->store_id)) != 0)
        return error_say(e, ERROR_USAGE, -EINVAL, "the recovery text belongs to another store than %s", s->description);
    r = slots_add(&slots, new_password, "recovered", k->master, e);
    return r < 0 ? r : put_config(s, &slots, absent ? NULL : info.etag, e);
}

/* Crockford's alphabet: no letter that a reader takes for a digit. */
static const char alphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

#define PAPER_VERSION 1
#define PAPER_CHECK 6
#define PAPER_BYTES (1 + sizeof(struct keys) + PAPER_CHECK) /* 55: 440 bits, 88 digits */
#define PAPER_DIGITS (PAPER_BYTES * 8 / 5)

static void paper_check(const uint8_t *p, uint8_t ret[PAPER_CHECK])
{
    uint8_t h[32];
    crypto_generichash(h, sizeof(h), p, PAPER_BYTES - PAPER_CHECK, (const uint8_t *)"ag-box recovery", 15);
    memcpy(ret, h, PAPER_CHECK);
}

int keys_export(const struct keys *k, struct buf *ret, struct error *e)
{
    uint8_t paper[PAPER_BYTES] = { PAPER_VERSION };
    if (sodium_init() < 0)
        return error_say(e, ERROR_FAILED, -EIO, "libsodium does not start");
    memcpy(paper + 1, k->master, sizeof(k->master));
    memcpy(paper + 1 + sizeof(k->master), k->store_id, sizeof(k->store_id));
    paper_check(paper, paper + PAPER_BYTES - PAPER_CHECK);

    buf_printf(ret, "# ag-box recovery key. Whoever has it can read every box of the store, and with it\n"
                    "# alone every box can be read when all passwords are lost. Keep it on paper, not here.\n");
    for (size_t i = 0; i < PAPER_DIGITS; i++) {
        unsigned digit = 0;
        for (size_t bit = 5 * i; bit < 5 * i + 5; bit++)
            digit = digit << 1 | (paper[bit / 8] >> (7 - bit % 8) & 1);
        buf_printf(ret, "%c%s", alphabet[digit], i % 4 < 3 ? "" : i % 24 == 23 || i + 1 == PAPER_DIGITS ? "\n" : "-");
    }
    sodium_memzero(paper, sizeof(paper));
    return 0;
}

/* The value of a digit as people write it; -1: not one. */
static int digit_value(char c)
{
    if (c >= 'a' && c <= 'z')
        c = (char)(c - 'a' + 'A');
    if (c == 'O')
        c = '0';
    if (c == 'I' || c == 'L')
        c = '1';
    const char *at = c ? strchr(alphabet, c) : NULL;
    return at ? (int)(at - alphabet) : -1;
}

/* The digits of text, without comment lines, white space and dashes. -EINVAL: something else, or another number of
 * them. */
static int read_paper(const char *text, uint8_t paper[PAPER_BYTES])
{
    size_t digits = 0;
    for (const char *c = text; *c; c++) {
        if (*c == '#') {
            c += strcspn(c, "\n");
            if (!*c)
                break;
        }
        if (strchr(" \t\r\n-", *c))
            continue;
        int digit = digit_value(*c);
        if (digit < 0 || digits == PAPER_DIGITS)
            return -EINVAL;
        for (size_t bit = 0; bit < 5; bit++)
            paper[(5 * digits + bit) / 8] |= (uint8_t)((digit >> (4 - bit) & 1) << (7 - (5 * digits + bit) % 8));
        digits++;
    }
    return digits == PAPER_DIGITS ? 0 : -EINVAL;
}

int keys_import(const char *text, struct keys *ret, struct error *e)
{
    uint8_t paper[PAPER_BYTES] = { 0 }, check[PAPER_CHECK];
    if (read_paper(text, paper) < 0)
        return error_say(e, ERROR_USAGE, -EINVAL, "a recovery key has %zu letters and digits in groups of four",
                         PAPER_DIGITS);
    paper_check(paper, check);
    if (memcmp(check, paper + PAPER_BYTES - PAPER_CHECK, PAPER_CHECK) != 0)
        return error_say(e, ERROR_USAGE, -EINVAL, "the recovery key has a typing error: its checksum does not fit");
    if (paper[0] != PAPER_VERSION)
        return error_say(e, ERROR_USAGE, -ENOTSUP, "the recovery key was written by a newer ag-box");
    memcpy(ret->master, paper + 1, sizeof(ret->master));
    memcpy(ret->store_id, paper + 1 + sizeof(ret->master), sizeof(ret->store_id));
    sodium_memzero(paper, sizeof(paper));
    return 0;
}
