/* SPDX-License-Identifier: MIT */
/* tacho run: the daemon. Signals come by a descriptor, so that all they do is done by this thread.
 */
#include <getopt.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "core/cmd/cmd.h"
#include "core/conf.h"
#include "core/engine.h"
#include "core/err.h"
#include "core/log.h"
#include "core/notify.h"

static const char usage[] =
    "usage: tacho run [-c FILE] [-q]\n\n"
    "Runs the instances of a configuration until SIGTERM or SIGINT; SIGHUP reads it again. Says\n"
    "in one line what runs; logs go to standard error.\n\n"
    "  -c, --config FILE   default: TACHO_CONFIG, else the installed tacho.conf\n"
    "  -q, --quiet         do not print that line\n\n"
    "Exit status: 0 stopped as asked, 2 usage, 69 cannot start, 78 problems in the "
    "configuration.\n";

struct arguments {
    const char *file;
    bool quiet;
};

/* 0, or an exit status + 1 when there is nothing left to do. */
static int parse(int argc, char **argv, struct arguments *out)
{
    static const struct option options[] = {{"config", required_argument, NULL, 'c'},
                                            {"quiet", no_argument, NULL, 'q'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    int option;
    while ((option = getopt_long(argc, argv, "c:qh", options, NULL)) != -1) {
        switch (option) {
        case 'c': out->file = optarg; break;
        case 'q': out->quiet = true; break;
        case 'h': fputs(usage, stdout); return CMD_OK + 1;
        default: fputs("see 'tacho run --help'\n", stderr); return CMD_USAGE + 1;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "tacho run: cannot understand '%s'; see 'tacho run --help'\n",
                argv[optind]);
        return CMD_USAGE + 1;
    }
    out->file = out->file ? out->file : conf_default_path();
    return 0;
}

/* Threads allocate little and rarely; an arena for each would cost a page or more of each. */
static void keep_memory_small(void)
{
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_TRIM_THRESHOLD, 256 << 10);
    mallopt(M_MMAP_THRESHOLD, 256 << 10);
}

/* Blocks the signals that we take by descriptor, in this thread and all that it starts. */
static int open_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    /* main ignores SIGHUP until somebody can take it; an ignored one never reaches a descriptor. */
    signal(SIGHUP, SIG_DFL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void take_signals(int fd, struct engine *engine)
{
    struct signalfd_siginfo info;
    while (read(fd, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGHUP) {
            engine_post_reload(engine);
        } else {
            engine_post_stop(engine);
        }
    }
}

/* From here on a second signal ends the process at once. */
static void unblock_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

static void serve(int signals, struct engine *engine)
{
    struct pollfd wanted[] = {{.fd = signals, .events = POLLIN},
                              {.fd = engine_request_fd(engine), .events = POLLIN}};
    bool goes_on = true;
    while (goes_on) {
        /* Wakes by itself now and then, as a sign of life to the watcher. */
        poll(wanted, 2, 2000);
        take_signals(signals, engine);
        goes_on = engine_handle(engine);
    }
}

static struct conf *load(const char *file)
{
    struct conf *conf = NULL;
    struct conf_problems problems = {0};
    if (conf_load(file, CONF_FULL, &conf, &problems) != TACHO_OK) {
        char line[1024];
        for (uint32_t i = 0; i < problems.count; i++) {
            conf_problem_print(&problems.items[i], line, sizeof line);
            fprintf(stderr, "%s\n", line);
        }
    }
    conf_problems_free(&problems);
    return conf;
}

static void announce(struct engine *engine, bool quiet)
{
    struct buf line;
    buf_init(&line, 64 << 10);
    engine_describe(engine, &line);
    char *text = buf_take(&line);
    if (text && !quiet) {
        printf("%s\n", text);
        fflush(stdout);
    }
    free(text);
    notify_send("READY=1");
}

static int run(struct conf *conf, int signals, bool quiet)
{
    struct engine *engine;
    struct tacho_err err = {0};
    if (engine_new(conf, &engine, &err) != TACHO_OK) {
        fprintf(stderr, "tacho run: %s\n", err.text);
        return CMD_NONE;
    }
    int status = CMD_OK;
    if (engine_start(engine, &err) == TACHO_OK) {
        announce(engine, quiet);
        serve(signals, engine);
        notify_send("STOPPING=1");
    } else {
        fprintf(stderr, "tacho run: %s\n", err.text);
        status = CMD_NONE;
    }
    unblock_signals();
    if (!engine_stop(engine)) {
        /* A plugin is still in a call: clean-up at exit would pull its memory away. */
        fflush(NULL);
        _exit(status);
    }
    engine_free(engine);
    return status;
}

int cmd_run(int argc, char **argv)
{
    struct arguments arguments = {0};
    int status = parse(argc, argv, &arguments);
    if (status > 0) {
        return status - 1;
    }
    keep_memory_small();
    int signals = open_signals();
    if (signals < 0) {
        perror("tacho run: signalfd");
        return CMD_NONE;
    }
    struct conf *conf = load(arguments.file);
    if (!conf) {
        return CMD_CONFIG;
    }
    log_set_level(conf->log_level);
    status = run(conf, signals, arguments.quiet);
    close(signals);
    return status;
}
