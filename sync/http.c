/* SPDX-License-Identifier: MIT */
#include "sync/http.h"

#include "index/base/clock.h"
#include "index/base/log.h"
#include "index/base/mem.h"
#include "sync/http-line.h"
#include "sync/spare.h"

#include <curl/curl.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define IDLE_MAX 16 /* handles (each with its connection) kept for later */
#define CONNECT_LIMIT_S 15
#define TRANSFER_BUFFER (256L << 10)
#define SILENCE_NS (10 * 1000000000LL) /* after so much of it, it is told */

struct http_pool {
    unsigned timeout_s;
    const int *stop;
    int told;              /* that there is no answer: once until there is one */
    pthread_mutex_t mutex; /* of idle */
    CURL *idle[IDLE_MAX];
    unsigned idle_count;
    struct spares *spares;
    CURLSH *share;
    pthread_mutex_t shared[CURL_LOCK_DATA_LAST];
};

struct transfer {
    CURL *curl;
    struct http_pool *pool;
    curl_off_t moved; /* bytes, both ways, when it was looked last */
    int64_t moved_ns;
    int spare; /* the socket, if it was one of them; -1 */
    const struct http_request *request;
    struct http_answer *answer;
    size_t given; /* bytes of a body that is sent once */
};

static void start_curl(void)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
}

static void share_lock(CURL *h, curl_lock_data data, curl_lock_access access, void *p)
{
    pthread_mutex_lock(&((struct http_pool *)p)->shared[data]);
}

static void share_unlock(CURL *h, curl_lock_data data, void *p)
{
    pthread_mutex_unlock(&((struct http_pool *)p)->shared[data]);
}

int http_pool_new(unsigned timeout_s, const int *stop, struct http_pool **ret, struct error *e)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start_curl);
    CURLSH *share = curl_share_init();
    if (!share)
        return error_set(e, ERROR_FAILED, -ENOMEM, "curl_share_init");
    struct http_pool *p = mem_new(1, sizeof(*p));
    p->timeout_s = timeout_s;
    p->stop = stop;
    p->spares = spares_new();
    p->share = share;
    pthread_mutex_init(&p->mutex, NULL);
    for (size_t i = 0; i < CURL_LOCK_DATA_LAST; i++)
        pthread_mutex_init(&p->shared[i], NULL);
    curl_share_setopt(share, CURLSHOPT_LOCKFUNC, share_lock);
    curl_share_setopt(share, CURLSHOPT_UNLOCKFUNC, share_unlock);
    curl_share_setopt(share, CURLSHOPT_USERDATA, p);
    curl_share_setopt(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_DNS);
    curl_share_setopt(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
    *ret = p;
    return 0;
}

void http_pool_free(struct http_pool *p)
{
    if (!p)
        return;
    spares_free(p->spares);
    while (p->idle_count > 0)
        curl_easy_cleanup(p->idle[--p->idle_count]);
    curl_share_cleanup(p->share);
    for (size_t i = 0; i < CURL_LOCK_DATA_LAST; i++)
        pthread_mutex_destroy(&p->shared[i]);
    pthread_mutex_destroy(&p->mutex);
    free(p);
}

/* The one used last comes first: its connection is the likeliest to live. */
static CURL *handle_take(struct http_pool *p)
{
    CURL *h = NULL;
    pthread_mutex_lock(&p->mutex);
    if (p->idle_count > 0)
        h = p->idle[--p->idle_count];
    pthread_mutex_unlock(&p->mutex);
    return h ? h : curl_easy_init();
}

static void handle_give(struct http_pool *p, CURL *h)
{
    curl_easy_reset(h); /* keeps the connection */
    pthread_mutex_lock(&p->mutex);
    if (p->idle_count < IDLE_MAX) {
        p->idle[p->idle_count++] = h;
        h = NULL;
    }
    pthread_mutex_unlock(&p->mutex);
    if (h)
        curl_easy_cleanup(h);
}

void http_answer_release(struct http_answer *a)
{
    buf_release(&a->body);
}

static bool successful(const struct transfer *t)
{
    long status = 0;
    curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &status);
    return status >= 200 && status < 300;
}

static size_t take_body(char *data, size_t one, size_t n, void *arg)
{
    struct transfer *t = arg;
    struct http_answer *a = t->answer;
    bool success = successful(t);
    size_t max = success ? t->request->max : HTTP_ERROR_BODY_MAX;
    size_t left = max - a->body.len;
    if (a->body.len == 0 && a->length > 0 && (uint64_t)a->length <= max)
        buf_reserve(&a->body, (size_t)a->length);
    buf_add(&a->body, data, n < left ? n : left);
    if (n <= left || !success)
        return n;
    a->too_large = true;
    return 0; /* ends the transfer */
}

static size_t take_header(char *line, size_t one, size_t len, void *arg)
{
    http_line_take(((struct transfer *)arg)->answer, (struct bytes){ (const uint8_t *)line, len });
    return len;
}

/* Whoever waits is to know for what. */
static void tell_silence(struct transfer *t)
{
    const char *host = strstr(t->request->url, "://");
    size_t n = host ? (size_t)(host - t->request->url) + 3 + strcspn(host + 3, "/") : 0;
    if (__atomic_exchange_n(&t->pool->told, 1, __ATOMIC_RELAXED) == 0)
        log_warn("%.*s has not answered for %lld s, and is waited for", (int)n, t->request->url,
                 SILENCE_NS / 1000000000);
}

/* Called by libcurl about every second. */
static int look(void *arg, curl_off_t to_come, curl_off_t came, curl_off_t to_go, curl_off_t went)
{
    struct transfer *t = arg;
    int64_t now = clock_boot_ns();
    if (came + went != t->moved) {
        t->moved = came + went;
        t->moved_ns = now;
    } else if (now - t->moved_ns >= SILENCE_NS)
        tell_silence(t);
    return __atomic_load_n(t->pool->stop, __ATOMIC_RELAXED) != 0;
}

static struct curl_slist *header_list(const struct http_request *q)
{
    /* Curl's own that nobody signed and a store may refuse. */
    struct curl_slist *list = curl_slist_append(curl_slist_append(NULL, "Expect:"), "Content-Type:");
    for (size_t i = 0; i < q->header_count; i++) {
        _cleanup_free_ char *line = mem_printf("%s: %s", q->headers[i].name, q->headers[i].value);
        list = curl_slist_append(list, line);
    }
    return list;
}

static void set_limits(struct transfer *t)
{
    struct http_pool *p = t->pool;
    CURL *h = t->curl;
    long timeout = (long)p->timeout_s;
    curl_easy_setopt(h, CURLOPT_SHARE, p->share);
    curl_easy_setopt(h, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(h, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(h, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(h, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(h, CURLOPT_CONNECTTIMEOUT, timeout < CONNECT_LIMIT_S ? timeout : CONNECT_LIMIT_S);
    curl_easy_setopt(h, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(h, CURLOPT_LOW_SPEED_TIME, timeout);
    curl_easy_setopt(h, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(h, CURLOPT_BUFFERSIZE, TRANSFER_BUFFER);
    curl_easy_setopt(h, CURLOPT_UPLOAD_BUFFERSIZE, TRANSFER_BUFFER);
    curl_easy_setopt(h, CURLOPT_USERAGENT, "ag-box/" AGBOX_VERSION);
    curl_easy_setopt(h, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(h, CURLOPT_XFERINFOFUNCTION, look);
    curl_easy_setopt(h, CURLOPT_XFERINFODATA, t);
}

static size_t give_body(char *to, size_t one, size_t room, void *arg)
{
    struct transfer *t = arg;
    size_t left = t->request->body.len - t->given, n = left < room ? left : room;
    memcpy(to, t->request->body.data + t->given, n);
    t->given += n;
    return n;
}

/* A body from a callback that cannot go back is one that libcurl cannot send again (CURLE_SEND_FAIL_REWIND). */
static void set_body(struct transfer *t)
{
    const struct http_request *q = t->request;
    if (q->once && q->body.len > 0) {
        curl_easy_setopt(t->curl, CURLOPT_UPLOAD, 1L);
        curl_easy_setopt(t->curl, CURLOPT_READFUNCTION, give_body);
        curl_easy_setopt(t->curl, CURLOPT_READDATA, t);
        curl_easy_setopt(t->curl, CURLOPT_INFILESIZE_LARGE, (curl_off_t)q->body.len);
    } else { /* from memory, without a copy */
        curl_easy_setopt(t->curl, CURLOPT_POSTFIELDS, q->body.len ? (const char *)q->body.data : "");
        curl_easy_setopt(t->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)q->body.len);
    }
}

static curl_socket_t open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *a)
{
    struct transfer *t = arg;
    t->spare = purpose == CURLSOCKTYPE_IPCXN && a->socktype == SOCK_STREAM
                   ? spares_take(t->pool->spares, &a->addr, a->addrlen)
                   : -1;
    return t->spare >= 0 ? t->spare : socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);
}

static int use_socket(void *arg, curl_socket_t fd, curlsocktype purpose)
{
    return fd == ((struct transfer *)arg)->spare ? CURL_SOCKOPT_ALREADY_CONNECTED : CURL_SOCKOPT_OK;
}

static void set_sockets(struct transfer *t)
{
    curl_easy_setopt(t->curl, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    curl_easy_setopt(t->curl, CURLOPT_OPENSOCKETDATA, t);
    curl_easy_setopt(t->curl, CURLOPT_SOCKOPTFUNCTION, use_socket);
    curl_easy_setopt(t->curl, CURLOPT_SOCKOPTDATA, t);
}

static void set_request(struct transfer *t)
{
    const struct http_request *q = t->request;
    curl_easy_setopt(t->curl, CURLOPT_URL, q->url);
    curl_easy_setopt(t->curl, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(t->curl, CURLOPT_WRITEDATA, t);
    curl_easy_setopt(t->curl, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(t->curl, CURLOPT_HEADERDATA, t);
    if (strcmp(q->method, "HEAD") == 0) {
        curl_easy_setopt(t->curl, CURLOPT_NOBODY, 1L);
        return;
    }
    if (strcmp(q->method, "PUT") == 0)
        set_body(t);
    curl_easy_setopt(t->curl, CURLOPT_CUSTOMREQUEST, q->method);
}

static int outcome(struct transfer *t, CURLcode code, const char *detail, struct error *e)
{
    long status = 0, sent = 0;
    curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(t->curl, CURLINFO_REQUEST_SIZE, &sent);
    t->answer->status = (int)status;
    t->answer->sent = sent > 0;
    if (status > 0)
        __atomic_store_n(&t->pool->told, 0, __ATOMIC_RELAXED);
    if (code == CURLE_OK || (code == CURLE_WRITE_ERROR && t->answer->too_large))
        return 0;
    if (code == CURLE_ABORTED_BY_CALLBACK)
        return error_say(e, ERROR_INTERRUPTED, -ECANCELED, "interrupted");
    return error_say(e, ERROR_STORE, -EHOSTUNREACH, "%s", *detail ? detail : curl_easy_strerror(code));
}

int http_perform(struct http_pool *p, const struct http_request *q, struct http_answer *ret, struct error *e)
{
    http_answer_release(ret);
    *ret = (struct http_answer){ .length = -1 };
    struct transfer t = {
        .curl = handle_take(p), .pool = p, .moved_ns = clock_boot_ns(), .spare = -1, .request = q, .answer = ret
    };
    if (!t.curl)
        return error_set(e, ERROR_FAILED, -ENOMEM, "curl_easy_init");
    char detail[CURL_ERROR_SIZE] = "";
    struct curl_slist *headers = header_list(q);
    set_limits(&t);
    set_sockets(&t);
    set_request(&t);
    curl_easy_setopt(t.curl, CURLOPT_ERRORBUFFER, detail);
    curl_easy_setopt(t.curl, CURLOPT_HTTPHEADER, headers);
    CURLcode code = curl_easy_perform(t.curl);
    int r = outcome(&t, code, detail, e);
    handle_give(p, t.curl);
    curl_slist_free_all(headers);
    return r;
}

void http_pool_expect(struct http_pool *p, const char *url, unsigned requests)
{
    spares_open(p->spares, url, requests, p->share, p->stop);
}
