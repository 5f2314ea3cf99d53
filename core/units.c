/* SPDX-License-Identifier: MIT */
/* Units: one table of suffixes for durations, one for sizes; see units.h. */
#include "core/units.h"

#include <inttypes.h>
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
    /* strtod would also take signs, blanks, "inf", "nan" and hexadecimal. */
    if ((*text != '.' && (*text < '0' || *text > '9')) || strpbrk(text, "xX")) {
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

/* Writes part / 10^places as ".5"; nothing when it is 0. */
static void put_fraction(uint64_t part, int places, char out[16])
{
    *out = '\0';
    for (; places > 0 && part % 10 == 0; part /= 10) {
        places--;
    }
    if (places > 0) {
        out[0] = '.';
        out[places + 1] = '\0';
        for (; places > 0; part /= 10) {
            out[places--] = (char)('0' + part % 10);
        }
    }
}

const char *units_format_duration(int64_t ns, char *out, size_t size)
{
    static const struct {
        const char *text;
        uint64_t ns;
        int places; /* that a fraction can have */
    } units[] = {{"h", UINT64_C(3600000000000), 0},
                 {"m", UINT64_C(60000000000), 0},
                 {"s", 1000000000, 9},
                 {"ms", 1000000, 6},
                 {"us", 1000, 3},
                 {"ns", 1, 0}};
    const char *sign = ns < 0 ? "-" : "";
    uint64_t left = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    for (size_t i = 0; left > 0 && i < sizeof units / sizeof units[0]; i++) {
        uint64_t whole = left / units[i].ns, part = left % units[i].ns;
        /* Hours and minutes only when they are whole: 90 s is "90s", not "1.5m". */
        if (whole == 0 || (part > 0 && units[i].places == 0)) {
            continue;
        }
        char fraction[16];
        put_fraction(part, units[i].places, fraction);
        snprintf(out, size, "%s%" PRIu64 "%s%s", sign, whole, fraction, units[i].text);
        return out;
    }
    snprintf(out, size, "0s");
    return out;
}

const char *units_format_size(int64_t bytes, char *out, size_t size)
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double number = fabs((double)bytes);
    size_t i = 0;
    /* What would be rounded to 1024 is one of the next unit. */
    while (number >= (i == 0 ? 1024 : 1023.5) && i + 1 < sizeof names / sizeof names[0]) {
        number /= 1024;
        i++;
    }
    snprintf(out, size, i == 0 || number >= 99.95 ? "%s%.0f %s" : "%s%.1f %s", bytes < 0 ? "-" : "",
             number, names[i]);
    return out;
}
