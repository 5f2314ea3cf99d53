/* SPDX-License-Identifier: MIT */
/* NVLinks: each an entity of its own. Which there are is found once; what they tell came with the
 * field values. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/nvml/device.h"
#include "plugins/nvml/fields.h"

void links_find(struct device *device)
{
    struct links *links = &device->links;
    links->count = 0;
    memset(links->older, 0, sizeof links->older);
    memset(links->missing, 0, sizeof links->missing);
    for (uint32_t i = 0; i < NV_NVLINK_LIMIT; i++) {
        struct nv_pci_info pci = {.bus = 0};
        uint32_t active = 0;
        if (NVML_CALL(device->lib, nvlink_state, device->identity.handle, i, &active) !=
            NV_SUCCESS) {
            break;
        }
        links->peers[i][0] = '\0';
        if (NVML_CALL(device->lib, nvlink_remote, device->identity.handle, i, &pci) == NV_SUCCESS) {
            device_format_pci(&pci, links->peers[i], sizeof links->peers[i]);
        }
        links->count = i + 1;
    }
}

static void put_link(struct device *device, struct reading *reading, uint32_t link,
                     const struct nv_field_value *values)
{
    for (uint32_t i = 0; i < LINK_FIELDS; i++) {
        const struct link_field *field = &link_fields[i];
        const struct nv_field_value *value = &values[i];
        int64_t number = field_whole(value);
        if (value->code != NV_SUCCESS) {
            reading_absent(reading, field->metric, nvml_code_reason(value->code));
        } else if (field->metric == M_NVLINK_STATE) {
            reading_text(reading, field->metric, number ? "active" : "inactive");
        } else {
            int64_t scale = device->links.older[i] ? field->older_scale : field->scale;
            reading_i64(reading, field->metric, number * scale);
        }
        if (link == 0) {
            capability_note(&device->capabilities[field->metric], value->code, device->begin_ns,
                            device->begin_wall_ns);
        }
    }
}

void read_links(struct device *device, struct reading *reading)
{
    const struct links *links = &device->links;
    for (uint32_t i = 0; i < links->count; i++) {
        char key[128], number[12];
        (void)snprintf(key, sizeof key, "%s/nvlink%" PRIu32, device->identity.known.uuid, i);
        (void)snprintf(number, sizeof number, "%" PRIu32, i);
        (void)reading_entity(reading, "nvlink", key, 0);
        reading_label(reading, "link", number);
        if (links->peers[i][0]) {
            reading_label(reading, "peer", links->peers[i]);
        }
        put_link(device, reading, i, fields_of_link(device, i));
    }
}
