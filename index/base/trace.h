/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * trace - AGBOX_TRACE=FILE: one JSON line an event, appended; nothing when unset. For tests that count requests, and
 * for people who ask where the time went. One write(2) a line, safe from any thread and several processes.
 *
 * Shape: {"t":<CLOCK_BOOTTIME µs>,"pid":…,"event":"<event>", …fields}. Fields are given as a ready JSON fragment made
 * by trace_event's printf ("\"key\":\"%s\",\"bytes\":%zu"); names that come from outside are escaped with trace_escape.
 */

#include "index/base/buf.h"

#include <stdbool.h>

bool trace_on(void);
void trace_event(const char *event, const char *fields_fmt, ...) __attribute__((format(printf, 2, 3)));
/* The body of a JSON string of arbitrary bytes; non-UTF-8 as \u00XX. */
void trace_escape(struct buf *to, const void *p, size_t n);
