/* SPDX-License-Identifier: MIT */
#include "index/exclude.h"

#include "index/base/mem.h"
#include "index/copy.h"

#include <ctype.h>
#include <errno.h>

/*
 * A rule's pattern is a list of steps that runs as a nondeterministic automaton: state i means "steps before i are
 * matched". All states are followed at once, so there is no backtracking to explode.
 */
enum step_kind {
    STEP_BYTE,    /* this byte */
    STEP_ANY,     /* one byte, not '/' */
    STEP_CLASS,   /* one byte of a set, not '/' */
    STEP_STAR,    /* any bytes but '/' */
    STEP_ALL,     /* any bytes */
    STEP_SKIP_TWO /* nothing; or go on behind the next two steps: "**" and "/" of a leading or middle "**" + "/" */
};

struct step {
    uint8_t kind;
    uint8_t byte;
    uint16_t set;
};

struct set {
    bool has[256];
};

#define OF_HOME "home:"

struct rule {
    bool negated, directory_only, base_name;
    bool never; /* malformed: matches nothing */
    struct step *steps;
    size_t count;
    struct set *sets;
    size_t set_count;
};

struct exclude {
    struct rule *rules;
    size_t count;
    struct exclude *home; /* what its own rules say; NULL in there */
};

static void add_step(struct rule *r, enum step_kind kind, uint8_t byte)
{
    r->steps[r->count++] = (struct step){ .kind = (uint8_t)kind, .byte = byte, .set = (uint16_t)r->set_count };
}

static const struct {
    const char *name;
    int (*has)(int c);
} named_classes[] = {
    { "alnum", isalnum }, { "alpha", isalpha }, { "blank", isblank }, { "cntrl", iscntrl },
    { "digit", isdigit }, { "graph", isgraph }, { "lower", islower }, { "print", isprint },
    { "punct", ispunct }, { "space", isspace }, { "upper", isupper }, { "xdigit", isxdigit },
};

static bool add_named_class(struct set *set, struct bytes name)
{
    for (size_t i = 0; i < sizeof(named_classes) / sizeof(named_classes[0]); i++) {
        if (strlen(named_classes[i].name) != name.len || memcmp(named_classes[i].name, name.data, name.len) != 0)
            continue;
        for (int c = 0; c < 128; c++)
            set->has[c] = set->has[c] || named_classes[i].has(c);
        return true;
    }
    return false;
}

/* "[:" at p: the name in it, if ":]" is where the next ']' is; p moves to that ']'. */
static bool class_name_at(struct bytes t, size_t *p, struct bytes *ret)
{
    size_t from = *p + 2, end = from;
    while (end < t.len && t.data[end] != ']')
        end++;
    if (end == t.len || end == from || t.data[end - 1] != ':')
        return false;
    *ret = (struct bytes){ t.data + from, end - 1 - from };
    *p = end;
    return true;
}

/* One byte of a set at *p, its backslash taken away; false: the pattern ends. */
static bool member_at(struct bytes t, size_t *p, uint8_t *ret)
{
    if (*p < t.len && t.data[*p] == '\\')
        ++*p;
    if (*p >= t.len)
        return false;
    *ret = t.data[*p];
    return true;
}

/* The member, range or named class at *p, which moves to its last byte. before: what a "-" here would begin from, or
 * -1. */
static bool parse_member(struct bytes t, size_t *p, struct set *set, int *before)
{
    uint8_t byte = t.data[*p], to;
    struct bytes name;
    if (byte == '-' && *before > 0 && *p + 1 < t.len && t.data[*p + 1] != ']') {
        ++*p;
        if (!member_at(t, p, &to))
            return false;
        for (int c = *before; c <= to; c++)
            set->has[c] = true;
        *before = -1;
        return true;
    }
    if (byte == '[' && *p + 1 < t.len && t.data[*p + 1] == ':' && class_name_at(t, p, &name)) {
        *before = -1;
        return add_named_class(set, name);
    }
    if (!member_at(t, p, &byte))
        return false;
    set->has[byte] = true;
    *before = byte;
    return true;
}

/* The set that begins at the '[' at *p; *p moves behind its ']'. False: it is never closed, or malformed. */
static bool parse_set(struct rule *r, struct bytes t, size_t *p)
{
    r->sets = mem_grow(r->sets, r->set_count + 1, sizeof(*r->sets));
    struct set *set = &r->sets[r->set_count];
    *set = (struct set){ 0 };

    size_t i = *p + 1;
    int before = -1;
    bool negated = i < t.len && (t.data[i] == '!' || t.data[i] == '^');
    if (negated)
        i++;
    /* A ']' in the first place is a member. */
    for (bool first = true; first || (i < t.len && t.data[i] != ']'); first = false, i++) {
        if (i >= t.len || !parse_member(t, &i, set, &before))
            return false;
    }
    if (i >= t.len)
        return false;
    for (size_t c = 0; negated && c < 256; c++)
        set->has[c] = !set->has[c];
    set->has['/'] = false;

    add_step(r, STEP_CLASS, 0);
    r->set_count++;
    *p = i + 1;
    return true;
}

/* The run of stars at *p, which moves behind it (and behind the '/' that belongs to it). */
static void parse_stars(struct rule *r, struct bytes t, size_t *p)
{
    size_t from = *p, end = from;
    while (end < t.len && t.data[end] == '*')
        end++;
    *p = end;

    bool component = (from == 0 || t.data[from - 1] == '/') && (end == t.len || t.data[end] == '/');
    if (end - from == 1 || !component) {
        add_step(r, STEP_STAR, 0);
        return;
    }
    if (end < t.len) {
        add_step(r, STEP_SKIP_TWO, 0);
        add_step(r, STEP_ALL, 0);
        add_step(r, STEP_BYTE, '/');
        ++*p;
        return;
    }
    add_step(r, STEP_ALL, 0);
}

static bool parse_pattern(struct rule *r, struct bytes t)
{
    for (size_t p = 0; p < t.len;) {
        switch (t.data[p]) {
        case '*':
            parse_stars(r, t, &p);
            break;
        case '?':
            add_step(r, STEP_ANY, 0);
            p++;
            break;
        case '[':
            if (!parse_set(r, t, &p))
                return false;
            break;
        case '\\':
            if (++p == t.len)
                return false;
            add_step(r, STEP_BYTE, t.data[p++]);
            break;
        default:
            add_step(r, STEP_BYTE, t.data[p++]);
        }
    }
    return true;
}

/* Spaces at the end do not count, unless a backslash stands before them. */
static struct bytes without_trailing_spaces(struct bytes t)
{
    size_t len = 0;
    for (size_t i = 0; i < t.len; i++) {
        if (t.data[i] == '\\' && i + 1 < t.len)
            len = ++i + 1;
        else if (t.data[i] != ' ')
            len = i + 1;
    }
    t.len = len;
    return t;
}

/* A blank line or a comment becomes a rule that never matches. */
static void parse_rule(struct rule *r, struct bytes t)
{
    if (t.len > 0 && t.data[t.len - 1] == '\r')
        t.len--;
    t = without_trailing_spaces(t);
    r->never = t.len == 0 || t.data[0] == '#';
    if (r->never)
        return;

    if (t.data[0] == '!') {
        r->negated = true;
        t = (struct bytes){ t.data + 1, t.len - 1 };
    }
    if (t.len > 0 && t.data[t.len - 1] == '/') {
        r->directory_only = true;
        t.len--;
    }
    r->base_name = !memchr(t.data, '/', t.len);
    if (t.len > 0 && t.data[0] == '/')
        t = (struct bytes){ t.data + 1, t.len - 1 };

    r->steps = mem_new(t.len, sizeof(*r->steps)); /* no part of a pattern makes more steps than it has bytes */
    r->never = !parse_pattern(r, t);
}

static struct exclude *new_rules(size_t room)
{
    struct exclude *x = mem_new(1, sizeof(*x));
    x->rules = mem_new(room, sizeof(*x->rules));
    return x;
}

int exclude_new(const struct bytes *rules, size_t count, struct exclude **ret, struct error *e)
{
    if (count > EXCLUDE_RULES_MAX)
        return error_say(e, ERROR_USAGE, -E2BIG, "more than %d exclude rules", EXCLUDE_RULES_MAX);
    for (size_t i = 0; i < count; i++) {
        if (rules[i].len > EXCLUDE_RULE_MAX)
            return error_say(e, ERROR_USAGE, -E2BIG, "exclude rule longer than %d bytes", EXCLUDE_RULE_MAX);
        if (rules[i].len && (memchr(rules[i].data, '\n', rules[i].len) || memchr(rules[i].data, 0, rules[i].len)))
            return error_say(e, ERROR_USAGE, -EINVAL, "exclude rule with a newline or a zero byte in it");
    }

    struct exclude *x = new_rules(count);
    x->home = new_rules(count);
    for (size_t i = 0; i < count; i++)
        if (rules[i].len >= strlen(OF_HOME) && memcmp(rules[i].data, OF_HOME, strlen(OF_HOME)) == 0)
            parse_rule(&x->home->rules[x->home->count++],
                       (struct bytes){ rules[i].data + strlen(OF_HOME), rules[i].len - strlen(OF_HOME) });
        else
            parse_rule(&x->rules[x->count++], rules[i]);
    *ret = x;
    return 0;
}

const struct exclude *exclude_home(const struct exclude *x)
{
    return x ? x->home : NULL;
}

void exclude_free(struct exclude *x)
{
    if (!x)
        return;
    for (size_t i = 0; i < x->count; i++) {
        free(x->rules[i].steps);
        free(x->rules[i].sets);
    }
    free(x->rules);
    exclude_free(x->home);
    free(x);
}

/* Adds the states that are reached without a byte. Steps only lead forward, so one pass is enough. */
static bool follow_empty(const struct rule *r, bool *states)
{
    bool any = false;
    for (size_t i = 0; i < r->count; i++) {
        enum step_kind kind = r->steps[i].kind;
        any = any || states[i];
        if (!states[i] || (kind != STEP_STAR && kind != STEP_ALL && kind != STEP_SKIP_TWO))
            continue;
        states[i + 1] = true;
        if (kind == STEP_SKIP_TWO)
            states[i + 3] = true;
    }
    return any || states[r->count];
}

static void follow_byte(const struct rule *r, const bool *states, uint8_t c, bool *next)
{
    for (size_t i = 0; i < r->count; i++) {
        const struct step *s = &r->steps[i];
        if (!states[i])
            continue;
        switch ((enum step_kind)s->kind) {
        case STEP_BYTE:
            next[i + 1] = next[i + 1] || s->byte == c;
            break;
        case STEP_ANY:
            next[i + 1] = next[i + 1] || c != '/';
            break;
        case STEP_CLASS:
            next[i + 1] = next[i + 1] || r->sets[s->set].has[c];
            break;
        case STEP_STAR:
            next[i] = next[i] || c != '/';
            break;
        case STEP_ALL:
            next[i] = true;
            break;
        case STEP_SKIP_TWO:
            break;
        }
    }
}

static bool pattern_matches(const struct rule *r, struct bytes text)
{
    bool states[2][EXCLUDE_RULE_MAX + 1];
    bool *now = states[0], *next = states[1];
    memset(now, 0, r->count + 1);
    now[0] = true;
    for (size_t i = 0; i < text.len; i++) {
        if (!follow_empty(r, now))
            return false;
        memset(next, 0, r->count + 1);
        follow_byte(r, now, text.data[i], next);
        bool *passed = now;
        now = next;
        next = passed;
    }
    follow_empty(r, now);
    return now[r->count];
}

static struct bytes base_name(struct bytes path)
{
    const uint8_t *slash = path.len ? memrchr(path.data, '/', path.len) : NULL;
    if (!slash)
        return path;
    return (struct bytes){ slash + 1, (size_t)(path.data + path.len - slash - 1) };
}

static bool is_auth_secret(struct bytes name)
{
    return name.len == strlen(EXCLUDE_AUTH_SECRET) && memcmp(name.data, EXCLUDE_AUTH_SECRET, name.len) == 0;
}

static bool is_credential(struct bytes path, struct bytes name)
{
    static const struct {
        const char *directory, *name;
    } credentials[] = {
        { "home/.claude/", ".credentials.json" },
        { "home/.codex/", "auth.json" },
        { "home/.grok/", "auth.json" },
    };
    size_t above = path.len - name.len;
    for (size_t i = 0; i < sizeof(credentials) / sizeof(credentials[0]); i++)
        if (above == strlen(credentials[i].directory) && memcmp(path.data, credentials[i].directory, above) == 0)
            return memmem(name.data, name.len, credentials[i].name, strlen(credentials[i].name));
    return false;
}

bool exclude_secret(struct bytes path)
{
    struct bytes name = base_name(path);
    return is_auth_secret(name) || is_credential(path, name);
}

bool exclude_entry(const struct exclude *x, struct bytes path, bool directory)
{
    struct bytes name = base_name(path);
    if (is_auth_secret(name))
        return true;

    for (size_t i = x ? x->count : 0; i > 0; i--) {
        const struct rule *r = &x->rules[i - 1];
        if (r->never || (r->directory_only && !directory))
            continue;
        if (pattern_matches(r, r->base_name ? name : path))
            return !r->negated;
    }
    return false;
}

bool exclude_path(const struct exclude *x, struct bytes path, bool directory)
{
    for (size_t i = 1; i < path.len; i++) {
        if (path.data[i] == '/' && exclude_entry(x, (struct bytes){ path.data, i }, true))
            return true;
    }
    return exclude_entry(x, path, directory);
}

bool exclude_cut_off(const char *path)
{
    const char *slash = strrchr(path, '/');
    return strcmp(slash ? slash + 1 : path, COPY_TEMPORARY) == 0;
}

bool exclude_placed(const char *path, const char *target)
{
    static const struct {
        const char *path, *target;
    } placed[] = {
        { "home/.claude/CLAUDE.md", "/run/box/etc/claude/CLAUDE.md" },
        { "home/.claude/settings.json", "/run/box/etc/claude/settings.json" },
    };
    for (size_t i = 0; i < sizeof(placed) / sizeof(placed[0]); i++)
        if (strcmp(path, placed[i].path) == 0 && strcmp(target, placed[i].target) == 0)
            return true;
    return false;
}
