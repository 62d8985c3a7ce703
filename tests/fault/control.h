/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * control - what a test tells the server, and asks it. A command is words, one a line, then (set) an empty line and
 * data.
 *
 *   rtt MS · bandwidth BITS_PER_SECOND (K, M, G; 0 none) · clock SECONDS (ahead; may be negative) · page KEYS
 *   rate on|off                        a second write of a key within a second is 429
 *   drop-request, drop-response, status, truncate, stall, flip, delay …     a rule, see rules.h · clear: all rules go
 *   reset · counters · log             of the requests since the reset; see traffic.h
 *   commits GLOB                       how many requests changed such keys
 *   await [--op A,B] [--key GLOB] [--after-commit] [--times N] [--timeout S]   until N (1) such requests began, or
 * committed keys [PREFIX] · get KEY · set KEY · remove KEY · rot KEY [BYTE]            past rules and counters
 */

#include "tests/fault/server.h"

/* Appends the answer to out; NULL, or what is wrong. */
const char *control_handle(struct server *s, struct bytes command, struct buf *out);
