/* SPDX-License-Identifier: MIT */
/*
 * The file that drives the fake library: one command in a line, words by spaces, # for comments.
 *
 *   gpus N                              how many GPUs (1)
 *   profile KEY [GPU]                   model of all or of one: h100 a100 v100 l40s rtx4090 gb10
 *   cost_us N                           time that every call takes
 *   generation N                        another number than at init: version mismatch until re-init
 *   driver VERSION
 *   init CODE                           nvmlInit returns this
 *   descriptors N                       nvmlInit fails when the process may open more
 *   drop FUNCTION                       the function says that it is not there
 *   return FUNCTION CODE [GPU]
 *   hang FUNCTION|* SECONDS [GPU]       each call takes so long, or until the line is gone
 *   lose GPU
 *   set GPU|* KEY VALUE                 see key_table
 *   mig GPU INDEX GI CI SLICES MEMORY_MIB UUID-NUMBER
 *   layout 16|24|32                     bytes of an entry of a process list
 *   process GPU compute|graphics|mps PID BYTES [GI CI]
 *   usage PID SM MEMORY ENCODER DECODER TIMESTAMP_US
 *   sample GPU power|gpu|memory TIMESTAMP_US VALUE
 *   event GPU TYPE DATA [GI CI]         told once, in the order of the file
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/nvml/fake/fake.h"

#define WORDS 10

static const struct fake_profile profile_table[] = {
    {.key = "h100",
     .name = "NVIDIA H100 80GB HBM3",
     .architecture = 9,
     .memory_mib = 81559,
     .reserved_mib = 479,
     .power_limit_mw = 700000,
     .clock_mhz = 1980,
     .memory_clock_mhz = 2619,
     .nvlinks = 18,
     .ecc = true,
     .mig = true,
     .gpm = true},
    {.key = "a100",
     .name = "NVIDIA A100-SXM4-80GB",
     .architecture = 7,
     .memory_mib = 81920,
     .reserved_mib = 869,
     .power_limit_mw = 400000,
     .clock_mhz = 1410,
     .memory_clock_mhz = 1593,
     .nvlinks = 12,
     .ecc = true,
     .mig = true},
    {.key = "v100",
     .name = "Tesla V100-SXM2-16GB",
     .architecture = 5,
     .memory_mib = 16384,
     .reserved_mib = 240,
     .power_limit_mw = 300000,
     .clock_mhz = 1530,
     .memory_clock_mhz = 877,
     .nvlinks = 6,
     .ecc = true},
    {.key = "l40s",
     .name = "NVIDIA L40S",
     .architecture = 8,
     .memory_mib = 46068,
     .reserved_mib = 590,
     .power_limit_mw = 350000,
     .clock_mhz = 2520,
     .memory_clock_mhz = 9001,
     .ecc = true,
     .relative_limits = true},
    {.key = "rtx4090",
     .name = "NVIDIA GeForce RTX 4090",
     .architecture = 8,
     .memory_mib = 24564,
     .reserved_mib = 346,
     .power_limit_mw = 450000,
     .clock_mhz = 3120,
     .memory_clock_mhz = 10501,
     .fans = 2},
    {.key = "gb10",
     .name = "NVIDIA GB10",
     .architecture = 10,
     .power_limit_mw = 140000,
     .clock_mhz = 3003,
     .memory_clock_mhz = 0,
     .unified = true},
};

static const struct {
    const char *name;
    size_t offset;
} key_table[] = {
#define KEY(name)                              \
    {                                          \
#name, offsetof(struct fake_gpu, name) \
    }
    KEY(util),
    KEY(mem_util),
    KEY(encoder),
    KEY(decoder),
    KEY(jpeg),
    KEY(ofa),
    KEY(used_mib),
    KEY(total_mib),
    KEY(reserved_mib),
    KEY(temperature),
    KEY(memory_temperature),
    KEY(power_mw),
    KEY(average_mw),
    KEY(energy_mj),
    KEY(pstate),
    KEY(throttle),
    KEY(throttle_ns),
    KEY(clock_mhz),
    KEY(fan),
    KEY(rpm),
    KEY(pcie_generation),
    KEY(pcie_width),
    KEY(pcie_tx),
    KEY(pcie_rx),
    KEY(replays),
    KEY(ecc_corrected),
    KEY(ecc_uncorrected),
    KEY(remapped),
    KEY(remap_pending),
    KEY(retired),
    KEY(recovery),
    KEY(nvlink_kib),
    KEY(mig_mode),
    KEY(activity),
    KEY(uuid),
#undef KEY
};

static void refuse(const char *line)
{
    (void)fprintf(stderr, "fake libnvidia-ml: cannot read the line: %s\n", line);
    abort();
}

const struct fake_profile *fake_profile_find(const char *key)
{
    for (size_t i = 0; i < sizeof profile_table / sizeof *profile_table; i++) {
        if (strcmp(profile_table[i].key, key) == 0) {
            return &profile_table[i];
        }
    }
    refuse(key);
    return NULL;
}

static void reset_gpu(struct fake_gpu *gpu, uint32_t index, const struct fake_profile *profile)
{
    *gpu = (struct fake_gpu){.profile = profile,
                             .util = 40,
                             .mem_util = 20,
                             .used_mib = 1024,
                             .total_mib = profile->memory_mib,
                             .reserved_mib = profile->reserved_mib,
                             .temperature = 55,
                             .memory_temperature = 60,
                             .power_mw = 250000,
                             .average_mw = 240000,
                             .energy_mj = 1000000,
                             .clock_mhz = 1500,
                             .fan = 30,
                             .rpm = 1200,
                             .pcie_generation = 4,
                             .pcie_width = 16,
                             .activity = 35,
                             .uuid = index};
}

static void set_key(struct fake_script *script, const char *gpu, const char *key, int64_t value,
                    const char *line)
{
    uint32_t first = gpu[0] == '*' ? 0 : (uint32_t)strtoul(gpu, NULL, 10);
    uint32_t last = gpu[0] == '*' ? FAKE_GPUS - 1 : first;
    for (size_t i = 0; i < sizeof key_table / sizeof *key_table; i++) {
        if (strcmp(key_table[i].name, key) == 0) {
            for (uint32_t at = first; at <= last && at < FAKE_GPUS; at++) {
                memcpy((char *)&script->gpus[at] + key_table[i].offset, &value, sizeof value);
            }
            return;
        }
    }
    refuse(line);
}

static uint32_t number(const char *text)
{
    return (uint32_t)strtoul(text, NULL, 0);
}

static uint32_t choose(const char *text, const char *const *words, uint32_t count, const char *line)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(words[i], text) == 0) {
            return i;
        }
    }
    refuse(line);
    return 0;
}

static void add_rule(struct fake_script *script, const char *function, int32_t code, double hang_s,
                     const char *gpu)
{
    if (script->rule_count < FAKE_RULES) {
        struct fake_rule *rule = &script->rules[script->rule_count++];
        *rule = (struct fake_rule){
            .code = code, .hang_s = hang_s, .gpu = gpu ? (int32_t)number(gpu) : -1};
        (void)snprintf(rule->function, sizeof rule->function, "%s", function);
    }
}

static void add_usage(struct fake_script *script, char **words)
{
    for (uint32_t i = 0; i < script->process_count; i++) {
        struct fake_process *process = &script->processes[i];
        if (process->pid == number(words[1])) {
            process->sm = (int32_t)number(words[2]);
            process->memory = (int32_t)number(words[3]);
            process->encoder = (int32_t)number(words[4]);
            process->decoder = (int32_t)number(words[5]);
            process->timestamp_us = strtoull(words[6], NULL, 10);
        }
    }
}

/* Lists of things: MIG devices, processes, samples, events. */
static bool add_thing(struct fake_script *script, char **words, uint32_t count, const char *line)
{
    static const char *const lists[] = {"compute", "graphics", "mps"};
    static const char *const types[] = {"power", "gpu", "memory"};
    bool instance = count >= 7;
    if (strcmp(words[0], "mig") == 0 && count == 8 && script->mig_count < FAKE_MIGS) {
        script->migs[script->mig_count++] =
            (struct fake_mig){.gpu = number(words[1]),
                              .index = number(words[2]),
                              .gi = number(words[3]),
                              .ci = number(words[4]),
                              .slices = number(words[5]),
                              .memory_mib = strtoll(words[6], NULL, 10),
                              .used_mib = 100,
                              .uuid = number(words[7])};
    } else if (strcmp(words[0], "process") == 0 && count >= 5 &&
               script->process_count < FAKE_PROCESSES) {
        script->processes[script->process_count++] =
            (struct fake_process){.gpu = number(words[1]),
                                  .list = choose(words[2], lists, 3, line),
                                  .pid = number(words[3]),
                                  .bytes = strtoull(words[4], NULL, 10),
                                  .gi = instance ? number(words[5]) : NV_NO_INSTANCE,
                                  .ci = instance ? number(words[6]) : NV_NO_INSTANCE,
                                  .sm = -1};
    } else if (strcmp(words[0], "sample") == 0 && count == 5 &&
               script->sample_count < FAKE_SAMPLES) {
        script->samples[script->sample_count++] =
            (struct fake_sample){.gpu = number(words[1]),
                                 .type = choose(words[2], types, 3, line),
                                 .timestamp_us = strtoull(words[3], NULL, 10),
                                 .value = number(words[4])};
    } else if (strcmp(words[0], "event") == 0 && count >= 4 && script->event_count < FAKE_EVENTS) {
        script->events[script->event_count++] =
            (struct fake_event){.gpu = number(words[1]),
                                .type = number(words[2]),
                                .data = number(words[3]),
                                .gi = count >= 6 ? number(words[4]) : NV_NO_INSTANCE,
                                .ci = count >= 6 ? number(words[5]) : NV_NO_INSTANCE};
    } else {
        return false;
    }
    return true;
}

static bool set_gpus(struct fake_script *script, char **words, uint32_t count, const char *line)
{
    if (strcmp(words[0], "gpus") == 0 && count == 2) {
        script->gpu_count = number(words[1]) < FAKE_GPUS ? number(words[1]) : FAKE_GPUS;
    } else if (strcmp(words[0], "profile") == 0 && count >= 2) {
        const struct fake_profile *profile = fake_profile_find(words[1]);
        for (uint32_t i = 0; i < FAKE_GPUS; i++) {
            if (count == 2 || number(words[2]) == i) {
                reset_gpu(&script->gpus[i], i, profile);
            }
        }
    } else if (strcmp(words[0], "set") == 0 && count == 4) {
        set_key(script, words[1], words[2], strtoll(words[3], NULL, 0), line);
    } else if (strcmp(words[0], "lose") == 0 && count == 2 && number(words[1]) < FAKE_GPUS) {
        script->gpus[number(words[1])].lost = true;
    } else {
        return false;
    }
    return true;
}

static void run_line(struct fake_script *script, char **words, uint32_t count, const char *line)
{
    if (set_gpus(script, words, count, line) || add_thing(script, words, count, line)) {
        return;
    }
    if (strcmp(words[0], "cost_us") == 0 && count == 2) {
        script->cost_us = strtod(words[1], NULL);
    } else if (strcmp(words[0], "generation") == 0 && count == 2) {
        script->generation = (int32_t)number(words[1]);
    } else if (strcmp(words[0], "descriptors") == 0 && count == 2) {
        script->descriptors = number(words[1]);
    } else if (strcmp(words[0], "driver") == 0 && count == 2) {
        (void)snprintf(script->driver, sizeof script->driver, "%s", words[1]);
    } else if (strcmp(words[0], "layout") == 0 && count == 2) {
        script->process_bytes = number(words[1]);
    } else if (strcmp(words[0], "init") == 0 && count == 2) {
        add_rule(script, "nvmlInit_v2", (int32_t)number(words[1]), 0, NULL);
    } else if (strcmp(words[0], "drop") == 0 && count == 2) {
        add_rule(script, words[1], NV_FUNCTION_NOT_FOUND, 0, NULL);
    } else if (strcmp(words[0], "return") == 0 && count >= 3) {
        add_rule(script, words[1], (int32_t)number(words[2]), 0, count > 3 ? words[3] : NULL);
    } else if (strcmp(words[0], "hang") == 0 && count >= 3) {
        add_rule(script, words[1], 0, strtod(words[2], NULL), count > 3 ? words[3] : NULL);
    } else if (strcmp(words[0], "usage") == 0 && count == 7) {
        add_usage(script, words);
    } else {
        refuse(line);
    }
}

void fake_script_read(const char *path, struct fake_script *out)
{
    char line[256], copy[256];
    *out = (struct fake_script){.gpu_count = 1, .process_bytes = 24, .driver = "590.48.01"};
    for (uint32_t i = 0; i < FAKE_GPUS; i++) {
        reset_gpu(&out->gpus[i], i, &profile_table[0]);
    }
    FILE *file = path ? fopen(path, "re") : NULL;
    while (file && fgets(line, sizeof line, file)) {
        char *words[WORDS], *state = NULL;
        uint32_t count = 0;
        line[strcspn(line, "#\n")] = '\0';
        (void)snprintf(copy, sizeof copy, "%s", line);
        for (char *word = strtok_r(line, " \t", &state); word && count < WORDS;
             word = strtok_r(NULL, " \t", &state)) {
            words[count++] = word;
        }
        if (count > 0) {
            run_line(out, words, count, copy);
        }
    }
    if (file) {
        (void)fclose(file);
    }
}
