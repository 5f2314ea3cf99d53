/* SPDX-License-Identifier: MIT */
/* The client's side of the control socket; see control.h. */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/control.h"
#include "core/control_io.h"
#include "core/err.h"

/* The kernel waits in connect while the daemon's backlog is full; not longer than we may. */
static void limit_connect(int fd, int64_t timeout_ns)
{
    if (timeout_ns > 0) {
        struct timeval limit = {.tv_sec = timeout_ns / NS_PER_S,
                                .tv_usec = timeout_ns % NS_PER_S / NS_PER_US + 1};
        (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    }
}

static int connect_daemon(const char *path, int64_t timeout_ns, int *out_fd, struct tacho_err *err)
{
    struct sockaddr_un address;
    int code = control_io_address(path, &address, err);
    if (code != TACHO_OK) {
        return code;
    }
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return err_sys(err, TACHO_RETRY, "cannot make a socket");
    }
    limit_connect(fd, timeout_ns);
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) == 0) {
        *out_fd = fd;
        return TACHO_OK;
    }
    if (errno == ENOENT || errno == ECONNREFUSED || errno == ENOTDIR) {
        code = err_sys(err, TACHO_UNSUPPORTED,
                       "no daemon listens on '%s' (start 'tacho run', or name its control socket "
                       "with --control or TACHO_CONTROL)",
                       path);
    } else {
        code = err_sys(err, errno == EAGAIN ? TACHO_RETRY : TACHO_CONFIG,
                       "cannot reach the daemon on '%s'", path);
    }
    close(fd);
    return code;
}

static char *make_request(const char *instance, const char *command, const char *arguments_json,
                          struct tacho_err *err)
{
    json_error_t said;
    json_t *arguments = json_loads(arguments_json ? arguments_json : "{}", 0, &said);
    if (!json_is_object(arguments)) {
        tacho_fail(err, TACHO_CONFIG, "the arguments are not a JSON object: %s",
                   arguments ? "something else" : said.text);
        json_decref(arguments);
        return NULL;
    }
    json_t *root = json_pack("{s:s, s:s, s:o}", "instance", instance, "command", command,
                             "arguments", arguments);
    char *text = root ? json_dumps(root, JSON_COMPACT) : NULL;
    json_decref(root);
    if (!text) {
        tacho_fail(err, TACHO_CONFIG, "instance and command must be UTF-8");
    }
    return text;
}

static int io_problem(int io, const char *path, struct tacho_err *err)
{
    switch (io) {
    case CONTROL_IO_TIMEOUT:
        return tacho_fail(err, TACHO_RETRY, "the daemon on '%s' did not answer in time", path);
    case CONTROL_IO_END:
        return tacho_fail(err, TACHO_RETRY, "the daemon on '%s' hung up before it answered", path);
    case CONTROL_IO_LONG:
        return tacho_fail(err, TACHO_FATAL, "the answer of the daemon on '%s' is too long", path);
    default: return err_sys(err, TACHO_RETRY, "asking the daemon on '%s'", path);
    }
}

static int parse_code(const char *name)
{
    for (int code = TACHO_NO_DATA; name && code <= TACHO_FATAL; code++) {
        if (strcmp(name, err_result_name(code)) == 0) {
            return code;
        }
    }
    return TACHO_FATAL;
}

/* The answer's line into the reply, or into err. */
static int parse_answer(const char *line, size_t length, char **out_reply, struct tacho_err *err)
{
    size_t prefix = strlen(CONTROL_REPLY_PREFIX);
    if (length > prefix + 2 && memcmp(line, CONTROL_REPLY_PREFIX, prefix) == 0) {
        *out_reply = strndup(line + prefix, length - prefix - 2); /* without brace and newline */
        return *out_reply ? TACHO_OK : tacho_fail(err, TACHO_RETRY, "no memory for the answer");
    }
    json_error_t said;
    json_t *root = json_loadb(line, length, 0, &said);
    const char *sentence = json_string_value(json_object_get(root, "error"));
    int code = parse_code(json_string_value(json_object_get(root, "code")));
    tacho_fail(err, code, "%s", sentence ? sentence : "the daemon's answer cannot be read");
    json_decref(root);
    return code;
}

int control_call(const char *path, const char *instance, const char *command,
                 const char *arguments_json, int64_t timeout_ns, char **out_reply,
                 struct tacho_err *err)
{
    int fd = -1;
    int64_t deadline_ns = timeout_ns > 0 ? clock_mono_ns() + timeout_ns : CONTROL_FOREVER;
    char *request = make_request(instance, command, arguments_json, err);
    if (!request) {
        return err ? err->code : TACHO_CONFIG;
    }
    int code = connect_daemon(path, timeout_ns, &fd, err);
    if (code != TACHO_OK) {
        free(request);
        return code;
    }
    struct buf in;
    size_t length = 0;
    buf_init(&in, CONTROL_REPLY + 1024);
    int io = control_io_set_nonblocking(fd);
    if (io == CONTROL_IO_OK) {
        io = control_io_write(fd, request, strlen(request), deadline_ns);
    }
    if (io == CONTROL_IO_OK) {
        io = control_io_write(fd, "\n", 1, deadline_ns);
    }
    /* A refused client's request may find the other end closed, with the reason still to be read.
     */
    if (io == CONTROL_IO_OK || (io == CONTROL_IO_FAILED && errno == EPIPE)) {
        io = control_io_read(fd, &in, deadline_ns, &length);
    }
    code = io == CONTROL_IO_OK ? parse_answer(in.data, length, out_reply, err)
                               : io_problem(io, path, err);
    buf_fini(&in);
    close(fd);
    free(request);
    return code;
}
