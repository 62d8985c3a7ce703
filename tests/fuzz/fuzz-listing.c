/* SPDX-License-Identifier: MIT */
/* fuzzes: s3_answer_code, listing_parse. */
#include "sync/listing.h"

#include "index/base/mem.h"
#include "index/base/text.h"
#include "sync/s3-answer.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static void escape(struct buf *to, const char *s)
{
    for (; *s; s++)
        buf_printf(to, (unsigned char)*s < 0x80 ? "&#%d;" : "%c", *s);
}

static void encode(const struct listing *l, struct buf *to)
{
    buf_printf(to, "<ListBucketResult><IsTruncated>%s</IsTruncated>", l->token && *l->token ? "true" : "false");
    if (l->token) {
        buf_printf(to, "<NextContinuationToken>");
        escape(to, l->token);
        buf_printf(to, "</NextContinuationToken>");
    }
    for (size_t i = 0; i < l->count; i++) {
        char time[32];
        text_time(time, l->entries[i].modified_ns);
        buf_printf(to, "<Contents><Key>");
        escape(to, l->entries[i].key);
        buf_printf(to, "</Key><Size>%llu</Size><LastModified>%.19s.%09lldZ</LastModified></Contents>",
                   (unsigned long long)l->entries[i].size, time, (long long)(l->entries[i].modified_ns % 1000000000));
    }
    buf_printf(to, "</ListBucketResult>");
}

/* The bytes as a page of a list: refused, or within its bounds and the same once written and read again. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes in = { data, size };
    char code[S3_CODE_MAX];
    s3_answer_code(in, code);
    REQUIRE(strlen(code) < sizeof(code) && strspn(code, "<> \"\r\n") == 0);

    _cleanup_(listing_release) struct listing l = { 0 }, again = { 0 };
    if (listing_parse(in, &l, NULL) < 0) {
        REQUIRE(l.count == 0 && !l.token);
        return 0;
    }
    REQUIRE(l.count <= LISTING_COUNT_MAX);
    for (size_t i = 0; i < l.count; i++)
        REQUIRE(l.entries[i].key[0] && strlen(l.entries[i].key) < LISTING_TEXT_MAX && l.entries[i].modified_ns >= 0);

    _cleanup_(buf_release) struct buf xml = { 0 };
    encode(&l, &xml);
    if (xml.len > LISTING_XML_MAX)
        return 0;
    REQUIRE(listing_parse(buf_bytes(&xml), &again, NULL) == 0);
    REQUIRE(again.count == l.count && (again.token && *again.token) == (l.token && *l.token));
    for (size_t i = 0; i < l.count; i++)
        REQUIRE(strcmp(again.entries[i].key, l.entries[i].key) == 0 && again.entries[i].size == l.entries[i].size &&
                again.entries[i].modified_ns == l.entries[i].modified_ns);
    return 0;
}
