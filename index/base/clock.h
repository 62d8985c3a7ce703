/* SPDX-License-Identifier: MIT */
#pragma once

/* clock - the two clocks we use. Ages and deadlines: clock_boot (goes on in suspend). Stamps for people: clock_wall. */

#include <stdint.h>

int64_t clock_boot_ns(void); /* CLOCK_BOOTTIME */
int64_t clock_wall_ns(void); /* CLOCK_REALTIME, ns since 1970 */
