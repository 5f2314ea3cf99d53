/* SPDX-License-Identifier: MIT */
/* The command lines of `tacho log`; see log.h. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "core/clock.h"
#include "core/cmd/cmd.h"
#include "core/cmd/log.h"

enum { OPT_JSON = 256, OPT_FROM, OPT_TO, OPT_METRIC, OPT_SOURCE, OPT_FORMAT, OPT_IN_PLACE };

static const struct {
    struct option option;
    unsigned takes;
} known[] = {
    {{"help", no_argument, NULL, 'h'}, 0},
    {{"json", no_argument, NULL, OPT_JSON}, LOG_TAKES_JSON},
    {{"from", required_argument, NULL, OPT_FROM}, LOG_TAKES_FILTER},
    {{"to", required_argument, NULL, OPT_TO}, LOG_TAKES_FILTER},
    {{"metric", required_argument, NULL, OPT_METRIC}, LOG_TAKES_FILTER},
    {{"source", required_argument, NULL, OPT_SOURCE}, LOG_TAKES_FILTER},
    {{"output", required_argument, NULL, 'o'}, LOG_TAKES_OUTPUT},
    {{"format", required_argument, NULL, OPT_FORMAT}, LOG_TAKES_FORMAT},
    {{"follow", no_argument, NULL, 'f'}, LOG_TAKES_FOLLOW},
    {{"in-place", no_argument, NULL, OPT_IN_PLACE}, LOG_TAKES_IN_PLACE},
};

enum { KNOWN = sizeof known / sizeof known[0] };

static int take_time(const char *command, const char *text, int64_t *out)
{
    if (clock_parse(text, out) != 0) {
        fprintf(stderr, "tacho log %s: '%s' is no time; write 2026-01-31T12:00:00Z or @SECONDS\n",
                command, text);
        return CMD_USAGE;
    }
    return -1;
}

static int take_format(const char *command, const char *text, enum log_format *out)
{
    static const char *const names[] = {"json", "csv", "openmetrics"};
    for (int i = 0; i < 3; i++) {
        if (strcmp(text, names[i]) == 0) {
            *out = (enum log_format)i;
            return -1;
        }
    }
    fprintf(stderr, "tacho log %s: '%s' is not json, csv or openmetrics\n", command, text);
    return CMD_USAGE;
}

static int take_option(const char *command, int option, struct log_arguments *out)
{
    switch (option) {
    case OPT_JSON: out->json = true; return -1;
    case OPT_FROM: return take_time(command, optarg, &out->from_ns);
    case OPT_TO: return take_time(command, optarg, &out->to_ns);
    case OPT_METRIC: out->metric = optarg; return -1;
    case OPT_SOURCE: out->source = optarg; return -1;
    case OPT_FORMAT: return take_format(command, optarg, &out->format);
    case OPT_IN_PLACE: out->in_place = true; return -1;
    case 'o': out->output = optarg; return -1;
    case 'f': out->follow = true; return -1;
    default: fprintf(stderr, "See 'tacho log %s --help'.\n", command); return CMD_USAGE;
    }
}

int log_arguments(int argc, char **argv, unsigned takes, const char *help,
                  struct log_arguments *out)
{
    struct option options[KNOWN + 1] = {0};
    char letters[8];
    int count = 0;
    for (int i = 0; i < KNOWN; i++) {
        if (known[i].takes == 0 || takes & known[i].takes) {
            options[count++] = known[i].option;
        }
    }
    snprintf(letters, sizeof letters, "h%s%s", takes & LOG_TAKES_OUTPUT ? "o:" : "",
             takes & LOG_TAKES_FOLLOW ? "f" : "");
    *out = (struct log_arguments){.from_ns = INT64_MIN, .to_ns = INT64_MAX};
    const char *command = argv[0];
    optind = 0;
    for (int option; (option = getopt_long(argc, argv, letters, options, NULL)) != -1;) {
        if (option == 'h') {
            fputs(help, stdout);
            return CMD_OK;
        }
        int status = take_option(command, option, out);
        if (status != -1) {
            return status;
        }
    }
    if (optind != argc - 1) {
        fprintf(stderr, "tacho log %s: one PATH is needed; see 'tacho log %s --help'\n", command,
                command);
        return CMD_USAGE;
    }
    out->path = argv[optind];
    return -1;
}
