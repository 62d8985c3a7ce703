/* SPDX-License-Identifier: MIT */
#include "sync/spare.h"

#include "index/base/clock.h"
#include "index/base/mem.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <time.h>

#define CONNECT_LIMIT_S 15L
#define LOOK_MS 500                    /* at stop */
#define WAIT_NS 1000000000LL           /* for one that is on its way */
#define AGE_MAX_NS (10 * 1000000000LL) /* servers hang up on who says nothing */

struct spares {
    pthread_mutex_t lock; /* everything below but what the thread was begun with */
    pthread_cond_t changed;
    int fds[SPARES_MAX];
    unsigned count, coming, waiting;
    int64_t opened_ns; /* the last */
    bool ended;        /* spares_free */

    char *url; /* libcurl's */
    void *share;
    const int *stop;
    CURLM *multi; /* NULL: not begun */
    pthread_t thread;
};

struct spares *spares_new(void)
{
    struct spares *s = mem_new(1, sizeof(*s));
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&s->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&s->lock, NULL);
    return s;
}

static bool ended(struct spares *s)
{
    pthread_mutex_lock(&s->lock);
    bool end = s->ended;
    pthread_mutex_unlock(&s->lock);
    return end || __atomic_load_n(s->stop, __ATOMIC_RELAXED) != 0;
}

/* One came, or none will: -1. */
static void arrived(struct spares *s, int fd)
{
    pthread_mutex_lock(&s->lock);
    s->coming--;
    if (fd >= 0)
        s->fds[s->count++] = fd;
    s->opened_ns = clock_boot_ns();
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

static CURL *begin(const struct spares *s)
{
    CURL *h = curl_easy_init();
    if (!h)
        return NULL;
    curl_easy_setopt(h, CURLOPT_URL, s->url);
    curl_easy_setopt(h, CURLOPT_CONNECT_ONLY, 1L);
    curl_easy_setopt(h, CURLOPT_SHARE, (CURLSH *)s->share);
    curl_easy_setopt(h, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(h, CURLOPT_CONNECTTIMEOUT, CONNECT_LIMIT_S);
    if (curl_multi_add_handle(s->multi, h) == CURLM_OK)
        return h;
    curl_easy_cleanup(h);
    return NULL;
}

/* The socket is libcurl's, which closes it with the handle: a copy of the descriptor keeps the connection. */
static void collect(struct spares *s)
{
    int left;
    for (CURLMsg *m; (m = curl_multi_info_read(s->multi, &left));) {
        curl_socket_t fd = CURL_SOCKET_BAD;
        if (m->msg != CURLMSG_DONE)
            continue;
        if (m->data.result == CURLE_OK)
            curl_easy_getinfo(m->easy_handle, CURLINFO_ACTIVESOCKET, &fd);
        arrived(s, fd == CURL_SOCKET_BAD ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 3));
    }
}

static void *work(void *arg)
{
    struct spares *s = arg;
    CURL *handles[SPARES_MAX] = { 0 };
    unsigned count = s->coming; /* nobody else changes it before the first arrives */
    for (unsigned i = 0; i < count; i++) {
        handles[i] = begin(s);
        if (!handles[i])
            arrived(s, -1);
    }
    for (int running = 1; running && !ended(s);) {
        curl_multi_perform(s->multi, &running);
        collect(s);
        if (running)
            curl_multi_poll(s->multi, NULL, 0, LOOK_MS, NULL);
    }
    for (unsigned i = 0; i < count; i++) {
        if (handles[i])
            curl_multi_remove_handle(s->multi, handles[i]);
        curl_easy_cleanup(handles[i]);
    }
    pthread_mutex_lock(&s->lock);
    s->coming = 0; /* it was ended */
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* Requests then go to another server than url's, which this one may not even reach: they would wait for nothing. */
static bool is_proxied(void)
{
    static const char *const names[] = { "http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY" };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *value = getenv(names[i]);
        if (value && *value)
            return true;
    }
    return false;
}

/* The same place as a plain one: of https libcurl would begin TLS, too. NULL: there is none. */
static char *plain_url(const char *url)
{
    CURLU *u = curl_url();
    char *port = NULL, *plain = NULL;
    if (u && curl_url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK &&
        curl_url_get(u, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK &&
        curl_url_set(u, CURLUPART_SCHEME, "http", 0) == CURLUE_OK &&
        curl_url_set(u, CURLUPART_PORT, port, 0) == CURLUE_OK)
        curl_url_get(u, CURLUPART_URL, &plain, 0);
    curl_free(port);
    curl_url_cleanup(u);
    return plain;
}

void spares_open(struct spares *s, const char *url, unsigned count, void *share, const int *stop)
{
    pthread_mutex_lock(&s->lock);
    if (!s->multi && count > 0 && !is_proxied() && (s->url = plain_url(url)) && (s->multi = curl_multi_init())) {
        s->share = share;
        s->stop = stop;
        s->coming = count < SPARES_MAX ? count : SPARES_MAX;
        if (pthread_create(&s->thread, NULL, work, s) != 0) {
            s->coming = 0;
            curl_multi_cleanup(s->multi);
            s->multi = NULL;
        }
    }
    pthread_mutex_unlock(&s->lock);
}

/* Has the server hung up meanwhile, or said what nobody asked for? */
static bool alive(int fd)
{
    char byte;
    return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

static bool leads_to(int fd, const struct sockaddr *to, size_t len)
{
    struct sockaddr_storage peer = { 0 };
    socklen_t peer_len = sizeof(peer);
    return getpeername(fd, (struct sockaddr *)&peer, &peer_len) == 0 && peer_len == len && memcmp(&peer, to, len) == 0;
}

int spares_take(struct spares *s, const struct sockaddr *to, size_t len)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += WAIT_NS / 1000000000;
    int fd = -1;
    pthread_mutex_lock(&s->lock);
    s->waiting++;
    while (s->count == 0 && s->coming >= s->waiting && !s->ended)
        if (pthread_cond_timedwait(&s->changed, &s->lock, &until) != 0)
            break;
    s->waiting--;
    bool fresh = clock_boot_ns() - s->opened_ns < AGE_MAX_NS;
    for (unsigned i = s->count; i-- > 0 && fd < 0;) {
        bool good = fresh && alive(s->fds[i]);
        if (good && !leads_to(s->fds[i], to, len)) /* a name may have several addresses */
            continue;
        if (good)
            fd = s->fds[i];
        else
            close(s->fds[i]);
        s->fds[i] = s->fds[--s->count];
    }
    pthread_mutex_unlock(&s->lock);
    return fd;
}

void spares_free(struct spares *s)
{
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    s->ended = true;
    pthread_mutex_unlock(&s->lock);
    if (s->multi) {
        curl_multi_wakeup(s->multi);
        pthread_join(s->thread, NULL);
        curl_multi_cleanup(s->multi);
    }
    for (unsigned i = 0; i < s->count; i++)
        close(s->fds[i]);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
    curl_free(s->url);
    free(s);
}
