/* SPDX-License-Identifier: MIT */
#include "tests/fault/signature.h"

#include "index/base/mem.h"
#include "index/base/text.h"

#include <nettle/hmac.h>
#include <nettle/sha2.h>
#include <stdio.h>

void signature_sha256_hex(const void *p, size_t n, char ret[65])
{
    struct sha256_ctx c;
    uint8_t digest[SHA256_DIGEST_SIZE];
    sha256_init(&c);
    sha256_update(&c, n, p ? p : (const void *)"");
    sha256_digest(&c, sizeof(digest), digest);
    text_hex(ret, digest, sizeof(digest));
}

/* The value of "name=" in a list separated by commas and spaces. */
static bool part(const char *list, const char *name, char *to, size_t room)
{
    const char *p = strstr(list, name);
    if (!p)
        return false;
    p += strlen(name);
    size_t len = strcspn(p, ", ");
    if (len >= room)
        return false;
    memcpy(to, p, len);
    to[len] = 0;
    return true;
}

static bool scope_part(const char **at, char *to, size_t room)
{
    size_t len = strcspn(*at, "/");
    if (len == 0 || len >= room)
        return false;
    memcpy(to, *at, len);
    to[len] = 0;
    *at += len + ((*at)[len] == '/');
    return true;
}

bool authorization_parse(const char *header, struct authorization *ret)
{
    struct authorization a;
    char credential[512];
    if (strncmp(header, SIGNATURE_ALGORITHM " ", strlen(SIGNATURE_ALGORITHM) + 1) != 0)
        return false;
    header += strlen(SIGNATURE_ALGORITHM) + 1;
    if (!part(header, "Credential=", credential, sizeof(credential)) ||
        !part(header, "SignedHeaders=", a.signed_headers, sizeof(a.signed_headers)) ||
        !part(header, "Signature=", a.signature, sizeof(a.signature)))
        return false;
    const char *at = credential;
    if (!scope_part(&at, a.access_key, sizeof(a.access_key)) || !scope_part(&at, a.date, sizeof(a.date)) ||
        !scope_part(&at, a.region, sizeof(a.region)) || !scope_part(&at, a.service, sizeof(a.service)) ||
        strcmp(at, "aws4_request") != 0)
        return false;
    *ret = a;
    return true;
}

bool authorization_signs(const struct authorization *a, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = a->signed_headers; *p; p += strcspn(p, ";"), p += *p == ';')
        if (strcspn(p, ";") == n && strncmp(p, name, n) == 0)
            return true;
    return false;
}

/* Spaces at the ends go, runs of them become one. */
static void add_trimmed(const char *value, struct buf *ret)
{
    bool space = false, any = false;
    for (const char *p = value; *p; p++) {
        if (*p == ' ' || *p == '\t') {
            space = true;
            continue;
        }
        if (space && any)
            buf_add(ret, " ", 1);
        buf_add(ret, p, 1);
        space = false;
        any = true;
    }
}

static bool add_header(const struct request *q, const char *name, size_t len, struct buf *ret)
{
    bool found = false;
    for (size_t i = 0; i < q->header_count; i++) {
        if (strlen(q->headers[i].name) != len || strncmp(q->headers[i].name, name, len) != 0)
            continue;
        if (found)
            buf_add(ret, ",", 1);
        else
            buf_printf(ret, "%.*s:", (int)len, name);
        add_trimmed(q->headers[i].value, ret);
        found = true;
    }
    buf_add(ret, "\n", 1);
    return found;
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* name=value, both decoded and encoded again, so that whatever spelling came is compared in one. */
static char *canonical_parameter(const char *p, size_t len)
{
    _cleanup_(buf_release) struct buf name = { 0 }, value = { 0 }, whole = { 0 };
    size_t name_len = strcspn(p, "=&");
    if (!request_decode(p, name_len, false, &name) ||
        (name_len < len && !request_decode(p + name_len + 1, len - name_len - 1, false, &value)))
        return NULL;
    request_encode(name.data, name.len, false, &whole);
    buf_add(&whole, "=", 1);
    request_encode(value.data, value.len, false, &whole);
    return mem_strdup(buf_string(&whole));
}

static bool add_query(const char *query, struct buf *ret)
{
    char *parameters[64];
    size_t n = 0;
    bool good = true;
    for (const char *p = query; *p && n < 64 && good;) {
        size_t len = strcspn(p, "&");
        good = (parameters[n] = canonical_parameter(p, len));
        n += good;
        p += len + (p[len] == '&');
    }
    qsort(parameters, n, sizeof(*parameters), by_bytes);
    for (size_t i = 0; i < n; i++) {
        buf_printf(ret, "%s%s", i ? "&" : "", parameters[i]);
        free(parameters[i]);
    }
    return good;
}

bool signature_canonical(const struct request *q, const struct authorization *a, const char *payload, struct buf *ret)
{
    _cleanup_(buf_release) struct buf path = { 0 };
    if (!request_decode(q->path, strlen(q->path), false, &path))
        return false;
    buf_clear(ret);
    buf_printf(ret, "%s\n", q->method);
    request_encode(path.data, path.len, true, ret);
    buf_add(ret, "\n", 1);
    if (!add_query(q->query, ret))
        return false;
    buf_add(ret, "\n", 1);
    for (const char *p = a->signed_headers; *p; p += strcspn(p, ";"), p += *p == ';')
        if (!add_header(q, p, strcspn(p, ";"), ret))
            return false;
    buf_printf(ret, "\n%s\n%s", a->signed_headers, payload);
    return true;
}

static void hmac(const void *key, size_t key_len, const char *text, uint8_t ret[SHA256_DIGEST_SIZE])
{
    struct hmac_sha256_ctx c;
    hmac_sha256_set_key(&c, key_len, key);
    hmac_sha256_update(&c, strlen(text), (const uint8_t *)text);
    hmac_sha256_digest(&c, SHA256_DIGEST_SIZE, ret);
}

bool signature_compute(const struct request *q, const struct authorization *a, const char *secret, const char *time,
                       const char *payload, char ret[65])
{
    _cleanup_(buf_release) struct buf canonical = { 0 }, text = { 0 };
    char digest[65];
    uint8_t key[SHA256_DIGEST_SIZE];
    if (!signature_canonical(q, a, payload, &canonical))
        return false;
    signature_sha256_hex(canonical.data, canonical.len, digest);
    buf_printf(&text, "%s\n%s\n%s/%s/%s/aws4_request\n%s", SIGNATURE_ALGORITHM, time, a->date, a->region, a->service,
               digest);

    _cleanup_free_ char *first = mem_printf("AWS4%s", secret);
    hmac(first, strlen(first), a->date, key);
    hmac(key, sizeof(key), a->region, key);
    hmac(key, sizeof(key), a->service, key);
    hmac(key, sizeof(key), "aws4_request", key);
    hmac(key, sizeof(key), buf_string(&text), key);
    text_hex(ret, key, sizeof(key));
    return true;
}
