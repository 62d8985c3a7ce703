/* SPDX-License-Identifier: MIT */
#include "sync/store-s3.h"

#include "index/base/mem.h"
#include "sync/http-line.h"
#include "sync/listing.h"
#include "sync/s3-request.h"

#include <arpa/inet.h>
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#define TIMEOUT_S 60
#define ATTEMPTS 6
#define EMPTY_PAGES_MAX 100
#define ANSWER_MAX (64u << 10) /* of an answer that holds no object */

struct store_s3 {
    struct store store; /* first: the operations get its address */
    struct s3 s3;
    char *bucket;
    char *prefix; /* "" or "some/where/" */
};

#define _cleanup_call_ _cleanup_(s3_call_release)

static void call_name(struct s3_call *c, const struct store_s3 *s, const char *key)
{
    c->key = key;
    _cleanup_free_ char *path = mem_printf("/%s/%s%s", s->bucket, s->prefix, key);
    sigv4_encode(&c->path, path, true);
}

static int impossible(struct error *e, const char *why)
{
    return error_say(e, ERROR_DAMAGED, -EBADMSG, "an answer that cannot be true: %s", why);
}

static int info_of(const struct http_answer *a, uint64_t size, struct store_info *ret, struct error *e)
{
    if (!a->etag[0] || a->date_ns == 0 || a->modified_ns == 0)
        return impossible(e, "without ETag, Date or Last-Modified");
    *ret = (struct store_info){ .size = size, .modified_ns = a->modified_ns, .now_ns = a->date_ns };
    strcpy(ret->etag, a->etag);
    return 0;
}

/* The body is what was asked for; size becomes the whole object's. */
static int check_body(const struct s3_call *c, uint64_t offset, uint64_t length, uint64_t *ret_size, struct error *e)
{
    const struct http_answer *a = &c->answer;
    if (length == 0) {
        if (a->too_large)
            return error_say(e, ERROR_DAMAGED, -EFBIG, "larger than the %zu bytes expected", c->max);
        if (a->status != 200 || a->length < 0 || (uint64_t)a->length != a->body.len)
            return impossible(e, "no whole object");
        *ret_size = a->body.len;
        return 0;
    }
    uint64_t from, to, size;
    if (a->status != 206 || http_line_range(a->range, &from, &to, &size) < 0)
        return impossible(e, "no range");
    if (a->too_large || from != offset || to != offset + length - 1 || to >= size || a->body.len != length ||
        a->length != (int64_t)length)
        return impossible(e, "another range than the one asked for");
    *ret_size = size;
    return 0;
}

static int s3_get(struct store *store, const char *key, uint64_t offset, uint64_t length, size_t max, struct buf *ret,
                  struct store_info *ret_info, struct error *e)
{
    struct store_s3 *s = (struct store_s3 *)store;
    char range[64];
    _cleanup_call_ struct s3_call c = { .verb = STORE_GET, .method = "GET", .max = length ? (size_t)length : max };
    snprintf(range, sizeof(range), "bytes=%llu-%llu", (unsigned long long)offset,
             (unsigned long long)(offset + length - 1));
    c.range = length ? range : NULL;
    call_name(&c, s, key);
    int r = s3_perform(&s->s3, &c, e);
    if (r < 0)
        return r;
    uint64_t size = 0;
    struct store_info info;
    r = check_body(&c, offset, length, &size, e);
    if (r == 0 && ret_info)
        r = info_of(&c.answer, size, &info, e);
    if (r < 0)
        return r;
    buf_release(ret);
    *ret = c.answer.body;
    c.answer.body = (struct buf){ 0 };
    if (ret_info)
        *ret_info = info;
    return 0;
}

static int s3_put(struct store *store, const char *key, struct bytes data, enum store_condition condition,
                  const char *etag, char *ret_etag, struct error *e)
{
    struct store_s3 *s = (struct store_s3 *)store;
    _cleanup_call_ struct s3_call c = { .verb = STORE_PUT, .method = "PUT", .body = data, .max = ANSWER_MAX };
    c.condition = condition;
    c.etag = etag;
    call_name(&c, s, key);
    int r = s3_perform(&s->s3, &c, e);
    if (r < 0)
        return r;
    if (ret_etag && !c.answer.etag[0]) /* written, but as what? Reading it back tells. */
        return error_say(e, ERROR_STORE, -EHOSTUNREACH, "answered without an ETag");
    if (ret_etag)
        strcpy(ret_etag, c.answer.etag);
    return 0;
}

static int s3_stat(struct store *store, const char *key, struct store_info *ret, struct error *e)
{
    struct store_s3 *s = (struct store_s3 *)store;
    _cleanup_call_ struct s3_call c = { .verb = STORE_STAT, .method = "HEAD" };
    call_name(&c, s, key);
    int r = s3_perform(&s->s3, &c, e);
    if (r < 0)
        return r;
    if (c.answer.status != 200 || c.answer.length < 0)
        return impossible(e, "no length");
    return info_of(&c.answer, (uint64_t)c.answer.length, ret, e);
}

static int s3_remove(struct store *store, const char *key, struct error *e)
{
    struct store_s3 *s = (struct store_s3 *)store;
    _cleanup_call_ struct s3_call c = { .verb = STORE_REMOVE, .method = "DELETE", .max = ANSWER_MAX };
    call_name(&c, s, key);
    int r = s3_perform(&s->s3, &c, e);
    return r == -ENOENT ? 0 : r;
}

/* One page of the list, from token (NULL: the first). names: what lies further down is put together. */
static int list_page(struct store_s3 *s, const char *prefix, const char *token, bool names, struct listing *ret,
                     int64_t *ret_now_ns, struct error *e)
{
    _cleanup_call_ struct s3_call c = { .verb = STORE_LIST, .method = "GET", .key = prefix, .max = LISTING_XML_MAX };
    buf_printf(&c.path, "/%s", s->bucket);
    if (token) {
        buf_printf(&c.query, "continuation-token=");
        sigv4_encode(&c.query, token, false);
        buf_printf(&c.query, "&");
    }
    buf_printf(&c.query, "%slist-type=2&max-keys=1000&prefix=", names ? "delimiter=%2F&" : "");
    _cleanup_free_ char *whole = mem_printf("%s%s", s->prefix, prefix);
    sigv4_encode(&c.query, whole, false);
    int r = s3_perform(&s->s3, &c, e);
    if (r == -ENOENT) /* a list is of a bucket */
        return error_say(e, ERROR_STORE, -EHOSTUNREACH, "%s: no such bucket", s->store.description);
    if (r < 0)
        return r;
    if (c.answer.too_large || c.answer.date_ns == 0)
        return impossible(e, c.answer.too_large ? "too long a page" : "without a Date");
    *ret_now_ns = c.answer.date_ns;
    return listing_parse(buf_bytes(&c.answer.body), ret, e);
}

struct list_call {
    const char *prefix; /* whole, as the server sees it */
    size_t skip;        /* length of the store's own prefix */
    int (*each)(void *arg, const char *key, const struct store_info *info, struct error *e);
    void *arg;
    char last[LISTING_TEXT_MAX]; /* the key before */
};

static int deliver(struct list_call *l, const struct listing *page, int64_t now_ns, struct error *e)
{
    for (size_t i = 0; i < page->count; i++) {
        const struct listing_entry *n = &page->entries[i];
        if (strncmp(n->key, l->prefix, strlen(l->prefix)) != 0)
            return impossible(e, "a key without the prefix");
        if (strcmp(n->key, l->last) <= 0) /* keys out of order, or a page that comes again */
            return impossible(e, "keys out of order");
        strcpy(l->last, n->key);                /* listing bounds it */
        if (!store_key_valid(n->key + l->skip)) /* not ours */
            continue;
        struct store_info info = { .size = n->size, .modified_ns = n->modified_ns, .now_ns = now_ns };
        int r = l->each(l->arg, n->key + l->skip, &info, e);
        if (r != 0)
            return r;
    }
    return 0;
}

static int s3_list(struct store *store, const char *prefix,
                   int (*each)(void *arg, const char *key, const struct store_info *info, struct error *e), void *arg,
                   struct error *e)
{
    struct store_s3 *s = (struct store_s3 *)store;
    _cleanup_free_ char *whole = mem_printf("%s%s", s->prefix, prefix);
    struct list_call l = { .prefix = whole, .skip = strlen(s->prefix), .each = each, .arg = arg };
    _cleanup_free_ char *token = NULL;
    for (unsigned empty = 0;;) {
        int64_t now_ns = 0;
        _cleanup_(listing_release) struct listing page = { 0 };
        int r = list_page(s, prefix, token, false, &page, &now_ns, e);
        if (r == 0)
            r = deliver(&l, &page, now_ns, e);
        if (r != 0 || !page.token)
            return r;
        empty = page.count ? 0 : empty + 1;
        if (empty > EMPTY_PAGES_MAX)
            return impossible(e, "no end of empty pages");
        free(token);
        token = mem_steal(page.token);
    }
}

struct names_call {
    const char *prefix; /* whole */
    int (*each)(void *arg, const char *name, struct error *e);
    void *arg;
    char last[LISTING_TEXT_MAX];
};

static int deliver_names(struct names_call *l, const struct listing *page, struct error *e)
{
    size_t skip = strlen(l->prefix);
    for (size_t i = 0; i < page->prefix_count; i++) {
        char *name = page->prefixes[i] + skip;
        size_t len = strlen(page->prefixes[i]);
        if (len < skip + 2 || strncmp(page->prefixes[i], l->prefix, skip) != 0 || strcspn(name, "/") != len - skip - 1)
            return impossible(e, "a common prefix that is none");
        if (strcmp(page->prefixes[i], l->last) <= 0)
            return impossible(e, "common prefixes out of order");
        strcpy(l->last, page->prefixes[i]); /* listing bounds it */
        name[len - skip - 1] = '\0';
        int r = store_key_valid(name) ? l->each(l->arg, name, e) : 0;
        if (r != 0)
            return r;
    }
    return 0;
}

static int s3_list_names(struct store *store, const char *prefix,
                         int (*each)(void *arg, const char *name, struct error *e), void *arg, struct error *e)
{
    struct store_s3 *s = (struct store_s3 *)store;
    _cleanup_free_ char *whole = mem_printf("%s%s", s->prefix, prefix);
    struct names_call l = { .prefix = whole, .each = each, .arg = arg };
    _cleanup_free_ char *token = NULL;
    for (unsigned empty = 0;;) {
        int64_t now_ns = 0;
        _cleanup_(listing_release) struct listing page = { 0 };
        int r = list_page(s, prefix, token, true, &page, &now_ns, e);
        if (r == 0)
            r = deliver_names(&l, &page, e);
        if (r != 0 || !page.token)
            return r;
        empty = page.count || page.prefix_count ? 0 : empty + 1;
        if (empty > EMPTY_PAGES_MAX || (token && strcmp(token, page.token) == 0))
            return impossible(e, "no end of pages");
        free(token);
        token = mem_steal(page.token);
    }
}

static void s3_expect(struct store *store, unsigned requests)
{
    struct store_s3 *s = (struct store_s3 *)store;
    http_pool_expect(s->s3.pool, s->s3.base, requests);
}

static void s3_close(struct store *store)
{
    struct store_s3 *s = (struct store_s3 *)store;
    http_pool_free(s->s3.pool);
    if (s->s3.secret_key)
        sodium_memzero(s->s3.secret_key, strlen(s->s3.secret_key));
    free(s->s3.base);
    free(s->s3.host);
    free(s->bucket);
    free(s->prefix);
    free(s->s3.access_key);
    free(s->s3.secret_key);
    free(s->s3.region);
    free(s);
}

static int set_place(struct store_s3 *s, const char *url, struct error *e)
{
    const char *bucket = url + strlen("s3://");
    size_t len = strcspn(bucket, "/"), end = strlen(bucket);
    while (end > len && bucket[end - 1] == '/')
        end--;
    s->bucket = mem_copy(bucket, len);
    s->prefix = end > len ? mem_printf("%.*s/", (int)(end - len - 1), bucket + len + 1) : mem_strdup("");
    _cleanup_free_ char *prefix = mem_printf("%sx", s->prefix);
    if (len < 3 || len > 63 || !store_key_valid(s->bucket) || !store_key_valid(prefix))
        return error_say(e, ERROR_USAGE, -EINVAL, "store %s: no bucket or prefix that we can use", url),
               error_hint(e, "s3://BUCKET/PREFIX: a bucket's name has 3 to 63 characters"), -EINVAL;
    return 0;
}

/* host[:port] names this machine, whatever a name server says: 127.0.0.0/8, [::1] or localhost. */
static bool is_here(const char *host, size_t len)
{
    char name[sizeof("255.255.255.255")] = "";
    struct in_addr address;
    const char *colon = memrchr(host, ':', len);
    size_t n = colon && host[len - 1] != ']' ? (size_t)(colon - host) : len;
    if (n < sizeof(name))
        memcpy(name, host, n);
    return strcmp(name, "localhost") == 0 || strcmp(name, "[::1]") == 0 ||
           (inet_pton(AF_INET, name, &address) == 1 && ntohl(address.s_addr) >> 24 == 127);
}

static int set_endpoint(struct store_s3 *s, const char *endpoint, bool insecure, struct error *e)
{
    bool plain = strncmp(endpoint, "http://", 7) == 0, secure = strncmp(endpoint, "https://", 8) == 0;
    const char *host = endpoint + (plain ? 7 : secure ? 8 : 0);
    size_t len = strlen(host);
    while (len > 0 && host[len - 1] == '/')
        len--;
    if (len == 0 || strcspn(host, "/?#@ \t\r\n") < len)
        return error_say(e, ERROR_USAGE, -EINVAL, "BOX_S3_ENDPOINT %s: must be https://host[:port]", endpoint);
    if (plain && !insecure && !is_here(host, len)) {
        error_say(e, ERROR_USAGE, -EINVAL, "BOX_S3_ENDPOINT %s: plain http to another machine", endpoint);
        return error_hint(e, "use https://, or in a network of your own BOX_S3_INSECURE=on"), -EINVAL;
    }
    s->s3.host = mem_copy(host, len);
    s->s3.base = mem_printf("%s%s", plain ? "http://" : "https://", s->s3.host);
    return 0;
}

static int configure(struct store_s3 *s, const struct store_config *c, struct error *e)
{
    const char *const settings[] = { c->endpoint, c->access_key, c->secret_key };
    const char *const names[] = { "BOX_S3_ENDPOINT", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY" };
    for (size_t i = 0; i < 3; i++)
        if (!settings[i] || !*settings[i])
            return error_say(e, ERROR_USAGE, -EINVAL, "store %s: %s is not set", c->url, names[i]);
    int r = set_place(s, c->url, e);
    if (r == 0)
        r = set_endpoint(s, c->endpoint, c->insecure, e);
    if (r < 0)
        return r;
    s->s3.access_key = mem_strdup(c->access_key);
    s->s3.secret_key = mem_strdup(c->secret_key);
    s->s3.region = mem_strdup(c->region && *c->region ? c->region : "auto");
    s->s3.attempts = c->attempts ? c->attempts : ATTEMPTS;
    snprintf(s->store.description, sizeof(s->store.description), "%.100s at %.120s", c->url, s->s3.base);
    return http_pool_new(c->timeout_s ? c->timeout_s : TIMEOUT_S, &s->store.cancelled, &s->s3.pool, e);
}

int store_s3_open(const struct store_config *c, struct store **ret, struct error *e)
{
    static const struct store_operations operations = {
        .get = s3_get,
        .put = s3_put,
        .stat = s3_stat,
        .list = s3_list,
        .list_names = s3_list_names,
        .remove = s3_remove,
        .expect = s3_expect,
        .close = s3_close,
    };
    struct store_s3 *s = mem_new(1, sizeof(*s));
    s->store.operations = &operations;
    s->s3.store = &s->store;
    int r = configure(s, c, e);
    if (r < 0) {
        s3_close(&s->store);
        return r;
    }
    *ret = &s->store;
    return 0;
}
