/* SPDX-License-Identifier: MIT */
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/place.h"
#include "cli/stack.h"
#include "fusefs/control.h"
#include "index/base/mem.h"
#include "index/base/text.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

#define LOOK_MS 200

/* The daemon's answer is waited for beside, so that progress shows and Ctrl-C is heard. Static: when we are interrupted
 * the waiting thread ends with the process. */
static struct waiting {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    char *socket;
    bool done;
    int result;
    json_t *answer;
    struct error error;
} waiting = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static int ask(const char *command, int timeout_ms, json_t **ret, struct error *e)
{
    json_t *request = json_pack("{s:s}", "command", command);
    int r = control_call(waiting.socket, request, timeout_ms, ret, e);
    json_decref(request);
    return r;
}

static void *wait_for_all(void *arg)
{
    (void)arg;
    struct error e = { 0 };
    json_t *answer = NULL;
    int r = ask("hydrate", -1, &answer, &e);
    pthread_mutex_lock(&waiting.lock);
    waiting.result = r;
    waiting.answer = answer;
    waiting.error = e;
    waiting.done = true;
    pthread_cond_signal(&waiting.changed);
    pthread_mutex_unlock(&waiting.lock);
    return NULL;
}

static void show(struct ui *ui)
{
    json_t *status = NULL;
    if (!ui_shows_progress(ui) || ask("status", LOOK_MS, &status, NULL) < 0)
        return;
    ui_progress(ui, "fetching", 0, (uint64_t)json_integer_value(json_object_get(status, "bytes_done")),
                (uint64_t)json_integer_value(json_object_get(status, "bytes_total")));
    json_decref(status);
}

/* Until the daemon has answered, or Ctrl-C. */
static bool wait_a_little(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += LOOK_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    pthread_mutex_lock(&waiting.lock);
    if (!waiting.done)
        pthread_cond_timedwait(&waiting.changed, &waiting.lock, &until);
    bool done = waiting.done;
    pthread_mutex_unlock(&waiting.lock);
    return done;
}

static int hydrate(struct cmd_context *c, const char *name, struct error *e)
{
    pthread_t thread;
    waiting.socket = place_in_run(c->config, name, "socket");
    int r = pthread_create(&thread, NULL, wait_for_all, NULL);
    if (r != 0)
        return error_set(e, ERROR_FAILED, -r, "start a thread");
    while (!wait_a_little()) {
        show(c->ui);
        r = interrupt_check(e);
        if (r < 0)
            return error_hint(e, "the content of %s goes on coming in the background", name), r;
    }
    pthread_join(thread, NULL);
    ui_progress_end(c->ui);
    free(mem_steal(waiting.socket));
    if (waiting.result < 0) {
        error_pass(e, &waiting.error);
        return error_prefix(e, "hydrate %s", name), waiting.result;
    }
    json_int_t bytes = json_integer_value(json_object_get(waiting.answer, "bytes_total"));
    char size[16];
    text_size(size, (uint64_t)bytes);
    ui_field_integer(c->ui, "bytes", bytes);
    ui_line(c->ui, "everything of %s is here (%s as it is stored)", name, size);
    json_decref(waiting.answer);
    return 0;
}

static int run(struct cmd_context *c, struct error *e)
{
    _cleanup_(stack_close) struct stack s = STACK_NONE;
    int r = stack_open(&s, c->config, c->ui, e);
    if (r == 0)
        r = stack_peek(&s, c->arguments[0], e);
    if (r < 0)
        return r;
    bool fenced = s.record.state == BOX_FENCED; /* its work goes on (rule L5) */
    if (s.record.full && (s.record.state == BOX_FULL_HELD || fenced)) {
        ui_line(c->ui, "%s is in plain directories: everything is here", s.name);
        return 0;
    }
    if (s.record.state != BOX_MOUNTED && !fenced) {
        error_say(e, ERROR_UNKNOWN, -ENOENT, "box %s is not up here", s.name);
        return error_hint(e, "ag-box up %s", s.name);
    }
    return hydrate(c, s.name, e);
}

const struct cmd cmd_hydrate = {
    .name = "hydrate",
    .summary = "fetch everything of a box that is up, and wait for it",
    .arguments = "NAME",
    .arguments_min = 1,
    .arguments_max = 1,
    .run = run,
};
