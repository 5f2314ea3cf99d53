/* SPDX-License-Identifier: MIT */
/* What the parts that turn nvtop's members into a batch share. */
#ifndef TACHO_PLUGINS_NVTOP_FILL_H
#define TACHO_PLUGINS_NVTOP_FILL_H

#include "plugins/nvtop/nvtop.h"

struct nvtop_fill {
    const struct tacho_host *host;
    const struct nvtop_options *options;
    struct tacho_batch *batch;
    const char *end; /* of the output */
};

/* ---- value.c ----------------------------------------------------------------------------------
 */

struct nvtop_unit;

/* Which member is which metric; one member may come in two units (fan_speed). */
struct nvtop_member {
    const char *name;
    const struct nvtop_unit *units;
    enum nvtop_metric metric;
};

/* Both end with a name that is NULL. */
extern const struct nvtop_member nvtop_device_members[];
extern const struct nvtop_member nvtop_process_members[];

/* Nothing is said yet: all NaN. */
void nvtop_clear_values(double *values);

/* Takes a member if the table has it. Returns the metrics (as bits) that its text has no unit for.
 */
uint32_t nvtop_take_member(const struct nvtop_member *members, const char *name, const char *text,
                           double *values);

/* Writes a value, or why there is none. */
void nvtop_put(const struct nvtop_fill *fill, enum nvtop_metric metric, double value, int reason);

/* Writes a label unless it is empty. */
void nvtop_put_label(const struct nvtop_fill *fill, const char *name, const char *value);

/* ---- process.c --------------------------------------------------------------------------------
 */

/* Goes through the processes of a device, from behind the opening bracket, and writes them below
 * parent unless that is -1. Gives their number and the memory that they hold together; NaN when one
 * does not say. */
void nvtop_each_process(const struct nvtop_fill *fill, const char *text, int32_t parent,
                        uint32_t *out_count, double *out_bytes);

#endif
