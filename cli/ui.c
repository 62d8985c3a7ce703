/* SPDX-License-Identifier: MIT */
#include "cli/ui.h"

#include "cli/interrupt.h"
#include "index/base/clock.h"
#include "index/base/fd.h"
#include "index/base/mem.h"
#include "index/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct ui {
    bool json, terminal, passed_on;
    const char *json_file;
    int success, failure; /* exit codes; failure 0: the kind's own */
    int unwritten;        /* errno of the first write to stdout that failed; 0: none */
    json_t *result;
    pthread_mutex_t lock; /* of the progress line and the warnings */
    int64_t shown_ns, begun_ns;
    bool line_open;
    char phase[32];
};

struct ui *ui_new(void)
{
    struct ui *ui = mem_new(1, sizeof(*ui));
    ui->terminal = isatty(STDERR_FILENO) != 0;
    ui->result = json_object();
    pthread_mutex_init(&ui->lock, NULL);
    return ui;
}

void ui_free(struct ui *ui)
{
    json_decref(ui->result);
    pthread_mutex_destroy(&ui->lock);
    free(ui);
}

void ui_set_json(struct ui *ui, bool on)
{
    ui->json = on;
}

bool ui_json(const struct ui *ui)
{
    return ui->json;
}

void ui_set_json_file(struct ui *ui, const char *path)
{
    ui->json_file = path;
}

void ui_set_exit(struct ui *ui, int success, int failure)
{
    ui->success = success;
    ui->failure = failure;
}

/* Messages may hold what others named: their control characters do not reach a terminal, and JSON wants UTF-8. */
static char *presentable(const char *text)
{
    bool clean = text_is_utf8(text, strlen(text));
    for (const unsigned char *p = (const unsigned char *)text; *p && clean; p++)
        clean = *p >= ' ' && *p != 0x7f && !(*p == 0xc2 && p[1] < 0xa0); /* U+0080 to U+009F, some terminals' too */
    if (clean)
        return mem_strdup(text);
    _cleanup_(buf_release) struct buf b = { 0 };
    text_escape(&b, text, strlen(text));
    return mem_strdup(buf_string(&b));
}

static char *formatted(const char *fmt, va_list args)
{
    _cleanup_free_ char *text = mem_vprintf(fmt, args);
    return presentable(text);
}

static json_t *message(const char *text)
{
    _cleanup_free_ char *shown = presentable(text);
    return json_string(shown);
}

/* Whoever stops reading has what he wants. Of what else could not be written the reason is kept for the end. */
static bool flush(struct ui *ui)
{
    int why = ferror(stdout) ? EIO : 0; /* an earlier write, whose reason is gone */
    if (fflush(stdout) != 0)
        why = errno;
    clearerr(stdout);
    if (why != EPIPE && ui->unwritten == 0)
        ui->unwritten = why;
    return why == 0;
}

void ui_line(struct ui *ui, const char *fmt, ...)
{
    if (ui->json)
        return;
    ui_progress_end(ui);
    va_list args;
    va_start(args, fmt);
    _cleanup_free_ char *shown = formatted(fmt, args);
    va_end(args);
    puts(shown);
    flush(ui); /* whoever waits for a line of a command that stays */
}

void ui_bytes(struct ui *ui, const void *p, size_t n)
{
    if (!ui->json)
        fwrite(p, 1, n, stdout);
}

void ui_text(struct ui *ui, const char *text)
{
    ui_bytes(ui, text, strlen(text));
    ui_bytes(ui, "\n", 1);
}

void ui_note(struct ui *ui, const char *fmt, ...)
{
    if (ui->json)
        return;
    ui_progress_end(ui);
    va_list args;
    va_start(args, fmt);
    _cleanup_free_ char *shown = formatted(fmt, args);
    va_end(args);
    fprintf(stderr, "%s\n", shown);
}

void ui_warn(struct ui *ui, const char *fmt, ...)
{
    ui_progress_end(ui);
    va_list args;
    va_start(args, fmt);
    _cleanup_free_ char *shown = formatted(fmt, args);
    va_end(args);
    fprintf(stderr, "ag-box: warning: %s\n", shown);

    pthread_mutex_lock(&ui->lock);
    json_t *list = json_object_get(ui->result, "warnings");
    if (!list) {
        list = json_array();
        json_object_set_new(ui->result, "warnings", list);
    }
    json_array_append_new(list, json_string(shown));
    pthread_mutex_unlock(&ui->lock);
}

void ui_field(struct ui *ui, const char *key, json_t *value)
{
    json_object_set_new(ui->result, key, value);
}

void ui_field_text(struct ui *ui, const char *key, const char *value)
{
    ui_field(ui, key, json_string(value));
}

void ui_field_integer(struct ui *ui, const char *key, int64_t value)
{
    ui_field(ui, key, json_integer(value));
}

void ui_path_into(json_t *object, const char *key, const void *path, size_t len)
{
    _cleanup_(buf_release) struct buf text = { 0 };
    text_escape(&text, path, len);
    json_object_set_new(object, key, json_string(buf_string(&text)));
    if (text_is_utf8(path, len))
        return;
    char b64_key[64];
    snprintf(b64_key, sizeof(b64_key), "%s_b64", key);
    buf_clear(&text);
    text_base64(path, len, &text);
    json_object_set_new(object, b64_key, json_string(buf_string(&text)));
}

void ui_field_path(struct ui *ui, const char *key, const char *path)
{
    ui_path_into(ui->result, key, path, strlen(path));
}

static void show_progress(struct ui *ui, uint64_t files, uint64_t bytes, uint64_t total, int64_t now)
{
    char done[16], of[16] = "", rate[16], line[160];
    uint64_t elapsed_ms = (uint64_t)(now - ui->begun_ns) / 1000000 + 1, per_second = bytes * 1000 / elapsed_ms;
    text_size(done, bytes);
    text_size(of, total);
    text_size(rate, per_second);
    int n = snprintf(line, sizeof(line), "%s  %s%s%s", ui->phase, done, total ? " / " : "", total ? of : "");
    if (files)
        n += snprintf(line + n, sizeof(line) - (size_t)n, "  %s", TEXT_COUNT(files, "file"));
    n += snprintf(line + n, sizeof(line) - (size_t)n, "  %s/s", rate);
    if (total > bytes && per_second) {
        unsigned left = (unsigned)((total - bytes) / per_second);
        snprintf(line + n, sizeof(line) - (size_t)n, "  %u:%02u left", left / 60, left % 60);
    }
    fprintf(stderr, "\r\033[K%s", line);
    fflush(stderr);
    ui->line_open = true;
}

bool ui_shows_progress(const struct ui *ui)
{
    return !ui->json && ui->terminal;
}

void ui_progress(struct ui *ui, const char *phase, uint64_t files, uint64_t bytes, uint64_t total)
{
    if (!ui_shows_progress(ui))
        return;
    int64_t now = clock_boot_ns();
    pthread_mutex_lock(&ui->lock);
    if (strcmp(ui->phase, phase) != 0) {
        snprintf(ui->phase, sizeof(ui->phase), "%s", phase);
        ui->begun_ns = now;
    }
    if (now - ui->shown_ns > 100000000) {
        ui->shown_ns = now;
        show_progress(ui, files, bytes, total, now);
    }
    pthread_mutex_unlock(&ui->lock);
}

void ui_progress_end(struct ui *ui)
{
    pthread_mutex_lock(&ui->lock);
    if (ui->line_open)
        fputs("\r\033[K", stderr);
    ui->line_open = false;
    ui->shown_ns = 0;
    ui->phase[0] = '\0';
    pthread_mutex_unlock(&ui->lock);
}

void ui_phase(struct ui *ui, const char *name, int64_t nanoseconds)
{
    json_t *phases = json_object_get(ui->result, "phases");
    if (!phases) {
        phases = json_object();
        json_object_set_new(ui->result, "phases", phases);
    }
    json_object_set_new(phases, name, json_integer(nanoseconds / 1000000));
    char time[16];
    text_duration(time, (uint64_t)nanoseconds / 1000000);
    ui_line(ui, "  %-10s %s", name, time);
}

bool ui_confirm(struct ui *ui, const char *question, const char *word)
{
    if (!isatty(STDIN_FILENO))
        return false;
    ui_progress_end(ui);
    fprintf(stderr, "%s\ntype %s to go on: ", question, word);
    char answer[128];
    if (interrupt_wait(STDIN_FILENO, NULL) < 0 || !fgets(answer, sizeof(answer), stdin))
        return false;
    answer[strcspn(answer, "\n")] = '\0';
    return strcmp(answer, word) == 0;
}

static int exit_code(const struct ui *ui, int r, const struct error *e)
{
    return r >= 0 ? ui->success : ui->failure ? ui->failure : error_exit_code(e->kind);
}

/* The one object, with a newline. */
static char *json_line(struct ui *ui, int r, const struct error *e)
{
    json_t *object = json_object();
    json_object_set_new(object, "v", json_integer(1));
    json_object_set_new(object, "ok", json_boolean(r >= 0));
    if (r < 0) {
        json_object_set_new(object, "code", json_integer(exit_code(ui, r, e)));
        json_object_set_new(object, "kind", json_string(error_kind_name(e->kind)));
        json_object_set_new(object, "message", message(e->text));
        if (e->hint[0])
            json_object_set_new(object, "hint", message(e->hint));
    }
    json_object_update_missing(object, ui->result);
    _cleanup_free_ char *text = json_dumps(object, JSON_COMPACT | JSON_ENSURE_ASCII);
    json_decref(object);
    return mem_printf("%s\n", text);
}

static int write_json_file(const char *path, const char *line, struct error *e)
{
    _cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return error_set(e, ERROR_USAGE, -errno, "--json=%s", path);
    int r = fd_write_all(fd, line, strlen(line), e);
    return r < 0 ? error_prefix(e, "--json=%s", path) : 0;
}

static void print_error(const struct error *e)
{
    fflush(stdout);
    _cleanup_free_ char *text = presentable(e->text), *hint = presentable(e->hint);
    fprintf(stderr, "ag-box: %s\n", text);
    if (hint[0])
        fprintf(stderr, "hint: %s\n", hint);
}

void ui_passed_on(struct ui *ui, int code)
{
    ui->passed_on = true;
    ui->success = code;
}

int ui_end(struct ui *ui, int r, const struct error *e)
{
    struct error unwritten = { 0 };
    ui_progress_end(ui);
    if (r < 0 && !ui->json)
        print_error(e);
    if ((ui->json || ui->json_file) && !(r >= 0 && ui->passed_on)) {
        _cleanup_free_ char *line = json_line(ui, r, e);
        if (!ui->json_file) {
            fputs(line, stdout);
        } else if (write_json_file(ui->json_file, line, &unwritten) < 0) {
            print_error(&unwritten);
            return exit_code(ui, -1, r < 0 ? e : &unwritten);
        }
    }
    bool whole = flush(ui);
    if (ui->unwritten == 0)
        return whole || r < 0 ? exit_code(ui, r, e) : 1;
    error_set(&unwritten, ERROR_FAILED, -ui->unwritten, "what this command answers could not be written");
    print_error(&unwritten);
    return exit_code(ui, -1, r < 0 ? e : &unwritten);
}
