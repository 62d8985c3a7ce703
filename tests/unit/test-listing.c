/* SPDX-License-Identifier: MIT */
#include "sync/listing.h"

#include "index/base/mem.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define HEAD "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
#define OPEN HEAD "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>b</Name>"
#define CLOSE "</ListBucketResult>"
#define LAST "<IsTruncated>false</IsTruncated>"
#define TIME "<LastModified>2009-10-12T17:50:30.250Z</LastModified>"
#define ENTRY(key)                                                                                                     \
    "<Contents><Key>" key "</Key>" TIME "<ETag>&quot;abc&quot;</ETag><Size>17</Size>"                                  \
    "<Owner><ID>x</ID><Key>not this</Key></Owner></Contents>"

static int parse(const char *xml, struct listing *ret)
{
    struct error e = { 0 };
    int r = listing_parse((struct bytes){ (const uint8_t *)xml, strlen(xml) }, ret, &e);
    if (r < 0) {
        assert_int_equal(e.kind, ERROR_DAMAGED);
        assert_int_equal(ret->count, 0);
    }
    return r;
}

static void entries_and_the_token_are_read(void **state)
{
    _cleanup_(listing_release) struct listing l = { 0 };
    assert_int_equal(parse(OPEN "<IsTruncated>true</IsTruncated>" ENTRY("a/1")
                               ENTRY("a&amp;2") "<CommonPrefixes><Prefix>z/</Prefix></CommonPrefixes>"
                                                "<NextContinuationToken>1/+=x</NextContinuationToken>" CLOSE,
                           &l),
                     0);
    assert_int_equal(l.count, 2);
    assert_string_equal(l.entries[0].key, "a/1");
    assert_string_equal(l.entries[1].key, "a&2");
    assert_int_equal(l.entries[0].size, 17);
    assert_true(l.entries[0].modified_ns == 1255369830250000000);
    assert_string_equal(l.token, "1/+=x");
}

static void an_empty_last_page_is_fine(void **state)
{
    _cleanup_(listing_release) struct listing l = { 0 };
    assert_int_equal(parse(OPEN LAST "<NextContinuationToken></NextContinuationToken>" CLOSE, &l), 0);
    assert_int_equal(l.count, 0);
}

/* Each of these, taken for a list, would be a shorter one. */
static void what_is_cut_off_or_unclear_is_no_list(void **state)
{
    static const char *const bad[] = {
        "",
        HEAD,
        OPEN ENTRY("a"),
        OPEN LAST ENTRY("a") "</ListBucket",
        OPEN ENTRY("a") CLOSE,                                   /* does not say whether it is the last */
        OPEN "<IsTruncated>true</IsTruncated>" ENTRY("a") CLOSE, /* goes on, but where? */
        OPEN "<IsTruncated>TRUE</IsTruncated>" CLOSE,
        OPEN LAST "<NextContinuationToken>t</NextContinuationToken>" CLOSE,
        OPEN LAST LAST CLOSE,
        OPEN LAST "<Contents><Key>a</Key><Size>1</Size></Contents>" CLOSE,
        OPEN LAST "<Contents><Key>a</Key>" TIME "</Contents>" CLOSE,
        OPEN LAST "<Contents><Size>1</Size>" TIME "</Contents>" CLOSE,
        OPEN LAST "<Contents><Key></Key><Size>1</Size>" TIME "</Contents>" CLOSE,
        OPEN LAST "<Contents><Key>a</Key><Key>b</Key><Size>1</Size>" TIME "</Contents>" CLOSE,
        OPEN LAST "<Contents><Key>a<b/>c</Key><Size>1</Size>" TIME "</Contents>" CLOSE,
        OPEN LAST "<Contents><Key>a</Key><Size>-1</Size>" TIME "</Contents>" CLOSE,
        OPEN LAST "<Contents><Key>a</Key><Size>99999999999999999999</Size>" TIME "</Contents>" CLOSE,
        HEAD "<Error><Code>InternalError</Code></Error>",
        "<html><body>proxy</body></html>",
        OPEN LAST CLOSE "more",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct listing l = { 0 };
        assert_int_equal(parse(bad[i], &l), -EBADMSG);
    }
}

/* Fails if document types are let through: then "lol" grows a thousandfold, and &x; reads a file elsewhere. */
static void entities_are_refused(void **state)
{
    struct listing l = { 0 };
    assert_int_equal(parse("<!DOCTYPE x [<!ENTITY a \"lol\"><!ENTITY b \"&a;&a;&a;\">]><ListBucketResult>" LAST
                           "<Contents><Key>&b;</Key><Size>1</Size>" TIME "</Contents>" CLOSE,
                           &l),
                     -EBADMSG);
    assert_int_equal(parse("<!DOCTYPE x SYSTEM \"file:///etc/passwd\"><ListBucketResult>" LAST CLOSE, &l), -EBADMSG);
    assert_int_equal(parse("<ListBucketResult>&undefined;" LAST CLOSE, &l), -EBADMSG);
}

static void depth_text_and_count_are_bounded(void **state)
{
    struct listing l = { 0 };
    _cleanup_(buf_release) struct buf b = { 0 };
    buf_printf(&b, OPEN LAST);
    for (int i = 0; i < 100000; i++)
        buf_printf(&b, "<x>");
    assert_int_equal(parse(buf_string(&b), &l), -EBADMSG);

    buf_clear(&b);
    buf_printf(&b, OPEN LAST "<Contents><Key>");
    buf_fill(&b, 'k', LISTING_TEXT_MAX);
    buf_printf(&b, "</Key><Size>1</Size>" TIME "</Contents>" CLOSE);
    assert_int_equal(parse(buf_string(&b), &l), -EBADMSG);

    buf_clear(&b);
    buf_printf(&b, OPEN LAST);
    for (int i = 0; i <= LISTING_COUNT_MAX; i++)
        buf_printf(&b, ENTRY("k"));
    buf_printf(&b, CLOSE);
    assert_int_equal(parse(buf_string(&b), &l), -EBADMSG);

    buf_fill(&b, ' ', LISTING_XML_MAX);
    assert_int_equal(listing_parse(buf_bytes(&b), &l, NULL), -EBADMSG);
}

static void every_cut_of_a_list_is_refused(void **state)
{
    static const char whole[] = OPEN ENTRY("a") ENTRY("b") LAST CLOSE;
    for (size_t n = 0; n < sizeof(whole) - 1; n++) {
        struct listing l = { 0 };
        assert_int_equal(listing_parse((struct bytes){ (const uint8_t *)whole, n }, &l, NULL), -EBADMSG);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_and_the_token_are_read),        cmocka_unit_test(an_empty_last_page_is_fine),
        cmocka_unit_test(what_is_cut_off_or_unclear_is_no_list), cmocka_unit_test(entities_are_refused),
        cmocka_unit_test(depth_text_and_count_are_bounded),      cmocka_unit_test(every_cut_of_a_list_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
