/* SPDX-License-Identifier: MIT */
#include "tests/unit/twin-store.h"

#include "index/base/clock.h"
#include "index/base/mem.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#define RULES_MAX 32

struct object {
    char *key;
    struct buf data;
    char etag[STORE_ETAG_MAX];
    int64_t modified_ns;
};

struct twin_store {
    struct store store; /* first: operations get a pointer to it */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct object *objects; /* sorted by key */
    size_t count;
    struct twin_rule rules[RULES_MAX];
    size_t rule_count;
    struct twin_counts counts;
    struct twin_request *log;
    size_t log_count;
    uint64_t etags;
    int64_t clock_moved;
    bool gate;
    char gate_key[128];
    unsigned held, getting;
};

static struct twin_store *twin(struct store *s)
{
    return (struct twin_store *)s;
}

static size_t place_of(const struct twin_store *t, const char *key)
{
    size_t i = 0;
    while (i < t->count && strcmp(t->objects[i].key, key) < 0)
        i++;
    return i;
}

static struct object *find(struct twin_store *t, const char *key)
{
    size_t i = place_of(t, key);
    return i < t->count && strcmp(t->objects[i].key, key) == 0 ? &t->objects[i] : NULL;
}

static int64_t now(const struct twin_store *t)
{
    return clock_wall_ns() + t->clock_moved;
}

static void set(struct twin_store *t, const char *key, struct bytes data)
{
    struct object *o = find(t, key);
    if (!o) {
        size_t i = place_of(t, key);
        t->objects = mem_grow(t->objects, t->count + 1, sizeof(*t->objects));
        o = &t->objects[i];
        memmove(o + 1, o, (t->count - i) * sizeof(*o));
        *o = (struct object){ .key = mem_strdup(key) };
        t->count++;
    }
    buf_clear(&o->data);
    buf_add(&o->data, data.data, data.len);
    snprintf(o->etag, sizeof(o->etag), "\"twin-%llu\"", (unsigned long long)++t->etags);
    o->modified_ns = now(t);
}

static void tell(const struct twin_store *t, const struct object *o, struct store_info *ret)
{
    if (!ret)
        return;
    *ret = (struct store_info){ .size = o->data.len, .modified_ns = o->modified_ns, .now_ns = now(t) };
    memcpy(ret->etag, o->etag, sizeof(ret->etag));
}

/* With the lock. */
static void note(struct twin_store *t, char operation, const char *key, uint64_t offset, uint64_t length)
{
    t->log = mem_grow(t->log, t->log_count + 1, sizeof(*t->log));
    struct twin_request *q = &t->log[t->log_count++];
    *q = (struct twin_request){ .operation = operation, .offset = offset, .length = length };
    snprintf(q->key, sizeof(q->key), "%s", key);
    pthread_cond_broadcast(&t->changed);
}

static bool take_rule(struct twin_store *t, char operation, const char *key, struct twin_rule *ret)
{
    for (size_t i = 0; i < t->rule_count; i++) {
        struct twin_rule *r = &t->rules[i];
        if (r->times == 0 || !strstr(key, r->key) || (r->operations[0] && !strchr(r->operations, operation)))
            continue;
        if (r->times > 0)
            r->times--;
        *ret = *r;
        return true;
    }
    return false;
}

static void sleep_ms(int64_t ms)
{
    struct timespec span = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };
    nanosleep(&span, NULL);
}

static int away(struct error *e)
{
    return error_say(e, ERROR_STORE, -EHOSTUNREACH, "the twin is away");
}

static int fail(int code, struct error *e)
{
    enum error_kind kind = code == -ENOENT                        ? ERROR_UNKNOWN
                           : code == -ESTALE                      ? ERROR_FAILED
                           : code == -EBADMSG || code == -EFBIG   ? ERROR_DAMAGED
                           : code == -ECANCELED || code == -EINTR ? ERROR_INTERRUPTED
                                                                  : ERROR_STORE;
    return error_set(e, kind, code, "the twin was told to fail");
}

/* Logs the request, finds its rule. 0, or the failure that the rule wants. Locked on return. */
static int begin(struct twin_store *t, char operation, const char *key, uint64_t offset, uint64_t length,
                 struct twin_rule *rule, struct error *e)
{
    *rule = (struct twin_rule){ .action = TWIN_DELAY };
    pthread_mutex_lock(&t->lock);
    note(t, operation, key, offset, length);
    bool ruled = take_rule(t, operation, key, rule);
    if (ruled && rule->action == TWIN_DELAY) {
        pthread_mutex_unlock(&t->lock);
        sleep_ms(rule->value);
        pthread_mutex_lock(&t->lock);
    }
    return ruled && rule->action == TWIN_FAIL ? fail((int)rule->value, e) : 0;
}

static int end(struct twin_store *t, const struct twin_rule *rule, int r, struct error *e)
{
    pthread_mutex_unlock(&t->lock);
    return r == 0 && rule->action == TWIN_DROP_AFTER ? away(e) : r;
}

static int answer(struct twin_store *t, const char *key, uint64_t offset, uint64_t length, size_t max,
                  const struct twin_rule *rule, struct buf *ret, struct store_info *ret_info, struct error *e)
{
    struct object *o = find(t, key);
    if (!o)
        return error_set(e, ERROR_UNKNOWN, -ENOENT, "%s", key);
    if (length == 0)
        length = o->data.len;
    if (offset > o->data.len || length > o->data.len - offset)
        return error_say(e, ERROR_DAMAGED, -EBADMSG, "the object ends before");
    if (length > max)
        return error_say(e, ERROR_DAMAGED, -EFBIG, "too large");
    buf_clear(ret);
    buf_add(ret, o->data.data + offset, length);
    if (rule->action == TWIN_FLIP && (uint64_t)rule->value >= offset && (uint64_t)rule->value - offset < length)
        ret->data[(uint64_t)rule->value - offset] ^= 4;
    if (rule->action == TWIN_TRUNCATE)
        ret->len -= (size_t)rule->value < ret->len ? (size_t)rule->value : ret->len;
    t->counts.bytes_got += ret->len;
    tell(t, o, ret_info);
    return 0;
}

static int get(struct store *s, const char *key, uint64_t offset, uint64_t length, size_t max, struct buf *ret,
               struct store_info *ret_info, struct error *e)
{
    struct twin_store *t = twin(s);
    struct twin_rule rule;
    pthread_mutex_lock(&t->lock);
    t->counts.gets++;
    if (++t->getting > t->counts.gets_at_once)
        t->counts.gets_at_once = t->getting;
    pthread_mutex_unlock(&t->lock);

    int r = begin(t, 'G', key, offset, length, &rule, e);
    if (t->gate && strstr(key, t->gate_key)) {
        t->held++;
        pthread_cond_broadcast(&t->changed);
        while (t->gate)
            pthread_cond_wait(&t->changed, &t->lock);
        t->held--;
    }
    if (r == 0)
        r = answer(t, key, offset, length, max, &rule, ret, ret_info, e);
    t->getting--;
    return end(t, &rule, r, e);
}

static bool condition_met(const struct object *o, enum store_condition condition, const char *etag)
{
    if (condition == STORE_IF_ABSENT)
        return !o;
    return condition == STORE_ALWAYS || (o && strcmp(o->etag, etag) == 0);
}

static int put(struct store *s, const char *key, struct bytes data, enum store_condition condition, const char *etag,
               char *ret_etag, struct error *e)
{
    struct twin_store *t = twin(s);
    struct twin_rule rule;
    int r = begin(t, 'P', key, 0, data.len, &rule, e);
    t->counts.puts++;
    if (r == 0 && !condition_met(find(t, key), condition, etag))
        r = error_say(e, ERROR_FAILED, -ESTALE, "the condition was not met");
    if (r == 0) {
        set(t, key, data);
        if (ret_etag && rule.action != TWIN_DROP_AFTER)
            memcpy(ret_etag, find(t, key)->etag, STORE_ETAG_MAX);
    }
    return end(t, &rule, r, e);
}

static int stat_object(struct store *s, const char *key, struct store_info *ret, struct error *e)
{
    struct twin_store *t = twin(s);
    struct twin_rule rule;
    int r = begin(t, 'S', key, 0, 0, &rule, e);
    t->counts.stats++;
    struct object *o = r == 0 ? find(t, key) : NULL;
    if (o)
        tell(t, o, ret);
    else if (r == 0)
        r = error_set(e, ERROR_UNKNOWN, -ENOENT, "%s", key);
    return end(t, &rule, r, e);
}

struct listed {
    char key[STORE_KEY_MAX];
    struct store_info info;
};

static int list(struct store *s, const char *prefix,
                int (*each)(void *arg, const char *key, const struct store_info *info, struct error *e), void *arg,
                struct error *e)
{
    struct twin_store *t = twin(s);
    struct twin_rule rule;
    int r = begin(t, 'L', prefix, 0, 0, &rule, e);
    t->counts.lists++;
    _cleanup_free_ struct listed *found = mem_new(t->count + 1, sizeof(*found));
    size_t n = 0;
    for (size_t i = 0; r == 0 && i < t->count; i++) {
        if (strncmp(t->objects[i].key, prefix, strlen(prefix)) != 0)
            continue;
        snprintf(found[n].key, sizeof(found[n].key), "%s", t->objects[i].key);
        tell(t, &t->objects[i], &found[n++].info);
    }
    r = end(t, &rule, r, e); /* each may call the store */
    for (size_t i = 0; r == 0 && i < n; i++)
        r = each(arg, found[i].key, &found[i].info, e);
    return r;
}

static int list_names(struct store *s, const char *prefix, int (*each)(void *arg, const char *name, struct error *e),
                      void *arg, struct error *e)
{
    struct twin_store *t = twin(s);
    struct twin_rule rule;
    int r = begin(t, 'L', prefix, 0, 0, &rule, e);
    t->counts.lists++;
    _cleanup_free_ char(*found)[STORE_KEY_MAX] = mem_new(t->count + 1, sizeof(*found));
    size_t n = 0;
    for (size_t i = 0; r == 0 && i < t->count; i++) {
        const char *key = t->objects[i].key, *name = key + strlen(prefix);
        if (strncmp(key, prefix, strlen(prefix)) != 0 || !strchr(name, '/'))
            continue;
        snprintf(found[n], sizeof(found[n]), "%.*s", (int)strcspn(name, "/"), name);
        n += n == 0 || strcmp(found[n - 1], found[n]) != 0;
    }
    r = end(t, &rule, r, e);
    for (size_t i = 0; r == 0 && i < n; i++)
        r = each(arg, found[i], e);
    return r;
}

static int remove_object(struct store *s, const char *key, struct error *e)
{
    struct twin_store *t = twin(s);
    struct twin_rule rule;
    int r = begin(t, 'R', key, 0, 0, &rule, e);
    t->counts.removes++;
    struct object *o = r == 0 ? find(t, key) : NULL;
    if (o) {
        free(o->key);
        buf_release(&o->data);
        memmove(o, o + 1, (size_t)(t->objects + t->count - (o + 1)) * sizeof(*o));
        t->count--;
    }
    return end(t, &rule, r, e);
}

static void close_twin(struct store *s)
{
    twin_store_free(twin(s));
}

static const struct store_operations operations = { .get = get,
                                                    .put = put,
                                                    .stat = stat_object,
                                                    .list = list,
                                                    .list_names = list_names,
                                                    .remove = remove_object,
                                                    .close = close_twin };

struct twin_store *twin_store_new(void)
{
    struct twin_store *t = mem_new(1, sizeof(*t));
    t->store = (struct store){ .operations = &operations, .description = "twin" };
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->changed, NULL);
    return t;
}

void twin_store_free(struct twin_store *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->count; i++) {
        free(t->objects[i].key);
        buf_release(&t->objects[i].data);
    }
    pthread_mutex_destroy(&t->lock);
    pthread_cond_destroy(&t->changed);
    free(t->objects);
    free(t->log);
    free(t);
}

void twin_store_freep(struct twin_store **t)
{
    twin_store_free(*t);
}

struct store *twin_store_get(struct twin_store *t)
{
    return &t->store;
}

void twin_store_rule(struct twin_store *t, const struct twin_rule *r)
{
    pthread_mutex_lock(&t->lock);
    if (t->rule_count == RULES_MAX)
        abort();
    t->rules[t->rule_count++] = *r;
    pthread_mutex_unlock(&t->lock);
}

void twin_store_clear_rules(struct twin_store *t)
{
    pthread_mutex_lock(&t->lock);
    t->rule_count = 0;
    pthread_mutex_unlock(&t->lock);
}

void twin_store_set(struct twin_store *t, const char *key, struct bytes data)
{
    pthread_mutex_lock(&t->lock);
    set(t, key, data);
    pthread_mutex_unlock(&t->lock);
}

void twin_store_move_clock(struct twin_store *t, int64_t ns)
{
    pthread_mutex_lock(&t->lock);
    t->clock_moved += ns;
    pthread_mutex_unlock(&t->lock);
}

void twin_store_counts(struct twin_store *t, struct twin_counts *ret)
{
    pthread_mutex_lock(&t->lock);
    *ret = t->counts;
    pthread_mutex_unlock(&t->lock);
}

void twin_store_reset(struct twin_store *t)
{
    pthread_mutex_lock(&t->lock);
    t->counts = (struct twin_counts){ 0 };
    t->log_count = 0;
    pthread_mutex_unlock(&t->lock);
}

bool twin_store_request(struct twin_store *t, size_t n, struct twin_request *ret)
{
    pthread_mutex_lock(&t->lock);
    bool there = n < t->log_count;
    if (there)
        *ret = t->log[n];
    pthread_mutex_unlock(&t->lock);
    return there;
}

void twin_store_hold(struct twin_store *t, const char *key_part)
{
    pthread_mutex_lock(&t->lock);
    t->gate = true;
    snprintf(t->gate_key, sizeof(t->gate_key), "%s", key_part);
    pthread_mutex_unlock(&t->lock);
}

void twin_store_release(struct twin_store *t)
{
    pthread_mutex_lock(&t->lock);
    t->gate = false;
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->lock);
}

static size_t requests(const struct twin_store *t)
{
    return t->log_count;
}

static size_t held(const struct twin_store *t)
{
    return t->held;
}

static bool wait_until(struct twin_store *t, size_t (*count)(const struct twin_store *t), size_t n)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 10;
    pthread_mutex_lock(&t->lock);
    while (count(t) < n && pthread_cond_timedwait(&t->changed, &t->lock, &until) != ETIMEDOUT)
        ;
    bool reached = count(t) >= n;
    pthread_mutex_unlock(&t->lock);
    return reached;
}

bool twin_store_wait_held(struct twin_store *t, unsigned n)
{
    return wait_until(t, held, n);
}

bool twin_store_wait_requests(struct twin_store *t, size_t n)
{
    return wait_until(t, requests, n);
}
