/* SPDX-License-Identifier: MIT */
#include "tests/fault/list.h"

#include "index/base/mem.h"
#include "index/base/text.h"
#include "tests/fault/s3.h"

#include <stdio.h>

struct listing {
    struct buf prefix, after, token, encoding;
    unsigned max;
    bool from_token;
};

static void listing_release(struct listing *l)
{
    buf_release(&l->prefix);
    buf_release(&l->after);
    buf_release(&l->token);
    buf_release(&l->encoding);
}

static void add_xml(struct buf *to, const char *text, bool encode)
{
    if (encode) {
        request_encode(text, strlen(text), true, to);
        return;
    }
    for (; *text; text++) {
        const char *safe = *text == '&' ? "&amp;" : *text == '<' ? "&lt;" : *text == '>' ? "&gt;" : NULL;
        if (safe)
            buf_printf(to, "%s", safe);
        else if ((unsigned char)*text < 0x20)
            buf_printf(to, "&#x%x;", *text);
        else
            buf_add(to, text, 1);
    }
}

/* The token is the last key, in hex: opaque to whoever gets it. */
static bool parse_token(struct listing *l)
{
    char key[OBJECT_KEY_MAX + 1] = { 0 };
    size_t n = l->token.len / 2;
    if (n > OBJECT_KEY_MAX || text_unhex(buf_string(&l->token), l->token.len, key, n) < 0)
        return false;
    buf_clear(&l->after);
    buf_add(&l->after, key, n);
    return true;
}

static bool parse(const struct request *q, unsigned page, struct listing *l)
{
    _cleanup_(buf_release) struct buf max = { 0 };
    uint64_t asked = 1000;
    request_parameter(q, "prefix", &l->prefix);
    request_parameter(q, "start-after", &l->after);
    request_parameter(q, "encoding-type", &l->encoding);
    l->from_token = request_parameter(q, "continuation-token", &l->token);
    if (request_parameter(q, "max-keys", &max) && text_parse_u64(buf_string(&max), 1u << 20, &asked) < 0)
        return false;
    l->max = asked < 1000 ? (unsigned)asked : 1000;
    if (page && page < l->max)
        l->max = page;
    return !l->from_token || parse_token(l);
}

static void add_object(struct buf *to, const struct object *x, bool encode)
{
    char modified[32];
    text_time(modified, x->modified_s * 1000000000);
    modified[19] = 0; /* S3 has milliseconds */
    buf_printf(to, "<Contents><Key>");
    add_xml(to, x->key, encode);
    buf_printf(to,
               "</Key><LastModified>%s.000Z</LastModified><ETag>&quot;%.32s&quot;</ETag><Size>%zu</Size>"
               "<StorageClass>STANDARD</StorageClass></Contents>",
               modified, x->etag + 1, x->data.len);
}

/* All keys that begin like x's first len bytes are one entry. The last of them. */
static const struct object *add_common(struct buf *to, const struct objects *o, const char *bucket,
                                       const struct object *x, size_t len, bool encode)
{
    _cleanup_free_ char *common = mem_copy(x->key, len);
    buf_printf(to, "<CommonPrefixes><Prefix>");
    add_xml(to, common, encode);
    buf_printf(to, "</Prefix></CommonPrefixes>");
    for (const struct object *next = x; next; next = objects_next(o, bucket, common, x->key))
        x = next;
    return x;
}

void list_handle(const struct objects *o, const struct request *q, const char *bucket, unsigned page, struct answer *a)
{
    _cleanup_(listing_release) struct listing l = { 0 };
    _cleanup_(buf_release) struct buf contents = { 0 }, delimiter = { 0 };
    if (request_parameter(q, "delimiter", &delimiter) && strcmp(buf_string(&delimiter), "/") != 0) {
        s3_error(a, 501, "NotImplemented", "Only / is taken as a delimiter.");
        return;
    }
    if (!parse(q, page, &l)) {
        s3_error(a, 400, "InvalidArgument", "max-keys or continuation-token is not valid.");
        return;
    }
    bool encode = strcmp(buf_string(&l.encoding), "url") == 0;
    unsigned count = 0;
    const struct object *x = objects_next(o, bucket, buf_string(&l.prefix), l.after.len ? buf_string(&l.after) : NULL),
                        *last = NULL;
    for (; x && count < l.max; count++) {
        const char *end = delimiter.len ? strchr(x->key + l.prefix.len, '/') : NULL;
        last = end ? add_common(&contents, o, bucket, x, (size_t)(end - x->key) + 1, encode) : x;
        if (!end)
            add_object(&contents, x, encode);
        x = objects_next(o, bucket, buf_string(&l.prefix), last->key);
    }

    struct buf *b = &a->body;
    a->status = 200;
    answer_add_header(a, "Content-Type", "application/xml");
    buf_printf(b,
               "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
               "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>%s</Name><Prefix>",
               bucket);
    add_xml(b, buf_string(&l.prefix), encode);
    bool more = x && last;
    buf_printf(b, "</Prefix><KeyCount>%u</KeyCount><MaxKeys>%u</MaxKeys><IsTruncated>%s</IsTruncated>", count, l.max,
               more ? "true" : "false");
    if (encode)
        buf_printf(b, "<EncodingType>url</EncodingType>");
    if (more) {
        _cleanup_free_ char *hex = mem_new(1, 2 * strlen(last->key) + 1);
        text_hex(hex, last->key, strlen(last->key));
        buf_printf(b, "<NextContinuationToken>%s</NextContinuationToken>", hex);
    }
    buf_add(b, contents.data ? contents.data : (uint8_t *)"", contents.len);
    buf_printf(b, "</ListBucketResult>");
}
