/* SPDX-License-Identifier: MIT */
#include "index/base/text.h"

#include "index/base/mem.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void text_hex(char *to, const void *p, size_t n)
{
    static const char digits[] = "0123456789abcdef";
    const uint8_t *at = p;
    for (size_t i = 0; i < n; i++) {
        *to++ = digits[at[i] >> 4];
        *to++ = digits[at[i] & 15];
    }
    *to = '\0';
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int text_unhex(const char *s, size_t len, void *to, size_t n)
{
    if (len != 2 * n)
        return -EINVAL;
    for (size_t i = 0; i < len; i++) {
        if (hex_digit(s[i]) < 0)
            return -EINVAL;
    }

    uint8_t *at = to;
    for (size_t i = 0; i < n; i++)
        at[i] = (uint8_t)(hex_digit(s[2 * i]) << 4 | hex_digit(s[2 * i + 1]));
    return 0;
}

/* The digits at *s, which moves behind them. */
static int parse_digits(const char **s, uint64_t *ret)
{
    uint64_t v = 0;
    const char *p = *s;
    if (*p < '0' || *p > '9')
        return -EINVAL;
    for (; *p >= '0' && *p <= '9'; p++) {
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v))
            return -ERANGE;
    }
    *s = p;
    *ret = v;
    return 0;
}

int text_parse_u64(const char *s, uint64_t max, uint64_t *ret)
{
    uint64_t v;
    int r = parse_digits(&s, &v);
    if (r < 0)
        return r;
    if (*s)
        return -EINVAL;
    if (v > max)
        return -ERANGE;
    *ret = v;
    return 0;
}

struct unit {
    char letter;
    uint64_t factor;
};

/* Digits and at most one of the units' letters. */
static int parse_with_unit(const char *s, const struct unit *units, size_t count, uint64_t *ret)
{
    uint64_t v, factor = 1;
    int r = parse_digits(&s, &v);
    if (r < 0)
        return r;
    if (*s) {
        size_t i = 0;
        while (i < count && units[i].letter != *s)
            i++;
        if (i == count || s[1])
            return -EINVAL;
        factor = units[i].factor;
    }
    if (__builtin_mul_overflow(v, factor, &v))
        return -ERANGE;
    *ret = v;
    return 0;
}

int text_parse_size(const char *s, uint64_t *ret)
{
    static const struct unit units[] = { { 'K', 1u << 10 }, { 'M', 1u << 20 }, { 'G', 1u << 30 }, { 'T', 1ull << 40 } };
    return parse_with_unit(s, units, 4, ret);
}

int text_parse_duration(const char *s, uint64_t *ret_seconds)
{
    static const struct unit units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 } };
    return parse_with_unit(s, units, 4, ret_seconds);
}

void text_time(char to[32], int64_t unix_ns)
{
    int64_t seconds = unix_ns / 1000000000 - (unix_ns % 1000000000 < 0);
    time_t t = (time_t)seconds;
    struct tm parts = { 0 };
    gmtime_r(&t, &parts);
    strftime(to, 32, "%Y-%m-%dT%H:%M:%SZ", &parts);
}

void text_size(char to[16], uint64_t bytes)
{
    static const char units[] = "KMGTPE";
    if (bytes < 1024) {
        snprintf(to, 16, "%uB", (unsigned)bytes);
        return;
    }

    size_t unit = 0;
    double v = (double)bytes / 1024;
    /* What would be rounded to 1024 is 1.0 of the next unit. */
    while (v >= 1023.5 && unit + 2 < sizeof(units)) {
        v /= 1024;
        unit++;
    }
    snprintf(to, 16, v < 9.95 ? "%.1f%c" : "%.0f%c", v, units[unit]);
}

const char *text_count(char to[64], uint64_t n, const char *noun)
{
    size_t len = strlen(noun);
    char last = noun[len - 1];
    const char *ending = n == 1 ? "" : last == 'y' ? "ies" : last == 'x' ? "es" : "s";
    snprintf(to, 64, "%llu %.*s%s", (unsigned long long)n, (int)(n != 1 && last == 'y' ? len - 1 : len), noun, ending);
    return to;
}

void text_duration(char to[16], uint64_t ms)
{
    if (ms < 1000)
        snprintf(to, 16, "%u ms", (unsigned)ms);
    else if (ms < 60 * 1000)
        snprintf(to, 16, "%u.%02u s", (unsigned)(ms / 1000), (unsigned)(ms % 1000 / 10));
    else if (ms < 3600 * 1000)
        snprintf(to, 16, "%u min %u s", (unsigned)(ms / 60000), (unsigned)(ms / 1000 % 60));
    else if (ms / 3600000 < 100000)
        snprintf(to, 16, "%u h %u min", (unsigned)(ms / 3600000), (unsigned)(ms / 60000 % 60));
    else
        snprintf(to, 16, "over 100000 h");
}

/* The length of the well-formed UTF-8 sequence at p (Unicode 15, table 3-7); 0: there is none. */
static size_t utf8_length(const uint8_t *p, size_t n)
{
    if (p[0] < 0x80)
        return 1;
    size_t len = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
    if (p[0] < 0xc2 || p[0] > 0xf4 || len > n)
        return 0;

    uint8_t low = p[0] == 0xe0 ? 0xa0 : p[0] == 0xf0 ? 0x90 : 0x80;
    uint8_t high = p[0] == 0xed ? 0x9f : p[0] == 0xf4 ? 0x8f : 0xbf;
    if (p[1] < low || p[1] > high)
        return 0;
    for (size_t i = 2; i < len; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    }
    return len;
}

bool text_is_utf8(const void *p, size_t n)
{
    const uint8_t *at = p;
    for (size_t i = 0; i < n;) {
        size_t len = utf8_length(at + i, n - i);
        if (len == 0)
            return false;
        i += len;
    }
    return true;
}

/* Control characters: C0, DEL, and C1 (U+0080 to U+009F), which terminals obey too. */
static bool is_control(const uint8_t *p, size_t len)
{
    return p[0] < 0x20 || p[0] == 0x7f || (len == 2 && p[0] == 0xc2 && p[1] < 0xa0);
}

void text_escape(struct buf *to, const void *p, size_t n)
{
    static const char plain[] = "\n\t\r\\", letters[] = "ntr\\";
    const uint8_t *at = p;
    for (size_t i = 0; i < n;) {
        size_t len = utf8_length(at + i, n - i);
        const char *simple = at[i] ? strchr(plain, at[i]) : NULL;
        if (simple) {
            buf_printf(to, "\\%c", letters[simple - plain]);
            i++;
        } else if (len == 0 || is_control(at + i, len)) {
            buf_printf(to, "\\x%02x", at[i]);
            if (len == 2)
                buf_printf(to, "\\x%02x", at[i + 1]);
            i += len ? len : 1;
        } else {
            buf_add(to, at + i, len);
            i += len;
        }
    }
}

char *text_word(const char *s)
{
    struct buf b = { 0 };
    size_t plain = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-+=:@%,");
    if (*s && s[plain] == '\0')
        return mem_strdup(s);
    buf_printf(&b, "'");
    for (; *s; s++)
        if (*s == '\'')
            buf_printf(&b, "'\\''");
        else
            buf_add(&b, s, 1);
    buf_printf(&b, "'");
    char *word = mem_strdup(buf_string(&b));
    buf_release(&b);
    return word;
}

bool text_is_name(const char *s)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    size_t len = strlen(s);
    return len >= 1 && len <= 63 && strspn(s, letters) == len && !strchr("._-", s[0]) && !strstr(s, "..") &&
           strcmp(s, TEXT_GLOBALS) != 0;
}

bool text_is_box(const char *s)
{
    return text_is_name(s) || strcmp(s, TEXT_GLOBALS) == 0;
}

int64_t text_parse_time(const char *text)
{
    int year, month, day, hour, minute, second, used = 0;
    if (sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d%n", &year, &month, &day, &hour, &minute, &second, &used) != 6 ||
        used != 19)
        return -1;
    int64_t ns = 0, unit = 100000000;
    text += used;
    if (*text == '.')
        for (text++; *text >= '0' && *text <= '9'; text++, unit /= 10)
            ns += (*text - '0') * unit;
    if ((strcmp(text, "Z") != 0 && strcmp(text, "+00:00") != 0) || year < 1970 || month < 1 || month > 12 || day < 1 ||
        day > 31 || hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60 || year > 2200)
        return -1;
    struct tm tm = {
        .tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day, .tm_hour = hour, .tm_min = minute, .tm_sec = second
    };
    return (int64_t)timegm(&tm) * 1000000000 + ns;
}

int text_base64(const void *p, size_t n, struct buf *to)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint8_t *at = p;
    for (size_t i = 0; i < n; i += 3) {
        size_t have = n - i < 3 ? n - i : 3;
        uint32_t v = (uint32_t)at[i] << 16;
        if (have > 1)
            v |= (uint32_t)at[i + 1] << 8;
        if (have > 2)
            v |= at[i + 2];
        char four[4] = { letters[v >> 18], letters[v >> 12 & 63], have > 1 ? letters[v >> 6 & 63] : '=',
                         have > 2 ? letters[v & 63] : '=' };
        buf_add(to, four, 4);
    }
    return 0;
}
