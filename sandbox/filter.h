/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * filter - the system calls that a box does without (seccomp): a program for bwrap's --add-seccomp-fd.
 *
 * What is refused, and why, is the table in filter.c. Refusals are errors (EPERM; ENOSYS where programs have another
 * way that they take on ENOSYS), never signals. The rules hold for every architecture that the kernel runs: 32-bit
 * programs have the same, and what the filter does not know (x32 among it) does not exist. User namespaces stay
 * allowed: agents bring sandboxes of their own, and so does Chromium.
 */

#include "index/base/error.h"

/* The program in a memory file at its beginning; the caller closes it. */
int filter_make(int *ret_fd, struct error *e);
