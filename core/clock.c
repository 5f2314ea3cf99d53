/* SPDX-License-Identifier: MIT */
/*
 * Clocks and RFC 3339. The calendar is computed here rather than with gmtime_r: a stamp is written
 * for each batch, and days-to-date is a dozen integer operations.
 */
#include "core/clock.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int64_t read_clock(clockid_t which)
{
    struct timespec now;
    clock_gettime(which, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

int64_t clock_mono_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

int64_t clock_wall_ns(void)
{
    return read_clock(CLOCK_REALTIME);
}

void clock_sleep_until(int64_t mono_ns)
{
    struct timespec until = {.tv_sec = mono_ns / NS_PER_S, .tv_nsec = mono_ns % NS_PER_S};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {
    }
}

/* Proleptic Gregorian date of a day counted from 1970-01-01; years begin in March inside, so that
 * the leap day comes last. */
static void date_of_day(int64_t day, int *out_year, int *out_month, int *out_day)
{
    day += 719468;
    int64_t era = (day >= 0 ? day : day - 146096) / 146097;
    int64_t of_era = day - era * 146097;
    int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
    int64_t month = (5 * of_year + 2) / 153;
    *out_day = (int)(of_year - (153 * month + 2) / 5 + 1);
    *out_month = (int)(month < 10 ? month + 3 : month - 9);
    *out_year = (int)(year + era * 400 + (*out_month <= 2));
}

static int64_t day_of_date(int64_t year, int month, int day)
{
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t of_era_year = year - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era_year * 365 + of_era_year / 4 - of_era_year / 100 + of_year -
           719468;
}

static int days_of_month(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return days[month - 1] + (month == 2 && leap);
}

static char *put_digits(char *out, int64_t number, int digits)
{
    for (int i = digits - 1; i >= 0; i--) {
        out[i] = (char)('0' + number % 10);
        number /= 10;
    }
    return out + digits;
}

size_t clock_format(int64_t wall_ns, char out[CLOCK_TEXT])
{
    int64_t seconds = wall_ns / NS_PER_S;
    int64_t fraction = wall_ns % NS_PER_S;
    if (fraction < 0) {
        seconds--;
        fraction += NS_PER_S;
    }
    int64_t day = seconds / 86400;
    int64_t of_day = seconds % 86400;
    if (of_day < 0) {
        day--;
        of_day += 86400;
    }
    int year, month, mday;
    date_of_day(day, &year, &month, &mday);
    char *at = put_digits(out, year, 4);
    *at++ = '-';
    at = put_digits(at, month, 2);
    *at++ = '-';
    at = put_digits(at, mday, 2);
    *at++ = 'T';
    at = put_digits(at, of_day / 3600, 2);
    *at++ = ':';
    at = put_digits(at, of_day / 60 % 60, 2);
    *at++ = ':';
    at = put_digits(at, of_day % 60, 2);
    *at++ = '.';
    at = put_digits(at, fraction, 9);
    *at++ = 'Z';
    *at = '\0';
    return (size_t)(at - out);
}

/* Reads exactly `digits` digits, or returns NULL. */
static const char *get_digits(const char *text, int digits, int *out)
{
    int number = 0;
    for (int i = 0; i < digits; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return NULL;
        }
        number = number * 10 + (text[i] - '0');
    }
    *out = number;
    return text + digits;
}

static const char *get_time_of_day(const char *at, int64_t *out_ns)
{
    int hour, minute, second = 0;
    if (!(at = get_digits(at, 2, &hour)) || *at++ != ':' || !(at = get_digits(at, 2, &minute))) {
        return NULL;
    }
    if (*at == ':' && !(at = get_digits(at + 1, 2, &second))) {
        return NULL;
    }
    if (hour > 23 || minute > 59 || second > 60) {
        return NULL;
    }
    int64_t fraction = 0;
    if (*at == '.') {
        int64_t scale = NS_PER_S / 10;
        const char *point = at;
        for (at++; *at >= '0' && *at <= '9'; at++, scale /= 10) {
            fraction += (*at - '0') * scale;
        }
        if (at == point + 1) {
            return NULL;
        }
    }
    *out_ns = ((int64_t)hour * 3600 + minute * 60 + second) * NS_PER_S + fraction;
    return at;
}

static const char *get_offset(const char *at, int64_t *out_ns)
{
    *out_ns = 0;
    if (*at == 'Z' || *at == 'z') {
        return at + 1;
    }
    if (*at != '+' && *at != '-') {
        return at;
    }
    int sign = *at == '+' ? 1 : -1;
    int hours, minutes;
    if (!(at = get_digits(at + 1, 2, &hours)) || *at++ != ':' ||
        !(at = get_digits(at, 2, &minutes)) || hours > 23 || minutes > 59) {
        return NULL;
    }
    *out_ns = sign * ((int64_t)hours * 3600 + minutes * 60) * NS_PER_S;
    return at;
}

static int parse_epoch(const char *text, int64_t *out_wall_ns)
{
    char *end;
    errno = 0;
    if (text[strspn(text, "-.0123456789")]) {
        return -1; /* strtod would also take blanks, exponents and hexadecimal. */
    }
    double seconds = strtod(text, &end);
    if (end == text || *end || errno || !(seconds > -9e9 && seconds < 9e9)) {
        return -1;
    }
    *out_wall_ns = (int64_t)(seconds * (double)NS_PER_S);
    return 0;
}

int clock_parse(const char *text, int64_t *out_wall_ns)
{
    if (*text == '@') {
        return parse_epoch(text + 1, out_wall_ns);
    }
    int year, month, day;
    int64_t of_day = 0, offset = 0;
    const char *at = get_digits(text, 4, &year);
    if (!at || *at++ != '-' || !(at = get_digits(at, 2, &month)) || *at++ != '-' ||
        !(at = get_digits(at, 2, &day)) || month < 1 || month > 12 || day < 1 ||
        day > days_of_month(year, month)) {
        return -1;
    }
    if (*at == 'T' || *at == 't' || *at == ' ') {
        if (!(at = get_time_of_day(at + 1, &of_day)) || !(at = get_offset(at, &offset))) {
            return -1;
        }
    }
    if (*at || year < 1900 || year > 2200) {
        return -1;
    }
    *out_wall_ns = day_of_date(year, month, day) * 86400 * NS_PER_S + of_day - offset;
    return 0;
}
