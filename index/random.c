/* SPDX-License-Identifier: MIT */
#include "index/random.h"

#include "index/base/text.h"

#include <sodium.h>
#include <stdlib.h>

void random_bytes(void *to, size_t n)
{
    if (sodium_init() < 0)
        abort();
    randombytes_buf(to, n);
}

void random_hex(char *to, size_t n)
{
    uint8_t bytes[32];
    random_bytes(bytes, n);
    text_hex(to, bytes, n);
}
