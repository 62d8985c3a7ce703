/* SPDX-License-Identifier: MIT */
#include "tests/fault/server.h"

#include "index/base/clock.h"

void server_init(struct server *s)
{
    *s = (struct server){ 0 };
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->changed, NULL);
    shape_init(&s->shape);
}

static void sleep_ms(uint64_t ms)
{
    shape_sleep_until(clock_boot_ns() + (int64_t)ms * 1000000);
}

static void fail(struct answer *a, unsigned status)
{
    static const struct {
        unsigned status;
        const char *code;
    } codes[] = { { 429, "TooManyRequests" },    { 500, "InternalError" },
                  { 503, "ServiceUnavailable" }, { 409, "ConditionalRequestConflict" },
                  { 403, "AccessDenied" },       { 404, "NoSuchKey" },
                  { 412, "PreconditionFailed" } };
    const char *code = "InternalError";
    for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++)
        if (codes[i].status == status)
            code = codes[i].code;
    s3_error(a, status, code, "A test wants it so.");
}

/* What a rule does to an answer, or instead of one. */
static void act(const struct rule *x, struct answer *a)
{
    switch (x->action) {
    case RULE_DROP:
        a->status = 0;
        break;
    case RULE_STATUS:
        fail(a, (unsigned)x->value);
        break;
    case RULE_TRUNCATE:
        a->cut = x->value < a->body.len ? x->value : a->body.len / 2;
        if (a->body.len == 0)
            a->status = 0;
        break;
    case RULE_STALL:
        a->stall_at = a->body.len / 2;
        a->stall_ms = (unsigned)x->value;
        break;
    case RULE_FLIP:
        if (a->body.len > 0)
            a->body.data[x->value % a->body.len] ^= 0x10;
        break;
    case RULE_DELAY:
        sleep_ms(x->value);
        break;
    }
}

static bool acts_before(const struct rule *x)
{
    return !x->after_commit && (x->action == RULE_DROP || x->action == RULE_STATUS || x->action == RULE_DELAY);
}

struct visit_id server_process(struct server *s, const struct request *q, struct answer *a)
{
    struct s3_target target = { .operation = S3_OTHER };
    struct rule rule;
    bool good = s3_target(q, &target);

    pthread_mutex_lock(&s->lock);
    struct visit_id id = traffic_begin(&s->traffic, &target, q->body.len);
    bool ruled = rules_take(&s->rules, &target, &rule);
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);

    shape_half_trip(&s->shape);
    bool before = ruled && acts_before(&rule);
    if (before)
        act(&rule, a);
    if (!before || rule.action == RULE_DELAY) {
        pthread_mutex_lock(&s->lock);
        s3_handle(&s->s3, q, good ? &target : NULL, a);
        traffic_handled(&s->traffic, id, a->committed);
        pthread_cond_broadcast(&s->changed);
        pthread_mutex_unlock(&s->lock);
    }
    if (ruled && !before)
        act(&rule, a);
    shape_half_trip(&s->shape);
    return id;
}

void server_sent(struct server *s, struct visit_id id, const struct answer *a, uint64_t bytes)
{
    pthread_mutex_lock(&s->lock);
    traffic_end(&s->traffic, id, a->status, bytes);
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}
