/* SPDX-License-Identifier: MIT */
#include "fusefs/answers.h"

#include "index/base/log.h"
#include "index/base/mem.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>

struct answers {
    pthread_mutex_t lock;
    pthread_cond_t given;
    char *memory;
    size_t size;
    unsigned free_count;
    char *free[];
};

int answers_new(unsigned count, struct answers **ret, struct error *e)
{
    size_t size = (size_t)count * ANSWER_SIZE;
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED)
        return error_set(e, ERROR_FAILED, -errno, "map %zu bytes for answers", size);
    if (mlock(memory, size) < 0)
        log_info("answers are not locked in memory: %m");

    struct answers *a = mem_new(1, sizeof(*a) + count * sizeof(a->free[0]));
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->given, NULL);
    a->memory = memory;
    a->size = size;
    for (unsigned i = 0; i < count; i++)
        a->free[a->free_count++] = memory + (size_t)i * ANSWER_SIZE;
    *ret = a;
    return 0;
}

void answers_free(struct answers *a)
{
    if (!a)
        return;
    munmap(a->memory, a->size);
    pthread_cond_destroy(&a->given);
    pthread_mutex_destroy(&a->lock);
    free(a);
}

char *answers_take(struct answers *a)
{
    pthread_mutex_lock(&a->lock);
    while (a->free_count == 0)
        pthread_cond_wait(&a->given, &a->lock);
    char *answer = a->free[--a->free_count];
    pthread_mutex_unlock(&a->lock);
    return answer;
}

void answers_give(struct answers *a, char *answer)
{
    pthread_mutex_lock(&a->lock);
    a->free[a->free_count++] = answer;
    pthread_cond_signal(&a->given);
    pthread_mutex_unlock(&a->lock);
}
