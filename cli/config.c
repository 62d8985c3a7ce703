/* SPDX-License-Identifier: MIT */
#include "cli/config.h"

#include "index/base/fd.h"
#include "index/base/mem.h"
#include "index/base/text.h"
#include "sync/head.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_MAX (64u * 1024)

enum value_kind { VALUE_TEXT, VALUE_NAME, VALUE_STORE, VALUE_SIZE, VALUE_SECONDS, VALUE_TTL, VALUE_SWITCH, VALUE_ROLE };

struct setting {
    const char *key;
    enum value_kind kind;
    size_t offset;
};

/* interface.md, "Environment and files". */
static const struct setting settings[] = {
    { "BOX_NODE", VALUE_NAME, offsetof(struct config, node) },
    { "BOX_STORE", VALUE_STORE, offsetof(struct config, store) },
    { "BOX_PASSWORD", VALUE_TEXT, offsetof(struct config, password) },
    { "RESTIC_PASSWORD", VALUE_TEXT, offsetof(struct config, restic_password) },
    { "BOX_S3_ENDPOINT", VALUE_TEXT, offsetof(struct config, endpoint) },
    { "BOX_S3_INSECURE", VALUE_SWITCH, offsetof(struct config, insecure) },
    { "BOX_S3_REGION", VALUE_TEXT, offsetof(struct config, region) },
    { "BOX_BUCKET", VALUE_TEXT, offsetof(struct config, bucket) },
    { "AWS_ACCESS_KEY_ID", VALUE_TEXT, offsetof(struct config, access_key) },
    { "AWS_SECRET_ACCESS_KEY", VALUE_TEXT, offsetof(struct config, secret_key) },
    { "BOX_GLOBALS_ROLE", VALUE_ROLE, offsetof(struct config, globals_role) },
    { "BOX_MEMORY_MAX", VALUE_SIZE, offsetof(struct config, memory_max) },
    { "BOX_CACHE_MAX", VALUE_SIZE, offsetof(struct config, cache_max) },
    { "BOX_HYDRATE", VALUE_SWITCH, offsetof(struct config, hydrate) },
    { "BOX_FETCH_TIMEOUT", VALUE_SECONDS, offsetof(struct config, fetch_timeout_s) },
    { "BOX_LEASE_TTL", VALUE_TTL, offsetof(struct config, lease_ttl_s) },
};
#define SETTING_COUNT (sizeof(settings) / sizeof(settings[0]))

static const struct setting *find_setting(const char *key)
{
    for (size_t i = 0; i < SETTING_COUNT; i++)
        if (strcmp(settings[i].key, key) == 0)
            return &settings[i];
    return NULL;
}

static void set_text(void *field, const char *value)
{
    char **text = field;
    free(*text);
    *text = mem_strdup(value);
}

static int parse_switch(const char *value, bool *ret)
{
    if (strcmp(value, "on") != 0 && strcmp(value, "off") != 0)
        return -EINVAL;
    *ret = strcmp(value, "on") == 0;
    return 0;
}

static bool is_store(const char *value)
{
    return strncmp(value, "file:///", 8) == 0 || (strncmp(value, "s3://", 5) == 0 && value[5]);
}

static int set_seconds(uint64_t *field, const struct setting *s, const char *value, const char *where, struct error *e)
{
    uint64_t seconds = 0;
    if (strcmp(value, "none") != 0 && text_parse_duration(value, &seconds) < 0)
        return error_say(e, ERROR_USAGE, -EINVAL, "%s: %s: '%s' is not a time (such as 90s or 2h)", where, s->key,
                         value);
    if (s->kind == VALUE_TTL && (seconds < 60 || seconds > HEAD_TTL_MAX))
        return error_say(e, ERROR_USAGE, -EINVAL, "%s: %s: '%s' is not between a minute and %u days", where, s->key,
                         value, HEAD_TTL_MAX / 86400);
    *field = seconds;
    return 0;
}

/* where: "FILE:LINE" or "environment". */
static int set_value(struct config *c, const struct setting *s, const char *value, const char *where, struct error *e)
{
    void *field = (char *)c + s->offset;
    switch (s->kind) {
    case VALUE_TEXT:
        set_text(field, value);
        return 0;
    case VALUE_NAME:
        if (!text_is_name(value))
            return error_say(e, ERROR_USAGE, -EINVAL, "%s: %s: '%s' is not a name ([A-Za-z0-9][A-Za-z0-9._-]{0,62})",
                             where, s->key, value);
        set_text(field, value);
        return 0;
    case VALUE_STORE:
        if (value[0] && !is_store(value))
            return error_say(e, ERROR_USAGE, -EINVAL, "%s: %s: '%s' is neither file:///path nor s3://bucket[/prefix]",
                             where, s->key, value);
        set_text(field, value);
        return 0;
    case VALUE_ROLE:
        if (strcmp(value, "push") != 0 && strcmp(value, "pull") != 0)
            return error_say(e, ERROR_USAGE, -EINVAL, "%s: %s: '%s' is neither push nor pull", where, s->key, value);
        set_text(field, value);
        return 0;
    case VALUE_SIZE:
        if (text_parse_size(value, field) < 0)
            return error_say(e, ERROR_USAGE, -EINVAL, "%s: %s: '%s' is not a size (such as 1500M)", where, s->key,
                             value);
        return 0;
    case VALUE_SECONDS:
    case VALUE_TTL:
        return set_seconds(field, s, value, where, e);
    case VALUE_SWITCH:
        if (parse_switch(value, field) < 0)
            return error_say(e, ERROR_USAGE, -EINVAL, "%s: %s: '%s' is neither on nor off", where, s->key, value);
        return 0;
    }
    return -EINVAL;
}

/* Cuts blanks around s in place. */
static char *trim(char *s)
{
    while (isspace((unsigned char)*s))
        s++;
    size_t n = strlen(s);
    while (n > 0 && isspace((unsigned char)s[n - 1]))
        s[--n] = '\0';
    return s;
}

static int parse_line(struct config *c, char *line, const char *where, struct error *e)
{
    char *key = trim(line);
    if (!*key || *key == '#')
        return 0;
    if (strncmp(key, "export ", 7) == 0)
        key = trim(key + 7);
    char *equals = strchr(key, '=');
    if (!equals)
        return error_say(e, ERROR_USAGE, -EINVAL, "%s: not a KEY=VALUE line", where);
    *equals = '\0';
    char *value = trim(equals + 1);
    size_t n = strlen(value);
    if (value[0] == '"' || value[0] == '\'') {
        if (n < 2 || value[n - 1] != value[0])
            return error_say(e, ERROR_USAGE, -EINVAL, "%s: the quote of the value is not closed", where);
        value[n - 1] = '\0';
        value++;
    }
    const struct setting *s = find_setting(trim(key));
    if (!s) {
        error_say(e, ERROR_USAGE, -EINVAL, "%s: unknown key %s", where, key);
        return error_hint(e, "ag-box(1) lists the keys of the env file");
    }
    return set_value(c, s, value, where, e);
}

static int refuse_loose_mode(const char *path, struct error *e)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return 0;
    if ((st.st_mode & 077) == 0)
        return 0;
    error_say(e, ERROR_USAGE, -EPERM, "%s: others can read or write it (mode %04o), which only its owner may", path,
              (unsigned)st.st_mode & 07777);
    _cleanup_free_ char *word = text_word(path);
    error_hint(e, "chmod 600 %s", word);
    return -EPERM;
}

int config_read(const char *directory, const char *name, struct buf *ret, struct error *e)
{
    _cleanup_free_ char *path = mem_printf("%s/%s", directory, name);
    buf_clear(ret);
    if (access(path, F_OK) < 0)
        return 0;
    int r = refuse_loose_mode(path, e);
    if (r < 0)
        return r;
    r = fd_read_file(AT_FDCWD, path, FILE_MAX, ret, e);
    if (r < 0) {
        if (e)
            e->kind = ERROR_USAGE;
        return r;
    }
    if (memchr(buf_string(ret), 0, ret->len))
        return error_say(e, ERROR_USAGE, -EINVAL, "%s: holds a NUL byte", path);
    return 0;
}

static int load_file(struct config *c, struct error *e)
{
    _cleanup_free_ char *path = mem_printf("%s/env", c->config_dir);
    _cleanup_(buf_release) struct buf text = { 0 };
    int r = config_read(c->config_dir, "env", &text, e);
    if (r < 0)
        return r;
    unsigned number = 0;
    char *rest = (char *)(uintptr_t)buf_string(&text);
    for (char *line; (line = strsep(&rest, "\n"));) {
        _cleanup_free_ char *where = mem_printf("%s:%u", path, ++number);
        r = parse_line(c, line, where, e);
        if (r < 0)
            return r;
    }
    return 0;
}

static int load_environment(struct config *c, struct error *e)
{
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        const char *value = getenv(settings[i].key);
        if (!value)
            continue;
        int r = set_value(c, &settings[i], value, "environment", e);
        if (r < 0)
            return r;
    }
    return 0;
}

static int directory(const char *variable, const char *builtin, char **ret, bool *default_dirs, struct error *e)
{
    const char *value = getenv(variable);
    if (!value || !*value)
        value = builtin;
    else
        *default_dirs = false;
    if (value[0] != '/')
        return error_say(e, ERROR_USAGE, -EINVAL, "%s=%s: not an absolute path", variable, value);
    *ret = mem_strdup(value);
    size_t n = strlen(*ret);
    while (n > 1 && (*ret)[n - 1] == '/')
        (*ret)[--n] = '\0';
    return 0;
}

/* Values that follow from others. */
static int complete(struct config *c, struct error *e)
{
    if (!c->node) {
        char name[64] = "";
        gethostname(name, sizeof(name) - 1);
        if (!text_is_name(name)) {
            error_say(e, ERROR_USAGE, -EINVAL, "this machine's name '%s' is no node name", name);
            return error_hint(e, "set BOX_NODE in %s/env", c->config_dir);
        }
        c->node = mem_strdup(name);
    }
    if (!c->store && c->bucket)
        c->store = mem_printf("s3://%s", c->bucket);
    if (!c->password)
        c->password = mem_steal(c->restic_password);
    return 0;
}

const char *config_home(void)
{
    const char *home = getenv("HOME");
    return home && home[0] == '/' ? home : "/root";
}

int config_load(struct config **ret, struct error *e)
{
    struct config *c = mem_new(1, sizeof(*c));
    c->hydrate = true;
    c->default_dirs = true;
    c->lease_ttl_s = 2 * 60 * 60;
    int r = directory("AGBOX_CONFIG_DIR", "/root/.config/box", &c->config_dir, &c->default_dirs, e);
    if (r == 0)
        r = directory("AGBOX_STATE_DIR", "/var/lib/ag-box", &c->state_dir, &c->default_dirs, e);
    if (r == 0)
        r = directory("AGBOX_RUN_DIR", "/run/box", &c->run_dir, &c->default_dirs, e);
    if (r == 0)
        r = load_file(c, e);
    if (r == 0)
        r = load_environment(c, e);
    if (r == 0)
        r = complete(c, e);
    if (r < 0) {
        config_free(c);
        return r;
    }
    *ret = c;
    return 0;
}

void config_free(struct config *c)
{
    if (!c)
        return;
    char *texts[] = { c->config_dir, c->state_dir, c->run_dir,    c->node,   c->store,
                      c->endpoint,   c->region,    c->access_key, c->bucket, c->globals_role };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        free(texts[i]);
    char *secrets[] = { c->password, c->restic_password, c->secret_key };
    for (size_t i = 0; i < sizeof(secrets) / sizeof(secrets[0]); i++) {
        if (secrets[i])
            explicit_bzero(secrets[i], strlen(secrets[i]));
        free(secrets[i]);
    }
    free(c);
}

int config_store(const struct config *c, struct store_config *ret, struct error *e)
{
    bool stored = c->store && c->store[0];
    if (!stored || !c->password || !c->password[0]) {
        error_say(e, ERROR_USAGE, -EINVAL, "no %s is configured", !stored ? "store" : "password");
        error_hint(e, !stored ? "set BOX_STORE (file:///path or s3://bucket) in %s/env" : "set BOX_PASSWORD in %s/env",
                   c->config_dir);
        return -EINVAL;
    }
    *ret = (struct store_config){ .url = c->store,
                                  .endpoint = c->endpoint,
                                  .insecure = c->insecure,
                                  .region = c->region,
                                  .access_key = c->access_key,
                                  .secret_key = c->secret_key };
    return 0;
}
