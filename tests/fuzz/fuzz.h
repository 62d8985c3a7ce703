/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * fuzz - what every fuzzer of a parser has: one entry point, and a check that ends the process.
 *
 * A fuzzer hands arbitrary bytes to one parser and holds what comes out against its own encoding: what decodes must
 * encode to something that decodes equal. tests/fuzz/run builds them with clang's libFuzzer; in every other build
 * replay.c runs the corpus, and small changes of it, as a unit test.
 */

#include "index/base/buf.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition)                                                                                             \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);                                  \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

#define REQUIRE_EQUAL(a, b) REQUIRE(bytes_compare((a), (b)) == 0)
