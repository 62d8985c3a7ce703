/* SPDX-License-Identifier: MIT */
#pragma once

/* advice - what to do about an error that names no next step itself: by its kind and its code alone. */

#include "cli/config.h"
#include "index/base/error.h"

/* Gives e a hint where it has none and there is one to give. c: NULL if there is no configuration. */
void advice_give(const struct config *c, struct error *e);
