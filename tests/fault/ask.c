/* SPDX-License-Identifier: MIT */
#include "tests/fault/ask.h"

#include "index/base/fd.h"
#include "index/base/mem.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <sys/socket.h>

static int dial(const char *port)
{
    struct sockaddr_in to = { .sin_family = AF_INET,
                              .sin_port = htons((uint16_t)atoi(port)),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static void read_all(int fd, struct buf *to)
{
    char part[65536];
    for (ssize_t n; (n = read(fd, part, sizeof(part))) > 0;)
        buf_add(to, part, (size_t)n);
}

int ask(const char *port, char **words, int count)
{
    _cleanup_(buf_release) struct buf command = { 0 }, request = { 0 }, answer = { 0 };
    for (int i = 0; i < count; i++)
        buf_printf(&command, "%s%s", i ? "\n" : "", words[i]);
    if (count > 0 && strcmp(words[0], "set") == 0) {
        buf_printf(&command, "\n\n");
        read_all(STDIN_FILENO, &command);
    }
    buf_printf(&request, "POST /.fault HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n",
               command.len);
    buf_add(&request, command.data, command.len);

    _cleanup_close_ int fd = dial(port);
    if (fd < 0 || fd_write_all(fd, request.data, request.len, NULL) < 0) {
        fprintf(stderr, "fault: nobody listens on port %s\n", port);
        return 2;
    }
    read_all(fd, &answer);
    unsigned status = 0;
    const char *text = buf_string(&answer), *body = strstr(text, "\r\n\r\n");
    if (!body || sscanf(text, "HTTP/1.1 %u", &status) != 1) {
        fprintf(stderr, "fault: no answer\n");
        return 2;
    }
    body += 4;
    fwrite(body, 1, answer.len - (size_t)(body - text), status == 200 ? stdout : stderr);
    return status == 200 ? 0 : 1;
}
