/* SPDX-License-Identifier: MIT */
#include "tests/fault/rules.h"

#include "index/base/mem.h"
#include "index/base/text.h"

#include <fnmatch.h>
#include <stdio.h>
#include <strings.h>

static const struct {
    const char *word;
    enum rule_action action;
    bool after_commit, needs_value;
    uint64_t fallback;
} actions[] = {
    { "drop-request", RULE_DROP, false, false, 0 },
    { "drop-response", RULE_DROP, true, false, 0 },
    { "status", RULE_STATUS, false, true, 0 },
    { "truncate", RULE_TRUNCATE, false, false, 1 },
    { "stall", RULE_STALL, false, false, 3600 * 1000 },
    { "flip", RULE_FLIP, false, false, 0 },
    { "delay", RULE_DELAY, false, true, 0 },
};

static const char *parse_operations(const char *list, unsigned *ret)
{
    *ret = 0;
    while (*list) {
        size_t len = strcspn(list, ",");
        int o = S3_GET;
        while (o <= S3_OTHER && (strlen(s3_operation_name((enum s3_operation)o)) != len ||
                                 strncasecmp(s3_operation_name((enum s3_operation)o), list, len) != 0))
            o++;
        if (o > S3_OTHER)
            return "no such operation: GET HEAD PUT DELETE LIST OTHER";
        *ret |= 1u << o;
        list += len + (list[len] == ',');
    }
    return NULL;
}

static const char *parse_option(char **words, size_t count, size_t *at, struct rule *x)
{
    const char *name = words[(*at)++];
    if (strcmp(name, "--after-commit") == 0) {
        x->after_commit = true;
        return NULL;
    }
    if (*at == count)
        return "an option without its value";
    const char *value = words[(*at)++];
    uint64_t n = 0;
    if (strcmp(name, "--op") == 0)
        return parse_operations(value, &x->operations);
    if (strcmp(name, "--key") == 0) {
        snprintf(x->key, sizeof(x->key), "%s", value);
        return NULL;
    }
    if (text_parse_u64(value, 1u << 30, &n) < 0)
        return "not a number";
    if (strcmp(name, "--times") == 0)
        x->times = (int)n;
    else if (strcmp(name, "--skip") == 0)
        x->skip = (int)n;
    else
        return "no such option";
    return NULL;
}

const char *rule_parse(char **words, size_t count, struct rule *ret)
{
    struct rule x = { .times = -1 };
    size_t i = 0, at = 1;
    while (i < sizeof(actions) / sizeof(*actions) && strcmp(actions[i].word, words[0]) != 0)
        i++;
    if (i == sizeof(actions) / sizeof(*actions))
        return "no such command";
    x.action = actions[i].action;
    x.after_commit = actions[i].after_commit;
    x.value = actions[i].fallback;
    if (at < count && text_parse_u64(words[at], UINT64_MAX, &x.value) == 0)
        at++;
    else if (actions[i].needs_value)
        return "a number is missing";
    while (at < count) {
        const char *wrong = parse_option(words, count, &at, &x);
        if (wrong)
            return wrong;
    }
    *ret = x;
    return NULL;
}

void rules_add(struct rules *r, const struct rule *x)
{
    r->all = mem_grow(r->all, r->count + 1, sizeof(*r->all));
    r->all[r->count++] = *x;
}

bool rules_take(struct rules *r, const struct s3_target *t, struct rule *ret)
{
    for (size_t i = 0; i < r->count; i++) {
        struct rule *x = &r->all[i];
        if (x->times == 0 || (x->operations && !(x->operations & 1u << t->operation)) ||
            (*x->key && fnmatch(x->key, t->key, 0) != 0))
            continue;
        if (x->skip > 0) {
            x->skip--;
            continue;
        }
        if (x->times > 0)
            x->times--;
        *ret = *x;
        return true;
    }
    return false;
}

void rules_clear(struct rules *r)
{
    free(r->all);
    *r = (struct rules){ 0 };
}
