/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * words - a growing list of strings with a NULL behind it: an argv, an environment, a list of paths.
 *
 * `_cleanup_(words_release) struct words w = { 0 };` is an empty, valid list (items is NULL until the first word). The
 * list owns copies of its words. Growth aborts when memory is out; lists whose length comes from outside are bounded by
 * whoever fills them.
 */

#include <stdbool.h>
#include <stddef.h>

struct words {
    char **items;
    size_t count;
};

bool words_has(const struct words *w, const char *word);
void words_release(struct words *w);
void words_add(struct words *w, const char *word);
void words_addf(struct words *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Up to the first NULL: words_add_all(w, "--bind", from, to, NULL). */
void words_add_all(struct words *w, ...) __attribute__((sentinel));
