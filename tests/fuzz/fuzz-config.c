/* SPDX-License-Identifier: MIT */
/* fuzzes: config_load, config_store. */
#include "cli/config.h"

#include "index/base/fd.h"
#include "index/base/mem.h"
#include "index/base/text.h"
#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[] = "/tmp/ag-box-fuzz.XXXXXX";

static void leave(void)
{
    _cleanup_free_ char *path = mem_printf("%s/env", directory);
    unlink(path);
    rmdir(directory);
}

static int begin(void)
{
    static char *none[] = { NULL };
    environ = none;
    REQUIRE(mkdtemp(directory) && setenv("AGBOX_CONFIG_DIR", directory, 1) == 0);
    REQUIRE(setenv("AGBOX_STATE_DIR", "/nowhere//", 1) == 0 && setenv("BOX_GLOBALS_ROLE", "pull", 1) == 0);
    atexit(leave);
    _cleanup_free_ char *path = mem_printf("%s/env", directory);
    return open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
}

/* A node's env file: refused with a line that says where, or every value is of its kind. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int file = -1;
    if (file < 0)
        file = begin();
    REQUIRE(file >= 0 && ftruncate(file, 0) == 0 && fd_pwrite_all(file, data, size, 0, NULL) == 0);

    struct config *c;
    struct store_config store;
    struct error e = { 0 };
    if (config_load(&c, &e) < 0) {
        REQUIRE(e.text[0]);
        return 0;
    }
    REQUIRE(text_is_name(c->node) && c->lease_ttl_s >= 60);
    REQUIRE(!c->globals_role || strcmp(c->globals_role, "push") == 0 || strcmp(c->globals_role, "pull") == 0);
    bool whole = c->store && c->store[0] && c->password && c->password[0];
    REQUIRE((config_store(c, &store, NULL) == 0) == whole);
    config_free(c);
    return 0;
}
