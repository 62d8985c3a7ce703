/* SPDX-License-Identifier: MIT */
#include "index/base/mem.h"

#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>

#define LARGE (128 * 1024)

void mem_stay_small(void)
{
    mallopt(M_ARENA_MAX, 2);          /* each keeps its own holes: by default there are eight a processor */
    mallopt(M_MMAP_THRESHOLD, LARGE); /* set, it does not grow with what is freed */
    mallopt(M_TRIM_THRESHOLD, 4 * LARGE);
}

void *mem_new(size_t count, size_t size)
{
    void *p = calloc(count ? count : 1, size ? size : 1);
    if (!p)
        abort();
    return p;
}

void *mem_grow(void *p, size_t count, size_t size)
{
    size_t total;
    if (__builtin_mul_overflow(count, size, &total))
        abort();
    /* realloc to 0 may free and answer NULL. */
    void *grown = realloc(p, total ? total : 1);
    if (!grown)
        abort();
    return grown;
}

void *mem_copy(const void *p, size_t n)
{
    char *copy = mem_grow(NULL, n + 1, 1);
    if (n)
        memcpy(copy, p, n);
    copy[n] = '\0';
    return copy;
}

char *mem_strdup(const char *s)
{
    return mem_copy(s, strlen(s));
}

char *mem_vprintf(const char *fmt, va_list args)
{
    char *s = NULL;
    if (vasprintf(&s, fmt, args) < 0)
        abort();
    return s;
}

char *mem_printf(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    char *s = mem_vprintf(fmt, args);
    va_end(args);
    return s;
}
