/* SPDX-License-Identifier: MIT */
/* Hashes of what was decided, not of the file's bytes: a comment or another order of keys is no
 * change. A secret file counts by its identity and time, never by its content. */
#include "core/conf_private.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

static void add_bytes(XXH3_state_t *state, const void *data, size_t length)
{
    XXH3_64bits_update(state, data, length);
}

/* With its NUL, so that "ab" "c" is not "a" "bc". */
static void add_text(XXH3_state_t *state, const char *text)
{
    add_bytes(state, text, strlen(text) + 1);
}

static void add_number(XXH3_state_t *state, int64_t number)
{
    add_bytes(state, &number, sizeof number);
}

static void add_secret(XXH3_state_t *state, const char *file)
{
    struct stat status;
    if (*file && stat(file, &status) == 0) {
        add_number(state, (int64_t)status.st_ino);
        add_number(state, (int64_t)status.st_size);
        add_number(state, (int64_t)status.st_mtim.tv_sec);
        add_number(state, (int64_t)status.st_mtim.tv_nsec);
    }
}

static void add_given(XXH3_state_t *state, const struct conf_instance *instance)
{
    /* In the order of the plugin's table, as the order in the file means nothing. */
    for (uint32_t i = 0; i < instance->module->plugin.option_count; i++) {
        const struct tacho_option *row = &instance->module->options[i];
        for (uint32_t j = 0; j < instance->given_count; j++) {
            const struct option_text *given = &instance->given[j];
            if (strcmp(given->name, row->name) != 0) {
                continue;
            }
            add_text(state, given->name);
            add_number(state, given->count);
            for (uint32_t k = 0; k < given->count; k++) {
                add_text(state, given->values[k]);
            }
            if (row->flags & TACHO_SECRET) {
                add_secret(state, given->values[0]);
            }
        }
    }
}

static void hash_instance(XXH3_state_t *state, struct conf_instance *instance)
{
    const int64_t numbers[] = {
        instance->role,    instance->interval_ns, instance->phase_ns, instance->deadline_ns,
        instance->isolate, instance->kill,        instance->queue,    instance->overflow,
    };
    XXH3_64bits_reset(state);
    add_text(state, instance->name);
    add_text(state, instance->module->path);
    add_bytes(state, numbers, sizeof numbers);
    add_text(state, instance->chain);
    for (uint32_t i = 0; i < instance->filter_count; i++) {
        add_text(state, instance->filter[i]);
    }
    add_given(state, instance);
    instance->hash = XXH3_64bits_digest(state);
}

void conf_hash(struct conf *conf)
{
    XXH3_state_t *state = XXH3_createState();
    if (!state) {
        return;
    }
    for (uint32_t i = 0; i < conf->instance_count; i++) {
        hash_instance(state, conf->instances[i]);
    }
    XXH3_64bits_reset(state);
    add_text(state, conf->fleet);
    add_text(state, conf->host);
    add_text(state, conf->control);
    add_text(state, conf->state_dir);
    add_number(state, conf->log_level);
    add_number(state, conf->self);
    add_number(state, conf->self_interval_ns);
    for (uint32_t i = 0; i < conf->instance_count; i++) {
        add_number(state, (int64_t)conf->instances[i]->hash);
    }
    conf->hash = XXH3_64bits_digest(state);
    XXH3_freeState(state);
    snprintf(conf->hash_text, sizeof conf->hash_text, "%016llx", (unsigned long long)conf->hash);
}
