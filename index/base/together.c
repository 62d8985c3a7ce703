/* SPDX-License-Identifier: MIT */
#include "index/base/together.h"

#include "index/base/mem.h"

#include <pthread.h>
#include <stdbool.h>

static void *run_one(void *arg)
{
    struct together *c = arg;
    c->result = c->run(c->arg, &c->error);
    return NULL;
}

int together_run(struct together *calls, size_t count, struct error *e)
{
    _cleanup_free_ pthread_t *threads = mem_new(count, sizeof(pthread_t));
    _cleanup_free_ bool *started = mem_new(count, sizeof(bool));
    for (size_t i = 1; i < count; i++)
        started[i] = pthread_create(&threads[i], NULL, run_one, &calls[i]) == 0;
    for (size_t i = 0; i < count; i++) {
        if (started[i])
            pthread_join(threads[i], NULL);
        else
            run_one(&calls[i]); /* the first, and whatever got no thread */
    }

    for (size_t i = 0; i < count; i++) {
        if (calls[i].result < 0) {
            error_pass(e, &calls[i].error);
            return calls[i].result;
        }
    }
    return 0;
}
