/* SPDX-License-Identifier: MIT */
#include "sync/s3-answer.h"

#include <ctype.h>
#include <string.h>

void s3_answer_code(struct bytes body, char ret[S3_CODE_MAX])
{
    ret[0] = '\0';
    const char *end = (const char *)body.data + body.len;
    const char *error = body.len ? memmem(body.data, body.len, "<Error", 6) : NULL;
    const char *code = error ? memmem(error, (size_t)(end - error), "<Code>", 6) : NULL;
    if (error)
        strcpy(ret, "Error");
    if (!code)
        return;
    code += 6;
    size_t n = 0;
    while (code + n < end && n + 1 < S3_CODE_MAX && (isalnum((unsigned char)code[n]) || code[n] == '.'))
        n++;
    if (n == 0)
        return;
    memcpy(ret, code, n);
    ret[n] = '\0';
}

static bool is_one_of(const char *code, const char *const *list)
{
    for (; *list; list++)
        if (strcmp(code, *list) == 0)
            return true;
    return false;
}

/* The status of an error that came with 200, as it would have been. */
static int status_of_code(const char *code)
{
    static const char *const stale[] = { "PreconditionFailed", "ConditionalRequestConflict", NULL };
    static const char *const often[] = { "SlowDown", "TooManyRequests", NULL };
    return is_one_of(code, stale) ? 412 : is_one_of(code, often) ? 429 : 500;
}

enum s3_meaning s3_answer_meaning(int status, const char *code, bool conditional)
{
    static const char *const broken[] = { "ClientDisconnect", "IncompleteBody", "RequestTimeout", NULL };
    if (status >= 200 && status < 300) {
        if (!*code)
            return S3_DONE;
        status = status_of_code(code);
    }
    if (status == 429 || (status == 503 && strcmp(code, "SlowDown") == 0))
        return S3_TOO_OFTEN;
    if (status >= 500 || status == 408 || (status == 400 && is_one_of(code, broken)))
        return S3_TRANSIENT;
    if (status == 404 && strcmp(code, "NoSuchBucket") == 0)
        return S3_NO_BUCKET;
    if (status == 404)
        return conditional ? S3_STALE : S3_ABSENT;
    if (status == 409)
        return conditional ? S3_STALE : S3_TRANSIENT;
    if (status == 412)
        return S3_STALE;
    return status == 416 ? S3_SHORT : S3_REFUSED;
}
