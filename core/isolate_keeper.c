/* SPDX-License-Identifier: MIT */
/* Life and death of a child process; see isolate_keeper.h. */
#include "core/isolate_keeper.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/err.h"
#include "core/isolate_spawn.h"

#define TERM_NS (400 * NS_PER_MS) /* from hanging up to SIGTERM */
#define KILL_NS (600 * NS_PER_MS) /* from hanging up to SIGKILL, or giving up */
#define LOOK_NS (50 * NS_PER_MS)  /* how often to look when the kernel has no pidfd */

/* What is known of an instance's children beyond the life of one: kept for ever, one for each name.
 */
struct slot {
    struct slot *next;
    char *name;
    pid_t pid; /* alive; 0 none */
    uint64_t exits;
};

static struct {
    pthread_mutex_t lock; /* protects all slots */
    struct slot *first;
} slots = {.lock = PTHREAD_MUTEX_INITIALIZER};

enum step { STEP_NONE, STEP_ASKED, STEP_TERMINATED, STEP_LAST };

struct keeper {
    struct slot *slot;
    pid_t pid;
    int fd, pid_fd, wake_fd;
    bool may_kill;
    atomic_bool cancel; /* WIRE_CANCEL is to be sent */
    atomic_bool end;    /* somebody asked to end the child */
    pthread_mutex_t send_lock;
    pthread_mutex_t listener_lock; /* held while listening; protects listener */
    keeper_listener *listener;
    void *context;

    /* The thread's own. */
    struct buf in;
    bool deaf; /* nothing more comes from the child */
    enum step step;
    int64_t asked_ns;

    pthread_mutex_t lock; /* protects what follows */
    pthread_cond_t changed;
    bool gone; /* the child has ended, or was abandoned */
    unsigned refs;
};

/* ---- slots ----------------------------------------------------------------------------------- */

/* Called with the lock held. */
static struct slot *find_slot(const char *name)
{
    for (struct slot *slot = slots.first; slot; slot = slot->next) {
        if (strcmp(slot->name, name) == 0) {
            return slot;
        }
    }
    struct slot *slot = calloc(1, sizeof *slot);
    if (slot && !(slot->name = strdup(name))) {
        free(slot);
        slot = NULL;
    }
    if (slot) {
        slot->next = slots.first;
        slots.first = slot;
    }
    return slot;
}

/* Starts a child unless one is alive. Holds the lock meanwhile, so that two cannot start. */
static int fill_slot(struct keeper *keeper, const char *name, struct tacho_err *err)
{
    int code;
    pthread_mutex_lock(&slots.lock);
    keeper->slot = find_slot(name);
    if (!keeper->slot) {
        code = tacho_fail(err, TACHO_RETRY, "no memory for a child process");
    } else if (keeper->slot->pid != 0) {
        code = tacho_fail(err, TACHO_RETRY,
                          "child %d of the last start is still alive and does not answer; no "
                          "other one is started until it ends",
                          (int)keeper->slot->pid);
    } else {
        code = spawn_child(name, &keeper->pid, &keeper->fd, err);
        keeper->slot->pid = code == TACHO_OK ? keeper->pid : 0;
    }
    pthread_mutex_unlock(&slots.lock);
    return code;
}

static void empty_slot(struct keeper *keeper, bool by_itself)
{
    pthread_mutex_lock(&slots.lock);
    keeper->slot->pid = 0;
    keeper->slot->exits += by_itself;
    pthread_mutex_unlock(&slots.lock);
}

pid_t keeper_pid(struct keeper *keeper)
{
    pthread_mutex_lock(&slots.lock);
    pid_t pid = keeper->slot->pid == keeper->pid ? keeper->pid : 0;
    pthread_mutex_unlock(&slots.lock);
    return pid;
}

uint64_t keeper_exits(struct keeper *keeper)
{
    pthread_mutex_lock(&slots.lock);
    uint64_t exits = keeper->slot->exits;
    pthread_mutex_unlock(&slots.lock);
    return exits;
}

/* ---- listening ------------------------------------------------------------------------------- */

static bool tell(struct keeper *keeper, const struct wire_head *head, const char *payload)
{
    pthread_mutex_lock(&keeper->listener_lock);
    bool good = !keeper->listener || keeper->listener(keeper->context, head, payload);
    pthread_mutex_unlock(&keeper->listener_lock);
    return good;
}

static void tell_ended(struct keeper *keeper, const char *sentence)
{
    struct wire_head head = {.length = (uint32_t)strlen(sentence), .kind = KEEPER_ENDED};
    (void)tell(keeper, &head, sentence);
}

static void let_waiter_go(struct keeper *keeper)
{
    pthread_mutex_lock(&keeper->lock);
    keeper->gone = true;
    pthread_cond_signal(&keeper->changed);
    pthread_mutex_unlock(&keeper->lock);
}

/* Reads what is there; hears no more when the child hung up or talks nonsense. False when there was
 * nothing to read. */
static bool listen_to(struct keeper *keeper)
{
    struct wire_head head;
    const char *payload;
    int first = 0;
    ssize_t got = wire_receive(keeper->fd, &keeper->in);
    if (got > 0) {
        while ((first = wire_first(&keeper->in, &head, &payload)) > 0) {
            if (head.kind == KEEPER_ENDED || !tell(keeper, &head, payload)) {
                first = -1;
                break;
            }
            wire_drop(&keeper->in, &head);
        }
    } else if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return false;
    }
    if (got <= 0 || first < 0) {
        keeper->deaf = true;
    }
    return true;
}

/* ---- ending ---------------------------------------------------------------------------------- */

static void hang_up(struct keeper *keeper)
{
    (void)shutdown(keeper->fd, SHUT_WR);
    keeper->asked_ns = clock_mono_ns();
    keeper->step = STEP_ASKED;
}

static void give_up(struct keeper *keeper)
{
    char text[TACHO_ERR_TEXT];
    keeper->step = STEP_LAST;
    if (keeper->may_kill) {
        (void)kill(-keeper->pid, SIGKILL);
        return;
    }
    snprintf(text, sizeof text,
             "child %d does not end, not after SIGTERM either: abandoned (the key 'kill' allows "
             "SIGKILL)",
             (int)keeper->pid);
    tell_ended(keeper, text);
    let_waiter_go(keeper);
}

/* Goes the next step of ending when its time has come; returns how long to wait, or -1. */
static int64_t end_by_steps(struct keeper *keeper)
{
    if (keeper->step == STEP_NONE && (atomic_load(&keeper->end) || keeper->deaf)) {
        hang_up(keeper);
    }
    int64_t past_ns = clock_mono_ns() - keeper->asked_ns;
    if (keeper->step == STEP_ASKED && past_ns >= TERM_NS) {
        (void)kill(-keeper->pid, SIGTERM);
        keeper->step = STEP_TERMINATED;
    }
    if (keeper->step == STEP_TERMINATED && past_ns >= KILL_NS) {
        give_up(keeper);
    }
    switch (keeper->step) {
    case STEP_ASKED: return TERM_NS - past_ns;
    case STEP_TERMINATED: return KILL_NS - past_ns;
    default: return -1;
    }
}

/* ---- the thread ------------------------------------------------------------------------------ */

static void send_cancel(struct keeper *keeper)
{
    struct wire_head head = {.kind = WIRE_CANCEL};
    if (pthread_mutex_trylock(&keeper->send_lock) == 0) {
        /* So few bytes are taken whole or not at all; a child that reads nothing cannot cancel. */
        (void)send(keeper->fd, &head, sizeof head, MSG_NOSIGNAL | MSG_DONTWAIT);
        pthread_mutex_unlock(&keeper->send_lock);
        atomic_store(&keeper->cancel, false);
    }
}

/* Waits for the child, the socket, a wish of ours or the next step. */
static void wait_for_news(struct keeper *keeper, int64_t wait_ns)
{
    struct pollfd fds[] = {{.fd = keeper->wake_fd, .events = POLLIN},
                           {.fd = keeper->pid_fd, .events = POLLIN},
                           {.fd = keeper->deaf ? -1 : keeper->fd, .events = POLLIN}};
    bool look = keeper->pid_fd < 0 || atomic_load(&keeper->cancel);
    if (look && (wait_ns < 0 || wait_ns > LOOK_NS)) {
        wait_ns = LOOK_NS;
    }
    (void)poll(fds, 3, wait_ns < 0 ? -1 : (int)(wait_ns / NS_PER_MS) + 1);
    if (fds[0].revents) {
        eventfd_t count;
        (void)eventfd_read(keeper->wake_fd, &count);
    }
    if (fds[2].revents) {
        listen_to(keeper);
    }
}

static void unref(struct keeper *keeper)
{
    pthread_mutex_lock(&keeper->lock);
    bool last = --keeper->refs == 0;
    pthread_mutex_unlock(&keeper->lock);
    if (!last) {
        return;
    }
    close(keeper->fd);
    close(keeper->wake_fd);
    if (keeper->pid_fd >= 0) {
        close(keeper->pid_fd);
    }
    buf_fini(&keeper->in);
    pthread_mutex_destroy(&keeper->lock);
    pthread_mutex_destroy(&keeper->send_lock);
    pthread_mutex_destroy(&keeper->listener_lock);
    pthread_cond_destroy(&keeper->changed);
    free(keeper);
}

static void *keep(void *argument)
{
    struct keeper *keeper = argument;
    char text[TACHO_ERR_TEXT];
    while (!spawn_has_ended(keeper->pid, text, sizeof text)) {
        if (atomic_load(&keeper->cancel)) {
            send_cancel(keeper);
        }
        wait_for_news(keeper, end_by_steps(keeper));
    }
    while (!keeper->deaf && listen_to(keeper)) {
        /* its last words */
    }
    /* The number is free for the next child before the leftovers are ended. */
    empty_slot(keeper, !atomic_load(&keeper->end));
    tell_ended(keeper, text);
    spawn_clean_up(keeper->pid);
    let_waiter_go(keeper);
    unref(keeper);
    return NULL;
}

static int start_thread(struct keeper *keeper, struct tacho_err *err)
{
    sigset_t all, before;
    pthread_attr_t attributes;
    pthread_t thread;
    sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    errno = pthread_create(&thread, &attributes, keep, keeper);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return errno == 0 ? TACHO_OK : err_sys(err, TACHO_RETRY, "cannot start a thread");
}

/* ---- the owner's side ------------------------------------------------------------------------ */

int keeper_new(const char *name, bool may_kill, keeper_listener *listener, void *context,
               struct keeper **out, struct tacho_err *err)
{
    struct keeper *keeper = calloc(1, sizeof *keeper);
    if (!keeper) {
        return tacho_fail(err, TACHO_RETRY, "no memory for a child process");
    }
    *keeper = (struct keeper){.fd = -1, .pid_fd = -1, .may_kill = may_kill, .refs = 2};
    keeper->listener = listener;
    keeper->context = context;
    buf_init(&keeper->in, WIRE_LIMIT + (1u << 20));
    pthread_mutex_init(&keeper->lock, NULL);
    pthread_mutex_init(&keeper->send_lock, NULL);
    pthread_mutex_init(&keeper->listener_lock, NULL);
    pthread_cond_init(&keeper->changed, NULL);
    keeper->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int code = keeper->wake_fd < 0 ? err_sys(err, TACHO_RETRY, "cannot make an eventfd")
                                   : fill_slot(keeper, name, err);
    if (code != TACHO_OK) {
        keeper->refs = 1;
        unref(keeper);
        return code;
    }
    keeper->pid_fd = (int)syscall(SYS_pidfd_open, keeper->pid, 0);
    code = start_thread(keeper, err);
    if (code != TACHO_OK) {
        (void)kill(keeper->pid, SIGKILL); /* it has not entered anything yet */
        spawn_clean_up(keeper->pid);
        empty_slot(keeper, false);
        keeper->refs = 1;
        unref(keeper);
        return code;
    }
    *out = keeper;
    return TACHO_OK;
}

int keeper_send(struct keeper *keeper, const void *data, size_t length, int64_t deadline_ns)
{
    pthread_mutex_lock(&keeper->send_lock);
    int failed = wire_send(keeper->fd, data, length, deadline_ns);
    int saved = errno;
    pthread_mutex_unlock(&keeper->send_lock);
    errno = saved;
    return failed;
}

void keeper_cancel(struct keeper *keeper)
{
    atomic_store(&keeper->cancel, true);
    (void)eventfd_write(keeper->wake_fd, 1);
}

void keeper_end(struct keeper *keeper)
{
    atomic_store(&keeper->end, true);
    (void)eventfd_write(keeper->wake_fd, 1);
}

void keeper_free(struct keeper *keeper)
{
    if (!keeper) {
        return;
    }
    int64_t until_ns = clock_mono_ns() + KEEPER_FREE_NS;
    struct timespec until = {.tv_sec = until_ns / NS_PER_S, .tv_nsec = until_ns % NS_PER_S};
    keeper_end(keeper);
    pthread_mutex_lock(&keeper->lock);
    while (!keeper->gone &&
           pthread_cond_clockwait(&keeper->changed, &keeper->lock, CLOCK_MONOTONIC, &until) == 0) {
    }
    pthread_mutex_unlock(&keeper->lock);
    pthread_mutex_lock(&keeper->listener_lock);
    keeper->listener = NULL;
    pthread_mutex_unlock(&keeper->listener_lock);
    unref(keeper);
}
