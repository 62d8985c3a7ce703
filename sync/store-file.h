/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * store-file - the store in a directory, for file:// URLs: S3's promises kept by atomic file operations.
 *
 * A key is the path of a file below the root. What a valid key cannot name (a leading dot) is ours: .agbox/ marks the
 * directory as a store and holds the lock and files that are being written. A PUT writes there, fsyncs, and publishes
 * under the lock (flock(2), so it counts between processes and nodes that share the directory) by one rename, then
 * fsyncs the directory: a reader, or a crash at any point, sees all of the old object or all of the new one. Readers
 * take no lock: an object's file never changes once it has its name. An etag is a hash of the content (an inode number
 * can come again). What a killed writer left in .agbox/ is removed a day later. Symbolic links below the root are
 * refused.
 */

#include "sync/store.h"

int store_file_open(const char *path, struct store **ret, struct error *e);
