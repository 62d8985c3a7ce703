/* SPDX-License-Identifier: MIT */
#include "sync/sigv4.h"

#include "index/base/text.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define HASH 32 /* bytes of SHA-256 */

static void hmac(const void *key, size_t key_len, const void *data, size_t len, uint8_t ret[HASH])
{
    crypto_auth_hmacsha256_state h;
    crypto_auth_hmacsha256_init(&h, key, key_len);
    crypto_auth_hmacsha256_update(&h, data, len);
    crypto_auth_hmacsha256_final(&h, ret);
    sodium_memzero(&h, sizeof(h));
}

void sigv4_encode(struct buf *to, const char *s, bool path)
{
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("-._~", c) ||
                     (path && c == '/');
        if (plain)
            buf_add(to, s, 1);
        else
            buf_printf(to, "%%%02X", c);
    }
}

void sigv4_time(char to[SIGV4_TIME_MAX], int64_t unix_ns)
{
    time_t seconds = (time_t)(unix_ns / 1000000000);
    struct tm tm;
    gmtime_r(&seconds, &tm);
    strftime(to, SIGV4_TIME_MAX, "%Y%m%dT%H%M%SZ", &tm);
}

void sigv4_payload(char to[SIGV4_HASH_MAX], struct bytes payload)
{
    uint8_t sum[HASH];
    crypto_hash_sha256(sum, payload.data, payload.len);
    text_hex(to, sum, sizeof(sum));
}

static void signed_names(const struct sigv4_request *q, struct buf *to)
{
    for (size_t i = 0; i < q->header_count; i++)
        buf_printf(to, "%s%s", i ? ";" : "", q->headers[i].name);
}

static void canonical_request(const struct sigv4_request *q, char ret_hash[SIGV4_HASH_MAX])
{
    struct buf text = { 0 };
    buf_printf(&text, "%s\n%s\n%s\n", q->method, q->path, q->query);
    for (size_t i = 0; i < q->header_count; i++)
        buf_printf(&text, "%s:%s\n", q->headers[i].name, q->headers[i].value);
    buf_printf(&text, "\n");
    signed_names(q, &text);
    buf_printf(&text, "\n%s", q->payload_sha256);
    sigv4_payload(ret_hash, buf_bytes(&text));
    buf_release(&text);
}

static void signing_key(const struct sigv4_credentials *c, const char *day, uint8_t key[HASH])
{
    struct buf secret = { 0 };
    buf_printf(&secret, "AWS4%s", c->secret_key);
    hmac(secret.data, secret.len, day, strlen(day), key);
    sodium_memzero(secret.data, secret.len);
    buf_release(&secret);
    const char *const scope[] = { c->region, c->service, "aws4_request" };
    for (size_t i = 0; i < 3; i++)
        hmac(key, HASH, scope[i], strlen(scope[i]), key);
}

void sigv4_sign(const struct sigv4_credentials *c, const struct sigv4_request *q, struct buf *ret_authorization)
{
    char hash[SIGV4_HASH_MAX], day[9];
    snprintf(day, sizeof(day), "%.8s", q->time);
    canonical_request(q, hash);
    struct buf scope = { 0 }, text = { 0 };
    buf_printf(&scope, "%s/%s/%s/aws4_request", day, c->region, c->service);
    buf_printf(&text, "AWS4-HMAC-SHA256\n%s\n%s\n%s", q->time, buf_string(&scope), hash);

    uint8_t key[HASH], signature[HASH];
    signing_key(c, day, key);
    hmac(key, sizeof(key), text.data, text.len, signature);
    sodium_memzero(key, sizeof(key));
    text_hex(hash, signature, sizeof(signature));

    buf_clear(ret_authorization);
    buf_printf(ret_authorization, "AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=", c->access_key,
               buf_string(&scope));
    signed_names(q, ret_authorization);
    buf_printf(ret_authorization, ", Signature=%s", hash);
    buf_release(&scope);
    buf_release(&text);
}
