/* SPDX-License-Identifier: MIT */
/* "Did you mean": the nearest name by edit distance, where two neighbours swapped count as one
 * edit, as that is how keys are mistyped. */
#include "core/option.h"

#include <stdbool.h>
#include <string.h>

enum { NAME_MAX_BYTES = 48 };

static size_t least(size_t a, size_t b, size_t c)
{
    size_t low = a < b ? a : b;
    return low < c ? low : c;
}

static size_t distance(const char *a, const char *b)
{
    size_t rows[3][NAME_MAX_BYTES + 1];
    size_t a_length = strlen(a), b_length = strlen(b);
    size_t *before = rows[0], *above = rows[1], *row = rows[2];
    for (size_t j = 0; j <= b_length; j++) {
        above[j] = before[j] = j;
    }
    for (size_t i = 1; i <= a_length; i++) {
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            row[j] = least(above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                row[j] = least(row[j], before[j - 2] + 1, row[j]);
            }
        }
        size_t *spare = before;
        before = above;
        above = row;
        row = spare;
    }
    return above[b_length];
}

/* "warning" for "warn", "dev" for "device". */
static bool begins_alike(const char *a, const char *b)
{
    size_t a_length = strlen(a), b_length = strlen(b);
    size_t shorter = a_length < b_length ? a_length : b_length;
    return shorter >= 3 && strncmp(a, b, shorter) == 0;
}

const char *option_nearest(const char *name, const char *const *names, size_t count)
{
    const char *best = NULL;
    size_t length = strlen(name);
    /* One edit for a short name, two or three for a longer one: more is another word. */
    size_t limit = length <= 3 ? 1 : length <= 7 ? 2 : 3;
    if (length > NAME_MAX_BYTES) {
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        size_t edits = strlen(names[i]) <= NAME_MAX_BYTES ? distance(name, names[i]) : limit + 1;
        if (edits <= limit && edits < strlen(names[i])) {
            best = names[i];
            limit = edits ? edits - 1 : 0;
            if (edits == 0) {
                break;
            }
        }
    }
    for (size_t i = 0; !best && i < count; i++) {
        best = begins_alike(name, names[i]) ? names[i] : NULL;
    }
    return best;
}
