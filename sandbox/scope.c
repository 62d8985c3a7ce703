/* SPDX-License-Identifier: MIT */
#include "sandbox/scope.h"

#include "index/base/mem.h"
#include "sandbox/weaken.h"

#include <errno.h>
#include <stdint.h>
#include <sys/syscall.h>

#define ASK_VERSION 1u /* LANDLOCK_CREATE_RULESET_VERSION */
#define VERSION_WITH_SCOPES 6
#define SCOPE_ABSTRACT_UNIX_SOCKET 1u

int scope_enter(void)
{
    /* struct landlock_ruleset_attr, as far as it is needed: Debian 12's header has no scopes. */
    const struct {
        uint64_t files, network, scopes;
    } rules = { .scopes = SCOPE_ABSTRACT_UNIX_SOCKET };
#ifdef AGBOX_FAULT
    if (weaken_is("scope"))
        return 0;
#endif
    if (syscall(SYS_landlock_create_ruleset, NULL, 0, ASK_VERSION) < VERSION_WITH_SCOPES)
        return 0;
    _cleanup_close_ int fd = (int)syscall(SYS_landlock_create_ruleset, &rules, sizeof(rules), 0);
    return fd < 0 || syscall(SYS_landlock_restrict_self, fd, 0) < 0 ? -errno : 0;
}
