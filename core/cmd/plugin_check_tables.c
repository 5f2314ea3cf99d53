/* SPDX-License-Identifier: MIT */
/* What a plugin says of itself, and that it bears options that lead nowhere. */
#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/cmd/plugin_check.h"
#include "core/cmd/plugin_check_run.h"
#include "core/err.h"
#include "core/metric.h"

int check_load(struct check *check)
{
    const struct module *module;
    struct tacho_err err = {0};
    if (module_load(check->path, &module, &err) != TACHO_OK) {
        return check_say(check, VERDICT_FAIL, "%s", err.text);
    }
    const struct tacho_plugin *plugin = &module->plugin;
    if (!plugin->open || !plugin->close) {
        return check_say(check, VERDICT_FAIL, "has no open or no close");
    }
    if (!plugin->collect && !plugin->consume && !plugin->call) {
        return check_say(check, VERDICT_FAIL, "has no role: collect, consume or call");
    }
    return check_say(check, VERDICT_PASS, "%s %s, ABI %u.%u, %u options, %u metrics, %u commands",
                     plugin->name, plugin->version ? plugin->version : "without version",
                     plugin->abi_major, plugin->abi_minor, plugin->option_count,
                     plugin->metric_count, plugin->command_count);
}

/* Loads for the probes below; those that come before tell what is wrong when it fails. */
static const struct module *load(struct check *check)
{
    const struct module *module = NULL;
    struct tacho_err err = {0};
    if (module_load(check->path, &module, &err) != TACHO_OK) {
        check_say(check, VERDICT_SKIP, "cannot be loaded");
        return NULL;
    }
    return module;
}

int check_metrics(struct check *check)
{
    const struct module *module = load(check);
    unsigned standard = 0;
    if (!module) {
        return VERDICT_SKIP;
    }
    for (uint32_t i = 0; i < module->plugin.metric_count; i++) {
        struct tacho_err err = {0};
        uint32_t id;
        if (metric_register(&module->metrics[i], &id, &err) != TACHO_OK) {
            return check_say(check, VERDICT_FAIL, "%s", err.text);
        }
        standard += metric_get(id)->standard;
    }
    return check_say(check, VERDICT_PASS, "%u metrics, %u of them of the catalogue",
                     module->plugin.metric_count, standard);
}

/* ---- options --------------------------------------------------------------------------------- */

static bool is_number(const struct tacho_option *row)
{
    return row->type == TACHO_INT || row->type == TACHO_FLOAT || row->type == TACHO_DURATION ||
           row->type == TACHO_SIZE;
}

/* Whether the host refuses a number outside of the row's range. */
static bool refuses_outside(const struct tacho_option *row)
{
    char number[64];
    char *values[] = {number};
    struct option_text given = {.name = (char *)row->name, .values = values, .count = 1};
    struct tacho_err err = {0};
    if (!is_number(row) || row->minimum >= row->maximum || fabs(row->maximum) > 1e15) {
        return true;
    }
    snprintf(number, sizeof number, "%.0f", row->maximum * 2 + 10);
    return option_check(row, &given, &err) != TACHO_OK;
}

int check_options(struct check *check)
{
    const struct module *module = load(check);
    struct tacho_err err = {0};
    void *options;
    if (!module) {
        return VERDICT_SKIP;
    }
    if (option_check_presets(module, &err) != TACHO_OK) {
        return check_say(check, VERDICT_FAIL, "%s", err.text);
    }
    unsigned required = 0;
    for (uint32_t i = 0; i < module->plugin.option_count; i++) {
        required += (module->options[i].flags & TACHO_REQUIRED) != 0;
        if (!refuses_outside(&module->options[i])) {
            return check_say(check, VERDICT_FAIL, "the range of option '%s' does not hold",
                             module->options[i].name);
        }
    }
    err_clear(&err);
    bool refused = option_fill(module, NULL, 0, &options, &err) != TACHO_OK;
    if (required > 0 && !refused) {
        return check_say(check, VERDICT_FAIL, "goes without its required options");
    }
    if (!refused) {
        option_free(module, options);
    }
    return check_say(check, VERDICT_PASS, "%u options, %u required; presets and ranges hold",
                     module->plugin.option_count, required);
}

/* ---- values that lead nowhere ---------------------------------------------------------------- */

/* Opens with one text option set to a value; what open says must be a result with a sentence. */
static int open_with(struct check *check, uint32_t option, const char *value)
{
    struct run run;
    char *values[] = {(char *)value};
    struct option_text all[256];
    uint32_t count = 0;
    int ready = run_init(&run, check, "check", false);
    if (ready != RUN_READY) {
        return ready;
    }
    const struct tacho_option *row = &run.module->options[option];
    for (uint32_t i = 0; i < check->given_count && count < 255; i++) {
        if (strcmp(check->given[i].name, row->name) != 0) {
            all[count++] = check->given[i];
        }
    }
    all[count] = (struct option_text){.name = (char *)row->name, .values = values, .count = 1};
    count++;
    option_free(run.module, run.options);
    run.options = NULL;
    if (option_fill(run.module, all, count, &run.options, &run.err) != TACHO_OK) {
        host_fini(&run.host);
        return VERDICT_PASS; /* refused before open */
    }
    int opened = run_open(&run, check);
    run_fini(&run);
    return opened == VERDICT_FAIL ? VERDICT_FAIL : VERDICT_PASS;
}

static int try_values(struct check *check, const struct module *module)
{
    /* The second can be no file, whoever asks. */
    static const char *const bad[] = {"", "/dev/null/nowhere", "\x7f!%s%n$(x)"};
    unsigned tried = 0;
    for (uint32_t i = 0; i < module->plugin.option_count; i++) {
        int type = module->options[i].type;
        for (size_t n = 0; n < sizeof bad / sizeof bad[0]; n++) {
            if (type != TACHO_STRING && type != TACHO_STRINGS) {
                continue;
            }
            int verdict = open_with(check, i, bad[n]);
            if (verdict != VERDICT_PASS) {
                return verdict;
            }
            tried++;
        }
    }
    return tried == 0 ? check_say(check, VERDICT_SKIP, "has no options that are texts")
                      : check_say(check, VERDICT_PASS, "%u odd texts as options, no harm", tried);
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
    (void)status;
    (void)type;
    (void)ftw;
    return remove(path);
}

/* In a folder of its own, since a sink may take an odd text for the name of a file to be made. */
int check_bad_values(struct check *check)
{
    const struct module *module = load(check);
    char folder[] = "/tmp/tacho-check-XXXXXX";
    if (!module) {
        return VERDICT_SKIP;
    }
    if (!mkdtemp(folder) || chdir(folder) != 0) {
        return check_say(check, VERDICT_SKIP, "cannot make a folder in /tmp");
    }
    int verdict = try_values(check, module);
    (void)nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    return verdict;
}
