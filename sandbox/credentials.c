/* SPDX-License-Identifier: MIT */
#include "sandbox/credentials.h"

#include "index/base/mem.h"
#include "index/base/text.h"

#include <jansson.h>
#include <stdbool.h>
#include <string.h>

#define DAY_S (24 * 60 * 60)
#define MILLISECONDS_FROM 100000000000 /* as seconds: the year 5138 */

const char *const credentials_path[CREDENTIALS_AGENTS] = { ".claude/.credentials.json", ".codex/auth.json",
                                                           ".grok/auth.json" };
const char *const credentials_account_path[CREDENTIALS_AGENTS] = { ".claude.json", NULL, NULL };

struct login {
    json_t *document; /* an object */
    json_t *account;  /* to be compared whole; NULL: unknown */
    int64_t expiry_s; /* 0: unknown */
};

static void login_release(struct login *l)
{
    json_decref(l->document);
    json_decref(l->account);
}

static void json_freep(json_t **o)
{
    json_decref(*o);
}

static json_t *parse_object(struct bytes text, size_t max)
{
    if (text.len == 0 || text.len > max)
        return NULL;
    json_t *o = json_loadb((const char *)text.data, text.len, JSON_REJECT_DUPLICATES, NULL);
    if (json_is_object(o))
        return o;
    json_decref(o);
    return NULL;
}

/* Of an object's member that is a string with something in it. */
static const char *string_of(const json_t *o, const char *name)
{
    const char *s = json_string_value(json_object_get(o, name));
    return s && s[0] ? s : NULL;
}

static bool keep_string(json_t *to, const char *name, const char *s)
{
    return s && json_object_set_new(to, name, json_string(s)) == 0;
}

/* Seconds or milliseconds since 1970, or a text. */
static int64_t time_from(const json_t *o)
{
    if (json_is_string(o)) {
        int64_t ns = text_parse_time(json_string_value(o));
        return ns > 0 ? ns / 1000000000 : 0;
    }
    int64_t n = json_is_integer(o) ? json_integer_value(o) : 0;
    if (n >= MILLISECONDS_FROM)
        n /= 1000;
    return n > 0 && n < MILLISECONDS_FROM ? n : 0;
}

static int base64url_value(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* What a JSON Web Token (RFC 7519) says, between its two dots; nobody checks the signature. */
static json_t *claims_of(const char *token)
{
    const char *from = token ? strchr(token, '.') : NULL, *end = from ? strchr(from + 1, '.') : NULL;
    if (!end)
        return NULL;
    _cleanup_(buf_release) struct buf text = { 0 };
    uint32_t bits = 0;
    unsigned have = 0;
    for (const char *c = from + 1; c < end; c++) {
        int value = base64url_value(*c);
        if (value < 0)
            return NULL;
        bits = (bits << 6 | (uint32_t)value) & 0xffff;
        have += 6;
        if (have < 8)
            continue;
        have -= 8;
        uint8_t byte = (uint8_t)(bits >> have);
        buf_add(&text, &byte, 1);
    }
    return parse_object(buf_bytes(&text), CREDENTIALS_MAX);
}

static bool read_claude(struct login *l, struct bytes account)
{
    const json_t *o = json_object_get(l->document, "claudeAiOauth");
    l->expiry_s = time_from(json_object_get(o, "expiresAt"));
    _cleanup_(json_freep) json_t *about = parse_object(account, CREDENTIALS_ACCOUNT_MAX);
    const json_t *named = json_object_get(about, "oauthAccount");
    if (string_of(named, "accountUuid")) {
        l->account = json_object();
        keep_string(l->account, "account", string_of(named, "accountUuid"));
        keep_string(l->account, "organization", string_of(named, "organizationUuid"));
    }
    return string_of(o, "accessToken");
}

static bool read_codex(struct login *l)
{
    const json_t *tokens = json_object_get(l->document, "tokens");
    _cleanup_(json_freep) json_t *claims = claims_of(string_of(tokens, "access_token"));
    l->expiry_s = time_from(json_object_get(claims, "exp"));
    if (string_of(tokens, "account_id")) {
        l->account = json_object();
        keep_string(l->account, "account", string_of(tokens, "account_id"));
        keep_string(l->account, "subject", string_of(claims, "sub"));
    }
    return claims;
}

static bool read_grok(struct login *l)
{
    l->account = json_object();
    const char *name;
    json_t *one;
    json_object_foreach(l->document, name, one)
    {
        if (!string_of(one, "key") || !keep_string(l->account, name, string_of(one, "user_id")))
            return false;
        int64_t expiry_s = time_from(json_object_get(one, "expires_at"));
        l->expiry_s = expiry_s > l->expiry_s ? expiry_s : l->expiry_s;
    }
    return true;
}

/* Whether it is understood; the document is there if it is an object at all. */
static bool login_read(enum credentials_agent agent, const struct credentials_copy *copy, struct login *l)
{
    l->document = parse_object(copy->file, CREDENTIALS_MAX);
    if (!l->document)
        return false;
    bool whole = agent == CREDENTIALS_CLAUDE  ? read_claude(l, copy->account)
                 : agent == CREDENTIALS_CODEX ? read_codex(l)
                                              : read_grok(l);
    return whole && l->expiry_s;
}

/* Puts from's login into to. */
static bool take_over(enum credentials_agent agent, json_t *to, json_t *from)
{
    static const char *const parts[CREDENTIALS_AGENTS][3] = { { "claudeAiOauth" }, { "tokens", "last_refresh" } };
    if (agent == CREDENTIALS_GROK)
        return json_object_update(to, from) == 0;
    for (size_t i = 0; parts[agent][i]; i++) {
        json_t *part = json_object_get(from, parts[agent][i]);
        if (part && json_object_set(to, parts[agent][i], part) < 0)
            return false;
    }
    return true;
}

static bool put_text(const json_t *o, struct buf *to)
{
    _cleanup_free_ char *text = json_dumps(o, JSON_INDENT(2));
    if (!text || strlen(text) > CREDENTIALS_MAX)
        return false;
    buf_clear(to);
    buf_add(to, text, strlen(text));
    return true;
}

static enum credentials_verdict compare(const struct login *host, const struct login *box, int64_t now_s)
{
    if (host->account && box->account && !json_equal(host->account, box->account))
        return CREDENTIALS_KEEP;
    if (host->expiry_s > box->expiry_s)
        return CREDENTIALS_TO_BOX;
    bool plausible = box->expiry_s > now_s && box->expiry_s - now_s <= (int64_t)CREDENTIALS_DAYS_MAX * DAY_S;
    if (box->expiry_s > host->expiry_s && host->account && box->account && plausible)
        return CREDENTIALS_TO_HOST;
    return CREDENTIALS_KEEP;
}

enum credentials_verdict credentials_decide(enum credentials_agent agent, const struct credentials_copy *host,
                                            const struct credentials_copy *box, int64_t now_s, struct buf *ret)
{
    _cleanup_(login_release) struct login of_host = { 0 }, of_box = { 0 };
    bool host_read = login_read(agent, host, &of_host);
    if (box->file.len == 0 && of_host.document)
        return put_text(of_host.document, ret) ? CREDENTIALS_TO_BOX : CREDENTIALS_KEEP;
    if (!host_read || !login_read(agent, box, &of_box))
        return CREDENTIALS_KEEP;
    enum credentials_verdict v = compare(&of_host, &of_box, now_s);
    if (v == CREDENTIALS_KEEP)
        return v;
    json_t *to = v == CREDENTIALS_TO_BOX ? of_box.document : of_host.document;
    json_t *from = v == CREDENTIALS_TO_BOX ? of_host.document : of_box.document;
    return take_over(agent, to, from) && put_text(to, ret) ? v : CREDENTIALS_KEEP;
}
