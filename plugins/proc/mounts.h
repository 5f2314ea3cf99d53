/* SPDX-License-Identifier: MIT */
/*
 * Mounted file systems: which of the mount table are worth watching, and asking one how full it is
 * without ever waiting for it longer than agreed.
 */
#ifndef TACHO_PLUGINS_PROC_MOUNTS_H
#define TACHO_PLUGINS_PROC_MOUNTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/statvfs.h>

#include "plugins/proc/proc.h"

struct asker;

/* A file system that is watched. Texts are its own. */
struct mount {
    char *point;         /* as the mount table has it: the entity's key */
    char *path;          /* with the root before it: what is asked */
    char *device, *type; /* labels */
    char number[24];     /* of the device, "8:1" */
    bool whole;          /* mounted from its top, not from a folder inside */
    bool remote;         /* may hang: asked by way of an asker */
    struct asker *asker;
    int result; /* of the last question: 0, or errno; ETIMEDOUT: no answer yet */
    struct statvfs status;
};

/* The watched ones of a mount table, and what the options say of it. */
int mounts_list(const char *text, size_t length, const struct options *options,
                struct mount_list *out);
void mounts_free(struct mount_list *list);

/* Keeps the askers of those that are in both lists. */
void mounts_move_askers(struct mount_list *from, struct mount_list *to);

/* A thread of its own that asks about one path. Starting a question while the last is not answered
 * does nothing. */
struct asker *asker_new(const char *path);
void asker_free(struct asker *asker); /* never waits; a stuck thread frees it when it returns */
void asker_start(struct asker *asker);

/* The answer to the last question, waiting until this time of the monotonic clock at most:
 * 0 or errno; ETIMEDOUT when there is none. */
int asker_take(struct asker *asker, int64_t until_ns, struct statvfs *out);

#endif
