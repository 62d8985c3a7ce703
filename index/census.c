/* SPDX-License-Identifier: MIT */
#include "index/census.h"

#include "index/base/mem.h"

#include <uthash.h>

#define NEAR 8 /* numbers behind the one that is taken */

struct inode_id {
    uint64_t device, inode;
};

struct first_name {
    struct inode_id id;
    char *path;
    UT_hash_handle hh;
};

struct census {
    struct first_name *firsts;
    uint32_t *slots; /* open addressing, 0 free */
    uint32_t room;   /* a power of two */
    uint32_t used;
};

struct census *census_new(void)
{
    struct census *t = mem_new(1, sizeof(*t));
    t->room = 1024;
    t->slots = mem_new(t->room, sizeof(*t->slots));
    return t;
}

void census_free(struct census *t)
{
    if (!t)
        return;
    struct first_name *f, *next;
    HASH_ITER (hh, t->firsts, f, next) {
        HASH_DEL(t->firsts, f);
        free(f->path);
        free(f);
    }
    free(t->slots);
    free(t);
}

const char *census_first(const struct census *t, uint64_t device, uint64_t inode)
{
    struct inode_id id = { device, inode };
    struct first_name *f;
    HASH_FIND(hh, t->firsts, &id, sizeof(id), f);
    return f ? f->path : NULL;
}

void census_remember(struct census *t, uint64_t device, uint64_t inode, const char *path)
{
    struct first_name *f = mem_new(1, sizeof(*f));
    f->id = (struct inode_id){ device, inode };
    f->path = mem_strdup(path);
    HASH_ADD(hh, t->firsts, id, sizeof(f->id), f);
}

static bool place(uint32_t *slots, uint32_t room, uint32_t number)
{
    uint32_t at = (number * 2654435761u) & (room - 1);
    for (; slots[at]; at = (at + 1) & (room - 1))
        if (slots[at] == number)
            return false;
    slots[at] = number;
    return true;
}

static void widen(struct census *t)
{
    uint32_t room = 2 * t->room;
    uint32_t *slots = mem_new(room, sizeof(*slots));
    for (uint32_t i = 0; i < t->room; i++)
        if (t->slots[i])
            place(slots, room, t->slots[i]);
    free(t->slots);
    t->slots = slots;
    t->room = room;
}

bool census_take(struct census *t, uint32_t number)
{
    if (number == 0)
        return false;
    if (t->used >= t->room / 2)
        widen(t);
    if (!place(t->slots, t->room, number))
        return false;
    t->used++;
    return true;
}

/*
 * A file system gives the numbers of removed files again, so new files lie in the same long runs as a base's: beyond
 * the next few anywhere else is tried, in an order in which every number comes once (a generator of full period).
 */
uint32_t census_number(struct census *t, uint64_t st_ino)
{
    uint32_t number = (uint32_t)st_ino;
    for (unsigned tries = 0; !census_take(t, number); tries++)
        number = tries < NEAR ? number + 1 : number * 1664525u + 1013904223u;
    return number;
}
