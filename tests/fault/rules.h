/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * rules - what goes wrong, for which requests, how often. In the order in which they were made; the first that fits a
 * request acts. Not locked.
 */

#include "tests/fault/s3.h"

enum rule_action {
    RULE_DROP,     /* the connection ends without an answer */
    RULE_STATUS,   /* value: the HTTP status of an error */
    RULE_TRUNCATE, /* value: so many bytes of the body come, then the connection ends */
    RULE_STALL,    /* value: after half of the body nothing comes for so many ms */
    RULE_FLIP,     /* value: the byte of the body that has a bit flipped */
    RULE_DELAY,    /* value: ms */
};

struct rule {
    unsigned operations;          /* bits 1 << enum s3_operation; 0: all */
    char key[OBJECT_KEY_MAX + 1]; /* fnmatch pattern, * matches / too; "": all */
    enum rule_action action;
    uint64_t value;
    bool after_commit; /* act when the request is done: its effect stays */
    int skip, times;   /* fitting requests to leave alone first; then this many act, -1 all */
};

struct rules {
    struct rule *all;
    size_t count;
};

/*
 * Words: drop-request | drop-response | status CODE | truncate [BYTES] | stall [MS] | flip [BYTE] | delay MS, then
 * --op A,B --key GLOB --after-commit --skip N --times N. drop-response is a drop after the commit. NULL, or what is
 * wrong.
 */
const char *rule_parse(char **words, size_t count, struct rule *ret);
void rules_add(struct rules *r, const struct rule *x);
/* The rule for this request, used up by one; NULL: none. */
bool rules_take(struct rules *r, const struct s3_target *t, struct rule *ret);
void rules_clear(struct rules *r);
