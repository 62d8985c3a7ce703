/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * spare - connections that are opened before the requests that will use them are known (by libcurl, as http's).
 *
 * Of a store that is far away a new connection costs a round trip; this one passes while something else is done. Only
 * TCP: libcurl takes a socket that is connected, but not a TLS session that it has not begun itself. None where the
 * environment names a proxy. A hint: what fails here is found out, and said, by a request that opens its own.
 */

#include <stddef.h>

#define SPARES_MAX 8

struct sockaddr;
struct spares;

struct spares *spares_new(void);
void spares_free(struct spares *s); /* ends what is under way; NULL is fine */
/*
 * Begins to open count connections to the server of url ("https://host:port"), in a thread of its own. share: a CURLSH
 * for name look-ups, stop: when not 0, ends it. Once: what is asked for later is not done.
 */
void spares_open(struct spares *s, const char *url, unsigned count, void *share, const int *stop);
/* A socket connected to the address, the caller's from now on; -1: none. Waits a little for one that is on its way. */
int spares_take(struct spares *s, const struct sockaddr *to, size_t len);
