/* SPDX-License-Identifier: MIT */
typedef int fusefs_has_no_source_yet;
