/* SPDX-License-Identifier: MIT */
/*
 * The lists of the options, each item a short text:
 *   phases     "KIND:DURATION"
 *   faults     "KIND[:NUMBER]…@TIME[+DURATION]"
 *   processes  "GPU:USER:COMMAND:MEMORY"
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/sim/sim.h"

#define PROCESS_LIMIT 64

struct unit {
    const char *name;
    double factor;
};

static const struct unit durations[] = {{"", 1e9},   {"ms", 1e6}, {"s", 1e9},
                                        {"m", 60e9}, {"us", 1e3}, {"h", 3600e9}};
static const struct unit sizes[] = {{"", 1},         {"KiB", 0x1p10}, {"MiB", 0x1p20},
                                    {"GiB", 0x1p30}, {"MB", 1e6},     {"GB", 1e9}};

/* A number with one of the units, all of text; -1 when it is not that. */
static int parse_number(const char *text, const struct unit *units, size_t unit_count, int64_t *out)
{
    char *end;
    if (!isdigit((unsigned char)*text)) {
        return -1;
    }
    double number = strtod(text, &end);
    for (size_t i = 0; i < unit_count; i++) {
        double scaled = number * units[i].factor;
        if (strcmp(end, units[i].name) == 0 && scaled < 0x1p62) {
            *out = (int64_t)llround(scaled);
            return 0;
        }
    }
    return -1;
}

static int parse_duration(const char *text, int64_t *out_ns)
{
    return parse_number(text, durations, TACHO_COUNT(durations), out_ns);
}

/* Digits only, at most `limit`. */
static int parse_index(const char *text, uint32_t limit, uint32_t *out)
{
    char *end;
    if (!isdigit((unsigned char)*text)) {
        return -1;
    }
    errno = 0;
    unsigned long number = strtoul(text, &end, 10);
    if (errno || *end || number > limit) {
        return -1;
    }
    *out = (uint32_t)number;
    return 0;
}

/* Cuts text at the first of a separator and returns what follows, or NULL when there is none. */
static char *cut(char *text, char separator)
{
    char *at = strchr(text, separator);
    if (at) {
        *at++ = '\0';
    }
    return at;
}

/* ---- phases ---------------------------------------------------------------------------------- */

static int parse_kind(const char *text, enum sim_load_kind *out)
{
    static const char *const names[] = {[LOAD_IDLE] = "idle",
                                        [LOAD_TRAINING] = "training",
                                        [LOAD_INFERENCE] = "inference",
                                        [LOAD_BURST] = "burst",
                                        [LOAD_MIXED] = "mixed"};
    for (uint32_t i = 0; i < TACHO_COUNT(names); i++) {
        if (strcmp(text, names[i]) == 0) {
            *out = (enum sim_load_kind)i;
            return 0;
        }
    }
    return -1;
}

static int parse_phase(char *text, const char *given, struct sim_phase *out, struct tacho_err *err)
{
    char *length = cut(text, ':');
    if (!length || parse_kind(text, &out->kind) || parse_duration(length, &out->length_ns) ||
        out->length_ns <= 0) {
        return tacho_fail(err, TACHO_CONFIG,
                          "phases: \"%s\" is not KIND:DURATION such as \"training:2m\" (kinds: "
                          "idle, training, inference, burst, mixed)",
                          given);
    }
    return TACHO_OK;
}

int sim_parse_phases(struct sim *sim, struct tacho_err *err)
{
    const struct tacho_strings *list = &sim->options->phases;
    sim->phases = calloc(list->count ? list->count : 1, sizeof *sim->phases);
    if (!sim->phases) {
        return tacho_fail(err, TACHO_RETRY, "no memory for %" PRIu32 " phases", list->count);
    }
    sim->phase_count = list->count ? list->count : 1;
    if (list->count == 0) {
        sim->phases[0].length_ns = SIM_NS_PER_S;
        if (parse_kind(sim->options->workload, &sim->phases[0].kind)) {
            return tacho_fail(err, TACHO_CONFIG, "workload: \"%s\" is unknown",
                              sim->options->workload);
        }
        return TACHO_OK;
    }
    for (uint32_t i = 0; i < list->count; i++) {
        char *text = strdup(list->items[i]);
        int result = text ? parse_phase(text, list->items[i], &sim->phases[i], err)
                          : tacho_fail(err, TACHO_RETRY, "no memory for a phase");
        free(text);
        if (result != TACHO_OK) {
            return result;
        }
    }
    return TACHO_OK;
}

/* ---- faults ---------------------------------------------------------------------------------- */

enum need { NEED_NONE, NEED_OPTIONAL, NEED_DURATION };

/* The grammar: which numbers stand before the @, and whether a duration follows. */
static const struct fault_kind {
    const char *name;
    enum sim_action_kind kind;
    bool has_xid, has_gpu;
    enum need duration;
    const char *form;
} fault_kinds[] = {
    {"lost", ACTION_LOST, false, true, NEED_OPTIONAL, "lost:GPU@TIME or lost:GPU@TIME+DURATION"},
    {"back", ACTION_BACK, false, true, NEED_NONE, "back:GPU@TIME"},
    {"xid", ACTION_XID, true, true, NEED_NONE, "xid:NUMBER:GPU@TIME"},
    {"throttle", ACTION_THROTTLE, false, true, NEED_DURATION, "throttle:GPU@TIME+DURATION"},
    {"hang", ACTION_HANG, false, false, NEED_DURATION, "hang@TIME+DURATION"},
};

static const struct fault_kind *find_fault(const char *name)
{
    for (uint32_t i = 0; i < TACHO_COUNT(fault_kinds); i++) {
        if (strcmp(fault_kinds[i].name, name) == 0) {
            return &fault_kinds[i];
        }
    }
    return NULL;
}

static int fault_form(const struct fault_kind *kind, const char *given, struct tacho_err *err)
{
    return tacho_fail(err, TACHO_CONFIG, "faults: \"%s\" is not of the form %s", given, kind->form);
}

/* "NUMBER" or "XID:NUMBER" before the @. */
static int parse_where(const struct sim *sim, const struct fault_kind *kind, char *where,
                       const char *given, struct sim_action *out, struct tacho_err *err)
{
    if (!kind->has_gpu) {
        return where ? fault_form(kind, given, err) : TACHO_OK;
    }
    if (kind->has_xid) {
        char *rest = where ? cut(where, ':') : NULL;
        if (!rest || parse_index(where, 1000, &out->xid) || out->xid == 0) {
            return fault_form(kind, given, err);
        }
        where = rest;
    }
    if (!where || parse_index(where, UINT32_MAX, &out->gpu)) {
        return fault_form(kind, given, err);
    }
    if (out->gpu >= sim->gpu_count) {
        return tacho_fail(err, TACHO_CONFIG,
                          "faults: \"%s\" names GPU %" PRIu32 ", but there are only 0 to %" PRIu32,
                          given, out->gpu, sim->gpu_count - 1);
    }
    return TACHO_OK;
}

static int parse_fault(const struct sim *sim, char *text, const char *given, struct sim_action *out,
                       struct tacho_err *err)
{
    char *time = cut(text, '@');
    char *where = cut(text, ':');
    char *length = time ? cut(time, '+') : NULL;
    const struct fault_kind *kind = find_fault(text);
    if (!kind) {
        return tacho_fail(err, TACHO_CONFIG,
                          "faults: \"%s\" begins with none of lost, back, xid, throttle, hang",
                          given);
    }
    out->kind = kind->kind;
    if (!time || parse_duration(time, &out->at_ns) || (length && kind->duration == NEED_NONE) ||
        (!length && kind->duration == NEED_DURATION) ||
        (length && (parse_duration(length, &out->for_ns) || out->for_ns == 0))) {
        return fault_form(kind, given, err);
    }
    return parse_where(sim, kind, where, given, out, err);
}

static void add_action(struct sim *sim, const struct sim_action *action)
{
    uint32_t at = sim->action_count++;
    for (; at > 0 && sim->actions[at - 1].at_ns > action->at_ns; at--) {
        sim->actions[at] = sim->actions[at - 1];
    }
    sim->actions[at] = *action;
}

/* A fault, and its end when it has one. */
static void add_fault(struct sim *sim, const struct sim_action *action)
{
    struct sim_action end = *action;
    end.at_ns += action->for_ns;
    add_action(sim, action);
    if (action->kind == ACTION_THROTTLE) {
        end.kind = ACTION_RELEASE;
        add_action(sim, &end);
    } else if (action->kind == ACTION_LOST && action->for_ns > 0) {
        end.kind = ACTION_BACK;
        add_action(sim, &end);
    }
}

int sim_parse_faults(struct sim *sim, struct tacho_err *err)
{
    const struct tacho_strings *list = &sim->options->faults;
    sim->actions = calloc((size_t)list->count * 2 + 1, sizeof *sim->actions);
    if (!sim->actions) {
        return tacho_fail(err, TACHO_RETRY, "no memory for %" PRIu32 " faults", list->count);
    }
    for (uint32_t i = 0; i < list->count; i++) {
        struct sim_action action = {0};
        char *text = strdup(list->items[i]);
        int result = text ? parse_fault(sim, text, list->items[i], &action, err)
                          : tacho_fail(err, TACHO_RETRY, "no memory for a fault");
        free(text);
        if (result != TACHO_OK) {
            return result;
        }
        add_fault(sim, &action);
    }
    return TACHO_OK;
}

/* ---- processes ------------------------------------------------------------------------------- */

static int parse_process(const struct sim *sim, char *text, const char *given,
                         struct sim_process *out, struct tacho_err *err)
{
    char *user = cut(text, ':');
    char *command = user ? cut(user, ':') : NULL;
    char *size = command ? strrchr(command, ':') : NULL; /* a command may hold colons */
    if (size) {
        *size++ = '\0';
    }
    out->everywhere = strcmp(text, "*") == 0;
    if (!size || !*user || !*command ||
        parse_number(size, sizes, TACHO_COUNT(sizes), &out->bytes) ||
        (!out->everywhere && parse_index(text, UINT32_MAX, &out->gpu))) {
        return tacho_fail(err, TACHO_CONFIG,
                          "processes: \"%s\" is not GPU:USER:COMMAND:MEMORY such as "
                          "\"0:alice:python3 train.py:20GiB\" (GPU may be *)",
                          given);
    }
    if (!out->everywhere && out->gpu >= sim->gpu_count) {
        return tacho_fail(err, TACHO_CONFIG,
                          "processes: \"%s\" names GPU %" PRIu32
                          ", but there are only 0 to %" PRIu32,
                          given, out->gpu, sim->gpu_count - 1);
    }
    out->user = strdup(user);
    out->command = strdup(command);
    return out->user && out->command ? TACHO_OK
                                     : tacho_fail(err, TACHO_RETRY, "no memory for a process");
}

/* What the processes hold together must fit each card. */
static int check_memory(const struct sim *sim, struct tacho_err *err)
{
    for (uint32_t gpu = 0; gpu < sim->gpu_count; gpu++) {
        const struct sim_profile *profile = sim->gpus[gpu].profile;
        int64_t room = (profile->memory_mib - profile->reserved_mib - 1) << 20;
        int64_t sum = 0;
        for (uint32_t i = 0; i < sim->process_count; i++) {
            const struct sim_process *process = &sim->processes[i];
            sum += process->everywhere || process->gpu == gpu ? process->bytes : 0;
            if (sum > room) {
                return tacho_fail(err, TACHO_CONFIG,
                                  "processes: they hold more memory than the %" PRId64
                                  " MiB that GPU %" PRIu32 " (%s) has to give",
                                  room >> 20, gpu, profile->key);
            }
        }
    }
    return TACHO_OK;
}

int sim_parse_processes(struct sim *sim, struct tacho_err *err)
{
    const struct tacho_strings *list = &sim->options->processes;
    if (list->count > PROCESS_LIMIT) {
        return tacho_fail(err, TACHO_CONFIG, "processes: %" PRIu32 " are more than %d", list->count,
                          PROCESS_LIMIT);
    }
    sim->processes = calloc((size_t)list->count + 1, sizeof *sim->processes);
    if (!sim->processes) {
        return tacho_fail(err, TACHO_RETRY, "no memory for %" PRIu32 " processes", list->count);
    }
    for (uint32_t i = 0; i < list->count; i++) {
        char *text = strdup(list->items[i]);
        struct sim_process *process = &sim->processes[sim->process_count++];
        int result = text ? parse_process(sim, text, list->items[i], process, err)
                          : tacho_fail(err, TACHO_RETRY, "no memory for a process");
        free(text);
        if (result != TACHO_OK) {
            return result;
        }
    }
    return check_memory(sim, err);
}
