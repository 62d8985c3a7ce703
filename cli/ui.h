/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * ui - the only module that prints (interface.md, "Output"): results on stdout, everything else on stderr.
 *
 * A command says its result twice: ui_line for people and ui_field for `--json`; ui_end prints the one JSON object, or
 * the error with its hint. With --json nothing else reaches stdout. Progress shows on a terminal only. Main thread
 * only, but ui_progress and ui_warn may be called from any thread.
 */

#include "index/base/buf.h"
#include "index/base/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct ui;

struct ui *ui_new(void);
void ui_free(struct ui *ui);
void ui_set_json(struct ui *ui, bool on);
bool ui_json(const struct ui *ui);
/* The JSON object goes to this file, which is replaced, beside all that is for people. Borrowed. */
void ui_set_json_file(struct ui *ui, const char *path);
/* What ui_end returns instead of 0, and instead of the exit code of the error's kind. */
void ui_set_exit(struct ui *ui, int success, int failure);

/* A line of the result; its control characters, newlines too, are escaped. */
void ui_line(struct ui *ui, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void ui_bytes(struct ui *ui, const void *p,
              size_t n); /* result bytes as they are (paths in `diff`); nothing with --json */
/* Several lines of the result as they are, and a newline behind them; nothing with --json. */
void ui_text(struct ui *ui, const char *text);
void ui_note(struct ui *ui, const char *fmt, ...) __attribute__((format(printf, 2, 3))); /* stderr, for people only */
void ui_warn(struct ui *ui, const char *fmt, ...)
    __attribute__((format(printf, 2, 3))); /* stderr; in JSON under "warnings" */

/* Takes the reference to value. Calling it again with the same key replaces. */
void ui_field(struct ui *ui, const char *key, json_t *value);
void ui_field_text(struct ui *ui, const char *key, const char *value);
void ui_field_integer(struct ui *ui, const char *key, int64_t value);
void ui_field_path(struct ui *ui, const char *key, const char *path); /* as ui_path_into */
/* Adds key (escaped) and, where the bytes are not UTF-8, key_b64 to object. */
void ui_path_into(json_t *object, const char *key, const void *path, size_t len);

/* One line on a terminal, at most ten times a second: "phase  12.3 MB / 1.2 GB  841 files  33 MB/s  0:41 left". total
 * 0: unknown. */
void ui_progress(struct ui *ui, const char *phase, uint64_t files, uint64_t bytes, uint64_t total);
void ui_progress_end(struct ui *ui);
bool ui_shows_progress(const struct ui *ui); /* worth finding out a total for */

/* A phase's time for `up` and others: shown as "  fetch   0.12 s" lines and under "phases" {name: milliseconds}. */
void ui_phase(struct ui *ui, const char *name, int64_t nanoseconds);

/* Asks on the terminal for a typed word; false when stdin is no terminal or the answer differs. */
bool ui_confirm(struct ui *ui, const char *question, const char *word);

/* The result is another program's, which has printed it and ended with code: ui_end prints none, and returns code. */
void ui_passed_on(struct ui *ui, int code);

/* Prints what is left to print; returns the exit code. r: what run returned, e: its error when r < 0. */
int ui_end(struct ui *ui, int r, const struct error *e);
