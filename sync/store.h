/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * store - objects under keys, with conditions: the one interface over S3 and a directory (rules S, L1, L2).
 *
 * Keys are relative ("box/demo/head"): printable ASCII of [A-Za-z0-9._/-], no empty part, none that begins with a dot.
 * An etag is an opaque string, and the same whenever the bytes are: bodies that are compared carry something random.
 * All calls are safe from many threads and block; GETs, LISTs and unconditional calls repeat what may pass
 * (sync/s3-answer.h), with jittered back-off, signed anew each time. A conditional PUT is sent once, and after a lost
 * answer its outcome is unknown: the caller reads the object back, also on -ESTALE, which can be the answer to our own
 * first copy (rule L2).
 *
 * Errors: -ENOENT ERROR_UNKNOWN no such object · -ESTALE ERROR_FAILED the condition was not met (412, 409, or 404 of an
 * If-Match) · -EHOSTUNREACH ERROR_STORE cannot be reached (a missing bucket or directory too), or the outcome is
 * unknown · -EBUSY ERROR_STORE written too often (429; the outcome is unknown) · -EACCES ERROR_STORE refused:
 * credentials, rights, clock · -EFBIG ERROR_DAMAGED larger than the caller's limit · -EBADMSG ERROR_DAMAGED an answer
 * that cannot be true · -ENOSPC, -EIO ERROR_STORE the directory's disk · -EINVAL ERROR_FAILED an invalid key ·
 * -ECANCELED ERROR_INTERRUPTED store_cancel was called (of a PUT: the outcome is unknown).
 *
 * A directory is a store only once store_create made it one: where that mark is missing every call is -EHOSTUNREACH, so
 * that a disk which is not mounted is an outage and never an empty store.
 */

#include "index/base/buf.h"
#include "index/base/error.h"

#include <stdbool.h>
#include <stdint.h>

#define STORE_KEY_MAX 512
#define STORE_ETAG_MAX 128

enum store_condition { STORE_ALWAYS, STORE_IF_ABSENT, STORE_IF_MATCH };

struct store_info {
    char etag[STORE_ETAG_MAX];
    uint64_t size;
    int64_t modified_ns; /* by the store's clock */
    int64_t now_ns;      /* the store's clock when it answered: age = now_ns - modified_ns, no clock of ours in it */
};

struct store_stats {
    uint64_t gets, puts, deletes, lists, retries;
    uint64_t bytes_in, bytes_out;
};

struct store;

struct store_operations {
    /* Bytes [offset, offset + length) of the object, or all of it when length is 0; at most max bytes. A range that the
     * object does not have whole is -EBADMSG. Replaces ret's content. ret_info may be NULL. */
    int (*get)(struct store *s, const char *key, uint64_t offset, uint64_t length, size_t max, struct buf *ret,
               struct store_info *ret_info, struct error *e);
    /* etag is used with STORE_IF_MATCH; ret_etag (STORE_ETAG_MAX bytes) may be NULL. Durable when it returns 0. */
    int (*put)(struct store *s, const char *key, struct bytes data, enum store_condition condition, const char *etag,
               char *ret_etag, struct error *e);
    int (*stat)(struct store *s, const char *key, struct store_info *ret, struct error *e);
    /* Calls each for every object whose key starts with prefix, in lexicographic order of keys. info.etag may be empty.
     * A prefix that matches nothing is success; any failure, a cut-off listing too, is an error, never a shorter list.
     */
    int (*list)(struct store *s, const char *prefix,
                int (*each)(void *arg, const char *key, const struct store_info *info, struct error *e), void *arg,
                struct error *e);
    /* Calls each once for every name of which objects prefix + name + "/…" exist, in the order of these keys; prefix is
     * "" or ends in '/'. Failures as of list. */
    int (*list_names)(struct store *s, const char *prefix, int (*each)(void *arg, const char *name, struct error *e),
                      void *arg, struct error *e);
    int (*remove)(struct store *s, const char *key, struct error *e); /* of what is not there: 0 */
    int (*create)(struct store *s, struct error *e);                  /* see store_create; NULL: nothing to do */
    void (*expect)(struct store *s, unsigned requests);               /* see store_expect; NULL: nothing to do */
    void (*close)(struct store *s);
};

struct store {
    const struct store_operations *operations;
    struct store_stats stats; /* changed atomically (__atomic builtins) */
    char description[256];    /* for messages: "s3://bucket at https://…", "file:///path" */
    int cancelled;            /* set by store_cancel, from a signal handler too; pending waits end soon */
};

struct store_config {
    const char *url; /* file:///absolute/path, s3://bucket or s3://bucket/prefix */
    const char *endpoint, *region, *access_key, *secret_key; /* S3 */
    bool insecure;                                           /* plain http to other machines, too */
    unsigned timeout_s;                                      /* of inactivity, per attempt; 0: 60 */
    unsigned attempts;                                       /* 0: 6 */
};

/* Opens the store that url names; nothing is sent yet. Copies what it needs. -EINVAL ERROR_USAGE: url or a missing
 * setting. */
int store_open(const struct store_config *c, struct store **ret, struct error *e);
void store_close(struct store *s); /* NULL is fine */
void store_closep(struct store **s);
/* Ends pending waits and fails later calls, from a signal handler too. store_resume: calls work again, to clean up. */
void store_cancel(struct store *s);
void store_resume(struct store *s);
bool store_key_valid(const char *key);
/* The key of an object of a box: "box/NAME/", of TEXT_GLOBALS "globals/", and what is formatted. Returns its length. */
size_t store_box_key(char to[STORE_KEY_MAX], const char *box, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* A hint, once a store: so many requests at a time will soon be made. Where that takes connections they are opened in
 * the background; nothing is asked on them. */
void store_expect(struct store *s, unsigned requests);

/* Makes it a store if it is none yet: the directory (its parent must exist) 0700 and its mark. A bucket must exist
 * already. */
int store_create(struct store *s, struct error *e);

/* As the operations, with crash points around each ("put-head.before", "put-head.after") and the key checked. */
int store_get(struct store *s, const char *key, uint64_t offset, uint64_t length, size_t max, struct buf *ret,
              struct store_info *ret_info, struct error *e);
int store_put(struct store *s, const char *key, struct bytes data, enum store_condition condition, const char *etag,
              char *ret_etag, struct error *e);
int store_stat(struct store *s, const char *key, struct store_info *ret, struct error *e);
int store_list(struct store *s, const char *prefix,
               int (*each)(void *arg, const char *key, const struct store_info *info, struct error *e), void *arg,
               struct error *e);
int store_list_names(struct store *s, const char *prefix, int (*each)(void *arg, const char *name, struct error *e),
                     void *arg, struct error *e);
int store_remove(struct store *s, const char *key, struct error *e);

/*
 * For implementations: one request is over. Counts it and writes the trace line
 * {"event":"store","op":…,"key":…,"status":…,"us":…,"bytes":…,"attempt":…}; status is HTTP's (0: no answer), attempt
 * counts from 1.
 */
enum store_verb { STORE_GET, STORE_PUT, STORE_STAT, STORE_LIST, STORE_REMOVE };
void store_account(struct store *s, enum store_verb verb, const char *key, int status, int64_t started_boot_ns,
                   uint64_t bytes, unsigned attempt);
bool store_cancelled(const struct store *s);
