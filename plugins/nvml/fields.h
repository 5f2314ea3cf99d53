/* SPDX-License-Identifier: MIT */
/* Field values of the NVLinks, which are asked for in the same call as those of the GPU. */
#ifndef TACHO_PLUGINS_NVML_FIELDS_H
#define TACHO_PLUGINS_NVML_FIELDS_H

#include "plugins/nvml/device.h"

/* A field that each link has: in newer drivers, or by the other number in others. */
struct link_field {
    uint16_t field, older;
    int32_t metric;
    int64_t scale, older_scale;
};

extern const struct link_field link_fields[LINK_FIELDS];

/* What the last call told of a link: LINK_FIELDS values. */
const struct nv_field_value *fields_of_link(const struct device *device, uint32_t link);

int64_t field_whole(const struct nv_field_value *value);

#endif
