/* SPDX-License-Identifier: MIT */

/* The fault server without HTTP: its signatures are the published ones, its conditions and refusals those of R2. */
#include "tests/fault/control.h"
#include "tests/fault/signature.h"

#include "index/base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

struct vector {
    const char *name, *method, *uri;
    const char *headers[12]; /* name, value, … */
    const char *signed_headers, *payload, *signature;
};

/* "Examples: Signature Calculations" of the S3 API reference (AWS Signature Version 4). */
static const struct vector s3_vectors[] = {
    { "get object",
      "GET",
      "/test.txt",
      { "Host", "examplebucket.s3.amazonaws.com", "Range", "bytes=0-9", "x-amz-content-sha256", EMPTY, "x-amz-date",
        "20130524T000000Z" },
      "host;range;x-amz-content-sha256;x-amz-date",
      EMPTY,
      "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41" },
    { "put object",
      "PUT",
      "/test$file.text",
      { "Host", "examplebucket.s3.amazonaws.com", "Date", "Fri, 24 May 2013 00:00:00 GMT", "x-amz-date",
        "20130524T000000Z", "x-amz-storage-class", "REDUCED_REDUNDANCY", "x-amz-content-sha256",
        "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072" },
      "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
      "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072",
      "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd" },
    { "lifecycle",
      "GET",
      "/?lifecycle",
      { "Host", "examplebucket.s3.amazonaws.com", "x-amz-date", "20130524T000000Z", "x-amz-content-sha256", EMPTY },
      "host;x-amz-content-sha256;x-amz-date",
      EMPTY,
      "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543" },
    { "list",
      "GET",
      "/?max-keys=2&prefix=J",
      { "Host", "examplebucket.s3.amazonaws.com", "x-amz-date", "20130524T000000Z", "x-amz-content-sha256", EMPTY },
      "host;x-amz-content-sha256;x-amz-date",
      EMPTY,
      "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7" },
};

/* Of the AWS Signature Version 4 test suite. */
static const struct vector suite_vectors[] = {
    { "get-vanilla",
      "GET",
      "/",
      { "Host", "example.amazonaws.com", "X-Amz-Date", "20150830T123600Z" },
      "host;x-amz-date",
      EMPTY,
      "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31" },
    { "get-vanilla-query-order-key-case",
      "GET",
      "/?Param2=value2&Param1=value1",
      { "Host", "example.amazonaws.com", "X-Amz-Date", "20150830T123600Z" },
      "host;x-amz-date",
      EMPTY,
      "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500" },
    { "get-unreserved",
      "GET",
      "/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
      { "Host", "example.amazonaws.com", "X-Amz-Date", "20150830T123600Z" },
      "host;x-amz-date",
      EMPTY,
      "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f" },
    { "get-utf8",
      "GET",
      "/\xe1\x88\xb4",
      { "Host", "example.amazonaws.com", "X-Amz-Date", "20150830T123600Z" },
      "host;x-amz-date",
      EMPTY,
      "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85" },
    { "get-header-value-trim",
      "GET",
      "/",
      { "Host", "example.amazonaws.com", "My-Header1", " value1", "My-Header2", " \"a   b   c\"", "X-Amz-Date",
        "20150830T123600Z" },
      "host;my-header1;my-header2;x-amz-date",
      EMPTY,
      "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736" },
    { "get-header-key-duplicate",
      "GET",
      "/",
      { "Host", "example.amazonaws.com", "My-Header1", "value2", "My-Header1", "value2", "My-Header1", "value1",
        "X-Amz-Date", "20150830T123600Z" },
      "host;my-header1;x-amz-date",
      EMPTY,
      "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea" },
    { "post-vanilla",
      "POST",
      "/",
      { "Host", "example.amazonaws.com", "X-Amz-Date", "20150830T123600Z" },
      "host;x-amz-date",
      EMPTY,
      "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b" },
};

static void check_vector(const struct vector *v, const char *scope, const char *secret, const char *time)
{
    _cleanup_(request_release) struct request q = { 0 };
    struct authorization a;
    char got[65];
    request_set(&q, v->method, v->uri);
    for (size_t i = 0; i < 12 && v->headers[i]; i += 2)
        request_add_header(&q, v->headers[i], v->headers[i + 1]);
    _cleanup_free_ char *header = mem_printf("AWS4-HMAC-SHA256 Credential=KEY/%s, SignedHeaders=%s, Signature=%s",
                                             scope, v->signed_headers, v->signature);
    assert_true(authorization_parse(header, &a));
    assert_true(signature_compute(&q, &a, secret, time, v->payload, got));
    if (strcmp(got, v->signature) != 0)
        fail_msg("%s: %s", v->name, got);
}

static void signatures_are_the_published_ones(void **state)
{
    for (size_t i = 0; i < sizeof(s3_vectors) / sizeof(*s3_vectors); i++)
        check_vector(&s3_vectors[i], "20130524/us-east-1/s3/aws4_request", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
                     "20130524T000000Z");
    for (size_t i = 0; i < sizeof(suite_vectors) / sizeof(*suite_vectors); i++)
        check_vector(&suite_vectors[i], "20150830/us-east-1/service/aws4_request",
                     "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "20150830T123600Z");
}

static struct server server;

static int set_up(void **state)
{
    server_init(&server);
    server.bucket = "boxes";
    server.s3.access_key = "key";
    server.s3.secret_key = "secret";
    objects_add_bucket(&server.s3.objects, "boxes");
    return 0;
}

static int tear_down(void **state)
{
    objects_release(&server.s3.objects);
    rules_clear(&server.rules);
    traffic_reset(&server.traffic);
    return 0;
}

struct call {
    const char *method, *uri, *body;
    const char *headers[6];
    const char *secret;  /* NULL: the right one */
    const char *payload; /* NULL: the body's own digest; "": none is sent */
    long skew_s;
    char etag[64], text[8192];
    struct answer answer; /* headers released; status and so on stay */
};

static void sign(struct request *q, const struct call *c, const char *payload)
{
    char time_text[32], signature[65];
    time_t now = time(NULL) + c->skew_s;
    struct tm tm;
    gmtime_r(&now, &tm);
    strftime(time_text, sizeof(time_text), "%Y%m%dT%H%M%SZ", &tm);
    request_add_header(q, "X-Amz-Date", time_text);
    _cleanup_(buf_release) struct buf signed_headers = { 0 };
    buf_printf(&signed_headers, "host%s;x-amz-date", *payload ? ";x-amz-content-sha256" : "");
    _cleanup_free_ char *form = mem_printf("AWS4-HMAC-SHA256 Credential=key/%.8s/auto/s3/aws4_request,SignedHeaders=%s,"
                                           "Signature=",
                                           time_text, buf_string(&signed_headers));
    struct authorization a;
    assert_true(authorization_parse(form, &a));
    assert_true(signature_compute(q, &a, c->secret ? c->secret : "secret", time_text, payload, signature));
    _cleanup_free_ char *header = mem_printf("%s%s", form, signature);
    request_add_header(q, "Authorization", header);
}

/* Makes the call, keeps what matters of the answer in c, returns the status. */
static unsigned call(struct call *c)
{
    _cleanup_(request_release) struct request q = { 0 };
    struct answer a = ANSWER_NONE;
    char digest[65], length[24];
    const char *body = c->body ? c->body : "";
    request_set(&q, c->method, c->uri);
    buf_add(&q.body, body, strlen(body));
    signature_sha256_hex(body, strlen(body), digest);
    const char *payload = c->payload ? c->payload : digest;
    snprintf(length, sizeof(length), "%zu", strlen(body));
    request_add_header(&q, "Host", "localhost");
    request_add_header(&q, "Content-Length", length);
    if (*payload)
        request_add_header(&q, "x-amz-content-sha256", payload);
    for (size_t i = 0; i < 6 && c->headers[i]; i += 2)
        request_add_header(&q, c->headers[i], c->headers[i + 1]);
    sign(&q, c, payload);

    struct visit_id id = server_process(&server, &q, &a);
    server_sent(&server, id, &a, a.body.len);
    for (size_t i = 0; i < a.header_count; i++)
        if (strcmp(a.headers[i].name, "ETag") == 0)
            snprintf(c->etag, sizeof(c->etag), "%s", a.headers[i].value);
    snprintf(c->text, sizeof(c->text), "%s", buf_string(&a.body));
    c->answer = a;
    c->answer.body = (struct buf){ 0 };
    answer_release(&a);
    return c->answer.status;
}

static unsigned put(const char *uri, const char *body, const char *header, const char *value)
{
    struct call c = { .method = "PUT", .uri = uri, .body = body, .headers = { header, value } };
    return call(&c);
}

static void expect_error(struct call *c, unsigned status, const char *code)
{
    assert_int_equal(call(c), status);
    _cleanup_free_ char *tag = mem_printf("<Code>%s</Code>", code);
    if (!strstr(c->text, tag))
        fail_msg("%s: %s", code, c->text);
}

static void control(const char *command)
{
    _cleanup_(buf_release) struct buf out = { 0 };
    const char *wrong = control_handle(&server, (struct bytes){ (const uint8_t *)command, strlen(command) }, &out);
    if (wrong)
        fail_msg("%s: %s", command, wrong);
}

static void only_right_signatures_of_now_are_taken(void **state)
{
    struct call good = { .method = "PUT", .uri = "/boxes/a", .body = "x" };
    struct call wrong = { .method = "PUT", .uri = "/boxes/a", .body = "y", .secret = "other" };
    struct call late = { .method = "GET", .uri = "/boxes/a", .skew_s = -901 };
    struct call early = { .method = "GET", .uri = "/boxes/a", .skew_s = 902 };
    struct call edge = { .method = "GET", .uri = "/boxes/a", .skew_s = -890 };
    assert_int_equal(call(&good), 200);
    expect_error(&wrong, 403, "SignatureDoesNotMatch");
    expect_error(&late, 403, "RequestTimeTooSkewed");
    expect_error(&early, 403, "RequestTimeTooSkewed");
    assert_int_equal(call(&edge), 200);
    control("clock\n901");
    assert_int_equal(call(&early), 200);
}

static void every_amz_header_must_be_signed(void **state)
{
    struct call c = { .method = "PUT", .uri = "/boxes/a", .body = "x", .headers = { "x-amz-meta-a", "b" } };
    expect_error(&c, 403, "AccessDenied");
}

static void the_body_must_be_the_signed_one(void **state)
{
    struct call none = { .method = "PUT", .uri = "/boxes/a", .body = "x", .payload = "" };
    struct call other = { .method = "PUT", .uri = "/boxes/a", .body = "x", .payload = EMPTY };
    struct call unsigned_payload = { .method = "PUT", .uri = "/boxes/a", .body = "x", .payload = "UNSIGNED-PAYLOAD" };
    struct call md5 = { .method = "PUT", .uri = "/boxes/a", .body = "x", .headers = { "Content-MD5", "eA==" } };
    expect_error(&none, 400, "InvalidRequest");
    expect_error(&other, 400, "XAmzContentSHA256Mismatch");
    assert_int_equal(call(&unsigned_payload), 200);
    expect_error(&md5, 400, "BadDigest");
}

static void what_r2_refuses_is_not_implemented(void **state)
{
    struct call chunked = {
        .method = "PUT", .uri = "/boxes/a", .body = "x", .payload = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
    };
    struct call encoding = { .method = "PUT", .uri = "/boxes/a", .headers = { "Content-Encoding", "aws-chunked" } };
    struct call sum = { .method = "PUT", .uri = "/boxes/a", .headers = { "x-amz-checksum-crc32", "AAAAAA==" } };
    struct call removal = { .method = "DELETE", .uri = "/boxes/a", .headers = { "If-Match", "\"x\"" } };
    struct call uploads = { .method = "GET", .uri = "/boxes/a?uploads" };
    expect_error(&chunked, 501, "NotImplemented");
    expect_error(&encoding, 501, "NotImplemented");
    expect_error(&sum, 501, "NotImplemented");
    expect_error(&removal, 501, "NotImplemented");
    expect_error(&uploads, 501, "NotImplemented");
}

static void conditions_hold_for_puts(void **state)
{
    struct call first = { .method = "PUT", .uri = "/boxes/box/demo/head", .body = "1" };
    assert_int_equal(put("/boxes/box/demo/head", "0", "If-Match", "\"etag\""), 412);
    assert_int_equal(call(&first), 200);
    assert_int_equal(put("/boxes/box/demo/head", "2", "If-None-Match", "*"), 412);
    assert_int_equal(put("/boxes/box/demo/head", "2", "If-Match", "\"etag\""), 412);
    assert_int_equal(put("/boxes/box/demo/head", "2", "If-Match", first.etag), 200);
    assert_int_equal(put("/boxes/box/demo/head", "3", "If-Match", first.etag), 412);
    struct call get = { .method = "GET", .uri = "/boxes/box/demo/head" };
    assert_int_equal(call(&get), 200);
    assert_string_equal(get.text, "2");
    struct call changed = { .method = "GET", .uri = "/boxes/box/demo/head", .headers = { "If-Match", first.etag } };
    struct call same = { .method = "GET", .uri = "/boxes/box/demo/head", .headers = { "If-None-Match", get.etag } };
    expect_error(&changed, 412, "PreconditionFailed");
    assert_int_equal(call(&same), 304);
}

static void ranges_are_cut_to_the_object(void **state)
{
    static const struct {
        const char *range, *text;
        unsigned status;
    } cases[] = { { "bytes=2-4", "234", 206 }, { "bytes=7-", "789", 206 },         { "bytes=-3", "789", 206 },
                  { "bytes=8-99", "89", 206 }, { "bytes=-99", "0123456789", 206 }, { "bytes=10-", NULL, 416 },
                  { "bytes=4-2", NULL, 416 },  { "lines=1-2", "0123456789", 200 } };
    assert_int_equal(put("/boxes/a", "0123456789", NULL, NULL), 200);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct call c = { .method = "GET", .uri = "/boxes/a", .headers = { "Range", cases[i].range } };
        assert_int_equal(call(&c), cases[i].status);
        if (cases[i].text)
            assert_string_equal(c.text, cases[i].text);
    }
}

static void listings_come_in_pages_and_in_order(void **state)
{
    static const char *const uris[] = { "/boxes/p/c", "/boxes/p/a%26b", "/boxes/q", "/boxes/p/b", "/boxes/p/d" };
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(put(uris[i], "x", NULL, NULL), 200);
    control("page\n3");
    struct call c = { .method = "GET", .uri = "/boxes?list-type=2&prefix=p%2F" };
    assert_int_equal(call(&c), 200);
    const char *a = strstr(c.text, "<Key>p/a&amp;b</Key>"), *b = strstr(c.text, "<Key>p/b</Key>"),
               *third = strstr(c.text, "<Key>p/c</Key>"), *token = strstr(c.text, "<NextContinuationToken>");
    assert_true(a && b && third && token && a < b && b < third);
    assert_null(strstr(c.text, "<Key>p/d</Key>"));
    assert_non_null(strstr(c.text, "<IsTruncated>true</IsTruncated>"));

    token += strlen("<NextContinuationToken>");
    _cleanup_free_ char *uri =
        mem_printf("/boxes?continuation-token=%.*s&list-type=2&prefix=p%%2F", (int)strcspn(token, "<"), token);
    struct call next = { .method = "GET", .uri = uri };
    assert_int_equal(call(&next), 200);
    assert_non_null(strstr(next.text, "<KeyCount>1</KeyCount>"));
    assert_non_null(strstr(next.text, "<Key>p/d</Key>"));
    assert_non_null(strstr(next.text, "<IsTruncated>false</IsTruncated>"));
}

static void one_write_a_second_by_the_servers_clock(void **state)
{
    control("rate\non");
    assert_int_equal(put("/boxes/a", "1", NULL, NULL), 200);
    assert_int_equal(put("/boxes/a", "2", NULL, NULL), 429);
    assert_int_equal(put("/boxes/b", "2", NULL, NULL), 200);
    control("clock\n1");
    assert_int_equal(put("/boxes/a", "2", NULL, NULL), 200);
}

/* Fails if the rule acts before the request is done. */
static void a_dropped_response_leaves_its_effect(void **state)
{
    struct call get = { .method = "GET", .uri = "/boxes/box/demo/head" };
    control("drop-response\n--key\nbox/*/head\n--op\nPUT\n--times\n1");
    assert_int_equal(put("/boxes/box/demo/head", "1", NULL, NULL), 0);
    assert_int_equal(call(&get), 200);
    assert_string_equal(get.text, "1");
    assert_int_equal(put("/boxes/box/demo/head", "2", NULL, NULL), 200);
    control("drop-request\n--op\nPUT\n--skip\n1\n--times\n1");
    assert_int_equal(put("/boxes/box/demo/head", "3", NULL, NULL), 200);
    assert_int_equal(put("/boxes/box/demo/head", "4", NULL, NULL), 0);
    assert_int_equal(call(&get), 200);
    assert_string_equal(get.text, "3");
    assert_int_equal(traffic_count(&server.traffic, 0, "box/demo/head", true), 3);
}

static void rules_change_answers(void **state)
{
    struct call get = { .method = "GET", .uri = "/boxes/a" };
    assert_int_equal(put("/boxes/a", "0123456789", NULL, NULL), 200);
    control("status\n503\n--times\n1");
    expect_error(&get, 503, "ServiceUnavailable");
    control("flip\n3\n--times\n1");
    assert_int_equal(call(&get), 200);
    assert_string_equal(get.text, "012#456789");
    control("truncate\n4\n--times\n1");
    assert_int_equal(call(&get), 200);
    assert_int_equal(get.answer.cut, 4);
    assert_int_equal(call(&get), 200);
    assert_true(get.answer.cut == SIZE_MAX);
}

/* GETs at once are one round trip; a request after them is the second. */
static void round_trips_are_the_longest_chain(void **state)
{
    struct s3_target t = { .operation = S3_GET, .key = "a" };
    struct traffic f = { 0 };
    _cleanup_(buf_release) struct buf text = { 0 };
    struct visit_id a = traffic_begin(&f, &t, 0), b = traffic_begin(&f, &t, 0);
    traffic_end(&f, a, 200, 1);
    struct visit_id c = traffic_begin(&f, &t, 0); /* after a */
    traffic_end(&f, b, 200, 1);
    traffic_end(&f, c, 200, 1);
    traffic_counters(&f, &text);
    assert_non_null(strstr(buf_string(&text), "\"requests\":3,\"round_trips\":2,"));
    assert_non_null(strstr(buf_string(&text), "\"GET other\":3"));
    traffic_reset(&f);
    traffic_end(&f, c, 200, 1); /* of before the reset: nothing happens */
    assert_int_equal(f.count, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signatures_are_the_published_ones),
        TEST(only_right_signatures_of_now_are_taken),
        TEST(every_amz_header_must_be_signed),
        TEST(the_body_must_be_the_signed_one),
        TEST(what_r2_refuses_is_not_implemented),
        TEST(conditions_hold_for_puts),
        TEST(ranges_are_cut_to_the_object),
        TEST(listings_come_in_pages_and_in_order),
        TEST(one_write_a_second_by_the_servers_clock),
        TEST(a_dropped_response_leaves_its_effect),
        TEST(rules_change_answers),
        TEST(round_trips_are_the_longest_chain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
