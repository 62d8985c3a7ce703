/* SPDX-License-Identifier: MIT */
#include "tests/fault/control.h"

#include "index/base/mem.h"
#include "index/base/text.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

#define WORDS_MAX 32

struct command {
    char *words[WORDS_MAX];
    size_t count;
    struct bytes data;
};

static const char *no_number = "a number is missing or wrong";

static bool number(const struct command *c, uint64_t *ret)
{
    return c->count == 2 && text_parse_size(c->words[1], ret) == 0;
}

static const char *set_rtt(struct server *s, const struct command *c, struct buf *out)
{
    uint64_t ms;
    if (!number(c, &ms))
        return no_number;
    shape_set(&s->shape, ms * 1000, s->shape.bits_per_second);
    return NULL;
}

static const char *set_bandwidth(struct server *s, const struct command *c, struct buf *out)
{
    uint64_t bits;
    if (!number(c, &bits))
        return no_number;
    shape_set(&s->shape, s->shape.rtt_us, bits);
    return NULL;
}

static const char *set_clock(struct server *s, const struct command *c, struct buf *out)
{
    char *end = NULL;
    long long seconds = c->count == 2 ? strtoll(c->words[1], &end, 10) : 0;
    if (!end || *end)
        return no_number;
    s->s3.clock_moved_ms = seconds * 1000;
    return NULL;
}

static const char *set_page(struct server *s, const struct command *c, struct buf *out)
{
    uint64_t keys;
    if (!number(c, &keys))
        return no_number;
    s->s3.page = (unsigned)keys;
    return NULL;
}

static const char *set_rate(struct server *s, const struct command *c, struct buf *out)
{
    bool on = c->count == 2 && strcmp(c->words[1], "on") == 0;
    if (!on && (c->count != 2 || strcmp(c->words[1], "off") != 0))
        return "on or off";
    s->s3.one_write_a_second = on;
    return NULL;
}

static const char *clear(struct server *s, const struct command *c, struct buf *out)
{
    rules_clear(&s->rules);
    return NULL;
}

static const char *reset(struct server *s, const struct command *c, struct buf *out)
{
    traffic_reset(&s->traffic);
    return NULL;
}

static const char *counters(struct server *s, const struct command *c, struct buf *out)
{
    traffic_counters(&s->traffic, out);
    return NULL;
}

static const char *show_log(struct server *s, const struct command *c, struct buf *out)
{
    traffic_log(&s->traffic, out);
    return NULL;
}

static const char *commits(struct server *s, const struct command *c, struct buf *out)
{
    buf_printf(out, "%u\n", traffic_count(&s->traffic, 0, c->count > 1 ? c->words[1] : "", true));
    return NULL;
}

/* Takes "--timeout S" out of the words; they are then those of a rule. */
static bool take_timeout(struct command *c, uint64_t *ret)
{
    for (size_t i = 1; i + 1 < c->count; i++)
        if (strcmp(c->words[i], "--timeout") == 0) {
            bool good = text_parse_u64(c->words[i + 1], 3600, ret) == 0;
            for (; i + 2 < c->count; i++)
                c->words[i] = c->words[i + 2];
            c->count -= 2;
            return good;
        }
    return true;
}

static const char *await(struct server *s, const struct command *c, struct buf *out)
{
    struct command filter = *c;
    struct rule rule;
    uint64_t timeout = 30;
    static char any_rule[] = "drop-request";
    filter.words[0] = any_rule;
    if (!take_timeout(&filter, &timeout))
        return no_number;
    const char *wrong = rule_parse(filter.words, filter.count, &rule);
    if (wrong)
        return wrong;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)timeout;
    unsigned wanted = rule.times < 0 ? 1 : (unsigned)rule.times;
    while (traffic_count(&s->traffic, rule.operations, rule.key, rule.after_commit) < wanted)
        if (pthread_cond_timedwait(&s->changed, &s->lock, &until) == ETIMEDOUT)
            return "there were no such requests in time";
    return NULL;
}

static const char *keys(struct server *s, const struct command *c, struct buf *out)
{
    const char *prefix = c->count > 1 ? c->words[1] : "", *after = NULL;
    for (struct object *x; (x = objects_next(&s->s3.objects, s->bucket, prefix, after)); after = x->key)
        buf_printf(out, "%s\n", x->key);
    return NULL;
}

static struct object *named(struct server *s, const struct command *c)
{
    return c->count > 1 ? objects_find(&s->s3.objects, s->bucket, c->words[1]) : NULL;
}

static const char *get(struct server *s, const struct command *c, struct buf *out)
{
    struct object *x = named(s, c);
    if (!x)
        return "no such key";
    buf_add(out, x->data.data, x->data.len);
    return NULL;
}

static const char *set(struct server *s, const struct command *c, struct buf *out)
{
    if (c->count != 2)
        return "no key";
    objects_set(&s->s3.objects, s->bucket, c->words[1], c->data, s3_now_ms(&s->s3));
    return NULL;
}

static const char *remove_key(struct server *s, const struct command *c, struct buf *out)
{
    return c->count == 2 && objects_remove(&s->s3.objects, s->bucket, c->words[1]) ? NULL : "no such key";
}

/* The bytes change, etag and times do not: as a disk rots. */
static const char *rot(struct server *s, const struct command *c, struct buf *out)
{
    struct object *x = named(s, c);
    uint64_t byte = x ? x->data.len / 2 : 0;
    if (!x || x->data.len == 0)
        return "no such key, or it is empty";
    if (c->count > 2 && text_parse_u64(c->words[2], x->data.len - 1, &byte) < 0)
        return no_number;
    x->data.data[byte] ^= 1;
    return NULL;
}

static const char *add_rule(struct server *s, const struct command *c, struct buf *out)
{
    struct command words = *c;
    struct rule x;
    const char *wrong = rule_parse(words.words, words.count, &x);
    if (!wrong)
        rules_add(&s->rules, &x);
    return wrong;
}

static const struct {
    const char *word;
    const char *(*run)(struct server *s, const struct command *c, struct buf *out);
} commands[] = {
    { "rtt", set_rtt },       { "bandwidth", set_bandwidth },
    { "clock", set_clock },   { "page", set_page },
    { "rate", set_rate },     { "clear", clear },
    { "reset", reset },       { "counters", counters },
    { "log", show_log },      { "commits", commits },
    { "await", await },       { "keys", keys },
    { "get", get },           { "set", set },
    { "remove", remove_key }, { "rot", rot },
};

const char *control_handle(struct server *s, struct bytes command, struct buf *out)
{
    const uint8_t *end = memmem(command.data, command.len, "\n\n", 2);
    size_t len = end ? (size_t)(end - command.data) : command.len;
    _cleanup_free_ char *text = mem_copy(command.data, len);
    struct command c = { 0 };
    if (end)
        c.data = (struct bytes){ end + 2, command.len - len - 2 };
    char *rest = text;
    for (char *word; c.count < WORDS_MAX && (word = strsep(&rest, "\n"));)
        c.words[c.count++] = word;
    if (c.count == 0 || !*c.words[0])
        return "no command";

    const char *(*run)(struct server *, const struct command *, struct buf *) = add_rule;
    for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
        if (strcmp(commands[i].word, c.words[0]) == 0)
            run = commands[i].run;
    pthread_mutex_lock(&s->lock);
    const char *wrong = run(s, &c, out);
    pthread_mutex_unlock(&s->lock);
    return wrong;
}
