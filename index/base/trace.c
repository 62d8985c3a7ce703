/* SPDX-License-Identifier: MIT */
#include "index/base/trace.h"

#include "index/base/clock.h"
#include "index/base/mem.h"
#include "index/base/text.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static pthread_once_t started = PTHREAD_ONCE_INIT;
static const char *file;

static void start(void)
{
    const char *name = getenv("AGBOX_TRACE");
    if (name && *name)
        file = mem_strdup(name);
}

bool trace_on(void)
{
    pthread_once(&started, start);
    return file != NULL;
}

void trace_event(const char *event, const char *fields_fmt, ...)
{
    if (!trace_on())
        return;

    /* Opened anew each time: a daemon that closes all its descriptors must not write its lines into a stranger. */
    _cleanup_close_ int fd = open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0600);
    if (fd < 0)
        return;

    char fields[4096];
    va_list args;
    va_start(args, fields_fmt);
    int n = vsnprintf(fields, sizeof(fields), fields_fmt, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof(fields))
        snprintf(fields, sizeof(fields), "\"cut\":true"); /* half a field would spoil the line */

    _cleanup_(buf_release) struct buf line = { 0 };
    buf_printf(&line, "{\"t\":%" PRId64 ",\"pid\":%d,\"event\":\"%s\"%s%s}\n", clock_boot_ns() / 1000, (int)getpid(),
               event, n ? "," : "", fields);
    if (write(fd, line.data, line.len) < 0)
        return; /* a trace that cannot be written stops nobody */
}

void trace_escape(struct buf *to, const void *p, size_t n)
{
    const uint8_t *at = p;
    bool utf8 = text_is_utf8(p, n);
    for (size_t i = 0; i < n; i++) {
        uint8_t c = at[i];
        if (c == '"' || c == '\\')
            buf_printf(to, "\\%c", c);
        else if (c < 0x20 || c == 0x7f || (c >= 0x80 && !utf8))
            buf_printf(to, "\\u%04x", c);
        else
            buf_add(to, &c, 1);
    }
}
