/* SPDX-License-Identifier: MIT */
#include "sandbox/frame.h"

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
    return (type >= FRAME_START_PART && type <= FRAME_SIZE) || (type >= FRAME_STARTED && type <= FRAME_EXIT);
}

int frame_next(struct bytes bytes, struct frame *ret, size_t *ret_used)
{
    struct wire w = wire_reader(bytes.data, bytes.len);
    if (bytes.len < FRAME_HEAD)
        return 0;
    uint8_t type = wire_u8(&w);
    uint32_t len = wire_u32(&w);
    if (!is_type(type) || len > FRAME_MAX)
        return -EBADMSG;
    if (len > bytes.len - FRAME_HEAD)
        return 0;
    *ret = (struct frame){ type, wire_run(&w, len) };
    *ret_used = FRAME_HEAD + len;
    return 1;
}

void frame_put(struct buf *to, enum frame_type type, const void *payload, size_t len)
{
    wire_put_u8(to, (uint8_t)type);
    wire_put_u32(to, (uint32_t)len);
    buf_add(to, payload, len);
}

/* --- START */

static void put_list(struct buf *b, char *const *list)
{
    size_t count = 0;
    while (list[count])
        count++;
    wire_put_varint(b, count);
    for (size_t i = 0; i < count; i++)
        wire_put_string(b, list[i], strlen(list[i]));
}

int frame_put_start(struct buf *to, const struct frame_start *s, struct error *e)
{
    _cleanup_(buf_release) struct buf b = { 0 };
    wire_put_u8(&b, (uint8_t)((s->tty ? FLAG_TTY : 0) | (s->detach ? FLAG_DETACH : 0)));
    wire_put_u32(&b, s->rows);
    wire_put_u32(&b, s->cols);
    wire_put_string(&b, s->cwd, strlen(s->cwd));
    put_list(&b, s->argv);
    put_list(&b, s->env);
    if (b.len > FRAME_START_MAX)
        return error_say(e, ERROR_USAGE, -E2BIG, "the command and its variables are %zu bytes long, %u at most", b.len,
                         FRAME_START_MAX);
    size_t at = 0;
    for (; b.len - at > FRAME_MAX; at += FRAME_MAX)
        frame_put(to, FRAME_START_PART, b.data + at, FRAME_MAX);
    frame_put(to, FRAME_START, b.data + at, b.len - at);
    return 0;
}

/* A string that C can hold; NULL when there is none. */
static char *take_string(struct wire *w)
{
    struct bytes s = wire_string(w, FRAME_START_MAX);
    if (!w->bad && s.len > 0 && memchr(s.data, '\0', s.len))
        w->bad = true;
    return w->bad ? NULL : mem_copy(s.data ? (const void *)s.data : "", s.len);
}

/* Each string has at least one byte of its own, so the count is bounded by what there is before memory is taken. */
static char **take_list(struct wire *w)
{
    uint64_t count = wire_bounded(w, FRAME_LIST_MAX);
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

int frame_start_decode(struct bytes b, struct frame_start *ret)
{
    struct wire w = wire_reader(b.data, b.len);
    struct frame_start s = { 0 };
    uint8_t flags = wire_u8(&w);
    s.tty = flags & FLAG_TTY;
    s.detach = flags & FLAG_DETACH;
    s.rows = take_u16(&w);
    s.cols = take_u16(&w);
    s.cwd = take_string(&w);
    s.argv = take_list(&w);
    s.env = take_list(&w);
    if (!wire_done(&w) || flags >= (FLAG_TTY | FLAG_DETACH) || !s.argv[0] || !s.argv[0][0] || !are_variables(s.env)) {
        frame_start_release(&s);
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

void frame_start_release(struct frame_start *s)
{
    free(s->cwd);
    free_list(s->argv);
    free_list(s->env);
    *s = (struct frame_start){ 0 };
}

/* --- the short ones */

void frame_put_u32(struct buf *to, enum frame_type type, uint32_t v)
{
    _cleanup_(buf_release) struct buf b = { 0 };
    wire_put_u32(&b, v);
    frame_put(to, type, b.data, b.len);
}

int frame_u32_decode(const struct frame *f, uint32_t *ret)
{
    struct wire w = wire_reader(f->payload.data, f->payload.len);
    uint32_t v = wire_u32(&w);
    uint32_t max = f->type == FRAME_SIGNAL    ? SIGNAL_MAX
                   : f->type == FRAME_STARTED ? PID_MAX
                   : f->type == FRAME_MORE    ? FRAME_WINDOW
                                              : 0;
    if (!wire_done(&w) || v == 0 || v > max)
        return -EBADMSG;
    *ret = v;
    return 0;
}

void frame_put_size(struct buf *to, uint16_t rows, uint16_t cols)
{
    _cleanup_(buf_release) struct buf b = { 0 };
    wire_put_u32(&b, rows);
    wire_put_u32(&b, cols);
    frame_put(to, FRAME_SIZE, b.data, b.len);
}

int frame_size_decode(const struct frame *f, uint16_t *ret_rows, uint16_t *ret_cols)
{
    struct wire w = wire_reader(f->payload.data, f->payload.len);
    uint16_t rows = take_u16(&w), cols = take_u16(&w);
    if (!wire_done(&w))
        return -EBADMSG;
    *ret_rows = rows;
    *ret_cols = cols;
    return 0;
}

void frame_put_refusal(struct buf *to, const struct frame_refusal *r)
{
    _cleanup_(buf_release) struct buf b = { 0 };
    wire_put_u8(&b, (uint8_t)r->stage);
    wire_put_u32(&b, (uint32_t)r->error);
    frame_put(to, FRAME_REFUSED, b.data, b.len);
}

int frame_refusal_decode(const struct frame *f, struct frame_refusal *ret)
{
    struct wire w = wire_reader(f->payload.data, f->payload.len);
    uint8_t stage = wire_u8(&w);
    uint32_t error = wire_u32(&w);
    if (!wire_done(&w) || stage >= FRAME_STAGE_MAX || error == 0 || error > ERRNO_MAX)
        return -EBADMSG;
    *ret = (struct frame_refusal){ (enum frame_stage)stage, (int)error };
    return 0;
}

void frame_put_exit(struct buf *to, const struct frame_exit *x)
{
    uint8_t b[2] = { (uint8_t)x->kind, x->code };
    frame_put(to, FRAME_EXIT, b, sizeof(b));
}

int frame_exit_decode(const struct frame *f, struct frame_exit *ret)
{
    struct wire w = wire_reader(f->payload.data, f->payload.len);
    uint8_t kind = wire_u8(&w), code = wire_u8(&w);
    bool signal = code >= 1 && code <= SIGNAL_MAX;
    if (!wire_done(&w) || kind >= FRAME_EXIT_MAX || (kind == FRAME_KILLED && !signal) ||
        (kind == FRAME_DETACHED && code != 0))
        return -EBADMSG;
    *ret = (struct frame_exit){ (enum frame_exit_kind)kind, code };
    return 0;
}
