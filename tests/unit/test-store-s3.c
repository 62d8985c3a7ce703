/* SPDX-License-Identifier: MIT */
#include "sync/store.h"

#include "index/base/clock.h"
#include "index/base/mem.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include <cmocka.h>

/*
 * What the store makes of answers, one by one: a server that says what the test wrote down, in that order, and
 * keeps what it was asked; a connection ends where an answer says so. Answers are sent as they are; DATE in them is the
 * current time. "" hangs up without a word, "hang" keeps silent.
 */

#define REQUESTS_MAX 16
#define DATE "@DATE@"
#define DATES "Date: " DATE "\r\nLast-Modified: Tue, 03 Mar 2026 10:00:00 GMT\r\nConnection: close\r\n"
#define OK(body, n) "HTTP/1.1 200 OK\r\nETag: \"e1\"\r\n" DATES "Content-Length: " #n "\r\n\r\n" body
#define ERROR(status, code)                                                                                            \
    "HTTP/1.1 " status " X\r\n" DATES "Content-Type: application/xml\r\n\r\n<?xml version=\"1.0\"?><Error><Code>" code \
    "</Code></Error>"

struct server {
    int listener;
    const char *const *answers;
    unsigned asked; /* atomic */
    char requests[REQUESTS_MAX][4096];
    int64_t skew_s;
    unsigned accepted; /* connections; atomic */
    unsigned deaf;     /* so many are hung up on at once; atomic */
    pthread_t thread;
    struct store *store;
};

static void read_request(int fd, char to[4096])
{
    size_t have = 0, body = 0;
    const char *end = NULL;
    for (;;) {
        ssize_t n = recv(fd, to + have, 4095 - have, 0);
        if (n <= 0)
            break;
        have += (size_t)n;
        to[have] = '\0';
        end = strstr(to, "\r\n\r\n");
        const char *length = strstr(to, "Content-Length: ");
        body = length ? strtoul(length + 16, NULL, 10) : 0;
        if (end && have >= (size_t)(end + 4 - to) + body)
            break;
    }
    to[have] = '\0';
}

static void answer(int fd, const char *text, int64_t skew_s)
{
    char date[64];
    time_t now = time(NULL) + skew_s;
    struct tm tm;
    strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&now, &tm));
    for (const char *at; (at = strstr(text, DATE)); text = at + strlen(DATE)) {
        send(fd, text, (size_t)(at - text), MSG_NOSIGNAL | MSG_MORE);
        send(fd, date, strlen(date), MSG_NOSIGNAL | MSG_MORE);
    }
    send(fd, text, strlen(text), MSG_NOSIGNAL);
}

/* One request and its answer. Whether the connection is kept: true unless the answer says it is not, or there is none.
 */
static bool serve_one(struct server *v, int fd)
{
    unsigned i = v->asked;
    read_request(fd, v->requests[i]);
    if (!v->requests[i][0]) /* the client hung up */
        return false;
    __atomic_store_n(&v->asked, i + 1, __ATOMIC_RELEASE);
    if (!v->answers[i])
        fprintf(stderr, "an unexpected request: %s\n", v->requests[i]);
    else if (strcmp(v->answers[i], "hang") == 0)
        recv(fd, v->requests[i], 1, 0); /* until the client gives up */
    else
        answer(fd, v->answers[i], v->skew_s);
    return v->answers[i] && strstr(v->answers[i], "HTTP/") && !strstr(v->answers[i], "Connection: close");
}

static void *serve(void *arg)
{
    struct server *v = arg;
    while (v->asked < REQUESTS_MAX) {
        int fd = accept(v->listener, NULL, NULL);
        if (fd < 0) /* shut down */
            break;
        bool deaf = __atomic_load_n(&v->deaf, __ATOMIC_ACQUIRE) > v->accepted;
        if (deaf)
            close(fd);
        __atomic_fetch_add(&v->accepted, 1, __ATOMIC_RELEASE);
        if (deaf)
            continue;
        while (serve_one(v, fd) && v->asked < REQUESTS_MAX)
            continue;
        close(fd);
    }
    return NULL;
}

static const char *scheme = "http";
static struct server *start(const char *const *answers, int64_t skew_s)
{
    static struct server v;
    v = (struct server){ .answers = answers, .skew_s = skew_s };
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof(a);
    v.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(v.listener, (struct sockaddr *)&a, len), 0);
    assert_int_equal(listen(v.listener, 8), 0);
    assert_int_equal(getsockname(v.listener, (struct sockaddr *)&a, &len), 0);
    assert_int_equal(pthread_create(&v.thread, NULL, serve, &v), 0);
    char endpoint[64];
    snprintf(endpoint, sizeof(endpoint), "%s://127.0.0.1:%u/", scheme, ntohs(a.sin_port));
    struct store_config c = { .url = "s3://bucket/pre/",
                              .endpoint = endpoint,
                              .access_key = "AK",
                              .secret_key = "SK",
                              .timeout_s = 2,
                              .attempts = 3 };
    assert_int_equal(store_open(&c, &v.store, NULL), 0);
    return &v;
}

/* Ends the server; the number of requests that came. */
static unsigned stop(struct server *v)
{
    shutdown(v->listener, SHUT_RDWR);
    pthread_join(v->thread, NULL);
    close(v->listener);
    store_close(v->store);
    return v->asked;
}

#define START(...) start((const char *const[REQUESTS_MAX]){ __VA_ARGS__ }, 0)

static int get(struct server *v, uint64_t offset, uint64_t length, struct error *e)
{
    struct store_info info;
    _cleanup_(buf_release) struct buf b = { 0 };
    int r = store_get(v->store, "box/a/head", offset, length, 10, &b, &info, e);
    return r < 0 ? r : (int)b.len;
}

static int put(struct server *v, enum store_condition condition, char *ret_etag, struct error *e)
{
    return store_put(v->store, "box/a/head", (struct bytes){ (const uint8_t *)"body", 4 }, condition, "\"e0\"",
                     ret_etag, e);
}

static void a_request_is_path_style_signed_and_without_expect(void **state)
{
    char etag[STORE_ETAG_MAX];
    struct server *v = START(OK("", 0), OK("", 0));
    assert_int_equal(put(v, STORE_IF_MATCH, etag, NULL), 0);
    assert_string_equal(etag, "\"e1\"");
    assert_int_equal(put(v, STORE_IF_ABSENT, NULL, NULL), 0);
    assert_int_equal(stop(v), 2);
    const char *q = v->requests[0];
    assert_memory_equal(q, "PUT /bucket/pre/box/a/head HTTP/1.1\r\n", 37);
    assert_non_null(strstr(q, "if-match: \"e0\"\r\n"));
    assert_non_null(strstr(q, "SignedHeaders=host;if-match;x-amz-content-sha256;x-amz-date, Signature="));
    assert_non_null(strstr(q, "/auto/s3/aws4_request"));
    assert_non_null(strstr(q, "\r\n\r\nbody"));
    assert_null(strcasestr(q, "expect:"));
    assert_null(strcasestr(q, "content-type:"));
    assert_null(strcasestr(q, "x-amz-checksum"));
    assert_null(strcasestr(q, "transfer-encoding"));
    assert_non_null(strstr(v->requests[1], "if-none-match: *\r\n"));
}

static void what_may_pass_is_repeated(void **state)
{
    struct server *v = START(ERROR("503", "SlowDown"), "", OK("12345", 5));
    assert_int_equal(get(v, 0, 0, NULL), 5);
    assert_int_equal(v->store->stats.gets, 3);
    assert_int_equal(v->store->stats.retries, 2);
    assert_int_equal(stop(v), 3);
    v = START(ERROR("400", "IncompleteBody"), ERROR("501", "NotImplemented"), OK("", 0));
    assert_int_equal(put(v, STORE_ALWAYS, NULL, NULL), 0);
    assert_int_equal(stop(v), 3);
}

static void each_attempt_is_signed_anew(void **state)
{
    struct server *v = START("HTTP/1.1 503 X\r\nRetry-After: 1\r\n" DATES "\r\n", OK("", 0));
    int64_t started = clock_boot_ns();
    assert_int_equal(put(v, STORE_ALWAYS, NULL, NULL), 0);
    assert_true(clock_boot_ns() - started >= 1000000000); /* asked for a second */
    assert_int_equal(stop(v), 2);
    const char *first = strstr(v->requests[0], "Signature="), *second = strstr(v->requests[1], "Signature=");
    assert_memory_not_equal(first, second, 74);
}

static void an_outage_ends_as_one(void **state)
{
    struct error e = { 0 };
    struct server *v = START("", ERROR("500", "InternalError"), ERROR("502", ""));
    assert_int_equal(get(v, 0, 0, &e), -EHOSTUNREACH);
    assert_int_equal(e.kind, ERROR_STORE);
    assert_int_equal(stop(v), 3);
    v = START(ERROR("429", "TooManyRequests"), ERROR("429", ""), ERROR("429", ""));
    assert_int_equal(put(v, STORE_ALWAYS, NULL, &e), -EBUSY);
    assert_int_equal(stop(v), 3);
}

/* Fails if it is repeated: the answer to the second could be the first one's doing. */
static void a_conditional_put_is_sent_once(void **state)
{
    static const struct {
        const char *answer;
        int code;
    } table[] = {
        { "", -EHOSTUNREACH },
        { ERROR("500", "InternalError"), -EHOSTUNREACH },
        { ERROR("503", "SlowDown"), -EBUSY },
        { ERROR("429", ""), -EBUSY },
        { ERROR("412", "PreconditionFailed"), -ESTALE },
        { ERROR("409", "ConditionalRequestConflict"), -ESTALE },
        { ERROR("404", "NoSuchKey"), -ESTALE },
        { ERROR("404", "NoSuchBucket"), -EHOSTUNREACH },
        { ERROR("403", "AccessDenied"), -EACCES },
        { ERROR("200", "PreconditionFailed"), -ESTALE }, /* begun before it failed */
        { ERROR("200", "InternalError"), -EHOSTUNREACH },
        { "HTTP/1.1 200 OK\r\n" DATES "Content-Length: 0\r\n\r\n", -EHOSTUNREACH }, /* no ETag: read it back */
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        char etag[STORE_ETAG_MAX] = "untouched";
        struct server *v = START(table[i].answer);
        assert_int_equal(put(v, STORE_IF_MATCH, etag, NULL), table[i].code);
        assert_string_equal(etag, "untouched");
        assert_int_equal(stop(v), 1);
    }
}

/* Fails if libcurl is free to send it again on a new connection: it does so by itself when a kept one dies without a
 * word. */
static void a_conditional_put_is_not_repeated_by_the_library_either(void **state)
{
    static const char kept[] = "HTTP/1.1 200 OK\r\nETag: \"e1\"\r\nDate: " DATE
                               "\r\nLast-Modified: Tue, 03 Mar 2026 10:00:00 GMT\r\nContent-Length: 1\r\n\r\nx";
    struct server *v = START(kept, "");
    assert_int_equal(get(v, 0, 0, NULL), 1);
    assert_int_equal(put(v, STORE_IF_MATCH, NULL, NULL), -EHOSTUNREACH);
    assert_int_equal(stop(v), 2);
    v = START(kept, "", OK("", 0)); /* what has no condition may be repeated */
    assert_int_equal(get(v, 0, 0, NULL), 1);
    assert_int_equal(put(v, STORE_ALWAYS, NULL, NULL), 0);
    assert_int_equal(stop(v), 3);
}

static void definite_answers_are_not_repeated(void **state)
{
    struct error e = { 0 };
    struct server *v = START(ERROR("404", "NoSuchKey"));
    assert_int_equal(get(v, 0, 0, &e), -ENOENT);
    assert_int_equal(e.kind, ERROR_UNKNOWN);
    assert_int_equal(stop(v), 1);
    v = START(ERROR("404", "NoSuchBucket"));
    assert_int_equal(get(v, 0, 0, &e), -EHOSTUNREACH);
    assert_int_equal(e.kind, ERROR_STORE);
    assert_int_equal(stop(v), 1);
    v = START(ERROR("403", "InvalidAccessKeyId"));
    assert_int_equal(get(v, 0, 0, &e), -EACCES);
    assert_non_null(strstr(e.text, "InvalidAccessKeyId"));
    assert_int_equal(stop(v), 1);
    v = START(ERROR("301", "PermanentRedirect"));
    assert_int_equal(get(v, 0, 0, &e), -EACCES);
    assert_int_equal(stop(v), 1);
}

static void a_wrong_clock_is_corrected_once(void **state)
{
    static const char *const answers[REQUESTS_MAX] = { ERROR("403", "RequestTimeTooSkewed"), OK("", 0), OK("1", 1) };
    struct server *v = start(answers, 7200);
    assert_int_equal(put(v, STORE_IF_MATCH, NULL, NULL), 0); /* refused for the clock: certainly not applied */
    assert_int_equal(get(v, 0, 0, NULL), 1);
    assert_int_equal(stop(v), 3);
    char hour[2][16];
    for (int i = 0; i < 2; i++)
        memcpy(hour[i], strstr(v->requests[i], "x-amz-date: ") + 12, 16);
    assert_memory_not_equal(hour[0], hour[1], 13);
    assert_memory_equal(strstr(v->requests[2], "x-amz-date: ") + 12, hour[1], 11);

    static const char *const stubborn[REQUESTS_MAX] = { ERROR("403", "AccessDenied"), ERROR("403", "AccessDenied") };
    v = start(stubborn, -7200);
    assert_int_equal(get(v, 0, 0, NULL), -EACCES);
    assert_int_equal(stop(v), 2);
}

static void an_object_is_what_was_asked_for_or_an_error(void **state)
{
#define PART(range, body, n)                                                                                           \
    "HTTP/1.1 206 X\r\nETag: \"e1\"\r\nContent-Range: " range "\r\n" DATES "Content-Length: " #n "\r\n\r\n" body
    static const struct {
        uint64_t offset, length;
        const char *answer;
        int result;
    } table[] = {
        { 2, 3, PART("bytes 2-4/9", "234", 3), 3 },
        { 2, 3, PART("bytes 2-3/4", "23", 2), -EBADMSG },   /* shorter */
        { 2, 3, PART("bytes 1-3/9", "123", 3), -EBADMSG },  /* elsewhere */
        { 2, 3, PART("bytes 2-4/9", "2345", 4), -EBADMSG }, /* longer than it says */
        { 2, 3, PART("bytes 2-4/4", "234", 3), -EBADMSG },  /* beyond its own end */
        { 2, 3, PART("bytes 2-4/9x", "234", 3), -EBADMSG },
        { 2, 3, PART("", "234", 3), -EBADMSG },
        { 2, 3, OK("234", 3), -EBADMSG }, /* the range was ignored */
        { 2, 3, ERROR("416", "InvalidRange"), -EBADMSG },
        { 0, 0, OK("0123456789", 10), 10 },
        { 0, 0, OK("0123456789x", 11), -EFBIG },
        { 0, 0, PART("bytes 0-3/9", "0123", 4), -EBADMSG },
        { 0, 0, "HTTP/1.1 200 OK\r\nETag: \"e1\"\r\n" DATES "\r\n0123", -EBADMSG },      /* how long was it? */
        { 0, 0, "HTTP/1.1 200 OK\r\n" DATES "Content-Length: 4\r\n\r\n0123", -EBADMSG }, /* no ETag */
        { 0, 0, "HTTP/1.1 200 OK\r\nETag: \"e1\"\r\nConnection: close\r\nContent-Length: 4\r\n\r\n0123", -EBADMSG },
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        struct server *v = START(table[i].answer);
        assert_int_equal(get(v, table[i].offset, table[i].length, NULL), table[i].result);
        assert_int_equal(stop(v), 1);
    }
}

static void a_body_that_was_cut_off_is_fetched_again(void **state)
{
    struct server *v = START(OK("123", 5), OK("12345", 5));
    assert_int_equal(get(v, 0, 0, NULL), 5);
    assert_int_equal(stop(v), 2);
}

static void silence_ends_after_the_time_limit_and_is_asked_again(void **state)
{
    struct server *v = START("hang", OK("12345", 5));
    assert_int_equal(get(v, 0, 0, NULL), 5);
    assert_int_equal(stop(v), 2);
}

static void *cancel_when_asked(void *arg)
{
    struct server *v = arg;
    while (__atomic_load_n(&v->asked, __ATOMIC_ACQUIRE) == 0)
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    store_cancel(v->store);
    return NULL;
}

static void a_waiting_request_can_be_cancelled(void **state)
{
    pthread_t t;
    struct error e = { 0 };
    struct server *v = START("hang");
    assert_int_equal(pthread_create(&t, NULL, cancel_when_asked, v), 0);
    int64_t started = clock_boot_ns();
    assert_int_equal(put(v, STORE_IF_MATCH, NULL, &e), -ECANCELED);
    assert_int_equal(e.kind, ERROR_INTERRUPTED);
    assert_true(clock_boot_ns() - started < 1800000000); /* before the limit of 2 s */
    pthread_join(t, NULL);
    assert_int_equal(stop(v), 1);
}

#define PAGE(body)                                                                                                     \
    "HTTP/1.1 200 OK\r\n" DATES "\r\n<?xml version=\"1.0\"?><ListBucketResult>" body "</ListBucketResult>"
#define ENTRY(key)                                                                                                     \
    "<Contents><Key>" key "</Key><LastModified>2026-03-03T10:00:00.000Z</LastModified><Size>1</Size></Contents>"
#define MORE "<IsTruncated>true</IsTruncated><NextContinuationToken>t/1+=</NextContinuationToken>"
#define LAST "<IsTruncated>false</IsTruncated>"

static int add_key(void *arg, const char *key, const struct store_info *info, struct error *e)
{
    buf_printf(arg, "%s ", key);
    return 0;
}

static void pages_make_one_list_with_tokens_encoded(void **state)
{
    _cleanup_(buf_release) struct buf keys = { 0 };
    struct server *v = START(PAGE(MORE ENTRY("pre/box/a") ENTRY("pre/box/b/.not-a-key")), PAGE(MORE), ERROR("500", ""),
                             PAGE(ENTRY("pre/box/c") LAST));
    assert_int_equal(store_list(v->store, "box/", add_key, &keys, NULL), 0);
    assert_string_equal(buf_string(&keys), "box/a box/c ");
    assert_int_equal(stop(v), 4);
    assert_memory_equal(v->requests[0], "GET /bucket?list-type=2&max-keys=1000&prefix=pre%2Fbox%2F HTTP", 62);
    assert_memory_equal(v->requests[1], "GET /bucket?continuation-token=t%2F1%2B%3D&list-type=2&", 55);
}

static void a_list_that_cannot_be_true_is_an_error(void **state)
{
    static const char *const answers[] = {
        PAGE(LAST ENTRY("pre/box/b") ENTRY("pre/box/a")),
        PAGE(LAST ENTRY("pre/box/a") ENTRY("pre/box/a")),
        PAGE(LAST ENTRY("pre/hold/a")),
        PAGE(LAST ENTRY("box/a")),
        PAGE(ENTRY("pre/box/a")),
        "HTTP/1.1 200 OK\r\n" DATES
        "\r\n<?xml version=\"1.0\"?><ListBucketResult>" LAST, /* cut, and no length to tell */
        "HTTP/1.1 200 OK\r\n" DATES "\r\n<html>log in</html>",
        "HTTP/1.1 200 OK\r\n" DATES "Content-Length: 0\r\n\r\n",
    };
    _cleanup_(buf_release) struct buf keys = { 0 };
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        struct error e = { 0 };
        struct server *v = START(answers[i]);
        assert_int_equal(store_list(v->store, "box/", add_key, &keys, &e), -EBADMSG);
        assert_int_equal(e.kind, ERROR_DAMAGED);
        assert_int_equal(stop(v), 1);
    }
    struct server *v = START(PAGE(MORE ENTRY("pre/box/a")), PAGE(MORE ENTRY("pre/box/a"))); /* goes round */
    assert_int_equal(store_list(v->store, "box/", add_key, &keys, NULL), -EBADMSG);
    assert_int_equal(stop(v), 2);
    v = START(PAGE(MORE ENTRY("pre/box/a")), ERROR("404", "NoSuchBucket"));
    assert_int_equal(store_list(v->store, "box/", add_key, &keys, NULL), -EHOSTUNREACH);
    assert_int_equal(stop(v), 2);
}

#define COMMON(key) "<CommonPrefixes><Prefix>" key "</Prefix></CommonPrefixes>"

static int add_name(void *arg, const char *name, struct error *e)
{
    buf_printf(arg, "%s ", name);
    return 0;
}

static void names_come_from_common_prefixes_over_all_pages(void **state)
{
    _cleanup_(buf_release) struct buf names = { 0 };
    struct server *v =
        START(PAGE(MORE "<Prefix>pre/box/</Prefix>" ENTRY("pre/box/x") COMMON("pre/box/a-b/") COMMON("pre/box/a/")),
              PAGE("<IsTruncated>true</IsTruncated><NextContinuationToken>u</NextContinuationToken>"),
              PAGE(COMMON("pre/box/.hidden/") COMMON("pre/box/c/") LAST));
    assert_int_equal(store_list_names(v->store, "box/", add_name, &names, NULL), -EBADMSG); /* '.' sorts before 'a' */
    assert_int_equal(stop(v), 3);
    buf_clear(&names);
    v = START(PAGE(MORE COMMON("pre/box/a-b/") COMMON("pre/box/a/")), PAGE(COMMON("pre/box/c/") LAST));
    assert_int_equal(store_list_names(v->store, "box/", add_name, &names, NULL), 0);
    assert_string_equal(buf_string(&names), "a-b a c ");
    assert_int_equal(stop(v), 2);
    assert_memory_equal(v->requests[0], "GET /bucket?delimiter=%2F&list-type=2&max-keys=1000&prefix=pre%2Fbox%2F HTTP",
                        76);
    assert_memory_equal(v->requests[1], "GET /bucket?continuation-token=t%2F1%2B%3D&delimiter=%2F&list-type=2&", 69);
}

/* Each of these would make a box disappear, or one that is none appear. */
static void names_that_cannot_be_true_are_an_error(void **state)
{
    static const char *const answers[] = {
        PAGE(LAST COMMON("pre/box/b/") COMMON("pre/box/a/")),
        PAGE(LAST COMMON("pre/box/a/") COMMON("pre/box/a/")),
        PAGE(LAST COMMON("pre/hold/a/")),
        PAGE(LAST COMMON("pre/box/a")),
        PAGE(LAST COMMON("pre/box/a/b/")),
        PAGE(LAST COMMON("pre/box/")),
        PAGE(COMMON("pre/box/a/")),
    };
    _cleanup_(buf_release) struct buf names = { 0 };
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        struct error e = { 0 };
        struct server *v = START(answers[i]);
        assert_int_equal(store_list_names(v->store, "box/", add_name, &names, &e), -EBADMSG);
        assert_int_equal(e.kind, ERROR_DAMAGED);
        assert_int_equal(stop(v), 1);
    }
    struct server *v = START(PAGE(MORE), PAGE(MORE)); /* goes round */
    assert_int_equal(store_list_names(v->store, "box/", add_name, &names, NULL), -EBADMSG);
    assert_int_equal(stop(v), 2);
}

static void removal_of_what_is_gone_succeeds(void **state)
{
    struct server *v =
        START(ERROR("404", "NoSuchKey"), "HTTP/1.1 204 X\r\n" DATES "\r\n", ERROR("404", "NoSuchBucket"));
    assert_int_equal(store_remove(v->store, "box/a/hold/1", NULL), 0);
    assert_int_equal(store_remove(v->store, "box/a/hold/1", NULL), 0);
    assert_int_equal(store_remove(v->store, "box/a/hold/1", NULL), -EHOSTUNREACH);
    assert_int_equal(stop(v), 3);
}

static void the_age_is_the_server_s(void **state)
{
    struct store_info info;
    static const char *const answers[REQUESTS_MAX] = { "HTTP/1.1 200 OK\r\nETag: W/\"x\"\r\n" DATES
                                                       "Content-Length: 77\r\n\r\n" };
    struct server *v = start(answers, 100);
    assert_int_equal(store_stat(v->store, "box/a/head", &info, NULL), 0);
    assert_int_equal(stop(v), 1);
    assert_memory_equal(v->requests[0], "HEAD /bucket/pre/", 17);
    assert_string_equal(info.etag, "W/\"x\"");
    assert_int_equal(info.size, 77);
    assert_true(info.modified_ns == 1772532000000000000);
    int64_t off = info.now_ns - clock_wall_ns();
    assert_true(off > 95000000000 && off < 101000000000);
}

static void wait_until_accepted(const struct server *v, unsigned count)
{
    for (unsigned i = 0; i < 10000 && __atomic_load_n(&v->accepted, __ATOMIC_ACQUIRE) < count; i++)
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    assert_int_equal(v->accepted, count);
}

static void a_connection_is_opened_before_there_is_a_request_for_it(void **state)
{
    static const char *const answers[] = { OK("body", 4), NULL };
    struct server *v = start(answers, 0);
    _cleanup_(buf_release) struct buf b = { 0 };
    store_expect(v->store, 1);
    wait_until_accepted(v, 1);
    assert_int_equal(v->asked, 0);
    assert_int_equal(store_get(v->store, "k", 0, 0, 100, &b, NULL, NULL), 0);
    assert_int_equal(v->accepted, 1); /* no other one was needed */
    assert_int_equal(stop(v), 1);
}

/* A conditional PUT on it would be in doubt. */
static void a_connection_that_was_closed_meanwhile_is_not_used(void **state)
{
    static const char *const answers[] = { OK("", 0), NULL };
    struct server *v = start(answers, 0);
    __atomic_store_n(&v->deaf, 1, __ATOMIC_RELEASE);
    store_expect(v->store, 1);
    wait_until_accepted(v, 1);
    assert_int_equal(
        store_put(v->store, "k", (struct bytes){ (const uint8_t *)"x", 1 }, STORE_IF_ABSENT, NULL, NULL, NULL), 0);
    assert_int_equal(v->accepted, 2);
    assert_int_equal(stop(v), 1);
}

static void behind_a_proxy_no_connection_is_opened_ahead(void **state)
{
    setenv("https_proxy", "http://127.0.0.1:1", 1); /* refuses */
    scheme = "https";
    struct server *v = START(NULL);
    store_expect(v->store, 1);
    assert_true(get(v, 0, 0, NULL) == -EHOSTUNREACH && v->accepted == 0);
    unsetenv("https_proxy");
    scheme = "http";
    assert_int_equal(stop(v), 0);
}

static void a_missing_or_odd_setting_is_a_usage_error(void **state)
{
    static const struct store_config bad[] = {
        { .url = "s3://bucket", .access_key = "a", .secret_key = "s" },
        { .url = "s3://bucket", .endpoint = "https://h", .secret_key = "s" },
        { .url = "s3://bucket", .endpoint = "https://h", .access_key = "a", .secret_key = "" },
        { .url = "s3://b", .endpoint = "https://h", .access_key = "a", .secret_key = "s" },
        { .url = "s3://bucket/../x", .endpoint = "https://h", .access_key = "a", .secret_key = "s" },
        { .url = "s3://bucket", .endpoint = "ftp://h", .access_key = "a", .secret_key = "s" },
        { .url = "s3://bucket", .endpoint = "https://h/path", .access_key = "a", .secret_key = "s" },
        { .url = "s3://bucket", .endpoint = "https://user@h", .access_key = "a", .secret_key = "s" },
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct error e = { 0 };
        struct store *s = NULL;
        assert_int_equal(store_open(&bad[i], &s, &e), -EINVAL);
        assert_int_equal(e.kind, ERROR_USAGE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_is_path_style_signed_and_without_expect),
        cmocka_unit_test(what_may_pass_is_repeated),
        cmocka_unit_test(each_attempt_is_signed_anew),
        cmocka_unit_test(an_outage_ends_as_one),
        cmocka_unit_test(a_conditional_put_is_sent_once),
        cmocka_unit_test(a_conditional_put_is_not_repeated_by_the_library_either),
        cmocka_unit_test(definite_answers_are_not_repeated),
        cmocka_unit_test(a_wrong_clock_is_corrected_once),
        cmocka_unit_test(an_object_is_what_was_asked_for_or_an_error),
        cmocka_unit_test(a_body_that_was_cut_off_is_fetched_again),
        cmocka_unit_test(silence_ends_after_the_time_limit_and_is_asked_again),
        cmocka_unit_test(a_waiting_request_can_be_cancelled),
        cmocka_unit_test(pages_make_one_list_with_tokens_encoded),
        cmocka_unit_test(a_list_that_cannot_be_true_is_an_error),
        cmocka_unit_test(names_come_from_common_prefixes_over_all_pages),
        cmocka_unit_test(names_that_cannot_be_true_are_an_error),
        cmocka_unit_test(removal_of_what_is_gone_succeeds),
        cmocka_unit_test(the_age_is_the_server_s),
        cmocka_unit_test(a_connection_is_opened_before_there_is_a_request_for_it),
        cmocka_unit_test(a_connection_that_was_closed_meanwhile_is_not_used),
        cmocka_unit_test(behind_a_proxy_no_connection_is_opened_ahead),
        cmocka_unit_test(a_missing_or_odd_setting_is_a_usage_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
