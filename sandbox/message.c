/* SPDX-License-Identifier: MIT */
#include "sandbox/message.h"

#include "index/base/mem.h"
#include "index/base/wire.h"

#include <errno.h>

#define FLAG_TTY 1u
#define FLAG_DETACH 2u
#define PID_MAX 4194304u /* of 64 bit kernels: proc(5), pid_max */
#define SIGNAL_MAX 64u
#define ERRNO_MAX 4095u

static bool is_type(uint8_t type)
{
    return (type >= MESSAGE_START_PART && type <= MESSAGE_SIZE) || (type >= MESSAGE_STARTED && type <= MESSAGE_EXIT);
}

int message_next(struct bytes bytes, struct message *ret, size_t *ret_used)
{
    struct wire w = wire_reader(bytes.data, bytes.len);
    if (bytes.len < MESSAGE_HEAD)
        return 0;
    uint8_t type = wire_u8(&w);
    uint32_t len = wire_u32(&w);
    if (!is_type(type) || len > MESSAGE_MAX)
        return -EBADMSG;
    if (len > bytes.len - MESSAGE_HEAD)
        return 0;
    *ret = (struct message){ type, wire_run(&w, len) };
    *ret_used = MESSAGE_HEAD + len;
    return 1;
}

void message_put(struct buf *to, enum message_type type, const void *payload, size_t len)
{
    wire_put_u8(to, (uint8_t)type);
    wire_put_u32(to, (uint32_t)len);
    buf_add(to, payload, len);
}

/* --- START */

static bool put_list(struct buf *b, char *const *list, size_t max)
{
    size_t count = 0;
    while (list[count])
        count++;
    wire_put_varint(b, count);
    for (size_t i = 0; i < count; i++)
        wire_put_string(b, list[i], strlen(list[i]));
    return count <= max;
}

int message_put_start(struct buf *to, const struct message_start *s, struct error *e)
{
    _cleanup_(buf_release) struct buf b = { 0 };
    wire_put_u8(&b, (uint8_t)((s->tty ? FLAG_TTY : 0) | (s->detach ? FLAG_DETACH : 0)));
    wire_put_u32(&b, s->rows);
    wire_put_u32(&b, s->cols);
    wire_put_string(&b, s->cwd, strlen(s->cwd));
    bool fits = put_list(&b, s->argv, MESSAGE_ARGV_MAX);
    fits &= put_list(&b, s->env, MESSAGE_ENV_MAX);
    if (!fits || b.len > MESSAGE_START_MAX)
        return error_say(e, ERROR_USAGE, -E2BIG, "the command is too long: %zu bytes with its variables, %u at most",
                         b.len, MESSAGE_START_MAX);
    size_t at = 0;
    for (; b.len - at > MESSAGE_MAX; at += MESSAGE_MAX)
        message_put(to, MESSAGE_START_PART, b.data + at, MESSAGE_MAX);
    message_put(to, MESSAGE_START, b.data + at, b.len - at);
    return 0;
}

/* A string that C can hold; NULL when there is none. */
static char *take_string(struct wire *w)
{
    struct bytes s = wire_string(w, MESSAGE_START_MAX);
    if (!w->bad && s.len > 0 && memchr(s.data, '\0', s.len))
        w->bad = true;
    return w->bad ? NULL : mem_copy(s.data ? (const void *)s.data : "", s.len);
}

/* Each string has at least one byte of its own, so the count is bounded by what there is before memory is taken. */
static char **take_list(struct wire *w, size_t max)
{
    uint64_t count = wire_bounded(w, max);
    if (count > (uint64_t)(w->end - w->at))
        w->bad = true;
    if (w->bad)
        return NULL;
    char **list = mem_new((size_t)count + 1, sizeof(*list));
    for (uint64_t i = 0; i < count && !w->bad; i++)
        list[i] = take_string(w);
    return list;
}

static bool are_variables(char *const *env)
{
    for (; *env; env++)
        if ((*env)[0] == '=' || !strchr(*env, '='))
            return false;
    return true;
}

static uint16_t take_u16(struct wire *w)
{
    uint32_t v = wire_u32(w);
    if (v > UINT16_MAX)
        w->bad = true;
    return w->bad ? 0 : (uint16_t)v;
}

int message_start_decode(struct bytes b, struct message_start *ret)
{
    struct wire w = wire_reader(b.data, b.len);
    struct message_start s = { 0 };
    uint8_t flags = wire_u8(&w);
    s.tty = flags & FLAG_TTY;
    s.detach = flags & FLAG_DETACH;
    s.rows = take_u16(&w);
    s.cols = take_u16(&w);
    s.cwd = take_string(&w);
    s.argv = take_list(&w, MESSAGE_ARGV_MAX);
    s.env = take_list(&w, MESSAGE_ENV_MAX);
    if (!wire_done(&w) || flags >= (FLAG_TTY | FLAG_DETACH) || !s.argv || !s.argv[0] || !s.argv[0][0] || !s.env ||
        !are_variables(s.env)) {
        message_start_release(&s);
        return -EBADMSG;
    }
    *ret = s;
    return 0;
}

static void free_list(char **list)
{
    for (size_t i = 0; list && list[i]; i++)
        free(list[i]);
    free(list);
}

void message_start_release(struct message_start *s)
{
    free(s->cwd);
    free_list(s->argv);
    free_list(s->env);
    *s = (struct message_start){ 0 };
}

/* --- the short ones */

void message_put_u32(struct buf *to, enum message_type type, uint32_t v)
{
    _cleanup_(buf_release) struct buf b = { 0 };
    wire_put_u32(&b, v);
    message_put(to, type, b.data, b.len);
}

int message_u32_decode(const struct message *f, uint32_t *ret)
{
    struct wire w = wire_reader(f->payload.data, f->payload.len);
    uint32_t v = wire_u32(&w);
    uint32_t max = f->type == MESSAGE_SIGNAL    ? SIGNAL_MAX
                   : f->type == MESSAGE_STARTED ? PID_MAX
                   : f->type == MESSAGE_MORE    ? MESSAGE_WINDOW
                                                : 0;
    if (!wire_done(&w) || v == 0 || v > max)
        return -EBADMSG;
    *ret = v;
    return 0;
}

void message_put_size(struct buf *to, uint16_t rows, uint16_t cols)
{
    _cleanup_(buf_release) struct buf b = { 0 };
    wire_put_u32(&b, rows);
    wire_put_u32(&b, cols);
    message_put(to, MESSAGE_SIZE, b.data, b.len);
}

int message_size_decode(const struct message *f, uint16_t *ret_rows, uint16_t *ret_cols)
{
    struct wire w = wire_reader(f->payload.data, f->payload.len);
    uint16_t rows = take_u16(&w), cols = take_u16(&w);
    if (!wire_done(&w))
        return -EBADMSG;
    *ret_rows = rows;
    *ret_cols = cols;
    return 0;
}

void message_put_refusal(struct buf *to, const struct message_refusal *r)
{
    _cleanup_(buf_release) struct buf b = { 0 };
    wire_put_u8(&b, (uint8_t)r->stage);
    wire_put_u32(&b, (uint32_t)r->error);
    message_put(to, MESSAGE_REFUSED, b.data, b.len);
}

int message_refusal_decode(const struct message *f, struct message_refusal *ret)
{
    struct wire w = wire_reader(f->payload.data, f->payload.len);
    uint8_t stage = wire_u8(&w);
    uint32_t error = wire_u32(&w);
    if (!wire_done(&w) || stage >= MESSAGE_STAGE_MAX || error == 0 || error > ERRNO_MAX)
        return -EBADMSG;
    *ret = (struct message_refusal){ (enum message_stage)stage, (int)error };
    return 0;
}

void message_put_exit(struct buf *to, const struct message_exit *x)
{
    uint8_t b[2] = { (uint8_t)x->kind, x->code };
    message_put(to, MESSAGE_EXIT, b, sizeof(b));
}

int message_exit_decode(const struct message *f, struct message_exit *ret)
{
    struct wire w = wire_reader(f->payload.data, f->payload.len);
    uint8_t kind = wire_u8(&w), code = wire_u8(&w);
    bool signal = code >= 1 && code <= SIGNAL_MAX;
    if (!wire_done(&w) || kind >= MESSAGE_EXIT_MAX || (kind == MESSAGE_KILLED && !signal) ||
        (kind == MESSAGE_DETACHED && code != 0))
        return -EBADMSG;
    *ret = (struct message_exit){ (enum message_exit_kind)kind, code };
    return 0;
}
