/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * node - who this machine is to the store (rule S2).
 *
 * The name is the configuration's. The state id is random, made with the state directory and kept in its file
 * "state-id" with the machine id and the name it was made for; when either is another, as after an image was cloned, a
 * new one is made. Neither proves that a lease is ours: write ids do (FORMAT.md, "Head").
 */

#include "index/base/error.h"
#include "index/locator.h"

struct node {
    char name[64];
    char boot_id[40];
    uint8_t state[8];
};

/* machine_id: NULL reads /etc/machine-id (absent: ""). Safe among processes. -EINVAL ERROR_USAGE: not a node's name. */
int node_open(int state_dir, const char *name, const char *machine_id, struct node *ret, struct error *e);
