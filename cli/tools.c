/* SPDX-License-Identifier: MIT */
#include "cli/tools.h"

#include "cli/program.h"
#include "index/base/fd.h"
#include "index/base/mem.h"
#include "index/base/text.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <sys/stat.h>

#define ANSWER_MS 5000
#define CACHE "tools.json"
#define CACHE_MAX (64u * 1024)

static const struct tools_entry known[TOOLS_COUNT] = {
    { "claude", true, "" }, { "codex", true, "" }, { "grok", true, "" }, { "node", false, "" }, { "git", false, "" },
};

/* Which file it is: what was said of it holds as long as this does. NULL: it is not here. */
static json_t *identify(const char *path)
{
    struct stat st;
    if (!path || stat(path, &st) < 0)
        return NULL;
    return json_pack("{s:s,s:I,s:I,s:I}", "path", path, "size", (json_int_t)st.st_size, "mtime_s",
                     (json_int_t)st.st_mtim.tv_sec, "mtime_ns", (json_int_t)st.st_mtim.tv_nsec);
}

static json_t *load(const struct config *c)
{
    _cleanup_free_ char *path = mem_printf("%s/" CACHE, c->state_dir);
    _cleanup_(buf_release) struct buf text = { 0 };
    json_t *cache = fd_read_file(AT_FDCWD, path, CACHE_MAX, &text, NULL) == 0
                        ? json_loadb((const char *)text.data, text.len, 0, NULL)
                        : NULL;
    if (json_is_object(cache))
        return cache;
    json_decref(cache);
    return json_object();
}

/* It is only a cache: where it cannot be kept, the next one asks again. */
static void save(const struct config *c, const json_t *cache)
{
    _cleanup_close_ int dir = open(c->state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_free_ char *text = json_dumps(cache, JSON_COMPACT | JSON_SORT_KEYS);
    if (dir >= 0 && text)
        fd_replace(dir, CACHE, text, strlen(text), NULL);
}

/* The first line, if it is one that can be shown. */
static void take_version(struct program_call *call, char to[TOOLS_VERSION_MAX])
{
    char *line = (char *)(uintptr_t)buf_string(&call->output);
    line[strcspn(line, "\r\n")] = '\0';
    size_t n = strlen(line);
    bool fine = call->code == 0 && n < TOOLS_VERSION_MAX;
    for (size_t i = 0; i < n && fine; i++)
        fine = line[i] >= ' ' && line[i] <= '~';
    snprintf(to, TOOLS_VERSION_MAX, "%s", fine && n > 0 ? line : TOOLS_UNKNOWN);
}

static const char *remembered(const json_t *cache, const char *name, const json_t *identity)
{
    const json_t *entry = json_object_get(cache, name);
    const char *version = json_string_value(json_object_get(entry, "version"));
    return version && strlen(version) < TOOLS_VERSION_MAX && json_equal(json_object_get(entry, "file"), identity)
               ? version
               : NULL;
}

/* Asks those of which nothing is remembered; all at once. */
static void ask(struct tools *t, json_t *const identities[], const bool asks[], json_t *cache)
{
    const char *argv[TOOLS_COUNT][3];
    struct program_call calls[TOOLS_COUNT];
    struct tools_entry *who[TOOLS_COUNT];
    json_t *files[TOOLS_COUNT];
    size_t count = 0;
    for (size_t i = 0; i < TOOLS_COUNT; i++) {
        if (!asks[i])
            continue;
        argv[count][0] = json_string_value(json_object_get(identities[i], "path"));
        argv[count][1] = "--version";
        argv[count][2] = NULL;
        calls[count] = (struct program_call){ .argv = argv[count] };
        files[count] = identities[i];
        who[count++] = &t->entries[i];
    }
    program_ask(calls, count, ANSWER_MS);
    for (size_t i = 0; i < count; i++) {
        take_version(&calls[i], who[i]->version);
        json_object_set_new(cache, who[i]->name, json_pack("{s:O,s:s}", "file", files[i], "version", who[i]->version));
        program_release(&calls[i]);
    }
}

void tools_look(const struct config *c, struct tools *ret)
{
    json_t *cache = load(c), *identities[TOOLS_COUNT] = { NULL };
    bool asks[TOOLS_COUNT] = { false }, any = false;
    memcpy(ret->entries, known, sizeof(known));
    for (size_t i = 0; i < TOOLS_COUNT; i++) {
        struct tools_entry *to = &ret->entries[i];
        _cleanup_free_ char *path = program_find(to->name);
        identities[i] = identify(path);
        const char *version = identities[i] ? remembered(cache, to->name, identities[i]) : NULL;
        snprintf(to->version, sizeof(to->version), "%s", version ? version : "");
        asks[i] = identities[i] && !version;
        any = any || asks[i];
    }
    if (any) {
        ask(ret, identities, asks, cache);
        save(c, cache);
    }
    for (size_t i = 0; i < TOOLS_COUNT; i++)
        json_decref(identities[i]);
    json_decref(cache);
}

void tools_record(const struct tools *t, struct meta *m)
{
    for (size_t i = 0; i < TOOLS_COUNT; i++)
        if (t->entries[i].version[0] && strcmp(t->entries[i].version, TOOLS_UNKNOWN) != 0)
            meta_set_tool(m, t->entries[i].name, t->entries[i].version);
}

static const char *recorded(const struct meta *m, const char *name)
{
    for (size_t i = 0; i < m->tool_count; i++)
        if (strcmp(m->tools[i].name, name) == 0)
            return m->tools[i].version;
    return NULL;
}

void tools_compare(const struct tools *t, const struct meta *m, bool agents, char to[256])
{
    size_t at = 0;
    to[0] = '\0';
    for (size_t i = 0; i < TOOLS_COUNT && at < 256; i++) {
        const struct tools_entry *entry = &t->entries[i];
        const char *then = recorded(m, entry->name);
        if (!then || (agents && !entry->agent) || strcmp(then, entry->version) == 0 ||
            strcmp(entry->version, TOOLS_UNKNOWN) == 0)
            continue;
        at += (size_t)snprintf(to + at, 256 - at, "%s%s was %.60s, here it is %s", at ? "; " : "", entry->name, then,
                               entry->version[0] ? entry->version : "missing");
    }
}

void tools_warn(const struct config *c, const struct meta *m, struct ui *ui)
{
    bool any = false;
    for (size_t i = 0; i < TOOLS_COUNT; i++)
        any = any || (known[i].agent && recorded(m, known[i].name));
    if (!any)
        return;
    struct tools t;
    char found[256];
    tools_look(c, &t);
    tools_compare(&t, m, true, found);
    if (found[0])
        ui_warn(ui, "the data is here, the tool is not: %s", found);
}
