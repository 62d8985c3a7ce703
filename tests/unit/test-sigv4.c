/* SPDX-License-Identifier: MIT */
#include "sync/sigv4.h"

#include "index/base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include <cmocka.h>

#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

/* The examples of the S3 API reference ("Authenticating Requests: Using the Authorization Header"). */
static const struct sigv4_credentials s3 = { "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
                                             "us-east-1", "s3" };
#define S3_HOST "examplebucket.s3.amazonaws.com"
#define S3_TIME "20130524T000000Z"

/* The Signature Version 4 test suite. */
static const struct sigv4_credentials suite = { "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "us-east-1",
                                                "service" };
#define SUITE_TIME "20150830T123600Z"

#define HEADERS(...)                                                                                                   \
    .headers = (const struct sigv4_header[]){ __VA_ARGS__ },                                                           \
    .header_count = sizeof((const struct sigv4_header[]){ __VA_ARGS__ }) / sizeof(struct sigv4_header)

static void expect(const struct sigv4_credentials *c, struct sigv4_request q, const char *signature)
{
    _cleanup_(buf_release) struct buf got = { 0 };
    sigv4_sign(c, &q, &got);
    const char *at = strstr(buf_string(&got), "Signature=");
    assert_non_null(at);
    assert_string_equal(at + 10, signature);
}

static void s3_get_object(void **state)
{
    _cleanup_(buf_release) struct buf got = { 0 };
    struct sigv4_request q = {
        .method = "GET",
        .path = "/test.txt",
        .query = "",
        HEADERS({ "host", S3_HOST }, { "range", "bytes=0-9" }, { "x-amz-content-sha256", EMPTY },
                { "x-amz-date", S3_TIME }),
        .payload_sha256 = EMPTY,
        .time = S3_TIME,
    };
    sigv4_sign(&s3, &q, &got);
    assert_string_equal(buf_string(&got),
                        "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
                        "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
                        "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

static void s3_put_object(void **state)
{
    char hash[SIGV4_HASH_MAX];
    _cleanup_(buf_release) struct buf path = { 0 };
    sigv4_payload(hash, (struct bytes){ (const uint8_t *)"Welcome to Amazon S3.", 21 });
    assert_string_equal(hash, "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072");
    sigv4_encode(&path, "/test$file.text", true);
    expect(&s3,
           (struct sigv4_request){ .method = "PUT",
                                   .path = buf_string(&path),
                                   .query = "",
                                   HEADERS({ "date", "Fri, 24 May 2013 00:00:00 GMT" }, { "host", S3_HOST },
                                           { "x-amz-content-sha256", hash }, { "x-amz-date", S3_TIME },
                                           { "x-amz-storage-class", "REDUCED_REDUNDANCY" }),
                                   .payload_sha256 = hash,
                                   .time = S3_TIME },
           "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
}

static void s3_get_with_a_query(void **state)
{
    struct sigv4_request q = {
        .method = "GET",
        .path = "/",
        .query = "lifecycle=",
        HEADERS({ "host", S3_HOST }, { "x-amz-content-sha256", EMPTY }, { "x-amz-date", S3_TIME }),
        .payload_sha256 = EMPTY,
        .time = S3_TIME,
    };
    expect(&s3, q, "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
    q.query = "max-keys=2&prefix=J";
    expect(&s3, q, "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

static void suite_vanilla_family(void **state)
{
    struct sigv4_request q = {
        .method = "GET",
        .path = "/",
        .query = "",
        HEADERS({ "host", "example.amazonaws.com" }, { "x-amz-date", SUITE_TIME }),
        .payload_sha256 = EMPTY,
        .time = SUITE_TIME,
    };
    expect(&suite, q, "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"); /* get-vanilla */
    q.query = "Param1=value1&Param2=value2"; /* get-vanilla-query-order-key-case */
    expect(&suite, q, "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500");
    q.query = "Param1=value1"; /* get-vanilla-empty-query-key */
    expect(&suite, q, "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb");
    q.query = "";
    q.method = "POST"; /* post-vanilla */
    expect(&suite, q, "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b");
}

static void suite_paths_are_encoded_once(void **state)
{
    _cleanup_(buf_release) struct buf path = { 0 };
    struct sigv4_request q = {
        .method = "GET",
        .query = "",
        HEADERS({ "host", "example.amazonaws.com" }, { "x-amz-date", SUITE_TIME }),
        .payload_sha256 = EMPTY,
        .time = SUITE_TIME,
    };
    sigv4_encode(&path, "/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", true);
    q.path = buf_string(&path); /* get-unreserved */
    expect(&suite, q, "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f");
    buf_clear(&path);
    sigv4_encode(&path, "/\xe1\x88\xb4", true);
    q.path = buf_string(&path); /* get-utf8 */
    expect(&suite, q, "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85");
}

static void values_are_encoded_wholly(void **state)
{
    _cleanup_(buf_release) struct buf b = { 0 };
    sigv4_encode(&b, "a/b=c+d e&~\x7f", false);
    assert_string_equal(buf_string(&b), "a%2Fb%3Dc%2Bd%20e%26~%7F");
}

static void times_are_utc(void **state)
{
    char time[SIGV4_TIME_MAX];
    sigv4_time(time, 1369353600000000000);
    assert_string_equal(time, S3_TIME);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(s3_get_object),
        cmocka_unit_test(s3_put_object),
        cmocka_unit_test(s3_get_with_a_query),
        cmocka_unit_test(suite_vanilla_family),
        cmocka_unit_test(suite_paths_are_encoded_once),
        cmocka_unit_test(values_are_encoded_wholly),
        cmocka_unit_test(times_are_utc),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
