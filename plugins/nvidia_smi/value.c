/* SPDX-License-Identifier: MIT */
/*
 * What the texts of nvidia-smi mean: numbers with units, words, and the many ways to say that there
 * is no value. Nothing here depends on a locale. What does not fit the form of its field is absent,
 * never zero.
 */
#include <string.h>

#include "plugins/nvidia_smi/nvidia_smi.h"

#define KNOWN_FLAGS UINT64_C(0x1ff)

/* ---- absence --------------------------------------------------------------------------------- */

static const struct {
    const char *text;
    int reason;
} tokens[] = {
    {"N/A", TACHO_ABSENT_UNSUPPORTED},
    {"Not Supported", TACHO_ABSENT_UNSUPPORTED},
    {"Not Found", TACHO_ABSENT_UNSUPPORTED},
    {"Function Not Found", TACHO_ABSENT_UNSUPPORTED},
    {"Requested functionality has been deprecated", TACHO_ABSENT_UNSUPPORTED},
    {"Insufficient Permissions", TACHO_ABSENT_DENIED},
    {"REDACTED", TACHO_ABSENT_DENIED},
    {"GPU is lost", TACHO_ABSENT_LOST},
    {"GPU requires reset", TACHO_ABSENT_LOST},
    {"Unknown Error", TACHO_ABSENT_ERROR},
    {"Unknown", TACHO_ABSENT_ERROR},
    {"ERR!", TACHO_ABSENT_ERROR},
};

/* Why the text is no value, or 0 when it may be one. Brackets always mean that it is none. */
static int absence(char *text, size_t length)
{
    bool bracketed = length >= 2 && text[0] == '[' && text[length - 1] == ']';
    if (length == 0) {
        return TACHO_ABSENT_UNSUPPORTED;
    }
    if (bracketed) {
        text[length - 1] = '\0';
        text++;
    }
    for (uint32_t i = 0; i < TACHO_COUNT(tokens); i++) {
        if (strcmp(text, tokens[i].text) == 0) {
            return tokens[i].reason;
        }
    }
    return bracketed ? TACHO_ABSENT_ERROR : 0;
}

/* ---- numbers --------------------------------------------------------------------------------- */

struct number {
    bool negative, whole, valid;
    uint64_t units; /* all digits as one number */
    double scale;   /* of the last digit */
    const char *rest;
};

/* Digits with at most one point; 18 digits and no more, which no field needs. */
static struct number read_number(const char *text)
{
    struct number number = {.negative = text[0] == '-', .whole = true, .scale = 1};
    const char *at = text + (text[0] == '-' || text[0] == '+');
    int digits = 0;
    for (; (*at >= '0' && *at <= '9') || (*at == '.' && number.whole); at++) {
        if (*at == '.') {
            number.whole = false;
            continue;
        }
        number.units = number.units * 10 + (uint64_t)(*at - '0');
        number.scale = number.whole ? 1 : number.scale / 10;
        if (++digits > 18) {
            return number;
        }
    }
    number.valid = digits > 0;
    number.rest = at + strspn(at, " ");
    return number;
}

static const struct {
    uint8_t convert;
    bool whole; /* the value is an integer */
    const char *suffix;
    double factor;
} suffixes[] = {
    {SMI_PERCENT, false, "%", 1},
    {SMI_PERCENT, false, "", 1},
    {SMI_BYTES, true, "MiB", 1048576},
    {SMI_BYTES, true, "", 1048576},
    {SMI_BYTES, true, "KiB", 1024},
    {SMI_BYTES, true, "GiB", 1073741824},
    {SMI_BYTES, true, "MB", 1048576},
    {SMI_CELSIUS, false, "C", 1},
    {SMI_CELSIUS, false, "", 1},
    {SMI_WATTS, false, "W", 1},
    {SMI_WATTS, false, "", 1},
    {SMI_WATTS, false, "mW", 1e-3},
    {SMI_HERTZ, true, "MHz", 1e6},
    {SMI_HERTZ, true, "", 1e6},
    {SMI_SECONDS, false, "us", 1e-6},
    {SMI_SECONDS, false, "", 1e-6},
    {SMI_SECONDS, false, "ns", 1e-9},
    {SMI_SECONDS, false, "ms", 1e-3},
    {SMI_RATE, true, "KB/s", 1000},
    {SMI_RATE, true, "MB/s", 1e6},
    {SMI_RATE, true, "", 1000},
    {SMI_COUNT, true, "", 1},
    {SMI_LANES, true, "x", 1},
    {SMI_LANES, true, "", 1},
    {SMI_SUM, true, "", 1},
    {SMI_PSTATE, true, "", 1},
};

static struct smi_cell fail(int reason)
{
    return (struct smi_cell){.type = CELL_ABSENT, .reason = (uint8_t)reason};
}

static struct smi_cell to_number(enum smi_convert convert, const char *text)
{
    struct number number = read_number(text);
    for (uint32_t i = 0; number.valid && i < TACHO_COUNT(suffixes); i++) {
        if (suffixes[i].convert != convert || strcmp(suffixes[i].suffix, number.rest) != 0) {
            continue;
        }
        double value = (double)number.units * number.scale * suffixes[i].factor;
        if (!suffixes[i].whole) {
            return (struct smi_cell){.type = CELL_F64, .as.f64 = number.negative ? -value : value};
        }
        if (number.negative || value > 9e18) {
            return fail(TACHO_ABSENT_ERROR);
        }
        return (struct smi_cell){.type = CELL_I64,
                                 .as.i64 = number.whole
                                               ? (int64_t)number.units * (int64_t)suffixes[i].factor
                                               : (int64_t)(value + 0.5)};
    }
    return fail(TACHO_ABSENT_ERROR);
}

static struct smi_cell to_mask(const char *text)
{
    uint64_t bits = 0;
    if (text[0] != '0' || (text[1] | 0x20) != 'x' || !text[2] || strlen(text) > 18) {
        return fail(TACHO_ABSENT_ERROR);
    }
    for (const char *at = text + 2; *at; at++) {
        char low = (char)(*at | 0x20);
        bool digit = *at >= '0' && *at <= '9';
        if (!digit && (low < 'a' || low > 'f')) {
            return fail(TACHO_ABSENT_ERROR);
        }
        bits = bits << 4 | (uint64_t)(digit ? *at - '0' : low - 'a' + 10);
    }
    return (struct smi_cell){.type = CELL_FLAGS, .as.flags = bits & KNOWN_FLAGS};
}

static struct smi_cell to_flag(const char *text, uint8_t bit)
{
    bool active = strcmp(text, "Active") == 0;
    if (!active && strcmp(text, "Not Active") != 0) {
        return fail(TACHO_ABSENT_ERROR);
    }
    return (struct smi_cell){.type = CELL_FLAGS, .as.flags = (uint64_t)active << bit};
}

/* ---- words ----------------------------------------------------------------------------------- */

static void to_word(char *text)
{
    for (; *text; text++) {
        if (*text >= 'A' && *text <= 'Z') {
            *text = (char)(*text | 0x20);
        } else if (*text == ' ' || *text == '-') {
            *text = '_';
        }
    }
}

static const char *to_recovery(char *text)
{
    static const char *const known[] = {"none", "node_reboot", "drain_p2p", "drain_and_reset"};
    to_word(text);
    for (uint32_t i = 0; i < TACHO_COUNT(known); i++) {
        if (strcmp(text, known[i]) == 0) {
            return text;
        }
    }
    if (strcmp(text, "reboot") == 0) {
        return "node_reboot";
    }
    return strcmp(text, "reset") == 0 || strcmp(text, "gpu_reset") == 0 ? "gpu_reset" : "other";
}

static struct smi_cell to_text(struct smi_reading *reading, enum smi_convert convert, char *text)
{
    const char *kept = text;
    if (convert == SMI_WORD) {
        to_word(text);
    } else if (convert == SMI_RECOVERY) {
        kept = to_recovery(text);
    }
    return (struct smi_cell){.type = CELL_TEXT, .as.text = smi_reading_keep(reading, kept)};
}

/* ---- putting --------------------------------------------------------------------------------- */

static char *trim(char *text)
{
    text += strspn(text, " \t\r\n");
    size_t length = strlen(text);
    while (length > 0 && strchr(" \t\r\n", text[length - 1])) {
        text[--length] = '\0';
    }
    return text;
}

static struct smi_cell convert_text(struct smi_reading *reading, enum smi_convert convert,
                                    uint8_t bit, char *text)
{
    switch (convert) {
    case SMI_TEXT:
    case SMI_WORD:
    case SMI_RECOVERY: return to_text(reading, convert, text);
    case SMI_MASK: return to_mask(text);
    case SMI_FLAG: return to_flag(text, bit);
    case SMI_PSTATE:
        return text[0] == 'P' ? to_number(convert, text + 1) : fail(TACHO_ABSENT_ERROR);
    default: return to_number(convert, text);
    }
}

/* How telling a cell is: a value most, then a reason other than that it does not exist. */
static int weight(const struct smi_cell *cell)
{
    if (cell->type == CELL_UNSET) {
        return 0;
    }
    if (cell->type != CELL_ABSENT) {
        return 3;
    }
    return cell->reason == TACHO_ABSENT_UNSUPPORTED ? 1 : 2;
}

void smi_cell_put(struct smi_reading *reading, struct smi_cell *cell, enum smi_convert convert,
                  uint8_t rank, uint8_t bit, char *text)
{
    text = trim(text);
    int reason = absence(text, strlen(text));
    struct smi_cell fresh = reason ? fail(reason) : convert_text(reading, convert, bit, text);
    fresh.rank = rank;
    if (cell->type == CELL_FLAGS && fresh.type == CELL_FLAGS && convert == SMI_FLAG) {
        cell->as.flags |= fresh.as.flags;
    } else if (cell->type == CELL_I64 && fresh.type == CELL_I64 && convert == SMI_SUM) {
        cell->as.i64 += fresh.as.i64;
    } else if (weight(&fresh) > weight(cell) ||
               (weight(&fresh) == weight(cell) && rank < cell->rank)) {
        *cell = fresh;
    }
}
