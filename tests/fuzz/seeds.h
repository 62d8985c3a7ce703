/* SPDX-License-Identifier: MIT */
#pragma once

/* seeds - the parts of the corpus that come from sync/ and sandbox/, and what is written by hand, of text; seeds.c
 * makes index/'s and calls these. */

#include "index/base/buf.h"

void seeds_sync(void (*write)(const char *fuzzer, const char *name, struct bytes seed));
void seeds_sandbox(void (*write)(const char *fuzzer, const char *name, struct bytes seed));
void seeds_lease(void (*write)(const char *fuzzer, const char *name, struct bytes seed));
void seeds_text(void (*write)(const char *fuzzer, const char *name, struct bytes seed));
