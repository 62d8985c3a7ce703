/* SPDX-License-Identifier: MIT */

/*
 * relay --rtt MS --bandwidth BITS_PER_SECOND HOST PORT - a line that is longer and thinner than the real one, for
 * benches.
 *
 * Listens on a free port of loopback, prints it, and passes every connection on to HOST:PORT. Each way takes half the
 * round-trip time; nothing a client sends leaves before a whole one after its connection began, as with a handshake.
 * All connections together have the bandwidth, in each direction. Runs until a signal ends it.
 */
#include "index/base/clock.h"
#include "index/base/mem.h"
#include "index/base/text.h"
#include "tests/fault/shape.h"

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>

#define PIECE 16384
#define PIECES 256 /* under way in one direction of one connection: 4 MiB, more than 100 Mbit/s * 300 ms */

struct piece {
    int64_t due_ns;
    size_t len; /* 0: the sender has finished */
    uint8_t data[PIECE];
};

/* One direction of a connection: a thread that reads and stamps, one that writes when the time has come. */
struct lane {
    struct connection *connection;
    int from, to;
    enum shape_way way;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct piece *pieces[PIECES];
    size_t first, count;
    bool broken;     /* the receiver is gone */
    int64_t open_ns; /* the handshake's end: nothing leaves before */
};

struct connection {
    struct lane lanes[2];
    atomic_int threads;
    int client, target;
};

static struct shape shape;
static struct sockaddr_storage target;
static socklen_t target_len;

static bool push(struct lane *l, struct piece *p)
{
    pthread_mutex_lock(&l->lock);
    while (l->count == PIECES && !l->broken)
        pthread_cond_wait(&l->changed, &l->lock);
    bool kept = !l->broken;
    if (kept)
        l->pieces[(l->first + l->count++) % PIECES] = p;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
    return kept;
}

static struct piece *pop(struct lane *l)
{
    pthread_mutex_lock(&l->lock);
    while (l->count == 0)
        pthread_cond_wait(&l->changed, &l->lock);
    struct piece *p = l->pieces[l->first];
    l->first = (l->first + 1) % PIECES;
    l->count--;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
    return p;
}

/* The last of a connection's four threads closes it. */
static void leave(struct connection *c)
{
    if (atomic_fetch_sub(&c->threads, 1) > 1)
        return;
    close(c->client);
    close(c->target);
    for (int i = 0; i < 2; i++) {
        struct lane *l = &c->lanes[i];
        for (; l->count > 0; l->count--, l->first = (l->first + 1) % PIECES)
            free(l->pieces[l->first]);
        pthread_mutex_destroy(&l->lock);
        pthread_cond_destroy(&l->changed);
    }
    free(c);
}

static void *take(void *arg)
{
    struct lane *l = arg;
    bool more = true;
    while (more) {
        struct piece *p = mem_grow(NULL, 1, sizeof(*p));
        ssize_t n;
        while ((n = read(l->from, p->data, PIECE)) < 0 && errno == EINTR)
            ;
        p->len = n > 0 ? (size_t)n : 0;
        int64_t now = clock_boot_ns(), leaves = now > l->open_ns ? now : l->open_ns;
        p->due_ns = leaves + (int64_t)shape.rtt_us * 500;
        more = n > 0;
        if (!push(l, p)) {
            free(p);
            more = false;
        }
    }
    leave(l->connection);
    return NULL;
}

static bool write_piece(int fd, const struct piece *p)
{
    for (size_t at = 0; at < p->len;) {
        ssize_t n = send(fd, p->data + at, p->len - at, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += (size_t)n;
    }
    return true;
}

static void *give(void *arg)
{
    struct lane *l = arg;
    bool more = true;
    while (more) {
        struct piece *p = pop(l);
        shape_sleep_until(p->due_ns);
        shape_carry(&shape, l->way, p->len);
        more = p->len > 0 && write_piece(l->to, p);
        if (!more && p->len > 0) { /* whoever sends is told, too */
            pthread_mutex_lock(&l->lock);
            l->broken = true;
            pthread_cond_broadcast(&l->changed);
            pthread_mutex_unlock(&l->lock);
            shutdown(l->from, SHUT_RD);
        }
        free(p);
    }
    shutdown(l->to, SHUT_WR);
    leave(l->connection);
    return NULL;
}

static void start(void *(*run)(void *), void *arg)
{
    pthread_t t;
    if (pthread_create(&t, NULL, run, arg) != 0)
        abort();
    pthread_detach(t);
}

static void pass_on(int client)
{
    int on = 1, fd = socket(target.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&target, target_len) < 0) {
        close(client);
        if (fd >= 0)
            close(fd);
        return;
    }
    setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    struct connection *c = mem_new(1, sizeof(*c));
    c->client = client;
    c->target = fd;
    atomic_init(&c->threads, 4);
    c->lanes[0] = (struct lane){ .from = client, .to = fd, .way = SHAPE_UP };
    c->lanes[0].open_ns = clock_boot_ns() + (int64_t)shape.rtt_us * 1000;
    c->lanes[1] = (struct lane){ .from = fd, .to = client, .way = SHAPE_DOWN };
    for (int i = 0; i < 2; i++) {
        c->lanes[i].connection = c;
        pthread_mutex_init(&c->lanes[i].lock, NULL);
        pthread_cond_init(&c->lanes[i].changed, NULL);
    }
    for (int i = 0; i < 2; i++) {
        start(take, &c->lanes[i]);
        start(give, &c->lanes[i]);
    }
}

static bool find_target(const char *host, const char *port)
{
    struct addrinfo want = { .ai_socktype = SOCK_STREAM }, *found = NULL;
    if (getaddrinfo(host, port, &want, &found) != 0)
        return false;
    memcpy(&target, found->ai_addr, found->ai_addrlen);
    target_len = found->ai_addrlen;
    freeaddrinfo(found);
    return true;
}

static int listen_on_loopback(void)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, len) < 0 || listen(fd, 128) < 0 ||
        getsockname(fd, (struct sockaddr *)&at, &len) < 0)
        return -1;
    printf("%u\n", ntohs(at.sin_port));
    fflush(stdout);
    return fd;
}

int main(int argc, char **argv)
{
    static const struct option options[] = { { "rtt", 1, NULL, 'r' }, { "bandwidth", 1, NULL, 'b' }, { 0 } };
    uint64_t rtt_ms = 0, bandwidth = 0;
    bool good = true;
    for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;)
        good = good && (o == 'r' || o == 'b') && text_parse_size(optarg, o == 'r' ? &rtt_ms : &bandwidth) == 0;
    if (!good || optind + 2 != argc) {
        fprintf(stderr, "usage: relay [--rtt MS] [--bandwidth BITS_PER_SECOND] HOST PORT\n");
        return 2;
    }
    shape_init(&shape);
    shape_set(&shape, rtt_ms * 1000, bandwidth);
    int fd = find_target(argv[optind], argv[optind + 1]) ? listen_on_loopback() : -1;
    if (fd < 0) {
        fprintf(stderr, "relay: cannot pass on to %s port %s\n", argv[optind], argv[optind + 1]);
        return 1;
    }
    for (int client; (client = accept4(fd, NULL, NULL, SOCK_CLOEXEC)) >= 0 || errno == EINTR || errno == ECONNABORTED;)
        if (client >= 0)
            pass_on(client);
    perror("relay: accept");
    return 1;
}
