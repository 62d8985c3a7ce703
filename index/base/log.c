/* SPDX-License-Identifier: MIT */
#include "index/base/log.h"

#include "index/base/fd.h"
#include "index/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Index: enum log_level. The numbers are syslog's. */
static const struct {
    const char *name;
    const char *prefix;
} levels[] = {
    [LOG_LEVEL_DEBUG] = { "debug", "<7>" },
    [LOG_LEVEL_INFO] = { "info", "<6>" },
    [LOG_LEVEL_WARN] = { "warn", "<4>" },
};

static atomic_int threshold = LOG_LEVEL_WARN;
static pthread_once_t started = PTHREAD_ONCE_INIT;
static bool to_journal;
static const char *older; /* NULL: no limit */
static uint64_t older_bytes;

static void start(void)
{
    enum log_level level;
    const char *word = getenv("AGBOX_LOG");
    if (word && log_parse_level(word, &level) == 0)
        threshold = (int)level;

    unsigned long long device, inode;
    struct stat st;
    const char *stream = getenv("JOURNAL_STREAM");
    to_journal = stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 && fstat(STDERR_FILENO, &st) == 0 &&
                 st.st_dev == device && st.st_ino == inode;
}

/* By copying: every process that appends to it goes on at its new beginning. */
static void begin_anew(void)
{
    char piece[64 * 1024];
    _cleanup_close_ int from = open("/proc/self/fd/2", O_RDONLY | O_CLOEXEC);
    _cleanup_close_ int to = from < 0 ? -1 : open(older, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    for (ssize_t n; to >= 0 && (n = read(from, piece, sizeof(piece))) > 0;)
        if (fd_write_all(to, piece, (size_t)n, NULL) < 0)
            break;
    (void)!ftruncate(STDERR_FILENO, 0); /* also where the older one could not be written: the disk may be full */
}

static void keep_small(void)
{
    static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
    struct stat st;
    if (!older || pthread_mutex_trylock(&turn) != 0)
        return;
    if (fstat(STDERR_FILENO, &st) == 0 && S_ISREG(st.st_mode) && (uint64_t)st.st_size > older_bytes)
        begin_anew();
    pthread_mutex_unlock(&turn);
}

void log_limit(const char *name, uint64_t bytes)
{
    older = name;
    older_bytes = bytes;
}

void log_set_level(enum log_level level)
{
    pthread_once(&started, start);
    threshold = (int)level;
}

int log_parse_level(const char *word, enum log_level *ret)
{
    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
        if (strcmp(word, levels[i].name) != 0)
            continue;
        *ret = (enum log_level)i;
        return 0;
    }
    return -EINVAL;
}

static void say(enum log_level level, const char *fmt, va_list args)
{
    pthread_once(&started, start);
    if ((int)level < threshold)
        return;

    char line[2048];
    int head = snprintf(line, sizeof(line), "%sag-box: ", to_journal ? levels[level].prefix : "");
    int text = vsnprintf(line + head, sizeof(line) - (size_t)head - 1, fmt, args);
    if (text < 0)
        return;
    size_t len = strlen(line);
    for (size_t i = 0; i < len; i++) {
        /* What a name from outside holds must not start another line, nor move a terminal's cursor. */
        if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f)
            line[i] = '?';
    }
    line[len++] = '\n';
    fd_write_all(STDERR_FILENO, line, len, NULL);
    keep_small();
}

void log_debug(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    say(LOG_LEVEL_DEBUG, fmt, args);
    va_end(args);
}

void log_info(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    say(LOG_LEVEL_INFO, fmt, args);
    va_end(args);
}

void log_warn(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    say(LOG_LEVEL_WARN, fmt, args);
    va_end(args);
}
