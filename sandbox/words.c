/* SPDX-License-Identifier: MIT */
#include "sandbox/words.h"

#include "index/base/mem.h"

#include <stdarg.h>
#include <stdio.h>

void words_release(struct words *w)
{
    for (size_t i = 0; i < w->count; i++)
        free(w->items[i]);
    free(w->items);
    *w = (struct words){ 0 };
}

bool words_has(const struct words *w, const char *word)
{
    for (size_t i = 0; i < w->count; i++)
        if (strcmp(w->items[i], word) == 0)
            return true;
    return false;
}

/* Takes over word. */
static void append(struct words *w, char *word)
{
    w->items = mem_grow(w->items, w->count + 2, sizeof(*w->items));
    w->items[w->count++] = word;
    w->items[w->count] = NULL;
}

void words_add(struct words *w, const char *word)
{
    append(w, mem_strdup(word));
}

void words_addf(struct words *w, const char *fmt, ...)
{
    char *word = NULL;
    va_list args;
    va_start(args, fmt);
    if (vasprintf(&word, fmt, args) < 0)
        abort();
    va_end(args);
    append(w, word);
}

void words_add_all(struct words *w, ...)
{
    va_list args;
    va_start(args, w);
    for (const char *word; (word = va_arg(args, const char *));)
        words_add(w, word);
    va_end(args);
}
