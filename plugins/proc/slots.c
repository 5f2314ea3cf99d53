/* SPDX-License-Identifier: MIT */
/* Named things that come and go; see slots.h. */
#include "plugins/proc/slots.h"

#include <stdlib.h>
#include <string.h>

void slots_init(struct slots *slots, size_t item_size)
{
    *slots = (struct slots){.item_size = item_size};
}

void slots_fini(struct slots *slots)
{
    free(slots->items);
    slots->items = NULL;
    slots->count = slots->size = 0;
}

void slots_begin(struct slots *slots)
{
    slots->reading++;
    slots->next = 0;
}

static bool is_named(const struct slot *slot, const char *name, size_t length)
{
    return slot->length == length && memcmp(slot->name, name, length) == 0;
}

static struct slot *find(struct slots *slots, const char *name, size_t length)
{
    for (uint32_t i = 0; i < slots->count; i++) {
        uint32_t at = slots->next + i;
        at = at < slots->count ? at : at - slots->count;
        struct slot *slot = slots_at(slots, at);
        if (is_named(slot, name, length)) {
            slots->next = at + 1 < slots->count ? at + 1 : 0;
            return slot;
        }
    }
    return NULL;
}

static struct slot *add(struct slots *slots, const char *name, size_t length)
{
    if (slots->count == slots->size) {
        uint32_t size = slots->size ? slots->size * 2 : 8;
        char *moved = size <= SLOT_LIMIT ? realloc(slots->items, size * slots->item_size) : NULL;
        if (!moved) {
            return NULL;
        }
        slots->items = moved;
        slots->size = size;
    }
    struct slot *slot = slots_at(slots, slots->count++);
    memset(slot, 0, slots->item_size);
    memcpy(slot->name, name, length);
    slot->length = (uint32_t)length;
    slot->fresh = true;
    return slot;
}

void *slots_take(struct slots *slots, const char *name, size_t length)
{
    if (length == 0 || length >= SLOT_NAME) {
        return NULL;
    }
    struct slot *slot = find(slots, name, length);
    if (!slot) {
        slot = add(slots, name, length);
    } else if (slot->reading != slots->reading) {
        slot->fresh = false;
    }
    if (slot) {
        slot->reading = slots->reading;
    }
    return slot;
}

void slots_end(struct slots *slots, void (*drop)(void *context, void *item), void *context)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < slots->count; i++) {
        struct slot *slot = slots_at(slots, i);
        if (slot->reading != slots->reading) {
            if (drop) {
                drop(context, slot);
            }
            continue;
        }
        if (kept != i) {
            memcpy(slots_at(slots, kept), slot, slots->item_size);
        }
        kept++;
    }
    slots->count = kept;
}
