/* SPDX-License-Identifier: MIT */

/*
 * fault-s3 serve [--address A] [--port N] [--bucket NAME] [--access-key K] [--secret-key K] [--rate] - an S3 server in
 * memory, on loopback or at A, that makes mistakes when told to. Prints its port, then runs until a signal ends it.
 *
 * fault-s3 ask PORT COMMAND… - tells it (control.h).
 */
#include "index/base/clock.h"
#include "index/base/mem.h"
#include "tests/fault/ask.h"
#include "tests/fault/control.h"

#include <arpa/inet.h>
#include <getopt.h>
#include <microhttpd.h>
#include <signal.h>
#include <stdio.h>

#define BODY_MAX (64u * 1024 * 1024)
#define PIECE 16384 /* of a body at once, so that bandwidth is shared fairly */

struct exchange {
    struct server *server;
    char *uri;
    bool begun, control, too_large, stalled;
    struct request request;
    struct answer answer;
    struct visit_id visit;
};

static void *exchange_new(void *server, const char *uri, struct MHD_Connection *connection)
{
    struct exchange *x = mem_new(1, sizeof(*x));
    x->server = server;
    x->uri = mem_strdup(uri);
    x->answer = ANSWER_NONE;
    return x;
}

static void exchange_free(void *server, struct MHD_Connection *connection, void **arg,
                          enum MHD_RequestTerminationCode why)
{
    struct exchange *x = *arg;
    if (!x)
        return;
    request_release(&x->request);
    answer_release(&x->answer);
    free(x->uri);
    free(x);
    *arg = NULL;
}

static enum MHD_Result take_header(void *arg, enum MHD_ValueKind kind, const char *name, const char *value)
{
    struct exchange *x = arg;
    request_add_header(&x->request, name, value ? value : "");
    return MHD_YES;
}

/* R2 sends no "100 Continue". libmicrohttpd cannot be told so, but it looks at the header when this call is over. */
static void hide_expect(struct MHD_Connection *connection)
{
    char *value = (char *)MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Expect");
    if (value && *value)
        *value = '-';
}

static enum MHD_Result begin(struct exchange *x, struct MHD_Connection *connection, const char *method)
{
    request_set(&x->request, method, x->uri);
    MHD_get_connection_values(connection, MHD_HEADER_KIND, take_header, x);
    hide_expect(connection);
    x->control = strcmp(x->request.path, "/.fault") == 0;
    x->begun = true;
    return MHD_YES;
}

static void take_body(struct exchange *x, const char *data, size_t n)
{
    if (x->request.body.len + n > BODY_MAX)
        x->too_large = true;
    for (size_t at = 0; at < n && !x->too_large; at += PIECE) {
        size_t piece = n - at < PIECE ? n - at : PIECE;
        if (!x->control)
            shape_carry(&x->server->shape, SHAPE_UP, piece);
        buf_add(&x->request.body, data + at, piece);
    }
}

/* More of the answer's body, with what a rule does to it. */
static ssize_t give_body(void *arg, uint64_t position, char *to, size_t room)
{
    struct exchange *x = arg;
    struct answer *a = &x->answer;
    if (position >= a->cut)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (position >= a->stall_at && !x->stalled) {
        x->stalled = true;
        shape_sleep_until(clock_boot_ns() + a->stall_ms * 1000000ll);
    }
    size_t n = a->body.len - position;
    size_t limits[] = { room, PIECE, a->cut - position, x->stalled ? SIZE_MAX : a->stall_at - position };
    for (size_t i = 0; i < 4; i++)
        n = n < limits[i] ? n : limits[i];
    if (!x->control)
        shape_carry(&x->server->shape, SHAPE_DOWN, n);
    memcpy(to, a->body.data + position, n);
    if (!x->control && (position + n == a->body.len || position + n == a->cut))
        server_sent(x->server, x->visit, a, position + n);
    return (ssize_t)n;
}

static enum MHD_Result respond(struct exchange *x, struct MHD_Connection *connection)
{
    struct answer *a = &x->answer;
    bool head = strcmp(x->request.method, "HEAD") == 0;
    if (!x->control && (a->status == 0 || head || a->body.len == 0))
        server_sent(x->server, x->visit, a, 0);
    if (a->status == 0)
        return MHD_NO;
    struct MHD_Response *r = a->body.len ? MHD_create_response_from_callback(a->body.len, PIECE, give_body, x, NULL)
                                         : MHD_create_response_from_buffer(0, (void *)"", MHD_RESPMEM_PERSISTENT);
    for (size_t i = 0; i < a->header_count; i++)
        MHD_add_response_header(r, a->headers[i].name, a->headers[i].value);
    enum MHD_Result result = MHD_queue_response(connection, a->status, r);
    MHD_destroy_response(r);
    return result;
}

static enum MHD_Result handle(void *server, struct MHD_Connection *connection, const char *url, const char *method,
                              const char *version, const char *data, size_t *size, void **arg)
{
    struct exchange *x = *arg;
    if (!x->begun)
        return begin(x, connection, method);
    if (*size > 0) {
        take_body(x, data, *size);
        *size = 0;
        return MHD_YES;
    }
    if (x->too_large)
        return MHD_NO;
    if (x->control) {
        const char *wrong = control_handle(x->server, buf_bytes(&x->request.body), &x->answer.body);
        x->answer.status = wrong ? 400 : 200;
        if (wrong)
            buf_printf(&x->answer.body, "fault: %s\n", wrong);
    } else {
        x->visit = server_process(x->server, &x->request, &x->answer);
    }
    return respond(x, connection);
}

/* -1: usage */
static int parse_options(struct server *s, int argc, char **argv, struct in_addr *address)
{
    static const struct option options[] = { { "port", 1, NULL, 'p' },
                                             { "bucket", 1, NULL, 'b' },
                                             { "access-key", 1, NULL, 'a' },
                                             { "secret-key", 1, NULL, 's' },
                                             { "rate", 0, NULL, 'r' },
                                             { "address", 1, NULL, 'A' },
                                             { 0 } };
    int port = 0;
    for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (o == 'p')
            port = atoi(optarg);
        else if (o == 'b')
            s->bucket = optarg;
        else if (o == 'a')
            s->s3.access_key = optarg;
        else if (o == 's')
            s->s3.secret_key = optarg;
        else if (o == 'r')
            s->s3.one_write_a_second = true;
        else if (o != 'A' || inet_pton(AF_INET, optarg, address) != 1)
            return -1;
    }
    return optind == argc ? port : -1;
}

static struct MHD_Daemon *listen_on(struct server *s, struct in_addr address, int port)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr = address };
    unsigned flags =
        MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL | MHD_USE_SUPPRESS_DATE_NO_CLOCK;
    return MHD_start_daemon(flags, 0, NULL, NULL, handle, s, MHD_OPTION_SOCK_ADDR, &at, MHD_OPTION_URI_LOG_CALLBACK,
                            exchange_new, s, MHD_OPTION_NOTIFY_COMPLETED, exchange_free, s,
                            MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)1 << 18, MHD_OPTION_END);
}

static int serve(struct server *s, struct in_addr address, int port)
{
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    signal(SIGPIPE, SIG_IGN);
    objects_add_bucket(&s->s3.objects, s->bucket);
    struct MHD_Daemon *d = listen_on(s, address, port);
    if (!d) {
        fprintf(stderr, "fault-s3: cannot listen on port %d\n", port);
        return 1;
    }
    printf("%u\n", MHD_get_daemon_info(d, MHD_DAEMON_INFO_BIND_PORT)->port);
    fflush(stdout);
    int signal_number;
    sigwait(&ends, &signal_number);
    _exit(0); /* threads may be in a stall */
}

int main(int argc, char **argv)
{
    static struct server server;
    server_init(&server);
    server.bucket = "boxes";
    server.s3.access_key = "fault";
    server.s3.secret_key = "fault-secret";
    struct in_addr address = { htonl(INADDR_LOOPBACK) };
    int port = argc > 1 && strcmp(argv[1], "serve") == 0 ? parse_options(&server, argc - 1, argv + 1, &address) : -1;
    if (port >= 0)
        return serve(&server, address, port);
    if (argc > 3 && strcmp(argv[1], "ask") == 0)
        return ask(argv[2], argv + 3, argc - 3);
    fprintf(
        stderr,
        "usage: fault-s3 serve [--address A] [--port N] [--bucket NAME] [--access-key K] [--secret-key K] [--rate]\n"
        "       fault-s3 ask PORT COMMAND...\n");
    return 2;
}
