/* SPDX-License-Identifier: MIT */
#include "index/base/mem.h"
#include "sandbox/message.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/seeds.h"

#include <signal.h>
#include <string.h>

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

#define CLAUDE(token, expiry) "{\"claudeAiOauth\":{\"accessToken\":\"" token "\",\"expiresAt\":" expiry "}}\n"
#define WHO "{\"oauthAccount\":{\"accountUuid\":\"u\",\"organizationUuid\":\"o\"}}\n"
#define CODEX(token) "{\"tokens\":{\"account_id\":\"w\",\"access_token\":\"" token "\"},\"last_refresh\":\"x\"}\n\n"
#define GROK(time) "{\"a::b\":{\"key\":\"k\",\"user_id\":\"u\",\"expires_at\":" time "}}\n\n"

/* The host's login and account, the box's; around 1790000000. */
static void credentials(void (*write)(const char *fuzzer, const char *name, struct bytes seed))
{
    static const struct {
        const char *name, *text;
    } seeds[] = {
        { "claude-to-host", "0" CLAUDE("a", "1790003600000") WHO CLAUDE("b", "1790007200000") WHO },
        { "claude-to-box", "0" CLAUDE("b", "1790007200000") WHO CLAUDE("a", "1790003600000") WHO },
        { "claude-unknown", "0" CLAUDE("a", "1790003600000") "\n" CLAUDE("b", "1790007200000") "\n" },
        { "claude-first", "0" CLAUDE("a", "1790003600000") WHO "\n\n" },
        { "codex-to-host", "1" CODEX("h.eyJleHAiOjE3OTAwMDM2MDAsInN1YiI6InUxIn0.s")
                               CODEX("h.eyJleHAiOjE3OTAwMDcyMDAsInN1YiI6InUxIn0.s") },
        { "codex-other", "1" CODEX("h.eyJleHAiOjE3OTAwMDM2MDAsInN1YiI6InUxIn0.s")
                             CODEX("h.eyJleHAiOjE3OTAwMDcyMDAsInN1YiI6InUyIn0.s") },
        { "codex-bad", "1" CODEX("h.eyJleHAiOjE3OTAwMDM2MDAsInN1YiI6InUxIn0.s") CODEX("h.!.s") },
        { "grok-to-host", "2" GROK("\"2026-10-01T00:00:00Z\"") GROK("\"2026-10-02T00:00:00.5+00:00\"") },
        { "grok-to-box", "2" GROK("1790900000") GROK("\"2026-09-30T00:00:00Z\"") },
        { "grok-month", "2" GROK("1790900000") GROK("\"2026-13-30T00:00:00Z\"") },
        { "grok-nothing", "2" GROK("1790900000") "{}\n\n" },
    };
    for (size_t i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++)
        write("credentials", seeds[i].name, (struct bytes){ (const uint8_t *)seeds[i].text, strlen(seeds[i].text) });
}

static void origins(void (*write)(const char *fuzzer, const char *name, struct bytes seed))
{
    static const struct {
        const char *name, *text;
    } seeds[] = {
        { "claude", "0{\"type\":\"summary\"}\nno JSON\n{\"type\":\"user\",\"cwd\":\"/root/demo/\"}\n" },
        { "claude-none", "0{\"type\":\"summary\"}\n[]\n" },
        { "claude-up", "0{\"cwd\":\"/root/demo/../other\"}" },
        { "codex", "1{\"type\":\"session_meta\",\"payload\":{\"id\":\"1\",\"cwd\":\"/root/demo\"}}\n{}\n" },
        { "codex-other", "1{\"type\":\"event_msg\",\"payload\":{\"cwd\":\"/root/demo\"}}\n" },
        { "codex-relative", "1{\"type\":\"session_meta\",\"payload\":{\"cwd\":\"demo\"}}" },
        { "codex-empty", "1" },
        { "grok", "2%2Froot%2Fa%20b" },
        { "grok-lower", "2%2froot%2fdemo%2f.x" },
        { "grok-bad", "2%2Froot%2" },
        { "grok-nul", "2%2Froot%00" },
        { "grok-slashes", "2%2Froot%2F%2Fdemo" },
    };
    for (size_t i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++)
        write("origin", seeds[i].name, (struct bytes){ (const uint8_t *)seeds[i].text, strlen(seeds[i].text) });
}

void seeds_sandbox(void (*write)(const char *fuzzer, const char *name, struct bytes seed))
{
    _cleanup_(buf_release) struct buf client = { 0 }, detached = { 0 }, boxinit = { 0 }, refused = { 0 };
    credentials(write);
    origins(write);
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
