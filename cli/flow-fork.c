/* SPDX-License-Identifier: MIT */
#include "cli/flow.h"
#include <errno.h>
int flow_fork(struct stack *s, struct error *e)
{
    return error_say(e, ERROR_FAILED, -ENOTSUP, "fork of %s", s->name);
}
