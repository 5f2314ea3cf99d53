/* SPDX-License-Identifier: MIT */
/* Error values; see err.h. */
#include "core/err.h"

#include <errno.h>
#include <string.h>

int err_sys(struct tacho_err *err, int code, const char *format, ...)
{
    int saved = errno;
    if (err && err->code == TACHO_OK) {
        char said[128];
        va_list args;
        va_start(args, format);
        int length = vsnprintf(err->text, sizeof err->text, format, args);
        va_end(args);
        if (length >= 0 && (size_t)length < sizeof err->text) {
            snprintf(err->text + length, sizeof err->text - (size_t)length, ": %s",
                     strerror_r(saved, said, sizeof said));
        }
        err->code = code;
    }
    errno = saved;
    return code;
}

void err_prefix(struct tacho_err *err, const char *format, ...)
{
    if (!err) {
        return;
    }
    char text[TACHO_ERR_TEXT];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (length < 0) {
        return;
    }
    size_t used = (size_t)length < sizeof text ? (size_t)length : sizeof text - 1;
    size_t rest = strnlen(err->text, sizeof err->text - used - 1);
    memmove(err->text + used, err->text, rest);
    memcpy(err->text, text, used);
    err->text[used + rest] = '\0';
}

void err_clear(struct tacho_err *err)
{
    err->code = TACHO_OK;
    err->text[0] = '\0';
}

const char *err_result_name(int result)
{
    static const char *const names[] = {"ok",          "no_data",     "partial", "retry",
                                        "device_lost", "unsupported", "config",  "fatal"};
    if (result < 0 || result >= (int)(sizeof names / sizeof names[0])) {
        return "unknown";
    }
    return names[result];
}
