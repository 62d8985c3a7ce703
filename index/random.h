/* SPDX-License-Identifier: MIT */
#pragma once

/* random - bytes nobody can guess, from the kernel through libsodium. Safe from any thread; cannot fail (aborts). */

#include <stddef.h>

void random_bytes(void *to, size_t n);
void random_hex(char *to, size_t n); /* n bytes as 2n digits and a NUL; n at most 32 */
