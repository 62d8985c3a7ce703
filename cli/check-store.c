/* SPDX-License-Identifier: MIT */
#include "cli/check.h"

#include "cli/interrupt.h"
#include "cli/stack.h"
#include "index/base/clock.h"
#include "index/base/mem.h"
#include "index/base/text.h"
#include "index/random.h"
#include "sync/keys.h"

#include <errno.h>
#include <stdio.h>

#define ATTEMPTS 1 /* whoever asks wants to know of an outage now */
#define TIMEOUT_S 10
#define SECOND INT64_C(1000000000)
#define CLOCK_WARN (30 * SECOND)
#define CLOCK_FAIL (5 * 60 * SECOND)

static int reach(struct checking *c, struct error *e)
{
    struct store_config sc;
    struct store_info info;
    int r = config_store(c->config, &sc, e);
    sc.attempts = ATTEMPTS;
    sc.timeout_s = TIMEOUT_S;
    if (r == 0)
        r = store_open(&sc, &c->store, e);
    if (r < 0)
        return r;
    interrupt_watch(c->store);
    r = store_stat(c->store, KEYS_OBJECT, &info, e);
    if (r < 0)
        return r;
    c->our_now_ns = clock_wall_ns();
    c->store_now_ns = info.now_ns;
    return 0;
}

void check_store(struct checking *c, struct check_answer *a)
{
    struct error e = { 0 };
    struct keys keys = { 0 };
    int r = reach(c, &e);
    if (c->store && r < 0)
        stack_no_config(c->config, r, &e);
    if (r < 0)
        check_error(a, "look at the network, and at BOX_STORE and BOX_S3_ENDPOINT in the env file", &e);
    else if (keys_open(c->store, c->config->password, -1, &keys, &e) < 0)
        check_error(a, "the password is BOX_PASSWORD in the env file", &e);
    else
        check_ok(a, "%s answers, and opens with the password", c->store->description);
    keys_release(&keys);
    if (r < 0) {
        interrupt_watch(NULL);
        store_close(c->store);
        c->store = NULL;
    }
}

/* What every command needs to be allowed; the object goes whatever happens. */
void check_rights(struct checking *c, struct check_answer *a)
{
    bool directory = strncmp(c->config->store, "file:", 5) == 0;
    const char *next = directory ? "look at what holds the directory: it is to be writable, and to have room"
                                 : "give the key read and write of this bucket's objects (R2: Object Read & Write)";
    uint8_t random[16];
    char id[33], key[64];
    struct error e = { 0 };
    random_bytes(random, sizeof(random));
    text_hex(id, random, sizeof(random));
    snprintf(key, sizeof(key), "probe/doctor-%s", id);
    _cleanup_(buf_release) struct buf back = { 0 };
    struct bytes data = { (const uint8_t *)id, sizeof(id) };
    const char *what = "written";
    int r = store_put(c->store, key, data, STORE_IF_ABSENT, NULL, NULL, &e);
    if (r == 0) {
        what = "read";
        r = store_get(c->store, key, 0, 0, sizeof(id), &back, NULL, &e);
        if (r == 0 && (back.len != data.len || memcmp(back.data, data.data, data.len) != 0))
            r = error_say(&e, ERROR_DAMAGED, -EBADMSG, "other bytes came back than were sent");
        struct error second = { 0 };
        int removed = store_remove(c->store, key, &second);
        if (r == 0 && removed < 0) {
            what = "deleted";
            r = removed;
            e = second;
        }
    }
    if (r < 0)
        check_fail(a, next, "an object cannot be %s: %s", what, e.text);
    else
        check_ok(a, "objects can be written, read and deleted");
}

void check_clock(struct checking *c, struct check_answer *a)
{
    int64_t apart = c->our_now_ns - c->store_now_ns;
    const char *way = apart > 0 ? "ahead of" : "behind";
    int64_t size = apart < 0 ? -apart : apart;
    static const char next[] = "set the clock: timedatectl set-ntp true";
    if (size > CLOCK_FAIL)
        check_fail(a, next, "this clock is %lld s %s the store's: S3 refuses requests that far apart",
                   (long long)(size / SECOND), way);
    else if (size > CLOCK_WARN)
        check_warn(a, next, "this clock is %lld s %s the store's", (long long)(size / SECOND), way);
    else
        check_ok(a, "less than %lld s from the store's", (long long)(size / SECOND + 1));
}
