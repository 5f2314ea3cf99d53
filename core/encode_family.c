/* SPDX-License-Identifier: MIT */
/*
 * Names, units and descriptions of OpenMetrics families; see encode_openmetrics.h. Information and
 * flags are written as gauges, since readers of the older text format know no other type for them.
 */
#include "core/encode_openmetrics.h"

#include <stdio.h>
#include <string.h>

/* Writes text with everything but letters and digits as one underscore. */
static size_t put_sanitised(char *out, size_t size, const char *text)
{
    size_t used = 0;
    for (; *text && used + 1 < size; text++) {
        bool plain = (*text >= 'a' && *text <= 'z') || (*text >= '0' && *text <= '9') ||
                     (*text >= 'A' && *text <= 'Z');
        if (plain) {
            out[used++] = *text;
        } else if (used > 0 && out[used - 1] != '_') {
            out[used++] = '_';
        }
    }
    while (used > 0 && out[used - 1] == '_') {
        used--;
    }
    out[used] = '\0';
    return used;
}

/* "bytes/s" gives "bytes_per_second". */
static void unit_name(const char *unit, char *out, size_t size)
{
    size_t length = strlen(unit);
    if (strcmp(unit, "percent") == 0) {
        unit = "ratio";
    }
    if (length > 2 && strcmp(unit + length - 2, "/s") == 0) {
        char base[40];
        snprintf(base, sizeof base, "%.*s", (int)(length - 2), unit);
        put_sanitised(out, size, base);
        size_t used = strlen(out);
        snprintf(out + used, size - used, "_per_second");
    } else {
        put_sanitised(out, size, unit);
    }
}

static bool ends_in(const char *name, size_t length, const char *word)
{
    size_t size = strlen(word);
    return length > size && name[length - size - 1] == '_' &&
           memcmp(name + length - size, word, size) == 0;
}

static void append(struct family *family, const char *word)
{
    if (*word && !ends_in(family->name, family->length, word)) {
        family->length += (size_t)snprintf(family->name + family->length,
                                           sizeof family->name - family->length, "_%s", word);
    }
}

static void start(const struct metric *metric, struct family *out)
{
    out->ratio = strcmp(metric->desc.unit, "percent") == 0;
    out->unit[0] = '\0';
    out->help = metric->desc.help;
    memcpy(out->name, "tacho_", 6);
    out->length = 6 + put_sanitised(out->name + 6, METRIC_NAME_MAX + 1, metric->desc.name);
}

void family_of_metric(const struct metric *metric, struct family *out)
{
    start(metric, out);
    if (metric->desc.kind == TACHO_INFO || metric->desc.kind == TACHO_STATE) {
        out->type = metric->desc.flags ? FAMILY_FLAGS : FAMILY_INFO;
        append(out, metric->desc.flags ? "" : "info");
        return;
    }
    out->type = metric->desc.kind == TACHO_COUNTER ? FAMILY_COUNTER : FAMILY_GAUGE;
    if (out->type == FAMILY_COUNTER && ends_in(out->name, out->length, "total")) {
        out->length -= strlen("_total"); /* The samples get it again. */
        out->name[out->length] = '\0';
    }
    unit_name(metric->desc.unit, out->unit, sizeof out->unit);
    append(out, out->unit);
}

void family_of_summary(const struct metric *metric, enum family_part part, struct family *out)
{
    static const char *const words[] = {"distribution", "min", "max"};
    start(metric, out);
    out->type = part == FAMILY_DISTRIBUTION ? FAMILY_SUMMARY : FAMILY_GAUGE;
    unit_name(metric->desc.unit, out->unit, sizeof out->unit);
    if (*out->unit && ends_in(out->name, out->length, out->unit)) {
        out->length -= strlen(out->unit) + 1; /* It goes behind the part. */
        out->name[out->length] = '\0';
    }
    append(out, words[part]);
    append(out, out->unit);
}

/* The older text format knows no escaped quotes here, OpenMetrics no others: so there are none. */
static void put_help(struct buf *out, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '\\': buf_puts(out, "\\\\"); break;
        case '\n': buf_puts(out, "\\n"); break;
        case '"': buf_putc(out, '\''); break;
        default: buf_putc(out, *text); break;
        }
    }
}

static void put_line(const struct family *family, struct buf *out, const char *word)
{
    buf_puts(out, word);
    buf_put(out, family->name, family->length);
    buf_putc(out, ' ');
}

void family_put_head(const struct family *family, struct buf *out)
{
    static const char *const types[] = {"gauge\n", "counter\n", "gauge\n", "gauge\n", "summary\n"};
    put_line(family, out, "# TYPE ");
    buf_puts(out, types[family->type]);
    if (*family->unit) {
        put_line(family, out, "# UNIT ");
        buf_puts(out, family->unit);
        buf_putc(out, '\n');
    }
    if (*family->help) {
        put_line(family, out, "# HELP ");
        put_help(out, family->help);
        buf_putc(out, '\n');
    }
}
