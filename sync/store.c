/* SPDX-License-Identifier: MIT */
#include "sync/store.h"

#include "index/base/clock.h"
#include "index/base/crash.h"
#include "index/base/mem.h"
#include "index/base/text.h"
#include "index/base/trace.h"
#include "sync/store-file.h"
#include "sync/store-s3.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* What a key is for, so that tests can end the process around requests of one kind. */
enum key_kind { KEY_CONFIG, KEY_HEAD, KEY_PACK, KEY_SNAP, KEY_HOLD, KEY_FORK, KEY_CONDEMNED, KEY_OTHER };

static bool key_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
}

bool store_key_valid(const char *key)
{
    if (!*key || strlen(key) >= STORE_KEY_MAX)
        return false;
    bool first = true; /* of its part */
    for (const char *p = key; *p; p++) {
        if (*p == '/' ? first : (first && *p == '.') || !key_byte(*p))
            return false;
        first = *p == '/';
    }
    return !first;
}

size_t store_box_key(char to[STORE_KEY_MAX], const char *box, const char *fmt, ...)
{
    const char *above = strcmp(box, TEXT_GLOBALS) == 0 ? "" : "box/";
    int n = snprintf(to, STORE_KEY_MAX, "%s%s/", above, box);
    va_list args;
    va_start(args, fmt);
    int more = vsnprintf(to + n, STORE_KEY_MAX - (size_t)n, fmt, args);
    va_end(args);
    return (size_t)n + (size_t)more;
}

/* "", or the beginning of a valid key. */
static bool prefix_valid(const char *prefix)
{
    char key[STORE_KEY_MAX];
    if (strlen(prefix) + 2 > sizeof(key))
        return false;
    stpcpy(stpcpy(key, prefix), "x");
    return store_key_valid(key);
}

#ifdef AGBOX_FAULT
static enum key_kind key_kind(const char *key)
{
    static const char *const names[] = { "config", "head", "pack", "snap", "hold", "fork", "condemned" };
    const char *part = key;
    if (strncmp(key, TEXT_GLOBALS "/", sizeof(TEXT_GLOBALS)) == 0)
        part = key + sizeof(TEXT_GLOBALS);
    else if (strncmp(key, "box/", 4) == 0)
        part = key + 4 + strcspn(key + 4, "/");
    part += *part == '/';
    size_t len = strcspn(part, "/");
    for (unsigned k = 0; k < KEY_OTHER; k++)
        if (strlen(names[k]) == len && strncmp(names[k], part, len) == 0)
            return (enum key_kind)k;
    return KEY_OTHER;
}
#endif

#define POINT_OF(kind, step)                                                                                           \
    case kind:                                                                                                         \
        crash_point(step);                                                                                             \
        break

/* The names must be literals: they are listed by the linker. */
#ifdef AGBOX_FAULT
#define POINT(verb, moment, key)                                                                                       \
    switch (key_kind(key)) {                                                                                           \
        POINT_OF(KEY_CONFIG, verb "-config." moment);                                                                  \
        POINT_OF(KEY_HEAD, verb "-head." moment);                                                                      \
        POINT_OF(KEY_PACK, verb "-pack." moment);                                                                      \
        POINT_OF(KEY_SNAP, verb "-snap." moment);                                                                      \
        POINT_OF(KEY_HOLD, verb "-hold." moment);                                                                      \
        POINT_OF(KEY_FORK, verb "-fork." moment);                                                                      \
        POINT_OF(KEY_CONDEMNED, verb "-condemned." moment);                                                            \
        POINT_OF(KEY_OTHER, verb "-other." moment);                                                                    \
    }
#else
#define POINT(verb, moment, key) ((void)0)
#endif

int store_open(const struct store_config *c, struct store **ret, struct error *e)
{
    if (strncmp(c->url, "file://", 7) == 0)
        return store_file_open(c->url + 7, ret, e);
    if (strncmp(c->url, "s3://", 5) == 0)
        return store_s3_open(c, ret, e);
    return error_say(e, ERROR_USAGE, -EINVAL, "store %s: must be file:///path or s3://bucket[/prefix]", c->url);
}

void store_close(struct store *s)
{
    if (s)
        s->operations->close(s);
}

void store_closep(struct store **s)
{
    store_close(*s);
}

void store_cancel(struct store *s)
{
    __atomic_store_n(&s->cancelled, 1, __ATOMIC_RELAXED);
}

void store_resume(struct store *s)
{
    __atomic_store_n(&s->cancelled, 0, __ATOMIC_RELAXED);
}

bool store_cancelled(const struct store *s)
{
    return __atomic_load_n(&s->cancelled, __ATOMIC_RELAXED) != 0;
}

void store_expect(struct store *s, unsigned requests)
{
    if (s->operations->expect)
        s->operations->expect(s, requests);
}

static int ready(struct store *s, bool valid, const char *key, struct error *e)
{
    if (!valid)
        return error_say(e, ERROR_FAILED, -EINVAL, "%.64s: not a key", key);
    if (store_cancelled(s))
        return error_say(e, ERROR_INTERRUPTED, -ECANCELED, "interrupted");
    return 0;
}

int store_create(struct store *s, struct error *e)
{
    if (!s->operations->create)
        return 0;
    int r = s->operations->create(s, e);
    if (r < 0)
        error_prefix(e, "make the store %s", s->description);
    return r;
}

int store_get(struct store *s, const char *key, uint64_t offset, uint64_t length, size_t max, struct buf *ret,
              struct store_info *ret_info, struct error *e)
{
    int r = ready(s, store_key_valid(key), key, e);
    if (r < 0)
        return r;
    if (length > max || offset > INT64_MAX || length > INT64_MAX || (length == 0 && offset != 0))
        return error_say(e, ERROR_FAILED, -EINVAL, "get %s: impossible range", key);
    POINT("get", "before", key);
    r = s->operations->get(s, key, offset, length, max, ret, ret_info, e);
    POINT("get", "after", key);
    if (r < 0)
        error_prefix(e, "get %s", key);
    return r;
}

int store_put(struct store *s, const char *key, struct bytes data, enum store_condition condition, const char *etag,
              char *ret_etag, struct error *e)
{
    int r = ready(s, store_key_valid(key), key, e);
    if (r < 0)
        return r;
    if (condition == STORE_IF_MATCH && (!etag || !*etag))
        return error_say(e, ERROR_FAILED, -EINVAL, "put %s: no etag to match", key);
    POINT("put", "before", key);
    r = s->operations->put(s, key, data, condition, etag, ret_etag, e);
    POINT("put", "after", key);
    if (r < 0)
        error_prefix(e, "put %s", key);
    return r;
}

int store_stat(struct store *s, const char *key, struct store_info *ret, struct error *e)
{
    int r = ready(s, store_key_valid(key), key, e);
    if (r < 0)
        return r;
    POINT("stat", "before", key);
    r = s->operations->stat(s, key, ret, e);
    POINT("stat", "after", key);
    if (r < 0)
        error_prefix(e, "stat %s", key);
    return r;
}

int store_list(struct store *s, const char *prefix,
               int (*each)(void *arg, const char *key, const struct store_info *info, struct error *e), void *arg,
               struct error *e)
{
    int r = ready(s, prefix_valid(prefix), prefix, e);
    if (r < 0)
        return r;
    crash_point("list.before");
    r = s->operations->list(s, prefix, each, arg, e);
    crash_point("list.after");
    if (r < 0)
        error_prefix(e, "list %s", prefix);
    return r;
}

int store_list_names(struct store *s, const char *prefix, int (*each)(void *arg, const char *name, struct error *e),
                     void *arg, struct error *e)
{
    size_t len = strlen(prefix);
    int r = ready(s, prefix_valid(prefix) && (len == 0 || prefix[len - 1] == '/'), prefix, e);
    if (r < 0)
        return r;
    crash_point("list-names.before");
    r = s->operations->list_names(s, prefix, each, arg, e);
    crash_point("list-names.after");
    if (r < 0)
        error_prefix(e, "list the names in %s", prefix);
    return r;
}

int store_remove(struct store *s, const char *key, struct error *e)
{
    int r = ready(s, store_key_valid(key), key, e);
    if (r < 0)
        return r;
    POINT("remove", "before", key);
    r = s->operations->remove(s, key, e);
    POINT("remove", "after", key);
    if (r < 0)
        error_prefix(e, "remove %s", key);
    return r;
}

void store_account(struct store *s, enum store_verb verb, const char *key, int status, int64_t started_boot_ns,
                   uint64_t bytes, unsigned attempt)
{
    static const char *const names[] = { "get", "put", "stat", "list", "remove" };
    uint64_t *const counters[] = { &s->stats.gets, &s->stats.puts, &s->stats.gets, &s->stats.lists, &s->stats.deletes };
    __atomic_fetch_add(counters[verb], 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(verb == STORE_PUT ? &s->stats.bytes_out : &s->stats.bytes_in, bytes, __ATOMIC_RELAXED);
    if (attempt > 1)
        __atomic_fetch_add(&s->stats.retries, 1, __ATOMIC_RELAXED);
    if (trace_on()) /* keys are plain ASCII without quotes */
        trace_event("store", "\"op\":\"%s\",\"key\":\"%s\",\"status\":%d,\"us\":%lld,\"bytes\":%llu,\"attempt\":%u",
                    names[verb], key, status, (long long)(clock_boot_ns() - started_boot_ns) / 1000,
                    (unsigned long long)bytes, attempt);
}
