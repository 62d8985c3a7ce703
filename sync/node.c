/* SPDX-License-Identifier: MIT */
#include "sync/node.h"

#include "index/base/crash.h"
#include "index/base/fd.h"
#include "index/base/lock.h"
#include "index/base/log.h"
#include "index/base/mem.h"
#include "index/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include <sodium.h>

#define FILE_MAX 4096
#define LOCK_MS 10000
#define MACHINE_MAX 128

/* The first line of a small file; "" when there is none. */
static void read_line(const char *path, char *to, size_t room)
{
    _cleanup_(buf_release) struct buf b = { 0 };
    to[0] = 0;
    if (fd_read_file(AT_FDCWD, path, FILE_MAX, &b, NULL) == 0)
        snprintf(to, room, "%.*s", (int)strcspn(buf_string(&b), "\n"), buf_string(&b));
}

/* "STATE NAME MACHINE\n"; anything else is as good as none. */
static bool read_state(int state_dir, const char *name, const char *machine, uint8_t state[8])
{
    _cleanup_(buf_release) struct buf b = { 0 };
    if (fd_read_file(state_dir, "state-id", FILE_MAX, &b, NULL) < 0)
        return false;
    char expected[256];
    snprintf(expected, sizeof(expected), " %s %s\n", name, machine);
    const char *text = buf_string(&b);
    if (b.len > 16 && strcmp(text + 16, expected) == 0 && text_unhex(text, 16, state, 8) == 0)
        return true;
    log_warn("the state directory was made on another machine or under another node name: a new state id is made");
    return false;
}

static int make_state(int state_dir, const char *name, const char *machine, uint8_t state[8], struct error *e)
{
    char hex[17], text[256];
    randombytes_buf(state, 8);
    text_hex(hex, state, 8);
    int n = snprintf(text, sizeof(text), "%s %s %s\n", hex, name, machine);
    crash_point("state-id.before");
    return fd_replace(state_dir, "state-id", text, (size_t)n, e);
}

int node_open(int state_dir, const char *name, const char *machine_id, struct node *ret, struct error *e)
{
    if (!text_is_name(name))
        return error_say(e, ERROR_USAGE, -EINVAL, "%.80s is not a node's name", name);

    struct node n = { 0 };
    char machine[MACHINE_MAX];
    if (machine_id)
        snprintf(machine, sizeof(machine), "%s", machine_id);
    else
        read_line("/etc/machine-id", machine, sizeof(machine));
    snprintf(n.name, sizeof(n.name), "%s", name);
    read_line("/proc/sys/kernel/random/boot_id", n.boot_id, sizeof(n.boot_id));

    _cleanup_close_ int lock = -1;
    int r = lock_take(state_dir, "state-id.lock", LOCK_MS, &lock, e);
    if (r == 0 && !read_state(state_dir, name, machine, n.state))
        r = make_state(state_dir, name, machine, n.state, e);
    if (r < 0)
        return r;
    *ret = n;
    return 0;
}
