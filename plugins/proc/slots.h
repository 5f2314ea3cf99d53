/* SPDX-License-Identifier: MIT */
/*
 * Things that the kernel lists by name in each reading (disks, interfaces, cores), and what we
 * remember of each from one reading to the next. They come and go: what a reading does not mention
 * is dropped at its end. Found by their place in the list first, as that rarely changes.
 */
#ifndef TACHO_PLUGINS_PROC_SLOTS_H
#define TACHO_PLUGINS_PROC_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SLOT_NAME 64
#define SLOT_LIMIT 8192

/* The first member of each item. */
struct slot {
    char name[SLOT_NAME];
    uint32_t length;
    uint32_t reading; /* that mentioned it last */
    bool fresh;       /* first mentioned in this reading: there is nothing to compare with */
    bool wanted;      /* for the area's own use */
};

struct slots {
    char *items;
    size_t item_size;
    uint32_t count, size;
    uint32_t next; /* where the next name probably is */
    uint32_t reading;
};

void slots_init(struct slots *slots, size_t item_size);
void slots_fini(struct slots *slots);

void slots_begin(struct slots *slots);

/* The item of that name, made (zeroed but for its slot) when new. NULL when the name is too long,
 * there are too many, or without memory. */
void *slots_take(struct slots *slots, const char *name, size_t length);

/* Drops what was not mentioned; `drop`, when given, is called with each before. */
void slots_end(struct slots *slots, void (*drop)(void *context, void *item), void *context);

static inline void *slots_at(const struct slots *slots, uint32_t index)
{
    return slots->items + index * slots->item_size;
}

#endif
