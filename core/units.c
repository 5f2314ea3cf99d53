/* SPDX-License-Identifier: MIT */
/* Units: one table of suffixes for durations, one for sizes; see units.h. */
#include "core/units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct suffix {
    const char *text;
    double factor;
};

static const struct suffix durations[] = {
    {"ns", 1},   {"us", 1e3},   {"µs", 1e3},   {"ms", 1e6},    {"s", 1e9},
    {"m", 60e9}, {"min", 60e9}, {"h", 3600e9}, {"d", 86400e9}, {"", 1e9},
};

static const struct suffix sizes[] = {
    {"", 1},
    {"B", 1},
    {"k", 1024.},
    {"K", 1024.},
    {"kB", 1e3},
    {"KB", 1e3},
    {"KiB", 1024.},
    {"M", 1048576.},
    {"MB", 1e6},
    {"MiB", 1048576.},
    {"G", 1073741824.},
    {"GB", 1e9},
    {"GiB", 1073741824.},
    {"T", 1099511627776.},
    {"TB", 1e12},
    {"TiB", 1099511627776.},
};

static int parse(const char *text, const struct suffix *table, size_t count, int64_t *out)
{
    if (strpbrk(text, "xXnNiI") == text || (*text != '.' && (*text < '0' || *text > '9'))) {
        return -1;
    }
    char *end;
    double number = strtod(text, &end);
    while (*end == ' ') {
        end++;
    }
    for (size_t i = 0; i < count; i++) {
        if (strcmp(end, table[i].text) == 0) {
            double scaled = number * table[i].factor;
            if (!(scaled >= 0 && scaled < 9.2e18)) {
                return -1;
            }
            *out = (int64_t)llround(scaled);
            return 0;
        }
    }
    return -1;
}

int units_parse_duration(const char *text, int64_t *out_ns)
{
    return parse(text, durations, sizeof durations / sizeof durations[0], out_ns);
}

int units_parse_size(const char *text, int64_t *out_bytes)
{
    return parse(text, sizes, sizeof sizes / sizeof sizes[0], out_bytes);
}

const char *units_format_duration(int64_t ns, char *out, size_t size)
{
    static const struct suffix units[] = {{"h", 3600e9}, {"m", 60e9}, {"s", 1e9},
                                          {"ms", 1e6},   {"us", 1e3}, {"ns", 1}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        int64_t unit = (int64_t)units[i].factor;
        /* Hours and minutes only when they are whole: 90 s is "90s", not "1.5m". */
        if (unit >= 60000000000 ? (ns != 0 && ns % unit == 0) : ns >= unit) {
            snprintf(out, size, "%.10g%s", (double)ns / units[i].factor, units[i].text);
            return out;
        }
    }
    snprintf(out, size, "%llds", (long long)ns);
    return out;
}

const char *units_format_size(int64_t bytes, char *out, size_t size)
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double number = (double)bytes;
    size_t i = 0;
    while (number >= 1024 && i + 1 < sizeof names / sizeof names[0]) {
        number /= 1024;
        i++;
    }
    snprintf(out, size, i == 0 || number >= 100 ? "%.0f %s" : "%.1f %s", number, names[i]);
    return out;
}
