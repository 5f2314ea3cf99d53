/* SPDX-License-Identifier: MIT */
/* Requests and answers; see control_request.h. */
#include "core/control_request.h"

#include <jansson.h>
#include <stdlib.h>

#include "core/control_io.h"
#include "core/err.h"

struct request {
    json_t *root;
    const char *instance, *command; /* borrowed from root */
    char *arguments;                /* heap */
};

static void request_fini(struct request *request)
{
    free(request->arguments);
    json_decref(request->root);
}

static int request_init(struct request *request, const char *line, size_t length,
                        struct tacho_err *err)
{
    json_error_t said;
    *request = (struct request){.root = json_loadb(line, length, JSON_REJECT_DUPLICATES, &said)};
    if (!request->root) {
        return tacho_fail(err, TACHO_CONFIG, "the request is not JSON: %s at column %d", said.text,
                          said.column);
    }
    request->instance = json_string_value(json_object_get(request->root, "instance"));
    request->command = json_string_value(json_object_get(request->root, "command"));
    const json_t *arguments = json_object_get(request->root, "arguments");
    if (!request->instance || !request->command || (arguments && !json_is_object(arguments))) {
        return tacho_fail(err, TACHO_CONFIG,
                          "a request is an object with the texts 'instance' and 'command' and "
                          "perhaps an object 'arguments'");
    }
    request->arguments = arguments ? json_dumps(arguments, JSON_COMPACT) : strdup("{}");
    if (!request->arguments) {
        return tacho_fail(err, TACHO_RETRY, "no memory for the request");
    }
    return TACHO_OK;
}

/* Whether the bytes are one JSON value, and says of which command when not. */
static int check_reply(const struct buf *reply, const struct request *request,
                       struct tacho_err *err)
{
    json_error_t said;
    if (reply->failed) {
        return tacho_fail(err, TACHO_RETRY, "the answer of '%s' is longer than 64 MiB",
                          request->command);
    }
    if (reply->length == 0) {
        return TACHO_OK;
    }
    json_t *value = json_loadb(reply->data, reply->length, JSON_DECODE_ANY | JSON_ALLOW_NUL, &said);
    if (!value) {
        return tacho_fail(err, TACHO_FATAL, "instance '%s' answered '%s' with bad JSON: %s",
                          request->instance, request->command, said.text);
    }
    json_decref(value);
    return TACHO_OK;
}

/* JSON has line ends only between values, where a blank means the same. */
static void put_on_one_line(struct buf *out, const struct buf *reply)
{
    size_t begin = out->length;
    buf_put(out, reply->data, reply->length);
    for (size_t i = begin; i < out->length; i++) {
        if (out->data[i] == '\n' || out->data[i] == '\r') {
            out->data[i] = ' ';
        }
    }
}

void control_answer_error(const struct tacho_err *err, struct buf *out)
{
    json_t *answer = json_pack("{s:b, s:s, s:s%}", "ok", 0, "code", err_result_name(err->code),
                               "error", err->text, strnlen(err->text, sizeof err->text));
    if (!answer) {
        answer = json_pack("{s:b, s:s, s:s}", "ok", 0, "code", err_result_name(err->code), "error",
                           "the command failed, with a sentence that is not UTF-8");
    }
    char *text = answer ? json_dumps(answer, JSON_COMPACT) : NULL;
    buf_puts(out, text ? text : "{\"ok\":false,\"code\":\"retry\",\"error\":\"no memory\"}");
    buf_putc(out, '\n');
    free(text);
    json_decref(answer);
}

void control_answer(const char *line, size_t length, control_handler *handler, void *context,
                    struct buf *out)
{
    struct request request;
    struct tacho_err err = {0};
    struct buf reply;
    buf_init(&reply, CONTROL_REPLY - 64);
    int code = request_init(&request, line, length, &err);
    if (code == TACHO_OK) {
        code = handler(context, request.instance, request.command, request.arguments, &reply, &err);
        if (code != TACHO_OK && err.code == TACHO_OK) {
            tacho_fail(&err, code, "'%s' of instance '%s' failed: %s", request.command,
                       request.instance, err_result_name(code));
        }
    }
    if (code == TACHO_OK) {
        code = check_reply(&reply, &request, &err);
    }
    if (code == TACHO_OK) {
        buf_puts(out, CONTROL_REPLY_PREFIX);
        if (reply.length > 0) {
            put_on_one_line(out, &reply);
        } else {
            buf_puts(out, "null");
        }
        buf_puts(out, "}\n");
    } else {
        control_answer_error(&err, out);
    }
    buf_fini(&reply);
    request_fini(&request);
}
