/* SPDX-License-Identifier: MIT */
/*
 * Numbers as text; see encode_number.h. The digits of a double of usual size come from scaling it
 * by a power of ten in long double, first 15 of them, then 16, then 17; the first that reads back
 * is taken. Whether it does is decided by the distance to the number, and where that is too close
 * to call, or the number too large or small, by printf and strtod: ten times slower, always right.
 */
#include "core/encode_number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define EXACT 9007199254740992. /* 2^53: up to here every whole number is a double */
#define SMALLEST 1e-7
enum { TENS = 28, FRACTION = 52, BIAS = 1023 };

/* All exact, in a long double with 64 bits of mantissa. */
static const long double tens[TENS] = {1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,
                                       1e7L,  1e8L,  1e9L,  1e10L, 1e11L, 1e12L, 1e13L,
                                       1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L, 1e20L,
                                       1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L};

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

/* Writes digits / 10^places. */
static void put_decimal(struct buf *out, uint64_t digits, int places)
{
    if (places >= 8 && digits % 100000000 == 0) {
        digits /= 100000000;
        places -= 8;
    }
    while (places > 0 && digits % 10 == 0) {
        digits /= 10;
        places--;
    }
    char text[64];
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

static int binary_exponent(double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return (int)(bits >> FRACTION & 0x7FF) - BIAS;
}

/* The largest e with 10^e <= number. */
static int decimal_exponent(double number)
{
    int exponent = binary_exponent(number) * 1233 >> 12; /* times log10(2), or one too few */
    long double above = exponent + 1 >= 0 ? tens[exponent + 1] : 1 / tens[-exponent - 1];
    return (long double)number >= above ? exponent + 1 : exponent;
}

/* Whether digits / 10^places reads as the number: 1 or 0, or -1 when it is too close to call. */
static int reads_back(uint64_t digits, int places, double number)
{
    long double gap = (long double)digits / tens[places] - (long double)number;
    long double half = ldexpl(0.5L, binary_exponent(number) - FRACTION);
    gap = gap < 0 ? -gap : gap;
    if (gap < half * 0.998L) {
        return 1;
    }
    return gap > half * 1.002L ? 0 : -1;
}

/* Finds digits / 10^places for a number above 0, or returns false. */
static bool few_digits(double number, uint64_t *out_digits, int *out_places)
{
    if (number < EXACT && (double)(uint64_t)number == number) {
        *out_digits = (uint64_t)number;
        *out_places = 0;
        return true;
    }
    /* Below a power of two doubles lie closer than above it. */
    if (!(number >= SMALLEST && number < EXACT) || frexp(number, &(int){0}) == 0.5) {
        return false;
    }
    int exponent = decimal_exponent(number);
    for (int precision = 15; precision <= 17; precision++) {
        int places = precision - 1 - exponent;
        if (places < 0) {
            continue;
        }
        uint64_t digits = (uint64_t)((long double)number * tens[places] + 0.5L);
        int verdict = reads_back(digits, places, number);
        if (verdict != 0) {
            *out_digits = digits;
            *out_places = places;
            return verdict > 0;
        }
    }
    return false;
}

/* Writes number / 10^shift. */
static void put_shifted(struct buf *out, double number, int shift)
{
    uint64_t digits = 0;
    int places = 0;
    bool negative = signbit(number);
    if (number == 0) {
        buf_puts(out, negative && shift == 0 ? "-0" : "0");
    } else if (few_digits(fabs(number), &digits, &places)) {
        buf_puts(out, negative ? "-" : "");
        put_decimal(out, digits, places + shift);
    } else {
        put_any(out, number / (double)tens[shift]);
    }
}

void encode_f64(struct buf *out, double number)
{
    put_shifted(out, number, 0);
}

void encode_ratio(struct buf *out, double percent)
{
    put_shifted(out, percent, 2);
}
