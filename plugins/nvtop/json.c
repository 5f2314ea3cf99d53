/* SPDX-License-Identifier: MIT */
/*
 * Reads what nvtop calls JSON. Some releases leave commas out, names are printed without escapes,
 * other bytes than text come through, and the output may be cut anywhere. So this looks for values
 * and brackets and does not insist on what stands between them. What members mean is fill.c's.
 */
#include <string.h>

#include "plugins/nvtop/nvtop.h"

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

static void skip_blanks(struct nvtop_json *json)
{
    while (json->at < json->end && is_blank(*json->at)) {
        json->at++;
    }
}

/* A quote that nvtop forgot to escape is not followed by what follows a value. */
static bool ends_string(const char *quote, const char *end)
{
    const char *at = quote + 1;
    while (at < end && (*at == ' ' || *at == '\t')) {
        at++;
    }
    return at == end || (*at && strchr(",:}]\n\r", *at));
}

static char unescaped(char byte)
{
    return strchr("nrtbf", byte) ? ' ' : byte;
}

/* Ends the text, without the part of a character that a cut has left. */
static void end_text(char *text, size_t used, bool cut)
{
    size_t begin = used;
    while (cut && begin > 0 && used - begin < 4 &&
           ((unsigned char)text[begin - 1] & 0xC0) == 0x80) {
        begin--;
    }
    if (cut && begin > 0 && (unsigned char)text[begin - 1] >= 0xC0) {
        used = begin - 1;
    }
    text[used] = '\0';
}

/* From behind the opening quote to behind the closing one. */
static void read_string(struct nvtop_json *json, char *text, size_t size)
{
    size_t used = 0;
    bool cut = false;
    for (; json->at < json->end; json->at++) {
        char byte = *json->at;
        if (byte == '"' && ends_string(json->at, json->end)) {
            json->at++;
            break;
        }
        if (byte == '\\' && json->at + 1 < json->end) {
            byte = unescaped(*++json->at);
        }
        if (used + 1 < size) {
            text[used++] = (unsigned char)byte < ' ' || byte == 0x7F ? ' ' : byte;
        } else {
            cut = true;
        }
    }
    end_text(text, used, cut);
}

/* A number, null, true: up to what cannot belong to it. */
static void read_word(struct nvtop_json *json, char *text, size_t size)
{
    size_t used = 0;
    while (json->at < json->end && !is_blank(*json->at) &&
           (!*json->at || !strchr(",:[]{}\"", *json->at))) {
        if (used + 1 < size) {
            text[used++] = (unsigned char)*json->at < ' ' ? ' ' : *json->at;
        }
        json->at++;
    }
    text[used] = '\0';
}

enum nvtop_kind nvtop_json_next(struct nvtop_json *json, char *text, size_t size)
{
    while (json->at < json->end && (is_blank(*json->at) || *json->at == ',' || *json->at == ':')) {
        json->at++;
    }
    text[0] = '\0';
    if (json->at == json->end) {
        return NVTOP_END;
    }
    switch (*json->at) {
    case '[': json->at++; return NVTOP_ARRAY;
    case '{': json->at++; return NVTOP_OBJECT;
    case ']':
    case '}': json->at++; return NVTOP_CLOSE;
    case '"':
        json->at++;
        read_string(json, text, size);
        return strcmp(text, "N/A") == 0 ? NVTOP_NULL : NVTOP_TEXT_VALUE;
    default:
        read_word(json, text, size);
        return strcmp(text, "null") == 0 ? NVTOP_NULL : NVTOP_TEXT_VALUE;
    }
}

bool nvtop_json_colon(struct nvtop_json *json)
{
    skip_blanks(json);
    return json->at < json->end && *json->at == ':';
}

bool nvtop_json_skip(struct nvtop_json *json)
{
    char text[8];
    for (uint64_t depth = 1; depth > 0;) {
        switch (nvtop_json_next(json, text, sizeof text)) {
        case NVTOP_END: return false;
        case NVTOP_CLOSE: depth--; break;
        case NVTOP_ARRAY:
        case NVTOP_OBJECT: depth++; break;
        default: break;
        }
    }
    return true;
}

ssize_t nvtop_json_array(const char *data, size_t length)
{
    struct nvtop_json json = {data, data + length};
    skip_blanks(&json);
    if (json.at == json.end) {
        return 0;
    }
    if (*json.at++ != '[') {
        return -1;
    }
    return nvtop_json_skip(&json) ? json.at - data : 0;
}
