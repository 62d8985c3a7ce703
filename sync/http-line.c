/* SPDX-License-Identifier: MIT */
#include "sync/http-line.h"

#include "index/base/text.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static void take_text(char to[HTTP_TEXT_MAX], const char *value, size_t len)
{
    bool plain = len < HTTP_TEXT_MAX;
    for (size_t i = 0; i < len && plain; i++)
        plain = value[i] >= ' ' && value[i] < 0x7f;
    if (!plain)
        len = 0;
    memcpy(to, value, len);
    to[len] = '\0';
}

static int64_t take_number(const char *text, uint64_t max, int64_t otherwise)
{
    uint64_t n;
    return text_parse_u64(text, max, &n) < 0 ? otherwise : (int64_t)n;
}

static int64_t take_time(const char *text)
{
    time_t t = curl_getdate(text, NULL);
    return t > 0 && t <= INT64_MAX / 1000000000 ? (int64_t)t * 1000000000 : 0;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

void http_line_take(struct http_answer *a, struct bytes line)
{
    const char *at = (const char *)line.data;
    size_t name = 0, to = line.len;
    while (name < line.len && at[name] != ':')
        name++;
    if (name == line.len) {
        if (line.len > 5 && memcmp(at, "HTTP/", 5) == 0) {
            a->length = -1;
            a->date_ns = a->modified_ns = 0;
            a->retry_after_s = 0;
            a->etag[0] = a->range[0] = '\0';
        }
        return;
    }
    size_t from = name + 1;
    while (from < to && is_blank(at[from]))
        from++;
    while (to > from && is_blank(at[to - 1]))
        to--;
    char text[HTTP_TEXT_MAX];
    take_text(text, at + from, to - from);
#define IS(known) (name == sizeof(known) - 1 && strncasecmp(at, known, name) == 0)
    if (IS("Content-Length"))
        a->length = take_number(text, INT64_MAX, -1);
    else if (IS("Date"))
        a->date_ns = take_time(text);
    else if (IS("Last-Modified"))
        a->modified_ns = take_time(text);
    else if (IS("Retry-After"))
        a->retry_after_s = (unsigned)take_number(text, 3600, 0);
    else if (IS("ETag"))
        strcpy(a->etag, text);
    else if (IS("Content-Range"))
        strcpy(a->range, text);
#undef IS
}

int http_line_range(const char *text, uint64_t *ret_from, uint64_t *ret_to, uint64_t *ret_size)
{
    unsigned long long from, to, size;
    int used = 0;
    if (sscanf(text, "bytes %llu-%llu/%llu%n", &from, &to, &size, &used) != 3 || text[used] != '\0')
        return -EINVAL;
    *ret_from = from;
    *ret_to = to;
    *ret_size = size;
    return 0;
}
