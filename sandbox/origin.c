/* SPDX-License-Identifier: MIT */
#include "sandbox/origin.h"

#include "index/base/mem.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <string.h>

static void json_freep(json_t **o)
{
    json_decref(*o);
}

/* An absolute path that names its directory itself: what begins with another's path and has "/.." behind it is not
 * below that. */
static bool is_plain(const char *path)
{
    size_t len = strlen(path);
    if (path[0] != '/' || len >= PATH_MAX)
        return false;
    for (const char *part = path + 1, *end; *part; part = *end ? end + 1 : end) {
        end = strchrnul(part, '/');
        size_t n = (size_t)(end - part);
        if (n == 0 || (n <= 2 && memcmp(part, "..", n) == 0))
            return false;
    }
    return true;
}

static char *take(const char *path)
{
    if (!path || !is_plain(path))
        return NULL;
    size_t len = strlen(path);
    return mem_copy(path, len > 1 && path[len - 1] == '/' ? len - 1 : len);
}

/* What a line says, if it is an object. */
static json_t *parse_line(struct bytes line)
{
    json_t *o = json_loadb((const char *)line.data, line.len, 0, NULL);
    if (json_is_object(o))
        return o;
    json_decref(o);
    return NULL;
}

/* The next line of head; false: there is none. */
static bool next_line(struct bytes *head, struct bytes *ret)
{
    if (head->len == 0)
        return false;
    const uint8_t *end = memchr(head->data, '\n', head->len);
    size_t len = end ? (size_t)(end - head->data) : head->len;
    *ret = (struct bytes){ head->data, len };
    len += end ? 1 : 0;
    *head = (struct bytes){ head->data + len, head->len - len };
    return true;
}

int origin_of_claude(struct bytes head, char **ret)
{
    int r = -ENOENT;
    for (struct bytes line; next_line(&head, &line);) {
        _cleanup_(json_freep) json_t *o = parse_line(line);
        const char *cwd = json_string_value(json_object_get(o, "cwd"));
        if (!o && line.len > 0)
            r = -EINVAL;
        if (!cwd)
            continue;
        *ret = take(cwd);
        return *ret ? 0 : -EINVAL;
    }
    return r;
}

int origin_of_codex(struct bytes head, char **ret)
{
    struct bytes line;
    if (!next_line(&head, &line))
        return -ENOENT;
    _cleanup_(json_freep) json_t *o = parse_line(line);
    const char *type = json_string_value(json_object_get(o, "type"));
    if (!type || strcmp(type, "session_meta") != 0)
        return -ENOENT;
    *ret = take(json_string_value(json_object_get(json_object_get(o, "payload"), "cwd")));
    return *ret ? 0 : -ENOENT;
}

static int digit(char c)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)((at - digits) % 16) : -1;
}

int origin_of_grok(const char *name, char **ret)
{
    _cleanup_(buf_release) struct buf path = { 0 };
    for (const char *c = name; *c; c++) {
        uint8_t byte = (uint8_t)*c;
        if (*c == '%') {
            int high = digit(c[1]), low = high < 0 ? -1 : digit(c[2]);
            if (low < 0 || high + low == 0)
                return -EINVAL;
            byte = (uint8_t)(high * 16 + low);
            c += 2;
        }
        buf_add(&path, &byte, 1);
    }
    *ret = take(buf_string(&path));
    return *ret ? 0 : -EINVAL;
}

bool origin_within(const char *origin, const char *project)
{
    size_t n = strlen(project);
    return strncmp(origin, project, n) == 0 && (origin[n] == '\0' || origin[n] == '/');
}
