/* SPDX-License-Identifier: MIT */
#include "sync/seal.h"

#include "index/base/mem.h"
#include "index/base/wire.h"

#include <errno.h>
#include <pthread.h>
#include <sodium.h>
#include <stdatomic.h>
#include <zstd.h>

#define ALGORITHM 1
#define NONCE crypto_aead_xchacha20poly1305_ietf_NPUBBYTES
#define TAG crypto_aead_xchacha20poly1305_ietf_ABYTES
#define BODY (1 + NONCE)
#define LEVEL 3
#define SCRATCH_MAX (512u * 1024) /* kept by a thread between calls */
#define ADDITIONAL_MAX (7 + 16 + 1 + 255 + 1 + SEAL_ID_MAX)

enum body { BODY_RAW = 0, BODY_ZSTD = 1 };

/* What one thread keeps: making a zstd context costs more than compressing a small frame. */
struct tools {
    ZSTD_CCtx *compress;
    ZSTD_DCtx *decompress;
    struct buf scratch;
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t tools_key;

static void tools_free(void *arg)
{
    struct tools *t = arg;
    ZSTD_freeCCtx(t->compress);
    ZSTD_freeDCtx(t->decompress);
    buf_release(&t->scratch);
    free(t);
}

static void begin(void)
{
    if (sodium_init() < 0 || pthread_key_create(&tools_key, tools_free) != 0)
        abort();
}

static struct tools *tools(void)
{
    pthread_once(&once, begin);
    struct tools *t = pthread_getspecific(tools_key);
    if (t)
        return t;
    t = mem_new(1, sizeof(*t));
    t->compress = ZSTD_createCCtx();
    t->decompress = ZSTD_createDCtx();
    if (!t->compress || !t->decompress || pthread_setspecific(tools_key, t) != 0)
        abort();
    return t;
}

void seal_prepare(struct bytes plain, struct buf *ret)
{
    size_t room = ZSTD_compressBound(plain.len);
    buf_reserve(ret, SEAL_HEADER + room);
    uint8_t *body = ret->data + ret->len + SEAL_HEADER;
    size_t n = ZSTD_compressCCtx(tools()->compress, body, room, plain.data, plain.len, LEVEL);
    bool shorter = !ZSTD_isError(n) && n < plain.len;
    wire_put_u8(ret, shorter ? BODY_ZSTD : BODY_RAW);
    wire_put_u32(ret, (uint32_t)plain.len);
    if (shorter)
        ret->len += n;
    else
        buf_add(ret, plain.data, plain.len);
}

/* format|store|box|type|id. Every part but the last has a fixed length or tells its own, so two names never meet. */
static size_t additional(const struct seal_context *c, enum seal_type type, const void *id, size_t id_len,
                         uint8_t to[ADDITIONAL_MAX])
{
    size_t box_len = strlen(c->box);
    if (box_len > 255 || id_len > SEAL_ID_MAX)
        abort();
    uint8_t *p = to;
    memcpy(p, "ag-box", 6);
    p += 6;
    *p++ = STORE_FORMAT;
    memcpy(p, c->keys->store_id, sizeof(c->keys->store_id));
    p += sizeof(c->keys->store_id);
    *p++ = (uint8_t)box_len;
    memcpy(p, c->box, box_len);
    p += box_len;
    *p++ = (uint8_t)type;
    if (id_len > 0)
        memcpy(p, id, id_len);
    return (size_t)(p - to) + id_len;
}

/* With the plaintext in it, even a clone of this machine, which draws the same random bytes and counts alike, cannot
 * use one nonce for two plaintexts. */
static void make_nonce(const uint8_t key[32], struct bytes ad, struct bytes plain, uint8_t ret[NONCE])
{
    static const uint8_t personal[crypto_generichash_blake2b_PERSONALBYTES] = "ag-box nonce";
    static atomic_uint_fast64_t counter;
    uint8_t fresh[32];
    uint64_t count = atomic_fetch_add(&counter, 1);
    crypto_generichash_blake2b_state s;
    randombytes_buf(fresh, sizeof(fresh));
    crypto_generichash_blake2b_init_salt_personal(&s, key, 32, NONCE, NULL, personal);
    crypto_generichash_blake2b_update(&s, fresh, sizeof(fresh));
    crypto_generichash_blake2b_update(&s, (const uint8_t *)&count, sizeof(count));
    crypto_generichash_blake2b_update(&s, ad.data, ad.len);
    crypto_generichash_blake2b_update(&s, plain.data, plain.len);
    crypto_generichash_blake2b_final(&s, ret, NONCE);
}

void seal_prepared(const struct seal_context *c, enum seal_type type, const void *id, size_t id_len,
                   struct bytes prepared, uint8_t *to)
{
    pthread_once(&once, begin);
    uint8_t key[32], ad[ADDITIONAL_MAX];
    size_t ad_len = additional(c, type, id, id_len, ad);
    keys_sealing(c->keys, key);
    to[0] = ALGORITHM;
    make_nonce(key, (struct bytes){ ad, ad_len }, prepared, to + 1);
    crypto_aead_xchacha20poly1305_ietf_encrypt(to + BODY, NULL, prepared.data, prepared.len, ad, ad_len, NULL, to + 1,
                                               key);
    sodium_memzero(key, sizeof(key));
}

void seal(const struct seal_context *c, enum seal_type type, const void *id, size_t id_len, struct bytes plain,
          struct buf *ret)
{
    struct buf *scratch = &tools()->scratch;
    buf_clear(scratch);
    seal_prepare(plain, scratch);
    buf_reserve(ret, scratch->len + SEAL_OVERHEAD);
    seal_prepared(c, type, id, id_len, buf_bytes(scratch), ret->data + ret->len);
    ret->len += scratch->len + SEAL_OVERHEAD;
    if (scratch->room > SCRATCH_MAX)
        buf_release(scratch);
}

static int unpack(struct tools *t, struct bytes body, size_t max, struct buf *ret)
{
    struct wire w = wire_reader(body.data, body.len);
    uint8_t kind = wire_u8(&w);
    size_t raw = wire_u32(&w), left = (size_t)(w.end - w.at);
    if (w.bad || kind > BODY_ZSTD || raw > max)
        return -EBADMSG;
    if (kind == BODY_RAW) {
        if (left != raw)
            return -EBADMSG;
        buf_add(ret, w.at, raw);
        return 0;
    }

    if (ZSTD_getFrameContentSize(w.at, left) != raw)
        return -EBADMSG;
    buf_reserve(ret, raw + 1);
    size_t n = ZSTD_decompressDCtx(t->decompress, ret->data + ret->len, raw, w.at, left);
    if (ZSTD_isError(n) || n != raw)
        return -EBADMSG;
    ret->len += raw;
    return 0;
}

static int decrypt(const struct seal_context *c, enum seal_type type, const void *id, size_t id_len,
                   struct bytes sealed, struct buf *ret)
{
    if (sealed.len < SEAL_OVERHEAD + SEAL_HEADER || sealed.data[0] != ALGORITHM)
        return -EBADMSG;

    uint8_t key[32], ad[ADDITIONAL_MAX];
    size_t ad_len = additional(c, type, id, id_len, ad), len = sealed.len - BODY;
    buf_clear(ret);
    buf_reserve(ret, len);
    keys_sealing(c->keys, key);
    int r = crypto_aead_xchacha20poly1305_ietf_decrypt(ret->data, NULL, NULL, sealed.data + BODY, len, ad, ad_len,
                                                       sealed.data + 1, key);
    sodium_memzero(key, sizeof(key));
    if (r < 0)
        return -EBADMSG;
    ret->len = len - TAG;
    return 0;
}

int seal_open(const struct seal_context *c, enum seal_type type, const void *id, size_t id_len, struct bytes sealed,
              size_t max, struct buf *ret, struct error *e)
{
    struct tools *t = tools();
    int r = decrypt(c, type, id, id_len, sealed, &t->scratch);
    if (r == 0)
        r = unpack(t, buf_bytes(&t->scratch), max, ret);
    if (t->scratch.room > SCRATCH_MAX)
        buf_release(&t->scratch);
    if (r < 0)
        return error_say(e, ERROR_DAMAGED, r, "sealed bytes do not open: damaged, or not what they are called");
    return 0;
}
