/* SPDX-License-Identifier: MIT */
#include "tests/fault/s3.h"

#include "index/base/clock.h"
#include "index/base/mem.h"
#include "index/base/text.h"
#include "tests/fault/list.h"
#include "tests/fault/signature.h"

#include <ctype.h>
#include <nettle/md5.h>
#include <stdio.h>
#include <strings.h>
#include <time.h>

#define SKEW_MAX_S 900

const char *s3_operation_name(enum s3_operation o)
{
    static const char *const names[] = { "GET", "HEAD", "PUT", "DELETE", "LIST", "OTHER" };
    return names[o];
}

int64_t s3_now_ms(const struct s3 *s)
{
    return clock_wall_ns() / 1000000 + s->clock_moved_ms;
}

static void http_date(int64_t unix_s, char to[40])
{
    time_t t = unix_s;
    struct tm tm;
    gmtime_r(&t, &tm);
    strftime(to, 40, "%a, %d %b %Y %H:%M:%S GMT", &tm);
}

void s3_error(struct answer *a, unsigned status, const char *code, const char *message)
{
    bool committed = a->committed;
    answer_release(a);
    a->committed = committed;
    a->status = status;
    answer_add_header(a, "Content-Type", "application/xml");
    buf_printf(&a->body,
               "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>%s</Code><Message>%s</Message></Error>", code,
               message);
}

static enum s3_operation operation_of(const struct request *q, bool has_key)
{
    static const struct {
        const char *method;
        enum s3_operation operation;
    } methods[] = { { "GET", S3_GET }, { "HEAD", S3_HEAD }, { "PUT", S3_PUT }, { "DELETE", S3_DELETE } };
    _cleanup_(buf_release) struct buf type = { 0 };
    if (!has_key)
        return strcmp(q->method, "GET") == 0 && request_parameter(q, "list-type", &type) ? S3_LIST : S3_OTHER;
    for (size_t i = 0; i < 4; i++)
        if (strcmp(q->method, methods[i].method) == 0)
            return methods[i].operation;
    return S3_OTHER;
}

bool s3_target(const struct request *q, struct s3_target *ret)
{
    _cleanup_(buf_release) struct buf path = { 0 };
    struct s3_target t = { 0 };
    if (q->path[0] != '/' || !request_decode(q->path + 1, strlen(q->path + 1), false, &path))
        return false;
    const char *text = buf_string(&path), *slash = strchr(text, '/');
    size_t bucket_len = slash ? (size_t)(slash - text) : strlen(text);
    const char *key = slash ? slash + 1 : "";
    if (strlen(text) != path.len || bucket_len == 0 || bucket_len >= sizeof(t.bucket) || strlen(key) > OBJECT_KEY_MAX)
        return false;
    memcpy(t.bucket, text, bucket_len);
    strcpy(t.key, key);
    t.operation = operation_of(q, *key);
    if (t.operation == S3_LIST) {
        _cleanup_(buf_release) struct buf prefix = { 0 };
        if (request_parameter(q, "prefix", &prefix) && prefix.len <= OBJECT_KEY_MAX)
            strcpy(t.key, buf_string(&prefix));
    }
    *ret = t;
    return true;
}

/* 20130524T000000Z; -1: not of this form. */
static int64_t parse_time(const char *text)
{
    struct tm tm = { 0 };
    const char *end = text ? strptime(text, "%Y%m%dT%H%M%SZ", &tm) : NULL;
    return end && !*end ? timegm(&tm) : -1;
}

static bool all_amz_headers_signed(const struct request *q, const struct authorization *a)
{
    for (size_t i = 0; i < q->header_count; i++)
        if (strncmp(q->headers[i].name, "x-amz-", 6) == 0 && !authorization_signs(a, q->headers[i].name))
            return false;
    return authorization_signs(a, "host");
}

/* True: the request is who it says it is. Otherwise a is the refusal. */
static bool authentic(const struct s3 *s, const struct request *q, const char *payload, struct answer *a)
{
    struct authorization auth;
    char expected[65];
    const char *header = request_header(q, "authorization"), *time = request_header(q, "x-amz-date");
    int64_t at = parse_time(time);
    if (!header || !authorization_parse(header, &auth) || at < 0)
        s3_error(a, 403, "AccessDenied", "No signature of version 4.");
    else if (strcmp(auth.access_key, s->access_key) != 0)
        s3_error(a, 403, "InvalidAccessKeyId", "The access key is not known.");
    else if (strncmp(auth.date, time, 8) != 0 || strcmp(auth.service, "s3") != 0)
        s3_error(a, 403, "SignatureDoesNotMatch", "The scope of the credential does not fit.");
    else if (!all_amz_headers_signed(q, &auth))
        s3_error(a, 403, "AccessDenied", "There are headers that must be signed and are not.");
    else if (!signature_compute(q, &auth, s->secret_key, time, payload, expected) ||
             strcmp(expected, auth.signature) != 0)
        s3_error(a, 403, "SignatureDoesNotMatch", "The signature is not the one that this request must have.");
    else if (llabs(at - s3_now_ms(s) / 1000) > SKEW_MAX_S)
        s3_error(a, 403, "RequestTimeTooSkewed", "The request's time is more than 15 minutes off.");
    else
        return true;
    return false;
}

static bool refused_header(const char *name)
{
    static const char *const refused[] = { "x-amz-checksum-",   "x-amz-sdk-checksum-", "x-amz-trailer",
                                           "x-amz-copy-source", "x-amz-acl",           "x-amz-tagging" };
    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
        if (strncmp(name, refused[i], strlen(refused[i])) == 0)
            return true;
    return false;
}

static bool implemented(const struct request *q, const char *payload, struct answer *a)
{
    const char *encoding = request_header(q, "content-encoding");
    bool good = strncmp(payload, "STREAMING-", 10) != 0 && !(encoding && strstr(encoding, "aws-chunked"));
    for (size_t i = 0; i < q->header_count && good; i++)
        good = !refused_header(q->headers[i].name);
    if (!good)
        s3_error(a, 501, "NotImplemented", "Chunked signing, checksum headers and the like are refused.");
    return good;
}

static bool body_is_what_was_signed(const struct request *q, const char *payload, struct answer *a)
{
    char digest[65];
    signature_sha256_hex(q->body.data, q->body.len, digest);
    if (strcmp(payload, "UNSIGNED-PAYLOAD") != 0 && strcmp(payload, digest) != 0) {
        s3_error(a, 400, "XAmzContentSHA256Mismatch", "The body is not the one that was signed.");
        return false;
    }
    const char *md5 = request_header(q, "content-md5");
    if (!md5)
        return true;
    struct md5_ctx c;
    uint8_t sum[MD5_DIGEST_SIZE];
    _cleanup_(buf_release) struct buf expected = { 0 };
    md5_init(&c);
    md5_update(&c, q->body.len, q->body.data ? q->body.data : (const uint8_t *)"");
    md5_digest(&c, sizeof(sum), sum);
    text_base64(sum, sizeof(sum), &expected);
    if (strcmp(md5, buf_string(&expected)) == 0)
        return true;
    s3_error(a, 400, "BadDigest", "The body does not have this Content-MD5.");
    return false;
}

/* If-Match's list, or "*": does it name the object? */
static bool names(const char *list, const struct object *x)
{
    return x && (strcmp(list, "*") == 0 || strstr(list, x->etag));
}

/* True: go on. */
static bool write_allowed(const struct s3 *s, const struct request *q, const struct object *x, struct answer *a)
{
    const char *match = request_header(q, "if-match"), *none = request_header(q, "if-none-match");
    if (none && strcmp(none, "*") != 0)
        s3_error(a, 501, "NotImplemented", "If-None-Match of a PUT must be *.");
    else if ((match && !names(match, x)) || (none && x))
        s3_error(a, 412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold.");
    else if (s->one_write_a_second && x && s3_now_ms(s) - x->written_ms < 1000)
        s3_error(a, 429, "TooManyRequests", "Reduce your concurrent request rate for the same object.");
    else
        return true;
    return false;
}

static void put(struct s3 *s, const struct request *q, const struct s3_target *t, struct answer *a)
{
    struct object *x = objects_find(&s->objects, t->bucket, t->key);
    if (!request_header(q, "content-length")) {
        s3_error(a, 411, "MissingContentLength", "You must provide the Content-Length HTTP header.");
        return;
    }
    if (!write_allowed(s, q, x, a))
        return;
    x = objects_set(&s->objects, t->bucket, t->key, buf_bytes(&q->body), s3_now_ms(s));
    a->status = 200;
    a->committed = true;
    answer_add_header(a, "ETag", "%s", x->etag);
}

/* bytes=A-B, bytes=A-, bytes=-N. 1: a range; 0: none (also what is not understood: the whole object); -1: not
 * satisfiable */
static int parse_range(const char *text, uint64_t size, uint64_t *from, uint64_t *to)
{
    unsigned long long a = 0, b = 0;
    int used = 0;
    if (!text)
        return 0;
    if (sscanf(text, "bytes=-%llu%n", &b, &used) == 1 && !text[used]) {
        if (b == 0 || size == 0)
            return -1;
        *from = b < size ? size - b : 0;
        *to = size - 1;
        return 1;
    }
    bool both = sscanf(text, "bytes=%llu-%llu%n", &a, &b, &used) == 2 && !text[used];
    if (!both && (sscanf(text, "bytes=%llu-%n", &a, &used) != 1 || !used || text[used]))
        return 0;
    if (a >= size || (both && b < a))
        return -1;
    *from = a;
    *to = both && b < size ? b : size - 1;
    return 1;
}

static void get(struct s3 *s, const struct request *q, const struct s3_target *t, struct answer *a)
{
    const struct object *x = objects_find(&s->objects, t->bucket, t->key);
    const char *match = request_header(q, "if-match"), *none = request_header(q, "if-none-match");
    if (!x) {
        s3_error(a, 404, "NoSuchKey", "The specified key does not exist.");
        return;
    }
    if (match && !names(match, x)) {
        s3_error(a, 412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold.");
        return;
    }
    uint64_t from = 0, to = x->data.len ? x->data.len - 1 : 0;
    int range = parse_range(request_header(q, "range"), x->data.len, &from, &to);
    if (range < 0) {
        s3_error(a, 416, "InvalidRange", "The requested range is not satisfiable");
        return;
    }
    a->status = none && names(none, x) ? 304 : range ? 206 : 200;
    char modified[40];
    http_date(x->modified_s, modified);
    answer_add_header(a, "ETag", "%s", x->etag);
    answer_add_header(a, "Last-Modified", "%s", modified);
    answer_add_header(a, "Accept-Ranges", "bytes");
    if (a->status == 206)
        answer_add_header(a, "Content-Range", "bytes %llu-%llu/%zu", (unsigned long long)from, (unsigned long long)to,
                          x->data.len);
    if (a->status != 304 && x->data.len > 0)
        buf_add(&a->body, x->data.data + from, to - from + 1);
}

static void bucket_request(struct s3 *s, const struct request *q, const struct s3_target *t, struct answer *a)
{
    if (strcmp(q->method, "PUT") == 0 && !*q->query) {
        objects_add_bucket(&s->objects, t->bucket);
        a->status = 200;
    } else if (strcmp(q->method, "HEAD") == 0) {
        a->status = 200;
    } else if (strcmp(q->method, "GET") == 0 && strcmp(q->query, "location") == 0) {
        a->status = 200;
        buf_printf(&a->body,
                   "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<LocationConstraint>auto</LocationConstraint>");
    } else {
        s3_error(a, 501, "NotImplemented", "This request is refused.");
    }
}

static void dispatch(struct s3 *s, const struct request *q, const struct s3_target *t, struct answer *a)
{
    bool makes_bucket = t->operation == S3_OTHER && !*t->key && strcmp(q->method, "PUT") == 0;
    if (!makes_bucket && !objects_has_bucket(&s->objects, t->bucket)) {
        s3_error(a, 404, "NoSuchBucket", "The specified bucket does not exist.");
        return;
    }
    bool subresource = t->operation != S3_LIST && *t->key && *q->query && strncmp(q->query, "x-id=", 5) != 0;
    if (subresource) { /* ?uploads, ?tagging, … */
        s3_error(a, 501, "NotImplemented", "This request is refused.");
        return;
    }
    switch (t->operation) {
    case S3_GET:
    case S3_HEAD:
        get(s, q, t, a);
        break;
    case S3_PUT:
        put(s, q, t, a);
        break;
    case S3_DELETE:
        if (request_header(q, "if-match")) {
            s3_error(a, 501, "NotImplemented", "A conditional DELETE is refused.");
            break;
        }
        a->committed = objects_remove(&s->objects, t->bucket, t->key);
        a->status = 204;
        break;
    case S3_LIST:
        list_handle(&s->objects, q, t->bucket, s->page, a);
        break;
    case S3_OTHER:
        if (*t->key)
            s3_error(a, 501, "NotImplemented", "This request is refused.");
        else
            bucket_request(s, q, t, a);
        break;
    }
}

void s3_handle(struct s3 *s, const struct request *q, const struct s3_target *t, struct answer *a)
{
    const char *payload = request_header(q, "x-amz-content-sha256");
    if (!t)
        s3_error(a, 400, "InvalidURI", "This is no bucket and no object.");
    else if (!payload)
        s3_error(a, 400, "InvalidRequest", "Missing required header for this request: x-amz-content-sha256");
    else if (implemented(q, payload, a) && authentic(s, q, payload, a) && body_is_what_was_signed(q, payload, a))
        dispatch(s, q, t, a);
    char date[40];
    http_date(s3_now_ms(s) / 1000, date);
    answer_add_header(a, "Date", "%s", date);
}
