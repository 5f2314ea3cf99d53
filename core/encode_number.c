/* SPDX-License-Identifier: MIT */
/*
 * Numbers as text; see encode_number.h. A double with few decimals is found by scaling: when
 * digits / 10^places gives the number again, then that decimal reads back as it, because both
 * division and reading round correctly. Everything else takes printf with 15, 16 or 17 digits.
 */
#include "core/encode_number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { PLACES = 9 };
#define EXACT 9007199254740992. /* 2^53: up to here every whole number is a double */

static const double powers[PLACES + 3] = {1,   1e1, 1e2, 1e3, 1e4,  1e5,
                                          1e6, 1e7, 1e8, 1e9, 1e10, 1e11};

static char *digits_before(char *end, uint64_t number)
{
    do {
        *--end = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    return end;
}

void encode_u64(struct buf *out, uint64_t number)
{
    char text[24];
    char *begin = digits_before(text + sizeof text, number);
    buf_put(out, begin, (size_t)(text + sizeof text - begin));
}

void encode_i64(struct buf *out, int64_t number)
{
    if (number < 0) {
        buf_putc(out, '-');
    }
    encode_u64(out, number < 0 ? 0 - (uint64_t)number : (uint64_t)number);
}

/* Writes number as digits / 10^places. */
static void put_decimal(struct buf *out, uint64_t digits, int places)
{
    while (places > 0 && digits % 10 == 0) {
        digits /= 10;
        places--;
    }
    char text[48];
    char *end = text + sizeof text, *begin = end;
    if (places > 0) {
        for (int i = 0; i < places; i++) {
            *--begin = (char)('0' + digits % 10);
            digits /= 10;
        }
        *--begin = '.';
    }
    begin = digits_before(begin, digits);
    buf_put(out, begin, (size_t)(end - begin));
}

static void put_any(struct buf *out, double number)
{
    char text[32];
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(text, sizeof text, "%.*g", precision, number);
        if (strtod(text, NULL) == number) {
            break;
        }
    }
    buf_puts(out, text);
}

/* The number of places and the digits of a positive number with few decimals, or -1. */
static int few_places(double number, uint64_t *out_digits)
{
    for (int places = 0; places <= PLACES; places++) {
        double scaled = nearbyint(number * powers[places]);
        if (!(scaled < EXACT)) {
            return -1;
        }
        if (scaled / powers[places] == number) {
            *out_digits = (uint64_t)scaled;
            return places;
        }
    }
    return -1;
}

/* Writes number / 10^shift. */
static void put_shifted(struct buf *out, double number, int shift)
{
    uint64_t digits;
    int places = few_places(fabs(number), &digits);
    if (places < 0 || (digits == 0 && shift == 0 && signbit(number))) {
        put_any(out, number / powers[shift]);
        return;
    }
    if (digits > 0 && number < 0) {
        buf_putc(out, '-');
    }
    put_decimal(out, digits, places + shift);
}

void encode_f64(struct buf *out, double number)
{
    put_shifted(out, number, 0);
}

void encode_ratio(struct buf *out, double percent)
{
    put_shifted(out, percent, 2);
}
