/* SPDX-License-Identifier: MIT */
#include "index/base/pool.h"

#include "index/base/mem.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* A gate at which jobs wait until the test opens it, and counts of what happened. */
struct gate {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool open;
    unsigned waiting;
    atomic_uint worked, dropped;
};

static struct gate gate;

static int reset_gate(void **state)
{
    gate = (struct gate){ .mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };
    return 0;
}

static int wait_at_gate(void *arg, struct error *e)
{
    pthread_mutex_lock(&gate.mutex);
    gate.waiting++;
    pthread_cond_broadcast(&gate.changed);
    while (!gate.open)
        pthread_cond_wait(&gate.changed, &gate.mutex);
    pthread_mutex_unlock(&gate.mutex);
    gate.worked++;
    return 0;
}

static int fail_at_gate(void *arg, struct error *e)
{
    wait_at_gate(arg, e);
    return error_say(e, ERROR_STORE, -ECONNREFUSED, "the first failure");
}

static void count_drop(void *arg)
{
    gate.dropped++;
}

static void await_waiting(unsigned n)
{
    pthread_mutex_lock(&gate.mutex);
    while (gate.waiting < n)
        pthread_cond_wait(&gate.changed, &gate.mutex);
    pthread_mutex_unlock(&gate.mutex);
}

static void open_gate(void)
{
    pthread_mutex_lock(&gate.mutex);
    gate.open = true;
    pthread_cond_broadcast(&gate.changed);
    pthread_mutex_unlock(&gate.mutex);
}

static int add(void *arg, struct error *e)
{
    atomic_fetch_add((atomic_uint *)arg, 1);
    return 0;
}

static void every_job_is_done_before_wait_returns(void **state)
{
    struct pool *p = NULL;
    atomic_uint sum = 0;
    assert_int_equal(pool_new(3, 4, &p, NULL), 0);
    for (int round = 1; round <= 2; round++) {
        for (int i = 0; i < 1000; i++)
            assert_int_equal(pool_run(p, add, NULL, &sum, NULL), 0);
        assert_int_equal(pool_wait(p, NULL), 0);
        assert_int_equal(sum, 1000 * round);
    }
    pool_free(p);
}

struct producer {
    struct pool *pool;
    atomic_uint accepted;
};

static void *produce(void *arg)
{
    struct producer *producer = arg;
    for (int i = 0; i < 5; i++) {
        pool_run(producer->pool, wait_at_gate, NULL, NULL, NULL);
        producer->accepted++;
    }
    return NULL;
}

/* Fails with an unbounded queue: then the producer gets all five in while the only thread stands at the gate. */
static void a_full_queue_holds_the_producer_back(void **state)
{
    struct producer producer = { 0 };
    pthread_t thread;
    assert_int_equal(pool_new(1, 2, &producer.pool, NULL), 0);
    pthread_create(&thread, NULL, produce, &producer);
    await_waiting(1);
    usleep(20000); /* there is no signal for "blocked": only time to do wrong */
    assert_true(producer.accepted <= 3);
    open_gate();
    pthread_join(thread, NULL);
    assert_int_equal(pool_wait(producer.pool, NULL), 0);
    assert_int_equal(gate.worked, 5);
    pool_free(producer.pool);
}

/* Fails if queued jobs still run after a failure, or if they are forgotten (and leak). */
static void after_the_first_failure_jobs_are_dropped_and_wait_tells_it(void **state)
{
    struct pool *p = NULL;
    struct error e = { 0 };
    assert_int_equal(pool_new(1, 8, &p, NULL), 0);
    assert_int_equal(pool_run(p, fail_at_gate, count_drop, NULL, NULL), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(pool_run(p, wait_at_gate, count_drop, NULL, NULL), 0);
    await_waiting(1);
    open_gate();
    assert_int_equal(pool_wait(p, &e), -ECONNREFUSED);
    assert_int_equal(e.kind, ERROR_STORE);
    assert_string_equal(e.text, "the first failure");
    assert_int_equal(gate.worked, 1);
    assert_int_equal(gate.dropped, 3);

    struct error later = { 0 };
    assert_int_equal(pool_run(p, wait_at_gate, count_drop, NULL, &later), -ECONNREFUSED);
    assert_string_equal(later.text, "the first failure");
    assert_int_equal(gate.dropped, 4);
    pool_free(p);
}

static void free_does_what_is_queued_first(void **state)
{
    struct pool *p = NULL;
    atomic_uint sum = 0;
    assert_int_equal(pool_new(2, 100, &p, NULL), 0);
    for (int i = 0; i < 100; i++)
        assert_int_equal(pool_run(p, add, NULL, &sum, NULL), 0);
    pool_free(p);
    assert_int_equal(sum, 100);
    pool_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(every_job_is_done_before_wait_returns, reset_gate),
        cmocka_unit_test_setup(a_full_queue_holds_the_producer_back, reset_gate),
        cmocka_unit_test_setup(after_the_first_failure_jobs_are_dropped_and_wait_tells_it, reset_gate),
        cmocka_unit_test_setup(free_does_what_is_queued_first, reset_gate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
