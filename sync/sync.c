/* SPDX-License-Identifier: MIT */
typedef int sync_has_no_source_yet;
