/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * terminal - the user's terminal while a program in a box draws on it: raw, and afterwards as it was.
 *
 * One at a time, main thread only. Whoever called terminal_raw calls terminal_restore on every way out.
 */

#include "index/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int terminal_raw(int fd, struct error *e);
void terminal_again(void *unused); /* raw once more: something set it while we were stopped */
/* As it was. Input that came meanwhile is dropped: it was for the box, and may be a terminal's answer to it. broken:
 * the program had no chance to tidy up; the screen, mouse and keys are set back, too. Not raw: nothing. */
void terminal_restore(bool broken);
/* A line that the terminal on standard input does not show, asked for on stderr; without its newline, at most size - 1
 * bytes. -EINTR ERROR_INTERRUPTED: a signal of cli/interrupt, -E2BIG ERROR_USAGE: longer. The end of input is "". */
int terminal_ask(const char *question, char *to, size_t size, struct error *e);
void terminal_size(int fd, uint16_t *ret_rows, uint16_t *ret_cols); /* 0, 0: it has none */
