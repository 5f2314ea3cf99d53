/* SPDX-License-Identifier: MIT */
/* Batches as one line of JSON; see core/FORMATS.md. */
#include "core/encode.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/clock.h"
#include "core/encode_number.h"
#include "core/metric.h"
#include "core/utf8.h"

/* ---- text ------------------------------------------------------------------------------------ */

static void put_escape(struct buf *out, unsigned char byte)
{
    static const char digits[] = "0123456789abcdef";
    switch (byte) {
    case '"': buf_puts(out, "\\\""); break;
    case '\\': buf_puts(out, "\\\\"); break;
    case '\n': buf_puts(out, "\\n"); break;
    case '\r': buf_puts(out, "\\r"); break;
    case '\t': buf_puts(out, "\\t"); break;
    default:
        buf_puts(out, "\\u00");
        buf_putc(out, digits[byte >> 4]);
        buf_putc(out, digits[byte & 15]);
        break;
    }
}

void encode_json_text(struct buf *out, const char *text)
{
    size_t length = strlen(text), plain = 0, at = 0;
    buf_putc(out, '"');
    while (at < length) {
        unsigned char byte = (unsigned char)text[at];
        size_t step = byte < 0x80 ? 1 : utf8_step(text + at, length - at);
        if (step > 1 ||
            (step == 1 && byte >= 0x20 && byte != '"' && byte != '\\' && byte != 0x7F)) {
            at += step;
            continue;
        }
        buf_put(out, text + plain, at - plain);
        if (step) {
            put_escape(out, byte);
        } else {
            buf_puts(out, UTF8_REPLACEMENT);
        }
        plain = ++at;
    }
    buf_put(out, text + plain, at - plain);
    buf_putc(out, '"');
}

void encode_json_number(struct buf *out, double number)
{
    encode_f64(out, number);
}

/* ---- values ---------------------------------------------------------------------------------- */

/* One member of an object; the name is one that needs no escapes. */
static void put_name(struct buf *out, const char *name)
{
    buf_putc(out, '"');
    buf_puts(out, name);
    buf_put(out, "\":", 2);
}

static void put_flags(struct buf *out, const struct metric *metric, uint64_t bits)
{
    const char *separator = "";
    buf_putc(out, '[');
    for (uint32_t i = 0; i < 64; i++) {
        if (!(bits >> i & 1)) {
            continue;
        }
        buf_puts(out, separator);
        separator = ",";
        if (i < metric->flag_count) {
            encode_json_text(out, metric->flag_names[i]);
        } else {
            buf_printf(out, "\"bit%u\"", i);
        }
    }
    buf_putc(out, ']');
}

static void put_summary(struct buf *out, const struct tacho_summary *summary)
{
    const struct {
        const char *name;
        double number;
    } members[] = {
        {"min", summary->min},       {"max", summary->max}, {"mean", summary->mean},
        {"stddev", summary->stddev}, {"p50", summary->p50}, {"p90", summary->p90},
        {"p95", summary->p95},       {"p99", summary->p99}, {"integral", summary->integral}};
    buf_puts(out, "{\"count\":");
    encode_u64(out, summary->count);
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        if (!isnan(members[i].number)) {
            buf_putc(out, ',');
            put_name(out, members[i].name);
            encode_f64(out, members[i].number);
        }
    }
    buf_putc(out, '}');
}

static void put_value(struct buf *out, const struct metric *metric, const struct tacho_value *value)
{
    switch (value->type) {
    case TACHO_VALUE_F64: encode_f64(out, value->as.f64); break;
    case TACHO_VALUE_I64: encode_i64(out, value->as.i64); break;
    case TACHO_VALUE_FLAGS: put_flags(out, metric, value->as.flags); break;
    case TACHO_VALUE_TEXT: encode_json_text(out, value->as.text); break;
    default: put_summary(out, value->as.summary); break;
    }
}

/* The object of all values that are there; returns how many are not. */
static uint32_t put_values(struct buf *out, const struct tacho_entity *entity)
{
    uint32_t absent = 0;
    const char *separator = "\"values\":{";
    for (uint32_t i = 0; i < entity->value_count; i++) {
        const struct tacho_value *value = &entity->values[i];
        if (value->type == TACHO_VALUE_ABSENT) {
            absent++;
            continue;
        }
        const struct metric *metric = metric_get(value->metric);
        buf_puts(out, separator);
        put_name(out, metric->desc.name);
        put_value(out, metric, value);
        separator = ",";
    }
    buf_puts(out, *separator == ',' ? "}" : "\"values\":{}");
    return absent;
}

static void put_absents(struct buf *out, const struct tacho_entity *entity)
{
    const char *separator = ",\"absent\":{";
    for (uint32_t i = 0; i < entity->value_count; i++) {
        const struct tacho_value *value = &entity->values[i];
        if (value->type == TACHO_VALUE_ABSENT) {
            buf_puts(out, separator);
            put_name(out, metric_get(value->metric)->desc.name);
            encode_json_text(out, batch_reason_name(value->reason));
            separator = ",";
        }
    }
    buf_putc(out, '}');
}

/* ---- batch ----------------------------------------------------------------------------------- */

static void put_entity(struct buf *out, const struct tacho_entity *entity)
{
    buf_puts(out, "{\"kind\":");
    encode_json_text(out, entity->kind);
    buf_puts(out, ",\"key\":");
    encode_json_text(out, entity->key);
    if (entity->parent >= 0) {
        buf_puts(out, ",\"parent\":");
        encode_i64(out, entity->parent);
    }
    buf_puts(out, ",\"labels\":{");
    for (uint32_t i = 0; i < entity->label_count; i++) {
        buf_puts(out, i ? "," : "");
        encode_json_text(out, entity->labels[i].name);
        buf_putc(out, ':');
        encode_json_text(out, entity->labels[i].value);
    }
    buf_puts(out, "},");
    if (put_values(out, entity) > 0) {
        put_absents(out, entity);
    }
    buf_putc(out, '}');
}

static void put_head(const struct tacho_batch *batch, struct buf *out)
{
    char time[CLOCK_TEXT];
    clock_format(batch->wall_ns, time);
    buf_puts(out, "{\"schema\":\"tacho.batch.v1\",\"fleet\":");
    encode_json_text(out, batch->fleet);
    buf_puts(out, ",\"host\":");
    encode_json_text(out, batch->host);
    buf_puts(out, ",\"source\":");
    encode_json_text(out, batch->source);
    buf_puts(out, ",\"session\":");
    encode_u64(out, batch->session);
    buf_puts(out, ",\"seq\":");
    encode_u64(out, batch->seq);
    buf_puts(out, ",\"time\":\"");
    buf_puts(out, time);
    buf_puts(out, "\",\"time_ns\":");
    encode_i64(out, batch->wall_ns);
    buf_puts(out, ",\"duration_ns\":");
    encode_i64(out, batch->duration_ns);
    buf_puts(out, batch->flags & TACHO_SIMULATED ? ",\"simulated\":true" : ",\"simulated\":false");
    buf_puts(out, batch->flags & TACHO_EVENT ? ",\"event\":true" : "");
    buf_puts(out, batch->flags & TACHO_REPLAYED ? ",\"replayed\":true" : "");
    buf_puts(out, batch->flags & TACHO_REPORT ? ",\"report\":true" : "");
}

void encode_json(const struct tacho_batch *batch, struct buf *out)
{
    put_head(batch, out);
    buf_puts(out, ",\"entities\":[");
    for (uint32_t i = 0; i < batch->entity_count; i++) {
        buf_puts(out, i ? "," : "");
        put_entity(out, &batch->entities[i]);
    }
    buf_puts(out, "]}");
}
