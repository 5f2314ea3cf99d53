/* SPDX-License-Identifier: MIT */
/* The control socket: answers, limits, who may ask, and that stopping is bounded. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/control.h"
#include "core/err.h"
#include "tests/harness.h"

static sem_t entered, released;

/* The instance names what to do, the command is its argument. */
static int handle(void *context, const char *instance, const char *command,
                  const char *arguments_json, struct buf *reply, struct tacho_err *err)
{
    (void)context;
    if (strcmp(instance, "echo") == 0) {
        buf_puts(reply, arguments_json);
    } else if (strcmp(instance, "raw") == 0) {
        buf_puts(reply, command);
    } else if (strcmp(instance, "fail") == 0) {
        return tacho_fail(err, TACHO_RETRY, "cannot do '%s'", command);
    } else if (strcmp(instance, "mute") == 0) {
        return TACHO_DEVICE_LOST;
    } else if (strcmp(instance, "hang") == 0) {
        sem_post(&entered);
        sem_wait(&released);
        buf_puts(reply, "1");
    }
    return TACHO_OK;
}

static const char *socket_path(void)
{
    static char path[96];
    if (path[0]) {
        return path;
    }
    snprintf(path, sizeof path, "%s/control.sock", harness_tmpdir());
    return path;
}

static struct control *start(void)
{
    struct tacho_err err = {0};
    struct control *control = NULL;
    CU_ASSERT_EQUAL_FATAL(control_new(socket_path(), handle, NULL, &control, &err), TACHO_OK);
    return control;
}

static int call(const char *instance, const char *command, const char *arguments, char **reply,
                struct tacho_err *err)
{
    *reply = NULL;
    err_clear(err);
    return control_call(socket_path(), instance, command, arguments, 5 * NS_PER_S, reply, err);
}

static void test_answers(void)
{
    struct control *control = start();
    struct tacho_err err;
    char *reply;
    CU_ASSERT_EQUAL(call("echo", "x", "{\"a\": 1}", &reply, &err), TACHO_OK);
    CU_ASSERT_STRING_EQUAL(reply, "{\"a\":1}");
    free(reply);
    CU_ASSERT_EQUAL(call("echo", "x", NULL, &reply, &err), TACHO_OK);
    CU_ASSERT_STRING_EQUAL(reply, "{}");
    free(reply);
    /* Digits and order are the command's; line ends become blanks. */
    CU_ASSERT_EQUAL(call("raw", "{\"b\": 0.1,\n\"a\": 1e300}", NULL, &reply, &err), TACHO_OK);
    CU_ASSERT_STRING_EQUAL(reply, "{\"b\": 0.1, \"a\": 1e300}");
    free(reply);
    CU_ASSERT_EQUAL(call("nothing", "x", NULL, &reply, &err), TACHO_OK);
    CU_ASSERT_STRING_EQUAL(reply, "null");
    free(reply);
    control_free(control);
}

static void test_failures(void)
{
    struct control *control = start();
    struct tacho_err err;
    char *reply;
    CU_ASSERT_EQUAL(call("fail", "it \"now\"", NULL, &reply, &err), TACHO_RETRY);
    CU_ASSERT_STRING_EQUAL(err.text, "cannot do 'it \"now\"'");
    CU_ASSERT_EQUAL(call("mute", "x", NULL, &reply, &err), TACHO_DEVICE_LOST);
    CU_ASSERT_STRING_EQUAL(err.text, "'x' of instance 'mute' failed: device_lost");
    CU_ASSERT_EQUAL(call("raw", "{\"open\": ", NULL, &reply, &err), TACHO_FATAL);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "instance 'raw' answered"));
    CU_ASSERT_EQUAL(call("echo", "x", "[1]", &reply, &err), TACHO_CONFIG);
    control_free(control);
    CU_ASSERT_EQUAL(call("echo", "x", NULL, &reply, &err), TACHO_UNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, socket_path()));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "TACHO_CONTROL"));
}

static int connect_raw(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", socket_path());
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CU_ASSERT_EQUAL_FATAL(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

/* Reads until `lines` line ends or the end; what came is a string in `out`. */
static void read_lines(int fd, int lines, char *out, size_t size)
{
    size_t length = 0;
    while (lines > 0 && length + 1 < size && read(fd, out + length, 1) == 1) {
        lines -= out[length++] == '\n';
    }
    out[length] = '\0';
}

static void ask_raw(const char *text, int lines, char *out, size_t size)
{
    int fd = connect_raw();
    CU_ASSERT_EQUAL(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    read_lines(fd, lines, out, size);
    close(fd);
}

static void test_bad_requests(void)
{
    static const char *const bad[] = {
        "\n",
        "nonsense\n",
        "[]\n",
        "{}\n",
        "{\"instance\": 1, \"command\": \"x\"}\n",
        "{\"instance\": \"echo\"}\n",
        "{\"instance\": \"echo\", \"command\": \"x\", \"arguments\": []}\n",
        "{\"instance\": \"echo\", \"instance\": \"echo\", \"command\": \"x\"}\n",
        "{\"instance\": \"\xff\", \"command\": \"x\"}\n",
    };
    struct control *control = start();
    char answer[512];
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ask_raw(bad[i], 1, answer, sizeof answer);
        CU_ASSERT_EQUAL(strncmp(answer, "{\"ok\":false,\"code\":\"config\",\"error\":", 36), 0);
    }
    /* A bad line does not end the connection, and two requests may come in one go. */
    ask_raw(
        "x\n{\"instance\":\"raw\",\"command\":\"1\"}\n{\"instance\":\"raw\",\"command\":\"2\"}\n",
        3, answer, sizeof answer);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(answer, "{\"ok\":true,\"reply\":1}\n{\"ok\":true,\"reply\":2}\n"));
    control_free(control);
}

static void test_line_limit(void)
{
    struct control *control = start();
    char answer[256];
    char *text = malloc(CONTROL_LINE + 2);
    memset(text, ' ', CONTROL_LINE + 1);
    text[CONTROL_LINE + 1] = '\0';
    int fd = connect_raw();
    for (size_t sent = 0; sent < CONTROL_LINE;) {
        ssize_t put = send(fd, text, CONTROL_LINE - sent, MSG_NOSIGNAL);
        CU_ASSERT_FATAL(put > 0);
        sent += (size_t)put;
    }
    read_lines(fd, 1, answer, sizeof answer);
    CU_ASSERT_PTR_NOT_NULL(strstr(answer, "longer than 1 MiB"));
    CU_ASSERT_EQUAL(read(fd, answer, 1), 0);
    close(fd);
    free(text);
    control_free(control);
}

static void test_too_many_clients(void)
{
    struct control *control = start();
    struct tacho_err err;
    char *reply, answer[256];
    int fds[CONTROL_CLIENTS];
    for (int i = 0; i < CONTROL_CLIENTS; i++) {
        fds[i] = connect_raw();
        CU_ASSERT_EQUAL(write(fds[i], "x\n", 2), 2);
        read_lines(fds[i], 1, answer, sizeof answer);
    }
    CU_ASSERT_EQUAL(call("echo", "x", NULL, &reply, &err), TACHO_RETRY);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "as many clients"));
    for (int i = 0; i < CONTROL_CLIENTS; i++) {
        close(fds[i]);
    }
    int code = TACHO_RETRY;
    for (int i = 0; i < 500 && code == TACHO_RETRY; i++) {
        code = call("echo", "x", NULL, &reply, &err);
        free(reply);
        usleep(10000);
    }
    CU_ASSERT_EQUAL(code, TACHO_OK);
    control_free(control);
}

static void test_socket_file(void)
{
    struct stat status;
    struct tacho_err err = {0};
    struct control *second = NULL;
    mode_t mask = umask(0);
    struct control *control = start();
    umask(mask);
    CU_ASSERT_EQUAL(stat(socket_path(), &status), 0);
    CU_ASSERT_EQUAL(status.st_mode & 07777, 0600);
    CU_ASSERT_EQUAL(control_new(socket_path(), handle, NULL, &second, &err), TACHO_CONFIG);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "another daemon listens"));
    control_free(control);
    CU_ASSERT_EQUAL(stat(socket_path(), &status), -1);
}

static void test_stale_socket(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", socket_path());
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    CU_ASSERT_EQUAL(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    close(fd);
    struct control *control = start();
    /* Somebody put another file there: it is not ours to remove. */
    unlink(socket_path());
    close(open(socket_path(), O_CREAT | O_WRONLY, 0600));
    control_free(control);
    CU_ASSERT_EQUAL(access(socket_path(), F_OK), 0);
    struct tacho_err err = {0};
    CU_ASSERT_EQUAL(control_new(socket_path(), handle, NULL, &control, &err), TACHO_CONFIG);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "something else than a socket"));
    CU_ASSERT_EQUAL(access(socket_path(), F_OK), 0);
    unlink(socket_path());
    char long_path[200];
    memset(long_path, 'x', sizeof long_path - 1);
    long_path[sizeof long_path - 1] = '\0';
    err_clear(&err);
    CU_ASSERT_EQUAL(control_new(long_path, handle, NULL, &control, &err), TACHO_CONFIG);
}

static void *hang(void *argument)
{
    char *reply = NULL;
    int code = control_call(socket_path(), "hang", "x", NULL, *(int64_t *)argument, &reply, NULL);
    free(reply);
    return (void *)(intptr_t)code;
}

static void test_hanging_command(void)
{
    int64_t short_ns = 20 * NS_PER_MS, forever_ns = 0;
    void *code;
    sem_init(&entered, 0, 0);
    sem_init(&released, 0, 0);
    struct control *control = start();
    CU_ASSERT_EQUAL((intptr_t)hang(&short_ns), TACHO_RETRY);
    sem_wait(&entered);
    /* A client that still waits gets its answer although the daemon has stopped serving. */
    pthread_t thread;
    pthread_create(&thread, NULL, hang, &forever_ns);
    sem_wait(&entered);
    control_free(control);
    CU_ASSERT_EQUAL(access(socket_path(), F_OK), -1);
    sem_post(&released);
    sem_post(&released);
    pthread_join(thread, &code);
    CU_ASSERT_EQUAL((intptr_t)code, TACHO_OK);
}

static void *call_often(void *argument)
{
    int *good = argument;
    for (int i = 0; i < 50; i++) {
        struct tacho_err err;
        char *reply, arguments[32];
        snprintf(arguments, sizeof arguments, "{\"n\":%d}", i);
        *good +=
            call("echo", "x", arguments, &reply, &err) == TACHO_OK && strcmp(reply, arguments) == 0;
        free(reply);
    }
    return NULL;
}

static void test_many_at_once(void)
{
    enum { THREADS = 8 };
    struct control *control = start();
    pthread_t threads[THREADS];
    int good[THREADS] = {0};
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, call_often, &good[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        CU_ASSERT_EQUAL(good[i], 50);
    }
    control_free(control);
}

static int ask_as_stranger(void)
{
    struct tacho_err err;
    char *reply;
    if (setgid(65534) != 0 || setuid(65534) != 0) {
        return 1;
    }
    int code = call("echo", "x", NULL, &reply, &err);
    return code == TACHO_CONFIG && strstr(err.text, "user 65534 may not control") ? 0 : 2;
}

static void test_strangers_are_refused(void)
{
    if (geteuid() != 0) {
        harness_skip("needs root to become somebody else");
        return;
    }
    struct control *control = start();
    /* Even when somebody has opened the file's mode. */
    chmod(harness_tmpdir(), 0755);
    chmod(socket_path(), 0666);
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        _exit(ask_as_stranger());
    }
    CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
    CU_ASSERT_EQUAL(status, 0);
    control_free(control);
}

const struct test tests[] = {
    {"answers", test_answers},
    {"failures", test_failures},
    {"bad_requests", test_bad_requests},
    {"line_limit", test_line_limit},
    {"too_many_clients", test_too_many_clients},
    {"socket_file", test_socket_file},
    {"stale_socket", test_stale_socket},
    {"hanging_command", test_hanging_command},
    {"many_at_once", test_many_at_once},
    {"strangers_are_refused", test_strangers_are_refused},
    {NULL, NULL},
};
