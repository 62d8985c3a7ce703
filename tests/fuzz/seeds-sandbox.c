/* SPDX-License-Identifier: MIT */
#include "index/base/mem.h"
#include "sandbox/frame.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/seeds.h"

#include <signal.h>

static char *const env[] = { (char *)"TERM=xterm-256color", (char *)"A=", NULL };
static char *const argv[] = { (char *)"sh", (char *)"-c", (char *)"echo $A", (char *)"", NULL };

static void start(struct buf *b, bool tty, bool detach)
{
    struct frame_start s = { tty,           detach,      tty ? 24 : 0, tty ? 80 : 0, (char *)(tty ? "" : "/root/demo"),
                             (char **)argv, (char **)env };
    REQUIRE(frame_put_start(b, &s, NULL) == 0);
}

void seeds_sandbox(void (*write)(const char *fuzzer, const char *name, struct bytes seed))
{
    _cleanup_(buf_release) struct buf client = { 0 }, detached = { 0 }, boxinit = { 0 }, refused = { 0 };
    start(&client, true, false);
    frame_put(&client, FRAME_IN, "ls\r", 3);
    frame_put_size(&client, 50, 132);
    frame_put_u32(&client, FRAME_SIGNAL, SIGTERM);
    frame_put(&client, FRAME_IN_END, NULL, 0);
    write("frame", "client", buf_bytes(&client));
    start(&detached, false, true);
    write("frame", "detached", buf_bytes(&detached));

    frame_put_u32(&boxinit, FRAME_STARTED, 17);
    frame_put(&boxinit, FRAME_OUT, "out\n", 4);
    frame_put_u32(&boxinit, FRAME_MORE, 3);
    frame_put(&boxinit, FRAME_ERR, "err\n", 4);
    frame_put_exit(&boxinit, &(struct frame_exit){ FRAME_KILLED, SIGKILL });
    write("frame", "boxinit", buf_bytes(&boxinit));
    frame_put_refusal(&refused, &(struct frame_refusal){ FRAME_STAGE_PROGRAM, 2 });
    frame_put_exit(&refused, &(struct frame_exit){ FRAME_DETACHED, 0 });
    write("frame", "refused", buf_bytes(&refused));
}
