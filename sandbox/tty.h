/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * tty - pseudo terminals inside the box (pts(4)). The host's terminal never comes in: its bytes do.
 */

#include <stdbool.h>
#include <stdint.h>

/* A new pair; the master does not block. 0 or -errno. rows or cols 0: 24 and 80. */
int tty_open(uint16_t rows, uint16_t cols, int *ret_master, int *ret_slave);
int tty_resize(int master, uint16_t rows, uint16_t cols); /* the foreground group gets SIGWINCH; 0: nothing happens */
int tty_control(int slave);                               /* makes it the controlling terminal of our new session */
/*
 * Is there a description of this terminal here (terminfo(5)), so that programs can draw on it? Not looked for in HOME,
 * which may be slow to answer.
 */
bool tty_is_known(const char *term);
