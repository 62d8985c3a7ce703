/* SPDX-License-Identifier: MIT */

/*
 * store-promises [URL] - holds any store to sync/store.h. Without URL: a directory of its own. S3 settings come from
 * the variables of ag-box (BOX_S3_ENDPOINT, BOX_S3_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY).
 */

#include "index/base/mem.h"
#include "tests/store/promises.h"

#include <stdio.h>
#include <sys/stat.h>

static int run(const char *url, bool many)
{
    struct store_config c = {
        .url = url,
        .endpoint = getenv("BOX_S3_ENDPOINT"),
        .region = getenv("BOX_S3_REGION"),
        .access_key = getenv("AWS_ACCESS_KEY_ID"),
        .secret_key = getenv("AWS_SECRET_ACCESS_KEY"),
    };
    struct error e = { 0 };
    _cleanup_(store_closep) struct store *s = NULL;
    if (store_open(&c, &s, &e) < 0 || store_create(s, &e) < 0) {
        fprintf(stderr, "store-promises: %s\n", e.text);
        return 1;
    }
    return promises_run(s, many);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return run(argv[1], true);

    char root[] = "/tmp/store-promises.XXXXXX";
    if (!mkdtemp(root))
        return 1;
    _cleanup_free_ char *url = mem_printf("file://%s/store", root);
    int failed = run(url, false);
    _cleanup_free_ char *store = mem_printf("%s/store", root), *ours = mem_printf("%s/.agbox", store),
                        *lock = mem_printf("%s/lock", ours), *clock = mem_printf("%s/clock", ours);
    unlink(lock);
    unlink(clock);
    /* rmdir only: what a test left behind fails here */
    if (rmdir(ours) < 0 || rmdir(store) < 0 || rmdir(root) < 0) {
        fprintf(stderr, "store-promises: %s was left with something in it\n", root);
        return 1;
    }
    return failed;
}
