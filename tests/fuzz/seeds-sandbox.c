/* SPDX-License-Identifier: MIT */
#include "index/base/mem.h"
#include "sandbox/message.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/seeds.h"

#include <signal.h>

static char *const env[] = { (char *)"TERM=xterm-256color", (char *)"A=", NULL };
static char *const argv[] = { (char *)"sh", (char *)"-c", (char *)"echo $A", (char *)"", NULL };

static void start(struct buf *b, bool tty, bool detach)
{
    struct message_start s = {
        tty, detach, tty ? 24 : 0, tty ? 80 : 0, (char *)(tty ? "" : "/root/demo"), (char **)argv, (char **)env
    };
    REQUIRE(message_put_start(b, &s, NULL) == 0);
}

static void replies(uint8_t asked, const struct message_exit *x, struct buf *b)
{
    buf_add(b, &asked, 1);
    if (!x) {
        message_put_refusal(b, &(struct message_refusal){ MESSAGE_STAGE_DIRECTORY, 2 });
        return;
    }
    message_put_u32(b, MESSAGE_STARTED, 17);
    message_put(b, MESSAGE_OUT, "out\n", 4);
    message_put_u32(b, MESSAGE_MORE, 300);
    if (!(asked & 1))
        message_put(b, MESSAGE_ERR, "err\n", 4);
    message_put_exit(b, x);
}

void seeds_sandbox(void (*write)(const char *fuzzer, const char *name, struct bytes seed))
{
    _cleanup_(buf_release) struct buf client = { 0 }, detached = { 0 }, boxinit = { 0 }, refused = { 0 };
    start(&client, true, false);
    message_put(&client, MESSAGE_IN, "ls\r", 3);
    message_put_size(&client, 50, 132);
    message_put_u32(&client, MESSAGE_SIGNAL, SIGTERM);
    message_put(&client, MESSAGE_IN_END, NULL, 0);
    write("message", "client", buf_bytes(&client));
    start(&detached, false, true);
    write("message", "detached", buf_bytes(&detached));

    message_put_u32(&boxinit, MESSAGE_STARTED, 17);
    message_put(&boxinit, MESSAGE_OUT, "out\n", 4);
    message_put_u32(&boxinit, MESSAGE_MORE, 3);
    message_put(&boxinit, MESSAGE_ERR, "err\n", 4);
    message_put_exit(&boxinit, &(struct message_exit){ MESSAGE_KILLED, SIGKILL });
    write("message", "boxinit", buf_bytes(&boxinit));
    message_put_refusal(&refused, &(struct message_refusal){ MESSAGE_STAGE_PROGRAM, 2 });
    message_put_exit(&refused, &(struct message_exit){ MESSAGE_DETACHED, 0 });
    write("message", "refused", buf_bytes(&refused));

    static const struct message_exit exits[] = { { MESSAGE_EXITED, 3 },
                                                 { MESSAGE_KILLED, 9 },
                                                 { MESSAGE_DETACHED, 0 } };
    for (uint8_t i = 0; i < 4; i++) {
        static const char *const names[] = { "plain", "tty", "detached", "refused" };
        _cleanup_(buf_release) struct buf b = { 0 };
        replies(i, i < 3 ? &exits[i] : NULL, &b);
        write("replies", names[i], buf_bytes(&b));
    }
}
