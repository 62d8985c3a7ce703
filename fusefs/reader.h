/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * reader - the bytes of files, from extents and frames; holes are zeros.
 *
 * A read waits until all its frames are here, as long as that takes (design, "Outages"); then it takes an answer
 * buffer. Nothing is remembered of an error. Sequential readers are read ahead for. Safe from any thread.
 */

#include "fusefs/ahead.h"
#include "fusefs/answers.h"

struct reader;

int reader_new(struct source *source, struct answers *answers, struct reader **ret, struct error *e);
void reader_free(struct reader *c);        /* NULL is fine */
unsigned reader_waiting(struct reader *c); /* reads that wait for frames at this moment */

/*
 * Up to size bytes (at most ANSWER_SIZE) of n, the file at position, from offset on. The answer buffer is the caller's
 * to give back; at the end of the file it is shorter, and NULL if nothing is left. Errors are source_get's, -EBADMSG
 * ERROR_DAMAGED.
 */
int reader_read(struct reader *c, uint64_t position, const struct entry *n, uint64_t offset, size_t size,
                char **ret_answer, size_t *ret_len, struct error *e);
/* lseek's SEEK_DATA and SEEK_HOLE. -ENXIO: offset is at or behind the end, or (SEEK_DATA) only a hole follows. */
int reader_seek(struct reader *c, uint64_t position, const struct entry *n, uint64_t offset, int whence, uint64_t *ret,
                struct error *e);
