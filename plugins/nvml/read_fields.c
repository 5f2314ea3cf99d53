/* SPDX-License-Identifier: MIT */
/*
 * Field values: everything that the driver tells by number, asked for in one call. A row whose
 * field this driver does not have goes over to its older call, if there is one.
 */
#include <stdlib.h>
#include <string.h>

#include "plugins/nvml/device.h"
#include "plugins/nvml/fields.h"

enum shape {
    SHAPE_COUNT,    /* a whole number */
    SHAPE_MILLI,    /* thousandths */
    SHAPE_NANO,     /* nanoseconds to seconds */
    SHAPE_WRAPPING, /* a counter that may be narrow: carried on in 64 bits */
    SHAPE_YES_NO,
    SHAPE_RECOVERY,
};

#define NO_FALLBACK 0
#define FALLBACK(member) offsetof(struct nvml_lib, member)

static const struct field_row {
    uint16_t field;
    uint8_t scope, shape;
    int32_t metric;
    size_t fallback; /* offset of a u32_call */
} rows[] = {
    {NV_FIELD_POWER_INSTANT, 0, SHAPE_MILLI, M_POWER, FALLBACK(power)},
    {NV_FIELD_POWER_AVERAGE, 0, SHAPE_MILLI, M_POWER_AVERAGE, NO_FALLBACK},
    {NV_FIELD_POWER_INSTANT, 1, SHAPE_MILLI, M_MODULE_POWER, NO_FALLBACK},
    {NV_FIELD_POWER_LIMIT, 0, SHAPE_MILLI, M_POWER_LIMIT, FALLBACK(power_limit)},
    {NV_FIELD_POWER_LIMIT_REQUESTED, 0, SHAPE_MILLI, M_POWER_LIMIT_REQUESTED,
     FALLBACK(power_limit_requested)},
    {NV_FIELD_MEMORY_TEMP, 0, SHAPE_COUNT, M_MEMORY_TEMPERATURE, NO_FALLBACK},
    {NV_FIELD_THROTTLE_POWER, 0, SHAPE_NANO, M_THROTTLE_POWER_CAP, NO_FALLBACK},
    {NV_FIELD_THROTTLE_SYNC_BOOST, 0, SHAPE_NANO, M_THROTTLE_SYNC_BOOST, NO_FALLBACK},
    {NV_FIELD_THROTTLE_SW_THERMAL, 0, SHAPE_NANO, M_THROTTLE_SW_THERMAL, NO_FALLBACK},
    {NV_FIELD_THROTTLE_HW_THERMAL, 0, SHAPE_NANO, M_THROTTLE_HW_THERMAL, NO_FALLBACK},
    {NV_FIELD_THROTTLE_POWER_BRAKE, 0, SHAPE_NANO, M_THROTTLE_POWER_BRAKE, NO_FALLBACK},
    {NV_FIELD_PCIE_RX_BYTES, 0, SHAPE_WRAPPING, M_PCIE_RECEIVED_BYTES, NO_FALLBACK},
    {NV_FIELD_PCIE_TX_BYTES, 0, SHAPE_WRAPPING, M_PCIE_SENT_BYTES, NO_FALLBACK},
    {NV_FIELD_PCIE_REPLAY, 0, SHAPE_COUNT, M_PCIE_REPLAYS, FALLBACK(pcie_replays)},
    {NV_FIELD_PCIE_REPLAY_ROLLOVER, 0, SHAPE_COUNT, M_PCIE_REPLAY_ROLLOVERS, NO_FALLBACK},
    {NV_FIELD_PCIE_CORRECTABLE, 0, SHAPE_COUNT, M_PCIE_CORRECTABLE_ERRORS, NO_FALLBACK},
    {NV_FIELD_PCIE_NONFATAL, 0, SHAPE_COUNT, M_PCIE_NONFATAL_ERRORS, NO_FALLBACK},
    {NV_FIELD_PCIE_FATAL, 0, SHAPE_COUNT, M_PCIE_FATAL_ERRORS, NO_FALLBACK},
    {NV_FIELD_RETIRED_SBE, 0, SHAPE_COUNT, M_RETIRED_SINGLE_BIT, NO_FALLBACK},
    {NV_FIELD_RETIRED_DBE, 0, SHAPE_COUNT, M_RETIRED_DOUBLE_BIT, NO_FALLBACK},
    {NV_FIELD_RETIRED_PENDING, 0, SHAPE_YES_NO, M_RETIRED_PENDING, NO_FALLBACK},
    {NV_FIELD_RECOVERY_ACTION, 0, SHAPE_RECOVERY, M_RECOVERY_ACTION, NO_FALLBACK},
};

#define ROW_COUNT TACHO_COUNT(rows)
#define KIB 1024
#define MB 1000000

const struct link_field link_fields[LINK_FIELDS] = {
    {NV_FIELD_NVLINK_STATE, 0, M_NVLINK_STATE, 1, 1},
    {NV_FIELD_NVLINK_SPEED, 0, M_NVLINK_SPEED, MB, 1},
    {NV_FIELD_NVLINK_DATA_RX, NV_FIELD_NVLINK5_RX_BYTES, M_NVLINK_RECEIVED_BYTES, KIB, 1},
    {NV_FIELD_NVLINK_DATA_TX, NV_FIELD_NVLINK5_TX_BYTES, M_NVLINK_SENT_BYTES, KIB, 1},
    {NV_FIELD_NVLINK_CRC, 0, M_NVLINK_CRC, 1, 1},
    {NV_FIELD_NVLINK_REPLAY, 0, M_NVLINK_REPLAY, 1, 1},
    {NV_FIELD_NVLINK_RECOVERY, 0, M_NVLINK_RECOVERY, 1, 1},
};

/* Of one device: what is asked, and how far the counters have come. */
struct field_plan {
    bool older[ROW_COUNT]; /* the row goes by its fallback */
    bool begun[ROW_COUNT];
    uint64_t last[ROW_COUNT];  /* as the driver told it */
    uint64_t total[ROW_COUNT]; /* as it goes on */
    uint32_t row_of[ROW_COUNT];
    struct nv_field_value values[ROW_COUNT + NV_NVLINK_LIMIT * LINK_FIELDS]; /* as asked */
    struct nv_field_value links[NV_NVLINK_LIMIT][LINK_FIELDS];
};

int fields_init(struct device *device)
{
    device->fields = calloc(1, sizeof *device->fields);
    return device->fields ? TACHO_OK : TACHO_RETRY;
}

void fields_fini(struct device *device)
{
    free(device->fields);
    device->fields = NULL;
}

/* Counters begin again with the GPU. */
void fields_restart(struct device *device)
{
    memset(device->fields->older, 0, sizeof device->fields->older);
    memset(device->fields->begun, 0, sizeof device->fields->begun);
}

const struct nv_field_value *fields_of_link(const struct device *device, uint32_t link)
{
    return device->fields->links[link];
}

/* The value by its type, as a whole number. */
int64_t field_whole(const struct nv_field_value *value)
{
    switch (value->type) {
    case NV_VALUE_DOUBLE: return (int64_t)value->value.f64;
    case NV_VALUE_UINT: return value->value.u32;
    case NV_VALUE_INT: return value->value.i32;
    case NV_VALUE_USHORT: return value->value.u16;
    default: return value->value.i64;
    }
}

/* What a counter has come to, when it may have begun again at zero after 32 bits. */
static uint64_t carry(struct field_plan *plan, uint32_t row, const struct nv_field_value *value)
{
    uint64_t now = (uint64_t)field_whole(value);
    if (!plan->begun[row]) {
        plan->begun[row] = true;
        plan->total[row] = now;
    } else if (value->type == NV_VALUE_UINT) {
        plan->total[row] += (uint32_t)(now - plan->last[row]);
    } else {
        plan->total[row] = now;
    }
    plan->last[row] = now;
    return plan->total[row];
}

static void put_value(struct device *device, struct reading *reading, uint32_t row,
                      const struct nv_field_value *value)
{
    static const char *const actions[] = {"none",      "gpu_reset",       "node_reboot",
                                          "drain_p2p", "drain_and_reset", "other"};
    const struct field_row *field = &rows[row];
    int64_t number = field_whole(value);
    if (!device_note(device, reading, field->metric, value->code)) {
        return;
    }
    switch ((enum shape)field->shape) {
    case SHAPE_COUNT: reading_i64(reading, field->metric, number); break;
    case SHAPE_MILLI: reading_f64(reading, field->metric, (double)number / 1e3); break;
    case SHAPE_NANO: reading_f64(reading, field->metric, (double)number / 1e9); break;
    case SHAPE_WRAPPING:
        reading_i64(reading, field->metric, (int64_t)carry(device->fields, row, value));
        break;
    case SHAPE_YES_NO: reading_text(reading, field->metric, number ? "yes" : "no"); break;
    case SHAPE_RECOVERY:
        reading_text(reading, field->metric, actions[number >= 0 && number < 5 ? number : 5]);
        break;
    }
}

static void ask_older(struct device *device, struct reading *reading, uint32_t row)
{
    struct nv_field_value value = {.type = NV_VALUE_UINT};
    u32_call *call;
    memcpy(&call, (const char *)device->lib + rows[row].fallback, sizeof call);
    value.code = call ? call(device->identity.handle, &value.value.u32) : NV_FUNCTION_NOT_FOUND;
    put_value(device, reading, row, &value);
}

/* The answer to a field, or the answer of the older call from now on. */
static void take_value(struct device *device, struct reading *reading, uint32_t row,
                       struct nv_field_value *value)
{
    bool missing = nvml_code_is_lasting(value->code) || value->code == NV_INVALID_ARGUMENT;
    if (missing && rows[row].fallback) {
        device->fields->older[row] = true;
        ask_older(device, reading, row);
        return;
    }
    if (value->code == NV_INVALID_ARGUMENT) {
        value->code = NV_NOT_SUPPORTED; /* a field that this driver has not heard of */
    }
    put_value(device, reading, row, value);
}

/* ---- links ----------------------------------------------------------------------------------- */

/* Adds what is asked of the links behind the GPU's own fields; returns the new count. */
static uint32_t add_links(struct device *device, uint32_t count)
{
    const struct links *links = &device->links;
    for (uint32_t link = 0; link < links->count; link++) {
        for (uint32_t i = 0; i < LINK_FIELDS; i++) {
            uint32_t field = links->older[i] ? link_fields[i].older : link_fields[i].field;
            if (!links->missing[i]) {
                device->fields->values[count++] = (struct nv_field_value){
                    .field = field, .scope = link, .code = NV_NOT_SUPPORTED};
            }
        }
    }
    return count;
}

/* Hands the answers to the links. A field that the first link does not have goes by its other
 * number from the next tick on, or is not asked for again. */
static void take_links(struct device *device, uint32_t at, int code)
{
    struct links *links = &device->links;
    bool lasting[LINK_FIELDS] = {false};
    for (uint32_t link = 0; link < links->count; link++) {
        for (uint32_t i = 0; i < LINK_FIELDS; i++) {
            struct nv_field_value *value = &device->fields->links[link][i];
            if (links->missing[i]) {
                value->code = NV_NOT_SUPPORTED;
                continue;
            }
            *value = device->fields->values[at++];
            value->code = code == NV_SUCCESS ? value->code : code;
            lasting[i] |= link == 0 &&
                          (nvml_code_is_lasting(value->code) || value->code == NV_INVALID_ARGUMENT);
        }
    }
    for (uint32_t i = 0; i < LINK_FIELDS; i++) {
        links->missing[i] |= lasting[i] && (links->older[i] || !link_fields[i].older);
        links->older[i] |= lasting[i] && link_fields[i].older;
    }
}

void read_fields(struct device *device, struct reading *reading)
{
    struct field_plan *plan = device->fields;
    uint32_t count = 0;
    for (uint32_t row = 0; row < ROW_COUNT; row++) {
        if (!device_wants(device, reading, rows[row].metric)) {
            continue;
        }
        if (plan->older[row]) {
            ask_older(device, reading, row);
            continue;
        }
        plan->values[count] = (struct nv_field_value){
            .field = rows[row].field, .scope = rows[row].scope, .code = NV_NOT_SUPPORTED};
        plan->row_of[count++] = row;
    }
    uint32_t total = add_links(device, count);
    if (total == 0) {
        return;
    }
    int code =
        NVML_CALL(device->lib, field_values, device->identity.handle, (int32_t)total, plan->values);
    for (uint32_t i = 0; i < count; i++) {
        if (code != NV_SUCCESS) {
            plan->values[i].code = code;
        }
        take_value(device, reading, plan->row_of[i], &plan->values[i]);
    }
    take_links(device, count, code);
}
