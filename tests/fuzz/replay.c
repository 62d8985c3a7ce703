/* SPDX-License-Identifier: MIT */
#include "index/base/fd.h"
#include "index/base/mem.h"
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>

#define INPUT_MAX (1u << 20)
#define CHANGES_MAX 3000 /* changed copies of one input */

/* Each input in memory of its own size, so that a sanitizer sees one byte too many. */
static void run(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy)
        abort();
    if (size)
        memcpy(copy, data, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

/* The input, its beginnings, and copies with one byte changed, spread evenly when it is long. */
static unsigned run_around(uint8_t *data, size_t size)
{
    static const uint8_t masks[] = { 0x01, 0x80, 0xff };
    size_t step = size * 4 / CHANGES_MAX + 1;
    unsigned runs = 1;
    run(data, size);
    for (size_t i = 0; i < size; i += step, runs += 4) {
        run(data, i);
        for (unsigned m = 0; m < sizeof(masks); m++) {
            data[i] ^= masks[m];
            run(data, size);
            data[i] ^= masks[m];
        }
    }
    return runs;
}

int main(int argc, char **argv)
{
    unsigned files = 0, runs = 0;
    for (int i = 1; i < argc; i++) {
        DIR *d = opendir(argv[i]);
        if (!d) {
            perror(argv[i]);
            return 1;
        }
        for (struct dirent *n = readdir(d); n; n = readdir(d)) {
            _cleanup_(buf_release) struct buf input = { 0 };
            struct error e = { 0 };
            if (n->d_name[0] == '.')
                continue;
            if (fd_read_file(dirfd(d), n->d_name, INPUT_MAX, &input, &e) < 0) {
                fprintf(stderr, "%s/%s: %s\n", argv[i], n->d_name, e.text);
                return 1;
            }
            runs += run_around(input.data, input.len);
            files++;
        }
        closedir(d);
    }
    printf("%u inputs, %u runs\n", files, runs);
    return files == 0; /* an empty corpus tests nothing */
}
