/* SPDX-License-Identifier: MIT */
#include "index/meta.h"

#include "index/base/mem.h"
#include "index/base/text.h"
#include "index/exclude.h"
#include "index/key.h"
#include "index/snapshot.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>

#define VERSION 1
#define TOOL_TEXT 256 /* bytes of a tool's name or version */

void meta_release(struct meta *m)
{
    free(m->path);
    for (size_t i = 0; i < m->exclude_count; i++)
        free(m->exclude[i]);
    free(m->exclude);
    for (size_t i = 0; i < m->tool_count; i++) {
        free(m->tools[i].name);
        free(m->tools[i].version);
    }
    free(m->tools);
    json_decref(m->document);
    *m = (struct meta){ 0 };
}

bool meta_path_valid(const char *path)
{
    size_t n = strlen(path);
    if (path[0] != '/' || n < 2 || n > PATH_LEN_MAX)
        return false;
    for (const char *p = path; *p;) {
        size_t part = strcspn(++p, "/");
        if (!key_name_valid((struct bytes){ (const uint8_t *)p, part }))
            return false;
        p += part;
    }
    return true;
}

static bool rule_valid(const char *s, size_t n)
{
    return n > 0 && n <= EXCLUDE_RULE_MAX && s[0] != '#' && !memchr(s, '\n', n) && text_is_utf8(s, n);
}

static int base64_value(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* Decodes what text_base64 writes. -EINVAL for anything else, NUL bytes in the result too: it is a path. */
static int path_from_base64(const char *s, struct buf *ret)
{
    size_t n = strlen(s);
    if (n == 0 || n % 4 != 0 || n > 2 * PATH_LEN_MAX)
        return -EINVAL;
    size_t padding = s[n - 1] != '=' ? 0 : s[n - 2] != '=' ? 1 : 2;
    uint32_t bits = 0;
    for (size_t i = 0; i < n - padding; i++) {
        int v = base64_value(s[i]);
        if (v < 0)
            return -EINVAL;
        bits = bits << 6 | (uint32_t)v;
        unsigned held = (unsigned)(i % 4) * 6 + 6;
        uint8_t byte = (uint8_t)(bits >> (held % 8));
        if (i % 4 == 0)
            continue;
        if (byte == 0)
            return -EINVAL;
        buf_add(ret, &byte, 1);
    }
    return 0;
}

static int damaged(struct error *e, const char *what)
{
    return error_say(e, ERROR_DAMAGED, -EBADMSG, "the box's meta is damaged: %s", what);
}

static int decode_path(struct meta *m)
{
    _cleanup_(buf_release) struct buf path = { 0 };
    const json_t *plain = json_object_get(m->document, "path"), *coded = json_object_get(m->document, "path_b64");
    if (json_is_string(coded)) {
        if (path_from_base64(json_string_value(coded), &path) < 0)
            return -EBADMSG;
    } else if (json_is_string(plain)) {
        buf_add(&path, json_string_value(plain), json_string_length(plain));
    }
    if (!meta_path_valid(buf_string(&path)))
        return -EBADMSG;
    m->path = mem_strdup(buf_string(&path));
    return 0;
}

static int decode_excludes(struct meta *m)
{
    const json_t *list = json_object_get(m->document, "exclude");
    size_t count = json_array_size(list);
    if (!list)
        return 0;
    if (!json_is_array(list) || count > EXCLUDE_RULES_MAX)
        return -EBADMSG;
    m->exclude = mem_new(count + 1, sizeof(*m->exclude));
    for (; m->exclude_count < count; m->exclude_count++) {
        const json_t *rule = json_array_get(list, m->exclude_count);
        if (!json_is_string(rule) || !rule_valid(json_string_value(rule), json_string_length(rule)))
            return -EBADMSG;
        m->exclude[m->exclude_count] = mem_strdup(json_string_value(rule));
    }
    return 0;
}

static int decode_tools(struct meta *m)
{
    json_t *tools = json_object_get(m->document, "tools"), *version;
    const char *name;
    if (!tools)
        return 0;
    if (!json_is_object(tools) || json_object_size(tools) > META_TOOLS_MAX)
        return -EBADMSG;
    json_object_foreach(tools, name, version)
    {
        if (!json_is_string(version) || json_string_length(version) >= TOOL_TEXT || strlen(name) >= TOOL_TEXT)
            return -EBADMSG;
        meta_set_tool(m, name, json_string_value(version));
    }
    return 0;
}

static int decode_scalars(struct meta *m)
{
    const json_t *pin = json_object_get(m->document, "pin"), *nix = json_object_get(m->document, "nix");
    const json_t *memory = json_object_get(m->document, "memory_max");
    const json_t *incarnation = json_object_get(m->document, "incarnation");
    if (pin && (!json_is_string(pin) || !text_is_name(json_string_value(pin))))
        return -EBADMSG;
    if (nix && !json_is_boolean(nix))
        return -EBADMSG;
    if (memory && (!json_is_integer(memory) || json_integer_value(memory) < 0))
        return -EBADMSG;
    if (!json_is_string(incarnation) ||
        text_unhex(json_string_value(incarnation), json_string_length(incarnation), m->incarnation, 16) < 0)
        return -EBADMSG;
    if (pin)
        snprintf(m->pin, sizeof(m->pin), "%s", json_string_value(pin));
    m->nix = json_is_true(nix);
    m->memory_max = memory ? (uint64_t)json_integer_value(memory) : 0;
    return 0;
}

int meta_decode(struct bytes json, struct meta *ret, struct error *e)
{
    _cleanup_(meta_release) struct meta m = { 0 };
    if (json.len == 0 || json.len > SNAPSHOT_META_MAX)
        return damaged(e, "impossible size");
    m.document = json_loadb((const char *)json.data, json.len, JSON_REJECT_DUPLICATES, NULL);
    const json_t *v = json_object_get(m.document, "v");
    if (!json_is_integer(v) || json_integer_value(v) < 1)
        return damaged(e, "not JSON, or without a version");
    if (json_integer_value(v) > VERSION)
        return error_say(e, ERROR_USAGE, -ENOTSUP, "the box was last written by a newer ag-box");
    if (decode_path(&m) < 0)
        return damaged(e, "path");
    if (decode_excludes(&m) < 0)
        return damaged(e, "exclude");
    if (decode_tools(&m) < 0)
        return damaged(e, "tools");
    if (decode_scalars(&m) < 0)
        return damaged(e, "pin, memory_max, nix or incarnation");

    *ret = m;
    m = (struct meta){ 0 };
    return 0;
}

static void put_or_drop(json_t *o, const char *key, json_t *value, bool put)
{
    if (!put) {
        json_decref(value);
        json_object_del(o, key);
    } else if (json_object_set_new(o, key, value) != 0) {
        abort();
    }
}

static void encode_path(const struct meta *m, json_t *o)
{
    _cleanup_(buf_release) struct buf shown = { 0 }, coded = { 0 };
    size_t n = strlen(m->path);
    bool utf8 = text_is_utf8(m->path, n);
    if (utf8)
        buf_add(&shown, m->path, n);
    else
        text_escape(&shown, m->path, n);
    text_base64(m->path, n, &coded);
    put_or_drop(o, "path", json_string(buf_string(&shown)), true);
    put_or_drop(o, "path_b64", json_string(buf_string(&coded)), !utf8);
}

int meta_encode(const struct meta *m, char **ret, struct error *e)
{
    json_t *o = m->document ? json_deep_copy(m->document) : json_object(), *exclude = json_array(),
           *tools = json_object();
    char incarnation[33];
    for (size_t i = 0; i < m->exclude_count; i++)
        json_array_append_new(exclude, json_string(m->exclude[i]));
    for (size_t i = 0; i < m->tool_count; i++)
        json_object_set_new(tools, m->tools[i].name, json_string(m->tools[i].version));
    text_hex(incarnation, m->incarnation, sizeof(m->incarnation));

    encode_path(m, o);
    put_or_drop(o, "v", json_integer(VERSION), true);
    put_or_drop(o, "incarnation", json_string(incarnation), true);
    put_or_drop(o, "pin", json_string(m->pin), m->pin[0]);
    put_or_drop(o, "memory_max", json_integer((json_int_t)m->memory_max), m->memory_max > 0);
    put_or_drop(o, "nix", json_boolean(m->nix), true);
    put_or_drop(o, "exclude", exclude, true);
    put_or_drop(o, "tools", tools, true);
    _cleanup_free_ char *text = json_dumps(o, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(o);
    if (!text)
        abort();
    if (strlen(text) > SNAPSHOT_META_MAX)
        return error_say(e, ERROR_FAILED, -E2BIG, "the box's meta has grown over %u bytes", SNAPSHOT_META_MAX);
    *ret = mem_steal(text);
    return 0;
}

static bool tool_text(const char *s)
{
    return strlen(s) < TOOL_TEXT && text_is_utf8(s, strlen(s));
}

void meta_set_tool(struct meta *m, const char *name, const char *version)
{
    size_t at = 0;
    if (!tool_text(name) || !tool_text(version))
        return;
    while (at < m->tool_count && strcmp(m->tools[at].name, name) < 0)
        at++;
    if (at < m->tool_count && strcmp(m->tools[at].name, name) == 0) {
        char *copy = mem_strdup(version);
        free(m->tools[at].version);
        m->tools[at].version = copy;
        return;
    }
    if (m->tool_count == META_TOOLS_MAX)
        return;
    m->tools = mem_grow(m->tools, m->tool_count + 1, sizeof(*m->tools));
    memmove(&m->tools[at + 1], &m->tools[at], (m->tool_count - at) * sizeof(*m->tools));
    m->tools[at] = (struct meta_tool){ mem_strdup(name), mem_strdup(version) };
    m->tool_count++;
}

static int set_pin(struct meta *m, const char *value, bool *ret_changed, struct error *e)
{
    if (value[0] && !text_is_name(value))
        return error_say(e, ERROR_USAGE, -EINVAL, "pin takes a node's name, or nothing to unpin, not '%.80s'", value);
    *ret_changed = strcmp(m->pin, value) != 0;
    snprintf(m->pin, sizeof(m->pin), "%s", value);
    return 0;
}

static int set_memory_max(struct meta *m, const char *value, bool *ret_changed, struct error *e)
{
    uint64_t bytes = 0;
    if (value[0] && (text_parse_size(value, &bytes) < 0 || bytes < 1024 * 1024 || bytes > INT64_MAX))
        return error_say(e, ERROR_USAGE, -EINVAL,
                         "memory_max takes a size of at least 1M, such as 4G, or nothing for the node's default, not "
                         "'%.40s'",
                         value);
    *ret_changed = m->memory_max != bytes;
    m->memory_max = bytes;
    return 0;
}

static int set_nix(struct meta *m, const char *value, bool *ret_changed, struct error *e)
{
    bool on = strcmp(value, "true") == 0;
    if (!on && strcmp(value, "false") != 0)
        return error_say(e, ERROR_USAGE, -EINVAL, "nix takes true or false, not '%.40s'", value);
    *ret_changed = m->nix != on;
    m->nix = on;
    return 0;
}

static int set_path(struct meta *m, const char *value, bool *ret_changed, struct error *e)
{
    if (!meta_path_valid(value) || !text_is_utf8(value, strlen(value)))
        return error_say(e, ERROR_USAGE, -EINVAL,
                         "path takes an absolute path in UTF-8 without '.', '..' and '//', not '%.200s'", value);
    *ret_changed = !m->path || strcmp(m->path, value) != 0;
    char *copy = mem_strdup(value);
    free(m->path);
    m->path = copy;
    return 0;
}

static size_t find_exclude(const struct meta *m, const char *rule)
{
    size_t i = 0;
    while (i < m->exclude_count && strcmp(m->exclude[i], rule) != 0)
        i++;
    return i;
}

static int add_exclude(struct meta *m, const char *value, bool *ret_changed, struct error *e)
{
    if (!rule_valid(value, strlen(value)))
        return error_say(e, ERROR_USAGE, -EINVAL, "exclude+= takes one line of gitignore syntax in UTF-8");
    *ret_changed = find_exclude(m, value) == m->exclude_count;
    if (!*ret_changed)
        return 0;
    if (m->exclude_count == EXCLUDE_RULES_MAX)
        return error_say(e, ERROR_USAGE, -EINVAL, "a box has at most %d exclude rules", EXCLUDE_RULES_MAX);
    m->exclude = mem_grow(m->exclude, m->exclude_count + 1, sizeof(*m->exclude));
    m->exclude[m->exclude_count++] = mem_strdup(value);
    return 0;
}

static int remove_exclude(struct meta *m, const char *value, bool *ret_changed, struct error *e)
{
    size_t at = find_exclude(m, value);
    if (at == m->exclude_count)
        return error_say(e, ERROR_USAGE, -EINVAL, "the box has no exclude rule '%.200s'", value);
    free(m->exclude[at]);
    m->exclude_count--;
    memmove(&m->exclude[at], &m->exclude[at + 1], (m->exclude_count - at) * sizeof(*m->exclude));
    *ret_changed = true;
    return 0;
}

int meta_set(struct meta *m, const char *assignment, bool *ret_changed, struct error *e)
{
    static const struct {
        const char *key;
        int (*set)(struct meta *m, const char *value, bool *ret_changed, struct error *e);
    } setters[] = {
        { "pin=", set_pin },   { "memory_max=", set_memory_max }, { "nix=", set_nix },
        { "path=", set_path }, { "exclude+=", add_exclude },      { "exclude-=", remove_exclude },
    };
    for (size_t i = 0; i < sizeof(setters) / sizeof(setters[0]); i++) {
        size_t n = strlen(setters[i].key);
        if (strncmp(assignment, setters[i].key, n) == 0)
            return setters[i].set(m, assignment + n, ret_changed, e);
    }
    error_say(e, ERROR_USAGE, -EINVAL, "'%.100s' is not something a box has", assignment);
    error_hint(e, "one of: pin=NODE memory_max=SIZE nix=true|false path=PATH exclude+=RULE exclude-=RULE");
    return -EINVAL;
}
