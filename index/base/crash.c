/* SPDX-License-Identifier: MIT */
#include "index/base/crash.h"

#ifdef AGBOX_FAULT

#include "index/base/mem.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

/* Made by the linker; weak, because a binary may hold no step at all. */
extern const struct crash_step *const __start_crash_steps[] __attribute__((weak));
extern const struct crash_step *const __stop_crash_steps[] __attribute__((weak));

struct passed {
    const char *name;
    unsigned times;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char command[64];
static struct passed *steps; /* under mutex, as the two below */
static size_t step_count;

void crash_command(const char *name)
{
    pthread_mutex_lock(&mutex);
    snprintf(command, sizeof(command), "%s", name);
    pthread_mutex_unlock(&mutex);
}

/* How often the step was reached, this time included. */
static unsigned count_step(const char *name)
{
    size_t i = 0;
    while (i < step_count && strcmp(steps[i].name, name) != 0)
        i++;
    if (i == step_count) {
        steps = mem_grow(steps, step_count + 1, sizeof(*steps));
        steps[step_count++] = (struct passed){ .name = name };
    }
    return ++steps[i].times;
}

void crash_reached(const struct crash_step *step)
{
    const char *at = getenv("AGBOX_CRASH_AT"), *list = getenv("AGBOX_CRASH_LIST");
    if (!at && !list)
        return;

    char here[256], first[256];
    pthread_mutex_lock(&mutex);
    unsigned times = count_step(step->name);
    snprintf(first, sizeof(first), "%s:%s", command, step->name);
    pthread_mutex_unlock(&mutex);
    snprintf(here, sizeof(here), "%.230s#%u", first, times);

    if (list) {
        _cleanup_close_ int fd = open(list, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
        if (fd >= 0 && dprintf(fd, "%s\n", here) < 0)
            return;
    }
    if (at && (strcmp(at, here) == 0 || (times == 1 && strcmp(at, first) == 0)))
        kill(getpid(), SIGKILL);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void crash_each(void (*each)(const char *step, void *arg), void *arg)
{
    size_t count = (size_t)(__stop_crash_steps - __start_crash_steps);
    _cleanup_free_ const char **names = mem_new(count, sizeof(*names));
    for (size_t i = 0; i < count; i++)
        names[i] = __start_crash_steps[i]->name;
    qsort(names, count, sizeof(*names), by_name);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || strcmp(names[i], names[i - 1]) != 0)
            each(names[i], arg);
    }
}

#else
typedef int crash_points_are_left_out; /* ISO C wants something in every file */
#endif
