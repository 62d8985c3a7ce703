/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * log - what happened, for whoever looks for the reason later. Not for results: only cli prints those.
 *
 * Lines go to stderr as "ag-box: text"; where stderr is the journal ($JOURNAL_STREAM names it, systemd.exec(5)), with a
 * level in front ("<4>"). Control bytes become '?'; a line is cut at 2 KiB. AGBOX_LOG=debug|info|warn chooses (default
 * warn; log_set_level overrides). Safe from any thread; one write(2) a line.
 */

#include <stdint.h>

enum log_level { LOG_LEVEL_DEBUG, LOG_LEVEL_INFO, LOG_LEVEL_WARN };

void log_set_level(enum log_level level);
/* For a process that runs long with stderr in a file (O_APPEND): when that is over so many bytes, it becomes the file
 * older (borrowed for good; what was there goes) and begins anew. Lines of other processes at that moment may be lost.
 */
void log_limit(const char *older, uint64_t bytes);
int log_parse_level(const char *word, enum log_level *ret); /* -EINVAL */

void log_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
