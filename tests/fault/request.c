/* SPDX-License-Identifier: MIT */
#include "tests/fault/request.h"

#include "index/base/mem.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <strings.h>

void request_set(struct request *q, const char *method, const char *uri)
{
    const char *mark = strchr(uri, '?');
    q->method = mem_strdup(method);
    q->path = mem_copy(uri, mark ? (size_t)(mark - uri) : strlen(uri));
    q->query = mem_strdup(mark ? mark + 1 : "");
}

void request_add_header(struct request *q, const char *name, const char *value)
{
    if (q->header_count == REQUEST_HEADERS)
        return;
    struct header *h = &q->headers[q->header_count++];
    h->name = mem_strdup(name);
    h->value = mem_strdup(value);
    for (char *p = h->name; *p; p++)
        *p = (char)tolower((unsigned char)*p);
}

const char *request_header(const struct request *q, const char *name)
{
    for (size_t i = 0; i < q->header_count; i++)
        if (strcmp(q->headers[i].name, name) == 0)
            return q->headers[i].value;
    return NULL;
}

void request_release(struct request *q)
{
    for (size_t i = 0; i < q->header_count; i++) {
        free(q->headers[i].name);
        free(q->headers[i].value);
    }
    free(q->method);
    free(q->path);
    free(q->query);
    buf_release(&q->body);
    *q = (struct request){ 0 };
}

static int digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

bool request_decode(const char *text, size_t n, bool plus, struct buf *ret)
{
    for (size_t i = 0; i < n; i++) {
        uint8_t byte = (uint8_t)text[i];
        if (text[i] == '%') {
            if (i + 2 >= n || digit(text[i + 1]) < 0 || digit(text[i + 2]) < 0)
                return false;
            byte = (uint8_t)(digit(text[i + 1]) << 4 | digit(text[i + 2]));
            i += 2;
        } else if (plus && text[i] == '+') {
            byte = ' ';
        }
        buf_add(ret, &byte, 1);
    }
    return true;
}

void request_encode(const void *text, size_t n, bool slash, struct buf *ret)
{
    const uint8_t *p = text;
    for (size_t i = 0; i < n; i++) {
        if (isalnum(p[i]) || strchr("-._~", p[i]) || (slash && p[i] == '/'))
            buf_add(ret, &p[i], 1);
        else
            buf_printf(ret, "%%%02X", p[i]);
    }
}

bool request_parameter(const struct request *q, const char *name, struct buf *ret)
{
    for (const char *p = q->query; *p;) {
        size_t len = strcspn(p, "&"), name_len = strcspn(p, "=&");
        if (name_len == strlen(name) && strncmp(p, name, name_len) == 0) {
            buf_clear(ret);
            return name_len == len || request_decode(p + name_len + 1, len - name_len - 1, true, ret);
        }
        p += len + (p[len] == '&');
    }
    return false;
}

void answer_add_header(struct answer *a, const char *name, const char *fmt, ...)
{
    if (a->header_count == ANSWER_HEADERS)
        abort();
    char value[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(value, sizeof(value), fmt, args);
    va_end(args);
    a->headers[a->header_count++] = (struct header){ mem_strdup(name), mem_strdup(value) };
}

void answer_release(struct answer *a)
{
    for (size_t i = 0; i < a->header_count; i++) {
        free(a->headers[i].name);
        free(a->headers[i].value);
    }
    buf_release(&a->body);
    *a = ANSWER_NONE;
}
