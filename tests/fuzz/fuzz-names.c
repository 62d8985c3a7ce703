/* SPDX-License-Identifier: MIT */
/* fuzzes: writer_parse, pack_parse, snapshots_parse_id, fork_name_parse. */
#include "index/locator.h"
#include "index/snapshot.h"
#include "sync/fork.h"
#include "sync/snapshots.h"

#include "index/base/mem.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

/* The names of objects, as a LIST gives them: what is taken for one is written the same way. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_free_ char *name = mem_copy(data, size);
    char text[PACK_TEXT + SNAPSHOT_ID_TEXT];
    struct writer w;
    struct pack_name p;
    struct snapshot_id id;
    struct fork f;
    if (writer_parse(name, &w) == 0) {
        writer_text(&w, text);
        REQUIRE(strcmp(text, name) == 0);
    }
    if (pack_parse(name, &p) == 0) {
        pack_text(&p, text);
        REQUIRE(strcmp(text, name) == 0);
    }
    if (snapshots_parse_id(name, &id) == 0) {
        snapshot_id_text(&id, text);
        REQUIRE(strcmp(text, name) == 0);
    }
    if (fork_name_parse(name, &f) == 0)
        REQUIRE(strcmp(f.name, name) == 0 && f.epoch > 0 && f.node[0]);
    return 0;
}
