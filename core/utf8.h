/* SPDX-License-Identifier: MIT */
/*
 * UTF-8: whether text is well formed, and how to make it so. Texts enter tacho in whatever state a
 * device, a kernel or a program left them; inside and on the wire they are UTF-8.
 */
#ifndef TACHO_CORE_UTF8_H
#define TACHO_CORE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* U+FFFD, what takes the place of bytes that are not UTF-8. */
#define UTF8_REPLACEMENT "\xEF\xBF\xBD"

/* Length of the well-formed character at text, of which `size` bytes are there; 0 when there is
 * none: overlong, a surrogate, beyond U+10FFFF, or cut short. */
size_t utf8_step(const char *text, size_t size);

bool utf8_ok(const char *text, size_t length);

/* Copies text into out, each ill-formed byte as UTF8_REPLACEMENT, ending at a whole character
 * before `size` is full, with a NUL. Returns the length. `size` must not be 0. */
size_t utf8_clean(const char *text, size_t length, char *out, size_t size);

#endif
