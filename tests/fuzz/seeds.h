/* SPDX-License-Identifier: MIT */
#pragma once

/* seeds - the part of the corpus that comes from sync/; seeds.c makes index/'s and calls this. */

#include "index/base/buf.h"

void seeds_sync(void (*write)(const char *fuzzer, const char *name, struct bytes seed));
