/* SPDX-License-Identifier: MIT */
/* fuzzes: credentials_decide. */
#include "sandbox/credentials.h"

#include "tests/fuzz/fuzz.h"

#include <jansson.h>

#define NOW 1790000000 /* as the seeds have it */

/* The first byte: the agent; then four texts, each ended by a newline: the host's login and account, the box's. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes texts[4] = { 0 };
    size_t which = 0;
    for (size_t i = 1, from = 1; i <= size && which < 4; i++) {
        if (i < size && data[i] != '\n')
            continue;
        texts[which++] = (struct bytes){ data + from, i - from };
        from = i + 1;
    }
    enum credentials_agent agent = size ? data[0] % CREDENTIALS_AGENTS : 0;
    struct credentials_copy host = { texts[0], texts[1] }, box = { texts[2], texts[3] };
    struct buf text = { 0 }, again = { 0 };
    enum credentials_verdict v = credentials_decide(agent, &host, &box, NOW, &text);
    REQUIRE((v == CREDENTIALS_KEEP) == (text.len == 0) && text.len <= CREDENTIALS_MAX);
    REQUIRE(v != CREDENTIALS_TO_HOST || (host.file.len && box.file.len));
    if (v != CREDENTIALS_KEEP) {
        json_t *o = json_loadb((const char *)text.data, text.len, 0, NULL);
        REQUIRE(json_is_object(o));
        json_decref(o);
        /* What was taken over is no older, and nothing is left to do. */
        *(v == CREDENTIALS_TO_BOX ? &box.file : &host.file) = buf_bytes(&text);
        REQUIRE(credentials_decide(agent, &host, &box, NOW, &again) == CREDENTIALS_KEEP);
    }
    buf_release(&text);
    buf_release(&again);
    return 0;
}
