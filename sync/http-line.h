/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * http-line - what we want to know of the headers of an answer. They come from a server nobody vouches for: any bytes
 * may come (fuzzed), and what makes no sense is as if it had not been there.
 */

#include "sync/http.h"

/* One line, its end included or not: a header, or the status line, which takes back what was said before it (an
 * answer 100 has headers, too). Fills length, date_ns, modified_ns, retry_after_s, etag and range. */
void http_line_take(struct http_answer *a, struct bytes line);

/* "bytes FROM-TO/SIZE", as in Content-Range; -EINVAL. */
int http_line_range(const char *text, uint64_t *ret_from, uint64_t *ret_to, uint64_t *ret_size);
