/* SPDX-License-Identifier: MIT */
/* Moments as people write them; see replay.h. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "plugins/replay/replay.h"

#define NS_PER_S INT64_C(1000000000)
#define LAST_S INT64_C(9223372036) /* nanoseconds of 64 bits end in 2262 */

static int parse_seconds(const char *text, int64_t *out_wall_ns)
{
    char *end;
    double seconds = strtod(text, &end);
    if (end == text || *end || !(seconds >= 0 && seconds < 9e9)) {
        return -1;
    }
    *out_wall_ns = (int64_t)(seconds * (double)NS_PER_S);
    return 0;
}

/* Digits behind a point, as nanoseconds. */
static const char *parse_fraction(const char *at, int64_t *out_ns)
{
    int64_t unit = NS_PER_S / 10;
    *out_ns = 0;
    if (*at != '.') {
        return at;
    }
    for (at++; *at >= '0' && *at <= '9'; at++, unit /= 10) {
        *out_ns += (*at - '0') * unit;
    }
    return at;
}

/* "", "Z", "+02:00" or "-0530", as seconds east of Greenwich. */
static int parse_offset(const char *at, int64_t *out_s)
{
    *out_s = 0;
    if (*at == '\0' || strcmp(at, "Z") == 0 || strcmp(at, "z") == 0) {
        return 0;
    }
    int sign = *at == '+' ? 1 : *at == '-' ? -1 : 0;
    char digits[5] = "";
    size_t count = 0;
    for (at++; sign && *at && count < 4; at++) {
        if (*at >= '0' && *at <= '9') {
            digits[count++] = *at;
        } else if (*at != ':' || count != 2) {
            return -1;
        }
    }
    if (!sign || *at || count != 4) {
        return -1;
    }
    long number = strtol(digits, NULL, 10);
    *out_s = sign * (number / 100 * 3600 + number % 100 * 60);
    return number / 100 < 24 && number % 100 < 60 ? 0 : -1;
}

int replay_parse_time(const char *text, int64_t *out_wall_ns)
{
    static const char *const forms[] = {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M",
                                        "%Y-%m-%d %H:%M", "%Y-%m-%d"};
    if (*text == '@') {
        return parse_seconds(text + 1, out_wall_ns);
    }
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        struct tm utc = {.tm_mday = 1};
        const char *rest = strptime(text, forms[i], &utc);
        int64_t fraction_ns, offset_s;
        if (!rest || parse_offset(parse_fraction(rest, &fraction_ns), &offset_s) != 0) {
            continue;
        }
        int64_t seconds = (int64_t)timegm(&utc) - offset_s;
        if (seconds < 0 || seconds >= LAST_S) {
            return -1;
        }
        *out_wall_ns = seconds * NS_PER_S + fraction_ns;
        return 0;
    }
    return -1;
}
