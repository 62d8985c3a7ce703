/* SPDX-License-Identifier: MIT */
#include "sync/s3-request.h"

#include "index/base/clock.h"
#include "index/base/log.h"
#include "index/base/mem.h"
#include "sync/backoff.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>

#define BACKOFF_MS 100
#define BACKOFF_OFTEN_MS 1000 /* R2 takes one write a second of a key */
#define CLOCK_OFF_NS (300 * 1000000000LL)

void s3_call_release(struct s3_call *c)
{
    buf_release(&c->path);
    buf_release(&c->query);
    http_answer_release(&c->answer);
}

static int send_once(struct s3 *s, struct s3_call *c, struct error *e)
{
    char time[SIGV4_TIME_MAX];
    c->signed_ns = clock_wall_ns() + __atomic_load_n(&s->clock_offset_ns, __ATOMIC_RELAXED);
    sigv4_time(time, c->signed_ns);

    struct sigv4_header headers[7]; /* sorted by name */
    size_t n = 0;
    headers[n++] = (struct sigv4_header){ "host", s->host };
    if (c->condition == STORE_IF_MATCH)
        headers[n++] = (struct sigv4_header){ "if-match", c->etag };
    if (c->condition == STORE_IF_ABSENT)
        headers[n++] = (struct sigv4_header){ "if-none-match", "*" };
    if (c->range)
        headers[n++] = (struct sigv4_header){ "range", c->range };
    headers[n++] = (struct sigv4_header){ "x-amz-content-sha256", c->payload };
    headers[n++] = (struct sigv4_header){ "x-amz-date", time };

    struct sigv4_credentials credentials = { s->access_key, s->secret_key, s->region, "s3" };
    struct sigv4_request request = { c->method, buf_string(&c->path), buf_string(&c->query), headers, n, c->payload,
                                     time };
    _cleanup_(buf_release) struct buf authorization = { 0 };
    sigv4_sign(&credentials, &request, &authorization);

    struct http_header sent[7];
    for (size_t i = 0; i < n; i++)
        sent[i] = (struct http_header){ headers[i].name, headers[i].value };
    sent[n] = (struct http_header){ "authorization", buf_string(&authorization) };
    _cleanup_free_ char *url = mem_printf("%s%s%s%s", s->base, request.path, c->query.len ? "?" : "", request.query);
    struct http_request q = { c->method, url, sent, n + 1, c->body, c->max, c->condition != STORE_ALWAYS };
    return http_perform(s->pool, &q, &c->answer, e);
}

/* True once for a refusal whose Date shows that our clock is off: from now on the server's is signed with. */
static bool clock_corrected(struct s3 *s, const struct s3_call *c, bool *tried)
{
    const struct http_answer *a = &c->answer;
    int64_t off = a->date_ns - c->signed_ns;
    if (*tried || a->date_ns == 0 || (a->status != 403 && a->status != 400 && a->status != 401) ||
        (off < CLOCK_OFF_NS && off > -CLOCK_OFF_NS))
        return false;
    *tried = true;
    __atomic_store_n(&s->clock_offset_ns, a->date_ns - clock_wall_ns(), __ATOMIC_RELAXED);
    log_warn("the clock is %lld s behind the store's; signing with the store's", (long long)(off / 1000000000));
    return true;
}

/* Whether the object's bytes are the answer's body, and not a document about what happened. */
static bool answers_object(const struct s3_call *c)
{
    return c->verb == STORE_GET && c->answer.status < 300;
}

static enum s3_meaning meaning_of(struct s3_call *c)
{
    c->code[0] = '\0';
    if (!answers_object(c))
        s3_answer_code(buf_bytes(&c->answer.body), c->code);
    return s3_answer_meaning(c->answer.status, c->code, c->condition != STORE_ALWAYS);
}

static int failed(const struct s3 *s, const struct s3_call *c, enum s3_meaning meaning, struct error *e)
{
    const char *where = s->store->description;
    int status = c->answer.status;
    switch (meaning) {
    case S3_ABSENT:
        return error_say(e, ERROR_UNKNOWN, -ENOENT, "no such object in %s", where);
    case S3_NO_BUCKET:
        return error_say(e, ERROR_STORE, -EHOSTUNREACH, "%s: no such bucket", where);
    case S3_STALE:
        return error_say(e, ERROR_FAILED, -ESTALE, "someone else has changed it (%d)", status);
    case S3_TOO_OFTEN:
        return error_say(e, ERROR_STORE, -EBUSY, "%s: too many requests (%d %s)", where, status, c->code);
    case S3_SHORT:
        return error_say(e, ERROR_DAMAGED, -EBADMSG, "ends inside the range asked for");
    case S3_REFUSED:
        error_say(e, ERROR_STORE, -EACCES, "%s refused it: %d %s", where, status, c->code);
        return error_hint(e, "look at AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and BOX_S3_REGION in the env file"),
               -EACCES;
    case S3_TRANSIENT:
    case S3_DONE:
        break;
    }
    return error_say(e, ERROR_STORE, -EHOSTUNREACH, "%s: %d %s", where, status, c->code);
}

static int wait_for_next(const struct s3 *s, const struct s3_call *c, unsigned attempt, bool too_often, struct error *e)
{
    uint32_t random;
    randombytes_buf(&random, sizeof(random));
    unsigned ms = backoff_ms(attempt, too_often ? BACKOFF_OFTEN_MS : BACKOFF_MS, c->answer.retry_after_s, random);
    log_info("%s %s: attempt %u got %d %s, again in %u ms", c->method, c->key, attempt, c->answer.status, c->code, ms);
    return backoff_wait(s->store, ms, e);
}

int s3_perform(struct s3 *s, struct s3_call *c, struct error *e)
{
    sigv4_payload(c->payload, c->body);
    bool clock_tried = false, once = c->condition != STORE_ALWAYS;
    for (unsigned attempt = 1;; attempt++) {
        int64_t started = clock_boot_ns();
        c->code[0] = '\0';
        int r = send_once(s, c, e);
        store_account(s->store, c->verb, c->key, r < 0 ? 0 : c->answer.status, started,
                      c->verb == STORE_PUT ? c->body.len : c->answer.body.len, attempt);
        if (r == -ECANCELED)
            return r;
        bool again, too_often = false;
        if (r < 0) {
            error_prefix(e, "%s", s->store->description);
            again = !once || !c->answer.sent;
        } else {
            enum s3_meaning meaning = meaning_of(c);
            if (meaning == S3_DONE)
                return 0;
            if (meaning == S3_REFUSED && clock_corrected(s, c, &clock_tried))
                continue;
            too_often = meaning == S3_TOO_OFTEN;
            again = !once && (too_often || meaning == S3_TRANSIENT);
            r = failed(s, c, meaning, e);
        }
        if (!again || attempt >= s->attempts)
            return r;
        int waited = wait_for_next(s, c, attempt, too_often, e);
        if (waited < 0)
            return waited;
    }
}
