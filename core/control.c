/* SPDX-License-Identifier: MIT */
/*
 * The daemon's side of the control socket; see control.h. One thread accepts, one thread for each
 * client reads a request, runs it and answers. How the socket file comes and goes is in
 * control_socket.c, what a request and an answer look like in control_request.c.
 *
 * Client threads are detached and share the struct by a count: a command that hangs then cannot
 * hold up control_free for longer than its second.
 */
#include "core/control.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/control_io.h"
#include "core/control_request.h"
#include "core/control_socket.h"
#include "core/err.h"

#define SILENCE_NS (30 * NS_PER_S) /* a client may take this long to ask … */
#define ANSWER_NS (10 * NS_PER_S)  /* … and to take its answer */
#define STOP_NS (NS_PER_S)

struct client {
    struct control *control;
    struct client *next;
    int fd;
};

struct control {
    struct control_socket socket;
    control_handler *handler;
    void *context;
    int wake_fd; /* readable: stop */
    pthread_t acceptor;
    pthread_mutex_t lock; /* protects all below */
    pthread_cond_t idle;  /* signalled when a client leaves */
    struct client *clients;
    unsigned client_count;
    bool stopping;
    bool released; /* control_free is through: the last client frees */
};

static void destroy(struct control *control)
{
    pthread_cond_destroy(&control->idle);
    pthread_mutex_destroy(&control->lock);
    close(control->wake_fd);
    free(control);
}

/* ---- clients --------------------------------------------------------------------------------- */

static void leave(struct client *client)
{
    struct control *control = client->control;
    pthread_mutex_lock(&control->lock);
    struct client **at = &control->clients;
    while (*at != client) {
        at = &(*at)->next;
    }
    *at = client->next;
    control->client_count--;
    bool last = control->released && control->client_count == 0;
    pthread_cond_signal(&control->idle);
    pthread_mutex_unlock(&control->lock);
    close(client->fd);
    free(client);
    if (last) {
        destroy(control);
    }
}

static int answer(int fd, const struct buf *line)
{
    return control_io_write(fd, line->data, line->length, clock_mono_ns() + ANSWER_NS);
}

static void refuse(int fd, int code, const char *sentence)
{
    struct tacho_err err = {.code = code};
    struct buf line;
    snprintf(err.text, sizeof err.text, "%s", sentence);
    buf_init(&line, CONTROL_REPLY);
    control_answer_error(&err, &line);
    if (!line.failed) {
        (void)control_io_write(fd, line.data, line.length, clock_mono_ns() + NS_PER_MS);
    }
    buf_fini(&line);
}

/* Handles one line of the client's; false when the connection is over. */
static bool serve_line(struct client *client, const char *text, size_t length)
{
    struct control *control = client->control;
    struct buf line;
    buf_init(&line, CONTROL_REPLY);
    control_answer(text, length, control->handler, control->context, &line);
    bool good = !line.failed && answer(client->fd, &line) == CONTROL_IO_OK;
    buf_fini(&line);
    return good;
}

static void *serve_client(void *argument)
{
    struct client *client = argument;
    struct buf in;
    buf_init(&in, CONTROL_LINE);
    bool more = true;
    while (more) {
        size_t length = 0;
        int got = control_io_read(client->fd, &in, clock_mono_ns() + SILENCE_NS, &length);
        if (got == CONTROL_IO_LONG) {
            refuse(client->fd, TACHO_CONFIG, "the request is longer than 1 MiB");
        }
        more = got == CONTROL_IO_OK && serve_line(client, in.data, length);
        if (more) {
            control_io_drop(&in, length);
        }
    }
    buf_fini(&in);
    leave(client);
    return NULL;
}

/* Threads of ours take no signals: those are the daemon's main thread's. */
static int start_thread(pthread_t *out, void *(*run)(void *), void *argument, int detached)
{
    sigset_t all, before;
    pthread_attr_t attributes;
    sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, detached);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(out, &attributes, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return failed;
}

/* Puts the client on the list; false when there are too many or the daemon stops. */
static bool enter(struct client *client)
{
    struct control *control = client->control;
    pthread_mutex_lock(&control->lock);
    bool room = control->client_count < CONTROL_CLIENTS && !control->stopping;
    if (room) {
        client->next = control->clients;
        control->clients = client;
        control->client_count++;
    }
    pthread_mutex_unlock(&control->lock);
    return room;
}

static void welcome(struct control *control, int fd)
{
    struct tacho_err err = {0};
    pthread_t thread;
    if (control_socket_peer(fd, &err) != TACHO_OK) {
        refuse(fd, err.code, err.text);
        close(fd);
        return;
    }
    struct client *client = malloc(sizeof *client);
    if (client) {
        *client = (struct client){.control = control, .fd = fd};
    }
    if (!client || !enter(client)) {
        refuse(fd, TACHO_RETRY, "the daemon has as many clients as it takes; try again");
        close(fd);
        free(client);
        return;
    }
    if (start_thread(&thread, serve_client, client, PTHREAD_CREATE_DETACHED) != 0) {
        refuse(fd, TACHO_RETRY, "the daemon could not start a thread; try again");
        leave(client);
    }
}

static void *accept_clients(void *argument)
{
    struct control *control = argument;
    for (;;) {
        struct pollfd fds[] = {{.fd = control->wake_fd, .events = POLLIN},
                               {.fd = control->socket.fd, .events = POLLIN}};
        if (poll(fds, 2, -1) < 0 && errno != EINTR) {
            return NULL;
        }
        if (fds[0].revents) {
            return NULL;
        }
        int fd = accept4(control->socket.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0) {
            welcome(control, fd);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) {
            /* The client stays in the backlog; do not spin until a descriptor is free. */
            clock_sleep_until(clock_mono_ns() + 50 * NS_PER_MS);
        }
    }
}

/* ---- life ------------------------------------------------------------------------------------ */

int control_new(const char *path, control_handler *handler, void *context, struct control **out,
                struct tacho_err *err)
{
    struct control *control = calloc(1, sizeof *control);
    if (!control) {
        return tacho_fail(err, TACHO_RETRY, "control socket '%s': no memory", path);
    }
    control->handler = handler;
    control->context = context;
    pthread_mutex_init(&control->lock, NULL);
    pthread_cond_init(&control->idle, NULL);
    control->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int code = control->wake_fd < 0
                   ? err_sys(err, TACHO_RETRY, "control socket '%s': cannot make an eventfd", path)
                   : control_socket_init(&control->socket, path, err);
    if (code != TACHO_OK) {
        destroy(control);
        return code;
    }
    errno = start_thread(&control->acceptor, accept_clients, control, PTHREAD_CREATE_JOINABLE);
    if (errno != 0) {
        code = err_sys(err, TACHO_RETRY, "control socket '%s': cannot start a thread", path);
        control_socket_fini(&control->socket);
        destroy(control);
        return code;
    }
    *out = control;
    return TACHO_OK;
}

/* Lets the clients finish: what they were asked is answered, nothing new is read. Called with the
 * lock held; gives up after STOP_NS. */
static void wait_for_clients(struct control *control)
{
    int64_t until_ns = clock_mono_ns() + STOP_NS;
    struct timespec until = {.tv_sec = until_ns / NS_PER_S, .tv_nsec = until_ns % NS_PER_S};
    for (struct client *client = control->clients; client; client = client->next) {
        shutdown(client->fd, SHUT_RD);
    }
    while (control->client_count > 0 &&
           pthread_cond_clockwait(&control->idle, &control->lock, CLOCK_MONOTONIC, &until) == 0) {
    }
}

void control_free(struct control *control)
{
    if (!control) {
        return;
    }
    pthread_mutex_lock(&control->lock);
    control->stopping = true;
    pthread_mutex_unlock(&control->lock);
    eventfd_write(control->wake_fd, 1);
    pthread_join(control->acceptor, NULL);
    control_socket_fini(&control->socket);
    pthread_mutex_lock(&control->lock);
    wait_for_clients(control);
    bool last = control->client_count == 0;
    control->released = true;
    pthread_mutex_unlock(&control->lock);
    if (last) {
        destroy(control);
    }
}
