/* SPDX-License-Identifier: MIT */
/*
 * What a GPU can tell: for each metric the code that asking for it gave last, and since when. A
 * metric that this driver will never have is not asked for again in this generation; one that is
 * denied is asked for rarely.
 */
#ifndef TACHO_PLUGINS_NVML_CAPABILITY_H
#define TACHO_PLUGINS_NVML_CAPABILITY_H

#include <stdbool.h>
#include <stdint.h>

struct capability {
    bool asked;
    int32_t code;     /* enum nv_code */
    int64_t since_ns; /* wall time of the first such answer in a row */
    int64_t next_ns;  /* monotonic: not before */
    uint32_t count;   /* answers of this kind in a row */
};

/* Whether to ask (again) now. */
bool capability_wanted(const struct capability *capability, int64_t mono_ns);

/* Takes down an answer. */
void capability_note(struct capability *capability, int code, int64_t mono_ns, int64_t wall_ns);

#endif
