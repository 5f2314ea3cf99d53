/* SPDX-License-Identifier: MIT */
/* tacho plugin check FILE: whether a plugin keeps the contract; see plugin_check.h. */
#include "core/cmd/plugin_check.h"

#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/cmd/cmd.h"
#include "core/cmd/plugin.h"
#include "core/log.h"
#include "core/units.h"

static const char usage[] =
    "usage: tacho plugin check [OPTIONS] PLUGIN\n"
    "\n"
    "Checks a plugin (a file with a slash in its name, or a name) against the contract. Each "
    "probe\n"
    "runs in a process of its own. Exit status 0: nothing wrong, 1: something failed.\n"
    "\n"
    "  -o KEY=VALUE          an option of the plugin, as in the configuration; may be repeated\n"
    "  -O KEY=VALUE          the same for the second of two instances\n"
    "      --json            the result as JSON\n"
    "      --timeout TIME    for one probe (default 60s)\n"
    "\n"
    "probes:\n";

static const struct probe probes[] = {
    {"undefined", check_undefined, "no undefined symbol of tacho's"},
    {"exports", check_exports, "exactly one exported symbol"},
    {"state", check_state, "no mutable state at file scope"},
    {"load", check_load, "loads; sizes, version, names and tables are right"},
    {"metrics", check_metrics, "metrics agree with the catalogue"},
    {"options", check_options, "presets are good; required and out-of-range values are refused"},
    {"values", check_bad_values, "values that lead nowhere give a code and a sentence"},
    {"open", check_open, "an instance can be closed right after it was opened"},
    {"leaks", check_leaks, "1000 times open and close leave nothing behind"},
    {"pair", check_pair, "two instances at once do not touch each other"},
    {"collect", check_collect, "what collect writes is well-formed"},
    {"deadline", check_deadline, "collect returns although its deadline is short or past"},
    {"cancel", check_cancel, "a cancelled collect returns, and the next one works"},
    {"consume", check_consume, "a sink takes batches and flushes"},
    {"commands", check_commands, "a service answers with JSON, and refuses what it does not know"},
};

enum { PROBES = sizeof probes / sizeof probes[0] };

int check_say(struct check *check, int verdict, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(check->text, sizeof check->text, format, args);
    va_end(args);
    return verdict;
}

/* ---- one probe in its process ---------------------------------------------------------------- */

static void swallow(void *context, int level, const char *name, const char *text)
{
    (void)context;
    (void)level;
    (void)name;
    (void)text;
}

/* Never returns. The verdict and the sentence go through the pipe, in one piece. */
static void run_child(struct check *check, const struct probe *probe, int fd)
{
    log_set_writer(swallow, NULL);
    (void)setpgid(0, 0);
    char said[CHECK_TEXT + 1];
    check->text[0] = '\0';
    said[0] = (char)probe->run(check);
    int length = snprintf(said + 1, CHECK_TEXT, "%s", check->text);
    _exit(write(fd, said, (size_t)length + 1) < 0 ? 2 : 0);
}

/* Reads what the child says, nothing when it hangs up; false past the time. Does not wait for the
 * end of the pipe, which a process that the plugin left behind may hold. */
static bool read_child(int fd, int64_t timeout_ns, char *out, size_t size, size_t *out_length)
{
    int64_t until_ns = clock_mono_ns() + timeout_ns;
    int ready = 0;
    while (ready <= 0) {
        int64_t left_ns = until_ns - clock_mono_ns();
        if (left_ns <= 0) {
            return false;
        }
        ready =
            poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, (int)(left_ns / NS_PER_MS) + 1);
    }
    ssize_t got = read(fd, out, size);
    *out_length = got > 0 ? (size_t)got : 0;
    return true;
}

/* How the child ended, when it did not say. */
static int judge_silence(struct check *check, int status)
{
    if (WIFSIGNALED(status)) {
        const char *what = sigdescr_np(WTERMSIG(status));
        return check_say(check, VERDICT_FAIL, "ended by signal %d (%s)", WTERMSIG(status),
                         what ? what : "unknown");
    }
    return check_say(check, VERDICT_FAIL, "ended the process, with exit code %d",
                     WEXITSTATUS(status));
}

static int run_probe(struct check *check, const struct probe *probe, int64_t timeout_ns)
{
    int fds[2], status = 0;
    char said[CHECK_TEXT + 1];
    size_t length = 0;
    fflush(stdout);
    if (pipe(fds) != 0) {
        return check_say(check, VERDICT_FAIL, "cannot make a pipe: %s", strerror(errno));
    }
    pid_t pid = fork();
    if (pid == 0) {
        close(fds[0]);
        run_child(check, probe, fds[1]);
    }
    close(fds[1]);
    bool in_time = pid < 0 || read_child(fds[0], timeout_ns, said, sizeof said, &length);
    close(fds[0]);
    if (pid < 0) {
        return check_say(check, VERDICT_FAIL, "cannot start a process: %s", strerror(errno));
    }
    /* The probe and what it may have started; it has its own group by now or has ended. */
    (void)kill(-pid, SIGKILL);
    waitpid(pid, &status, 0);
    if (!in_time) {
        return check_say(check, VERDICT_FAIL, "did not come to an end within %lld s",
                         (long long)(timeout_ns / NS_PER_S));
    }
    if (length == 0) {
        return judge_silence(check, status);
    }
    return check_say(check, said[0], "%.*s", (int)length - 1, said + 1);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static const char *const verdict_names[] = {"PASS", "FAIL", "SKIP"};

static void add_json(json_t *list, const struct probe *probe, int verdict, const char *text)
{
    json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "probe", probe->name, "verdict",
                                          verdict_names[verdict], "text", text));
}

static int run_all(struct check *check, int64_t timeout_ns, bool as_json)
{
    unsigned counts[3] = {0};
    json_t *list = json_array();
    for (int i = 0; i < PROBES; i++) {
        int verdict = run_probe(check, &probes[i], timeout_ns);
        verdict = verdict >= VERDICT_PASS && verdict <= VERDICT_SKIP ? verdict : VERDICT_FAIL;
        counts[verdict]++;
        add_json(list, &probes[i], verdict, check->text);
        if (!as_json) {
            printf("%s  %-10s %s\n", verdict_names[verdict], probes[i].name, check->text);
        }
    }
    json_t *whole = json_pack("{s:s, s:b, s:o}", "plugin", check->path, "ok",
                              counts[VERDICT_FAIL] == 0, "probes", list);
    if (as_json) {
        json_dumpf(whole, stdout, JSON_INDENT(2));
        putchar('\n');
    } else {
        printf("%s: %u passed, %u failed, %u skipped\n", check->path, counts[VERDICT_PASS],
               counts[VERDICT_FAIL], counts[VERDICT_SKIP]);
    }
    json_decref(whole);
    return counts[VERDICT_FAIL] == 0 ? CMD_OK : CMD_NO;
}

/* ---- the command line ------------------------------------------------------------------------ */

static void print_usage(FILE *out)
{
    fputs(usage, out);
    for (int i = 0; i < PROBES; i++) {
        fprintf(out, "  %-10s %s\n", probes[i].name, probes[i].about);
    }
}

/* Adds KEY=VALUE; a key given again is a list. */
static bool add_option(struct option_text **list, uint32_t *count, const char *word)
{
    const char *equals = strchr(word, '=');
    if (!equals || equals == word) {
        fprintf(stderr, "tacho plugin check: an option is KEY=VALUE, not %s\n", word);
        return false;
    }
    size_t length = (size_t)(equals - word);
    uint32_t at = 0;
    while (at < *count &&
           (strncmp((*list)[at].name, word, length) != 0 || (*list)[at].name[length] != '\0')) {
        at++;
    }
    if (at == *count) {
        *list = reallocarray(*list, at + 1, sizeof **list);
        (*list)[at] = (struct option_text){.name = strndup(word, length)};
        (*count)++;
    }
    struct option_text *option = &(*list)[at];
    option->values = reallocarray(option->values, option->count + 1, sizeof *option->values);
    option->values[option->count++] = strdup(equals + 1);
    return true;
}

static void free_options(struct option_text *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t n = 0; n < list[i].count; n++) {
            free(list[i].values[n]);
        }
        free(list[i].values);
        free(list[i].name);
    }
    free(list);
}

struct search {
    const char *name;
    char *path;
};

static void take_match(void *context, const char *name, const char *path)
{
    struct search *search = context;
    if (!search->path && strcmp(name, search->name) == 0) {
        search->path = strdup(path);
    }
}

/* The file of a plugin's name, or the file itself; heap-allocated, NULL when there is none. */
static char *find_file(const char *word)
{
    struct search search = {.name = word};
    if (access(word, F_OK) == 0) {
        return realpath(word, NULL);
    }
    module_list(take_match, &search);
    return search.path;
}

static int parse(struct check *check, int argc, char **argv, int64_t *timeout_ns, bool *as_json)
{
    static const struct option options[] = {{"json", no_argument, NULL, 'j'},
                                            {"timeout", required_argument, NULL, 't'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    int option;
    while ((option = getopt_long(argc, argv, "o:O:t:h", options, NULL)) != -1) {
        bool good = true;
        switch (option) {
        case 'o': good = add_option(&check->given, &check->given_count, optarg); break;
        case 'O': good = add_option(&check->second, &check->second_count, optarg); break;
        case 'j': *as_json = true; break;
        case 't': good = units_parse_duration(optarg, timeout_ns) == 0 && *timeout_ns > 0; break;
        case 'h': print_usage(stdout); return CMD_OK;
        default: return CMD_USAGE;
        }
        if (!good) {
            return CMD_USAGE;
        }
    }
    if (argc - optind != 1) {
        print_usage(stderr);
        return CMD_USAGE;
    }
    check->path = find_file(argv[optind]);
    if (!check->path) {
        fprintf(stderr, "tacho plugin check: there is no plugin '%s'\n", argv[optind]);
        return CMD_NONE;
    }
    return CMD_OK;
}

int plugin_check(int argc, char **argv)
{
    struct check check = {0};
    int64_t timeout_ns = 60 * NS_PER_S;
    bool as_json = false;
    int status = parse(&check, argc, argv, &timeout_ns, &as_json);
    if (status == CMD_OK && check.path) {
        status = run_all(&check, timeout_ns, as_json);
    }
    free_options(check.given, check.given_count);
    free_options(check.second, check.second_count);
    free(check.path);
    return status;
}
