/* SPDX-License-Identifier: MIT */
/*
 * Numbers as text, for the encoders: the shortest form that reads back as the same number. Most
 * telemetry is whole or has few decimals, and those never reach printf.
 */
#ifndef TACHO_CORE_ENCODE_NUMBER_H
#define TACHO_CORE_ENCODE_NUMBER_H

#include <stdint.h>

#include "core/buf.h"

void encode_u64(struct buf *out, uint64_t number);
void encode_i64(struct buf *out, int64_t number);

/* Finite. */
void encode_f64(struct buf *out, double number);

/* A number of percent as a ratio: 12.5 gives 0.125, without a rounding of its own where the number
 * has few decimals. */
void encode_ratio(struct buf *out, double percent);

#endif
