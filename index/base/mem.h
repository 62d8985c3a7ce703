/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * mem - cleanup attributes and small allocations.
 *
 * `_cleanup_close_ int fd = -1;` closes fd on every way out of its block. Allocations of sizes that the program itself
 * chose (small, bounded) abort when memory is out; sizes from outside are bounded before they come here.
 */

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static inline void mem_freep(void *p)
{
    free(*(void **)p);
}

/* Whatever comes later finds no descriptor: its number may be somebody else's by then. */
static inline void mem_closep(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static inline int mem_steal_fd(int *fd)
{
    int taken = *fd;
    *fd = -1;
    return taken;
}

/* Takes the pointer out of variable p, so that p's cleanup finds NULL. */
#define mem_steal(p)                                                                                                   \
    __extension__({                                                                                                    \
        __typeof__(p) *from_ = &(p);                                                                                   \
        __typeof__(p) taken_ = *from_;                                                                                 \
        *from_ = NULL;                                                                                                 \
        taken_;                                                                                                        \
    })

/* Zeroed; never NULL (aborts). */
void *mem_new(size_t count, size_t size) __attribute__((alloc_size(1, 2), returns_nonnull, malloc));
/* realloc of count * size; aborts on overflow and when memory is out. */
void *mem_grow(void *p, size_t count, size_t size) __attribute__((alloc_size(2, 3), returns_nonnull));
void *mem_copy(const void *p, size_t n) __attribute__((returns_nonnull)); /* n bytes and a NUL behind them */
char *mem_strdup(const char *s) __attribute__((returns_nonnull));
char *mem_vprintf(const char *fmt, va_list args) __attribute__((format(printf, 1, 0), returns_nonnull));
char *mem_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2), returns_nonnull));

/*
 * For a process that runs for weeks: few arenas, and what was large goes back to the system when it is freed. Before
 * other threads are started.
 */
void mem_stay_small(void);

#define _cleanup_(f) __attribute__((cleanup(f)))
#define _cleanup_free_ _cleanup_(mem_freep)
#define _cleanup_close_ _cleanup_(mem_closep)
