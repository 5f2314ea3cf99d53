/* SPDX-License-Identifier: MIT */
/*
 * proc/cpuinfo: "key : value" lines that every architecture words in its own way. Model and vendor
 * are the first that any known key gives; sockets and cores are counted where the text tells them.
 */
#include "plugins/proc/proc.h"

/* In order of preference: a later key only fills what an earlier one left empty. */
static const char *const model_keys[] = {
    "model name", "Model Name", "cpu model", "uarch",    "cpu",
    "Processor",  "Model",      "machine",   "Hardware",
};
static const char *const vendor_keys[] = {"vendor_id", "CPU implementer", "system type",
                                          "mvendorid", "platform"};

enum { MODEL_KEYS = sizeof model_keys / sizeof model_keys[0] };
enum { VENDOR_KEYS = sizeof vendor_keys / sizeof vendor_keys[0] };

struct cpuinfo_scan {
    struct cpuinfo *info;
    size_t model_rank, vendor_rank;
    struct cpuinfo_ids ids;
    uint64_t package, core; /* of the CPU being told */
    bool has_core;
    double frequency_sum;
    uint32_t frequency_count;
};

void cpuinfo_ids_add(struct cpuinfo_ids *ids, uint32_t package, uint32_t core)
{
    uint64_t pair = (uint64_t)package << 32 | core;
    for (uint32_t i = 0; i < ids->count; i++) {
        if (ids->pairs[i] == pair) {
            return;
        }
    }
    if (ids->count < CPUINFO_IDS) {
        ids->pairs[ids->count++] = pair;
    }
}

void cpuinfo_ids_count(const struct cpuinfo_ids *ids, uint32_t *out_packages, uint32_t *out_cores)
{
    uint32_t packages = 0;
    for (uint32_t i = 0; i < ids->count; i++) {
        uint32_t at = 0;
        while (ids->pairs[at] >> 32 != ids->pairs[i] >> 32) {
            at++;
        }
        packages += at == i;
    }
    *out_packages = packages;
    *out_cores = ids->count;
}

static bool key_is(const struct scan *key, const char *text)
{
    size_t length = strlen(text);
    return (size_t)(key->end - key->at) == length && memcmp(key->at, text, length) == 0;
}

/* Keeps the value of the best key met so far. */
static void prefer(const struct scan *key, const struct scan *value, const char *const *keys,
                   size_t count, size_t *rank, char *out, size_t size)
{
    for (size_t i = 0; i < count && i < *rank; i++) {
        if (key_is(key, keys[i]) && value->at < value->end) {
            scan_copy(out, size, value->at, (size_t)(value->end - value->at));
            *rank = i;
            return;
        }
    }
}

static void end_cpu(struct cpuinfo_scan *state)
{
    if (state->has_core) {
        cpuinfo_ids_add(&state->ids, (uint32_t)state->package, (uint32_t)state->core);
    }
    state->has_core = false;
    state->package = 0;
}

static bool has_word(struct scan value, const char *text)
{
    const char *word;
    size_t length;
    while (scan_word(&value, &word, &length)) {
        if (length == strlen(text) && memcmp(word, text, length) == 0) {
            return true;
        }
    }
    return false;
}

static void take_line(struct cpuinfo_scan *state, const struct scan *key, struct scan *value)
{
    struct cpuinfo *info = state->info;
    double megahertz;
    prefer(key, value, model_keys, MODEL_KEYS, &state->model_rank, info->model, sizeof info->model);
    prefer(key, value, vendor_keys, VENDOR_KEYS, &state->vendor_rank, info->vendor,
           sizeof info->vendor);
    if (key_is(key, "processor")) {
        end_cpu(state);
        info->logical++;
    } else if (key_is(key, "physical id")) {
        (void)scan_u64(value, &state->package);
    } else if (key_is(key, "core id")) {
        state->has_core = scan_u64(value, &state->core);
    } else if (key_is(key, "cpu MHz") || key_is(key, "clock") || key_is(key, "CPU MHz") ||
               key_is(key, "cpu MHz dynamic")) {
        if (scan_decimal(value, &megahertz) && megahertz > 0) {
            state->frequency_sum += megahertz * 1e6;
            state->frequency_count++;
        }
    } else if (key_is(key, "flags") && info->logical <= 1) {
        info->hypervisor = has_word(*value, "hypervisor");
        info->measured = has_word(*value, "aperfmperf");
    }
}

static void trim(struct scan *text)
{
    while (text->at < text->end && (*text->at == ' ' || *text->at == '\t')) {
        text->at++;
    }
    while (text->at < text->end && (text->end[-1] == ' ' || text->end[-1] == '\t')) {
        text->end--;
    }
}

void cpuinfo_parse(struct cpuinfo *info, const char *text, size_t length)
{
    struct cpuinfo_scan state = {
        .info = info, .model_rank = MODEL_KEYS, .vendor_rank = VENDOR_KEYS};
    struct scan scan = scan_text(text, length);
    struct scan line;
    memset(info, 0, sizeof *info);
    while (scan_take_line(&scan, &line)) {
        const char *colon =
            line.at < line.end ? memchr(line.at, ':', (size_t)(line.end - line.at)) : NULL;
        if (!colon) {
            continue;
        }
        struct scan key = {.at = line.at, .end = colon};
        struct scan value = {.at = colon + 1, .end = line.end};
        trim(&key);
        trim(&value);
        take_line(&state, &key, &value);
    }
    end_cpu(&state);
    cpuinfo_ids_count(&state.ids, &info->sockets, &info->cores);
    if (state.frequency_count) {
        info->frequency = state.frequency_sum / state.frequency_count;
    }
}
