/* SPDX-License-Identifier: MIT */
#include "sync/fields.h"

#include "index/base/mem.h"
#include "index/base/text.h"

#include <errno.h>
#include <string.h>

int fields_open(struct bytes json, unsigned version, const char *what, json_t **ret, struct error *e)
{
    json_t *o = json_loadb((const char *)json.data, json.len, JSON_REJECT_DUPLICATES, NULL);
    uint64_t v = 0;
    int r = 0;
    if (!json_is_object(o) || fields_number(o, "v", FIELDS_NUMBER_MAX, &v) < 0 || v == 0) {
        r = error_say(e, ERROR_DAMAGED, -EBADMSG, "%s: not what one looks like", what);
    } else if (v > version) {
        r = error_say(e, ERROR_USAGE, -ENOTSUP, "%s: version %llu is newer than this ag-box", what,
                      (unsigned long long)v);
        error_hint(e, "install a newer ag-box on this node");
    }
    if (r < 0) {
        json_decref(o);
        return r;
    }
    *ret = o;
    return 0;
}

int fields_text(const json_t *o, const char *key, char *to, size_t room)
{
    const json_t *v = json_object_get(o, key);
    size_t n = json_string_length(v);
    if (!json_is_string(v) || n >= room || memchr(json_string_value(v), 0, n))
        return -1;
    memcpy(to, json_string_value(v), n + 1);
    return 0;
}

int fields_name(const json_t *o, const char *key, char to[64])
{
    char name[64] = "";
    if (fields_text(o, key, name, sizeof(name)) < 0 || !text_is_name(name))
        return -1;
    memcpy(to, name, sizeof(name));
    return 0;
}

int fields_hex(const json_t *o, const char *key, void *to, size_t n)
{
    const json_t *v = json_object_get(o, key);
    return json_is_string(v) ? text_unhex(json_string_value(v), json_string_length(v), to, n) : -1;
}

int fields_number(const json_t *o, const char *key, uint64_t max, uint64_t *ret)
{
    const json_t *v = json_object_get(o, key);
    if (!json_is_integer(v) || json_integer_value(v) < 0 || (uint64_t)json_integer_value(v) > max)
        return -1;
    *ret = (uint64_t)json_integer_value(v);
    return 0;
}

json_t *fields_put_hex(const void *p, size_t n)
{
    char text[65];
    text_hex(text, p, n);
    return json_string(text);
}

void fields_write(json_t *o, struct buf *to)
{
    _cleanup_free_ char *text = json_dumps(o, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(o);
    if (text)
        buf_add(to, text, strlen(text));
}
