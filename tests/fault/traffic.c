/* SPDX-License-Identifier: MIT */
#include "tests/fault/traffic.h"

#include "index/base/clock.h"
#include "index/base/mem.h"
#include "index/base/trace.h"

#include <fnmatch.h>
#include <stdio.h>

enum { CLASS_COUNT = 8 };
static const char *const classes[CLASS_COUNT] = {
    "config", "head", "pack", "snap", "hold", "fork", "condemned", "other"
};

static int class_of(const char *key)
{
    const char *part = key;
    if (strncmp(key, "globals/", 8) == 0)
        part = key + 8;
    else if (strncmp(key, "box/", 4) == 0)
        part = key + 4 + strcspn(key + 4, "/");
    part += *part == '/';
    size_t len = strcspn(part, "/");
    int i = 0;
    while (i < CLASS_COUNT - 1 && (strlen(classes[i]) != len || strncmp(classes[i], part, len) != 0))
        i++;
    return i;
}

struct visit_id traffic_begin(struct traffic *f, const struct s3_target *t, uint64_t bytes_in)
{
    f->all = mem_grow(f->all, f->count + 1, sizeof(*f->all));
    f->all[f->count] = (struct visit){ .operation = t->operation,
                                       .key = mem_strdup(t->key),
                                       .began_us = clock_boot_ns() / 1000,
                                       .in = bytes_in,
                                       .depth = f->deepest_ended + 1 };
    return (struct visit_id){ f->generation, f->count++ };
}

void traffic_handled(struct traffic *f, struct visit_id id, bool committed)
{
    if (id.generation == f->generation)
        f->all[id.index].committed = committed;
}

void traffic_end(struct traffic *f, struct visit_id id, unsigned status, uint64_t bytes_out)
{
    if (id.generation != f->generation)
        return;
    struct visit *v = &f->all[id.index];
    v->status = status;
    v->ended = true;
    v->ended_us = clock_boot_ns() / 1000;
    v->out = bytes_out;
    if (v->depth > f->deepest_ended)
        f->deepest_ended = v->depth;
}

void traffic_reset(struct traffic *f)
{
    for (size_t i = 0; i < f->count; i++)
        free(f->all[i].key);
    free(f->all);
    *f = (struct traffic){ .generation = f->generation + 1 };
}

void traffic_counters(const struct traffic *f, struct buf *to)
{
    unsigned by[S3_OTHER + 1][CLASS_COUNT] = { 0 }, round_trips = 0;
    uint64_t in = 0, out = 0;
    for (size_t i = 0; i < f->count; i++) {
        const struct visit *v = &f->all[i];
        by[v->operation][class_of(v->key)]++;
        in += v->in;
        out += v->out;
        if (v->depth > round_trips)
            round_trips = v->depth;
    }
    buf_printf(to, "{\"requests\":%zu,\"round_trips\":%u,\"bytes_in\":%llu,\"bytes_out\":%llu,\"by\":{", f->count,
               round_trips, (unsigned long long)in, (unsigned long long)out);
    const char *comma = "";
    for (int o = 0; o <= S3_OTHER; o++)
        for (int c = 0; c < CLASS_COUNT; c++)
            if (by[o][c]) {
                buf_printf(to, "%s\"%s %s\":%u", comma, s3_operation_name((enum s3_operation)o), classes[c], by[o][c]);
                comma = ",";
            }
    buf_printf(to, "}}\n");
}

void traffic_log(const struct traffic *f, struct buf *to)
{
    for (size_t i = 0; i < f->count; i++) {
        const struct visit *v = &f->all[i];
        buf_printf(to, "{\"op\":\"%s\",\"key\":\"", s3_operation_name(v->operation));
        trace_escape(to, v->key, strlen(v->key));
        buf_printf(to,
                   "\",\"status\":%u,\"committed\":%s,\"began_us\":%lld,\"ended_us\":%lld,\"bytes_in\":%llu,"
                   "\"bytes_out\":%llu,\"depth\":%u}\n",
                   v->status, v->committed ? "true" : "false", (long long)v->began_us,
                   (long long)(v->ended ? v->ended_us : -1), (unsigned long long)v->in, (unsigned long long)v->out,
                   v->depth);
    }
}

unsigned traffic_count(const struct traffic *f, unsigned operations, const char *key, bool committed)
{
    unsigned n = 0;
    for (size_t i = 0; i < f->count; i++) {
        const struct visit *v = &f->all[i];
        n += (!operations || operations & 1u << v->operation) && (!*key || fnmatch(key, v->key, 0) == 0) &&
             (!committed || v->committed);
    }
    return n;
}
