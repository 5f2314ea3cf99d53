/* SPDX-License-Identifier: MIT */
/* Providers without a daemon; see oneshot.h. The rules of results and chains are those of provider,
 * cut down to what one question needs. */
#include "core/oneshot.h"

#include <stdlib.h>
#include <string.h>

#include "core/bus.h"
#include "core/clock.h"
#include "core/host.h"
#include "core/isolate.h"
#include "core/schedule.h"

#define INTERVAL_NS NS_PER_S
#define DEADLINE_NS (10 * NS_PER_S)

struct source {
    struct source *next;
    struct conf_instance *conf;
    struct conf_instance made; /* what conf points to when there is no file */
    const struct tacho_plugin *plugin;
    struct host host;
    void *self;
};

struct oneshot {
    struct host_services services;
    char *fleet, *host;
    struct state *state;
    struct bus *bus;
    struct source *sources; /* in order of adding */
};

struct oneshot *oneshot_new(const char *fleet, const char *host)
{
    struct oneshot *oneshot = calloc(1, sizeof *oneshot);
    if (!oneshot) {
        return NULL;
    }
    oneshot->fleet = strdup(fleet);
    oneshot->host = strdup(host);
    oneshot->state = state_new();
    oneshot->bus = oneshot->state ? bus_new(oneshot->state) : NULL;
    if (!oneshot->fleet || !oneshot->host || !oneshot->bus) {
        oneshot_free(oneshot);
        return NULL;
    }
    oneshot->services = (struct host_services){.fleet = oneshot->fleet,
                                               .host = oneshot->host,
                                               .state_dir = "",
                                               .session = (uint64_t)(clock_wall_ns() / NS_PER_S),
                                               .bus = oneshot->bus,
                                               .state = oneshot->state};
    return oneshot;
}

static void source_free(struct source *source)
{
    if (source->self) {
        source->plugin->close(source->self);
    }
    if (source->host.services) {
        host_fini(&source->host);
    }
    if (source->conf == &source->made) {
        option_free(source->made.module, source->made.options);
    }
    free(source);
}

void oneshot_free(struct oneshot *oneshot)
{
    if (!oneshot) {
        return;
    }
    while (oneshot->sources) {
        struct source *source = oneshot->sources;
        oneshot->sources = source->next;
        source_free(source);
    }
    bus_free(oneshot->bus);
    state_free(oneshot->state);
    free(oneshot->fleet);
    free(oneshot->host);
    free(oneshot);
}

/* Opens a source and puts it at the end of the list; takes it, even on failure. */
static int append(struct oneshot *oneshot, struct source *source, struct tacho_err *err)
{
    struct conf_instance *conf = source->conf;
    source->plugin = conf->isolate ? &isolate_plugin : &conf->module->plugin;
    int result = host_init(&source->host, &oneshot->services, conf->name, conf->module, err);
    if (result != TACHO_OK) {
        source->host.services = NULL;
        source_free(source);
        return result;
    }
    snprintf(source->host.interval, sizeof source->host.interval, "%lld",
             (long long)conf->interval_ns);
    result = source->plugin->open(&source->host.table,
                                  conf->isolate ? (const void *)conf : conf->options, &source->self,
                                  err);
    if (result != TACHO_OK) {
        source->self = NULL;
        source_free(source);
        return result;
    }
    struct source **end = &oneshot->sources;
    while (*end) {
        end = &(*end)->next;
    }
    *end = source;
    return TACHO_OK;
}

static struct source *source_new(struct tacho_err *err)
{
    struct source *source = calloc(1, sizeof *source);
    if (!source) {
        tacho_fail(err, TACHO_RETRY, "no memory");
    }
    return source;
}

int oneshot_add(struct oneshot *oneshot, struct conf_instance *conf, struct tacho_err *err)
{
    struct source *source = source_new(err);
    if (!source) {
        return TACHO_RETRY;
    }
    source->conf = conf;
    return append(oneshot, source, err);
}

int oneshot_add_plugin(struct oneshot *oneshot, const char *plugin, struct tacho_err *err)
{
    const struct module *module;
    int result = module_load(plugin, &module, err);
    if (result != TACHO_OK) {
        return result;
    }
    if (!module->plugin.collect) {
        return tacho_fail(err, TACHO_CONFIG, "%s is no provider", module->plugin.name);
    }
    struct source *source = source_new(err);
    if (!source) {
        return TACHO_RETRY;
    }
    source->made = (struct conf_instance){.role = CONF_PROVIDER,
                                          .plugin = (char *)module->plugin.name,
                                          .name = (char *)module->plugin.name,
                                          .file = "",
                                          .interval_ns = INTERVAL_NS,
                                          .deadline_ns = DEADLINE_NS,
                                          .isolate = (module->plugin.flags & TACHO_ISOLATE) != 0,
                                          .chain = "",
                                          .module = module};
    result = option_fill(module, NULL, 0, &source->made.options, err);
    if (result != TACHO_OK) {
        free(source);
        return result;
    }
    source->conf = &source->made;
    return append(oneshot, source, err);
}

/* One call; what it gave is published. */
static int collect(struct source *source, struct tacho_err *err)
{
    struct tacho_batch *batch = batch_new(source->host.pool);
    if (!batch) {
        return tacho_fail(err, TACHO_RETRY, "no memory for a batch of %s", source->host.name);
    }
    int result = source->plugin->collect(source->self, batch,
                                         clock_mono_ns() + source->conf->deadline_ns, err);
    if (!schedule_failed(result) && result != TACHO_NO_DATA && batch->entity_count > 0) {
        host_publish(&source->host, batch);
        return TACHO_OK;
    }
    batch_discard(batch);
    return result == TACHO_OK ? TACHO_NO_DATA : result;
}

/* Whether one before it in its chain has worked. */
static bool superfluous(const struct source *source, const char *const *served, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (*source->conf->chain && strcmp(served[i], source->conf->chain) == 0) {
            return true;
        }
    }
    return false;
}

int oneshot_collect(struct oneshot *oneshot, struct tacho_err *err)
{
    enum { CHAINS = 64 };
    const char *served[CHAINS];
    uint32_t count = 0;
    int outcome = TACHO_NO_DATA;
    bool any = false;
    for (struct source *source = oneshot->sources; source; source = source->next) {
        if (superfluous(source, served, count)) {
            continue;
        }
        int result = collect(source, err);
        if (result == TACHO_OK) {
            any = true;
            if (*source->conf->chain && count < CHAINS) {
                served[count++] = source->conf->chain;
            }
        } else if (outcome == TACHO_NO_DATA) {
            outcome = result;
        }
    }
    return any ? TACHO_OK : outcome;
}

struct state *oneshot_state(struct oneshot *oneshot)
{
    return oneshot->state;
}
