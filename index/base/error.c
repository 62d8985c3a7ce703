/* SPDX-License-Identifier: MIT */
#include "index/base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Index: enum error_kind. The words are interface.md's JSON kinds. */
static const struct {
    const char *name;
    int exit_code;
} kinds[] = {
    [ERROR_FAILED] = { "failed", 1 },     [ERROR_USAGE] = { "usage", 2 },
    [ERROR_HELD] = { "held", 3 },         [ERROR_UNKNOWN] = { "unknown", 4 },
    [ERROR_STORE] = { "store", 5 },       [ERROR_DOUBT] = { "doubt", 6 },
    [ERROR_DAMAGED] = { "damaged", 7 },   [ERROR_BUSY] = { "busy", 8 },
    [ERROR_PASSWORD] = { "password", 9 }, [ERROR_INTERRUPTED] = { "interrupted", 130 },
};

const char *error_kind_name(enum error_kind kind)
{
    return kinds[kind].name;
}

int error_exit_code(enum error_kind kind)
{
    return kinds[kind].exit_code;
}

static int set(struct error *e, enum error_kind kind, int code, const char *why, const char *fmt, va_list args)
{
    char what[sizeof(e->text)];
    vsnprintf(what, sizeof(what), fmt, args);

    e->kind = kind;
    e->code = code;
    e->hint[0] = '\0';
    if (why)
        snprintf(e->text, sizeof(e->text), "%.350s: %.150s", what, why);
    else
        snprintf(e->text, sizeof(e->text), "%s", what);
    return code;
}

int error_set(struct error *e, enum error_kind kind, int code, const char *fmt, ...)
{
    if (!e)
        return code;

    va_list args;
    va_start(args, fmt);
    set(e, kind, code, strerror(-code), fmt, args);
    va_end(args);
    return code;
}

int error_say(struct error *e, enum error_kind kind, int code, const char *fmt, ...)
{
    if (!e)
        return code;

    va_list args;
    va_start(args, fmt);
    set(e, kind, code, NULL, fmt, args);
    va_end(args);
    return code;
}

int error_prefix(struct error *e, const char *fmt, ...)
{
    if (!e)
        return -1;

    va_list args;
    va_start(args, fmt);
    char what[160];
    vsnprintf(what, sizeof(what), fmt, args);
    va_end(args);

    size_t len = strlen(what);
    if (strncmp(e->text, what, len) == 0 && e->text[len] == ':') /* said by whoever was called */
        return e->code;
    char chain[sizeof(e->text)];
    snprintf(chain, sizeof(chain), "%s: %.350s", what, e->text);
    memcpy(e->text, chain, sizeof(e->text));
    return e->code;
}

int error_hint(struct error *e, const char *fmt, ...)
{
    if (!e)
        return -1;

    va_list args;
    va_start(args, fmt);
    vsnprintf(e->hint, sizeof(e->hint), fmt, args);
    va_end(args);
    return e->code;
}

int error_pass(struct error *e, const struct error *why)
{
    if (e)
        *e = *why;
    return why->code;
}

void error_clear(struct error *e)
{
    if (e)
        *e = (struct error){ 0 };
}
