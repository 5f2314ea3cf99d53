/* SPDX-License-Identifier: MIT */
/*
 * Numbers with units as people write them, "500ms" or "8MiB", and back. Used by the configuration,
 * the command line and everything that prints for a person.
 */
#ifndef TACHO_CORE_UNITS_H
#define TACHO_CORE_UNITS_H

#include <stddef.h>
#include <stdint.h>

/* "500ms", "10s", "1.5h", "7d"; ns, us, ms, s, m, min, h, d; a bare number is seconds. 0, or -1
 * when text is no duration, negative or does not fit. */
int units_parse_duration(const char *text, int64_t *out_ns);

/* "8MiB", "1GB", "4k"; k, M, G, T with B (1000) or iB (1024), bare k/M/G/T are 1024; a bare number
 * is bytes. 0, or -1. */
int units_parse_size(const char *text, int64_t *out_bytes);

/* The shortest exact form: 1500000000 gives "1.5s". Returns out. */
const char *units_format_duration(int64_t ns, char *out, size_t size);

/* Rounded for a person, in powers of 1024: "7.8 MiB". Returns out. */
const char *units_format_size(int64_t bytes, char *out, size_t size);

#endif
